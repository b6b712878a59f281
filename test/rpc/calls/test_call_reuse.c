/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of weir_call_reuse(), called in the 'done' callback of a call: the content of the reused
 * call, which parts of the old call stay, and the cases in which a call cannot be reused. */
#include "pair_main.h"

#include <errno.h>
#include <string.h>

#include "call_pool.h"
#include "engine.h"

#define ROUNDS	   20u
#define ITEM	   2000u
#define BIG_BYTES  20000u
#define HEADER_MAX 128u
#define BUFS_MAX   4096u

static struct pair pair;

/* A first call and the calls that reuse its object, one after the other. */
struct chain {
	struct outcome outcome;
	uint32_t proc;
	uint32_t round;
	/* number of rounds in which weir_call_reuse() returned the object of the previous call */
	uint32_t nsame;
	uint32_t xid; /* of the latest call */
	uint8_t header[HEADER_MAX];
	size_t header_bytes;
	bool may_reduce;
};

static int setup(void **state)
{
	(void)state;
	pair_start(&pair, NULL);
	pair_connect(&pair);
	return 0;
}

static void more_receives(struct weir_profile *profile)
{
	profile->recv_buffers = 256;
}

static int setup_several(void **state)
{
	(void)state;
	pair_start(&pair, more_receives);
	pair_connect(&pair);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

static void note_header(struct chain *chain, struct weir_call *call)
{
	const struct weir_xdr_out *out = weir_call_args(call);

	chain->header_bytes = (size_t)(out->p - out->start);
	assert_in_range(chain->header_bytes, 40, HEADER_MAX);
	memcpy(chain->header, out->start, chain->header_bytes);
	chain->may_reduce = call->may_reduce;
}

static void assert_same_header(const struct chain *chain, struct weir_call *call)
{
	const struct weir_xdr_out *out = weir_call_args(call);

	assert_int_equal(out->p - out->start, chain->header_bytes);
	assert_memory_equal(out->start + 4, chain->header + 4, chain->header_bytes - 4);
	/* compares the XIDs, which must differ */
	assert_memory_not_equal(out->start, chain->header, 4);
	assert_int_equal(call->may_reduce, chain->may_reduce);
}

/* Adds arguments that differ in each round, and submits the call. */
static void submit(struct chain *chain, struct weir_call *call)
{
	struct weir_xdr_out *args = weir_call_args(call);

	switch (chain->proc) {
	case PAIR_ECHO:
		weir_xdr_put_opaque(args, &chain->round, 1 + chain->round % 4);
		break;
	case PAIR_READ:
		weir_xdr_put_u32(args, ITEM - chain->round);
		assert_int_equal(weir_call_result_item(call, pair.client_region,
						       pair.client_mem + 8192, ITEM),
				 0);
		break;
	case PAIR_WRITE:
		weir_xdr_put_u32(args, chain->round);
		assert_int_equal(weir_call_arg_item(call, pair.client_region, pair.client_mem,
						    ITEM + chain->round),
				 0);
		weir_xdr_put_u32(args, 7);
		break;
	case PAIR_BIG:
		weir_xdr_put_u32(args, BIG_BYTES - chain->round);
		break;
	default:
		break;
	}
	assert_int_equal(weir_call_submit(call), 0);
}

static void check(const struct chain *chain, struct weir_call *call,
		  const struct weir_result *result)
{
	struct weir_xdr_in *in = result->results;
	const void *data = NULL;
	uint32_t len = 0, word = 0;

	assert_int_equal(result->status, 0);
	assert_int_equal(result->reply->accept_stat, WEIR_RPC_SUCCESS);
	switch (chain->proc) {
	case PAIR_ECHO:
		assert_int_equal(weir_xdr_get_opaque_ref(in, &data, 4, &len), 0);
		assert_int_equal(len, 1 + chain->round % 4);
		assert_memory_equal(data, &chain->round, len);
		break;
	case PAIR_READ:
		assert_int_equal(weir_result_opaque(call, result, 0, &data, ITEM, &len), 0);
		assert_int_equal(len, ITEM - chain->round);
		break;
	case PAIR_WRITE:
		assert_int_equal(weir_xdr_get_u32(in, &word), 0);
		assert_int_equal(word, chain->round + 7);
		assert_int_equal(weir_xdr_get_u32(in, &len), 0);
		assert_int_equal(len, ITEM + chain->round);
		return;
	case PAIR_BIG:
		assert_int_equal(weir_xdr_get_opaque_ref(in, &data, BIG_BYTES, &len), 0);
		assert_int_equal(len, BIG_BYTES - chain->round);
		break;
	default:
		break;
	}
	for (uint32_t i = 0; i < len && chain->proc != PAIR_ECHO; i += 97)
		assert_int_equal(((const uint8_t *)data)[i], pair_byte(i));
	assert_int_equal(weir_xdr_remaining(in), 0);
}

static void go_on(struct outcome *outcome, struct weir_call *call, const struct weir_result *result)
{
	struct chain *chain = outcome->arg;
	struct weir_call *next;

	check(chain, call, result);
	if (chain->round > 0)
		assert_int_not_equal(result->reply->xid, chain->xid);
	chain->xid = result->reply->xid;
	if (++chain->round == ROUNDS)
		return;
	next = weir_call_reuse(call, weir_call_conn(call));
	assert_non_null(next);
	assert_ptr_equal(weir_call_conn(next), pair.conn);
	assert_same_header(chain, next);
	if (next == call) {
		chain->nsame++;
		assert_null(weir_call_reuse(call, weir_call_conn(call)));
		assert_int_equal(errno, EINVAL);
	}
	submit(chain, next);
}

static struct weir_call_params begin_chain(struct chain *chain, uint32_t proc)
{
	struct weir_call_params params;

	*chain = (struct chain){.proc = proc};
	outcome_init(&chain->outcome, &pair);
	chain->outcome.check = go_on;
	chain->outcome.arg = chain;
	params = pair_params(proc, &chain->outcome);
	if (proc == PAIR_BIG)
		params.results_max_bytes = BIG_BYTES + 8;
	return params;
}

static struct weir_call *begin(struct chain *chain, const struct weir_call_params *params)
{
	struct weir_call *call = weir_call_begin(pair.conn, params);

	assert_non_null(call);
	note_header(chain, call);
	return call;
}

static void again__each_form_of_call(void **state)
{
	static const uint32_t procs[] = {PAIR_NULL, PAIR_ECHO, PAIR_READ, PAIR_WRITE, PAIR_BIG};

	(void)state;
	for (uint32_t i = 0; i < ITEM; i++)
		pair.client_mem[i] = pair_byte(i);
	for (size_t i = 0; i < sizeof(procs) / sizeof(procs[0]); i++) {
		struct chain chain;
		struct weir_call_params params = begin_chain(&chain, procs[i]);

		submit(&chain, begin(&chain, &params));
		pair_until(&pair, &chain.outcome.done, ROUNDS);
		assert_int_equal(chain.outcome.done, ROUNDS);
		/* Over shm, a Send is complete when it is posted, so that nothing but the caller
		 * holds the call object and it can be reused each time. */
		if (strcmp(pair_driver, "shm") == 0 && procs[i] == PAIR_NULL)
			assert_int_equal(chain.nsame, ROUNDS - 1);
		if (procs[i] == PAIR_BIG)
			assert_int_equal(chain.nsame, 0);
	}
	pair_settle(&pair);
	/* the buffer of zeros that the engine holds */
	assert_int_equal(pair.client->send_pool->in_use, 1);
}

static void again__credential_and_verifier_stay(void **state)
{
	static const uint8_t body[] = "\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\3\0\0\0\0";
	static const uint32_t procs[] = {PAIR_ECHO, PAIR_READ, PAIR_WRITE, PAIR_BIG};
	const struct weir_rpc_auth creds[] = {{WEIR_RPC_AUTH_SYS, 20, body}, {99, 20, body}};
	const struct weir_rpc_auth verf = {7, 5, body};

	(void)state;
	for (uint32_t i = 0; i < 2 * sizeof(procs) / sizeof(procs[0]); i++) {
		struct chain chain;
		struct weir_call_params params = begin_chain(&chain, procs[i / 2]);
		struct weir_call *call;

		params.cred = &creds[i % 2];
		params.verf = &verf;
		call = begin(&chain, &params);
		assert_int_equal(call->may_reduce,
				 i % 2 == 0); /* an unknown flavor allows no items */
		submit(&chain, call);
		pair_until(&pair, &chain.outcome.done, ROUNDS);
	}
}

static struct weir_call *next_call;
static int next_errno;

static void take_next(struct outcome *outcome, struct weir_call *call,
		      const struct weir_result *result)
{
	(void)result;
	if (outcome->arg)
		weir_conn_close(weir_call_conn(call));
	next_call = weir_call_reuse(call, weir_call_conn(call));
	next_errno = errno;
}

static void again__not_but_in_done(void **state)
{
	struct outcome outcome;
	struct weir_call_params params;
	struct weir_call *call;

	(void)state;
	outcome_init(&outcome, &pair);
	params = pair_params(PAIR_NULL, &outcome);
	call = weir_call_begin(pair.conn, &params);
	assert_null(weir_call_reuse(call, weir_call_conn(call)));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(weir_call_submit(call), 0);
	assert_null(weir_call_reuse(call, weir_call_conn(call)));
	assert_int_equal(errno, EINVAL);
	pair_until(&pair, &outcome.done, 1);
}

static void again__abandoned_gives_all_back(void **state)
{
	struct outcome outcome;
	struct weir_call_params params;

	(void)state;
	for (uint32_t i = 0; i < 3 * 64; i++) {
		outcome_init(&outcome, &pair);
		outcome.check = take_next;
		params = pair_params(PAIR_NULL, &outcome);
		assert_int_equal(weir_call_submit(weir_call_begin(pair.conn, &params)), 0);
		pair_until(&pair, &outcome.done, 1);
		assert_non_null(next_call);
		weir_call_abandon(next_call);
	}
	pair_settle(&pair);
	assert_int_equal(pair.client->send_pool->in_use, 1);
}

static void again__not_where_the_connection_closes(void **state)
{
	struct outcome outcome;
	struct weir_call_params params;

	(void)state;
	outcome_init(&outcome, &pair);
	outcome.check = take_next;
	outcome.arg = &outcome;
	params = pair_params(PAIR_NULL, &outcome);
	assert_int_equal(weir_call_submit(weir_call_begin(pair.conn, &params)), 0);
	pair_until(&pair, &outcome.done, 1);
	assert_null(next_call);
	assert_int_equal(next_errno, ENOTCONN);
	pair_until(&pair, &pair.closed, 1);
}

/* Checks that a call that timed out keeps its slot until its reply arrives, and that the next call
 * gets another slot. */
static void again__what_timed_out(void **state)
{
	struct outcome outcome;
	struct weir_call_params params;
	struct weir_call *call;

	(void)state;
	/* The reply to this call grants credits for more than one call. */
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	outcome_init(&outcome, &pair);
	outcome.check = take_next;
	params = pair_params(PAIR_LATER, &outcome);
	params.timeout_ns = 1000000;
	call = weir_call_begin(pair.conn, &params);
	weir_xdr_put_u32(weir_call_args(call), 1);
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &outcome.done, 1);
	assert_int_equal(outcome.status, -ETIMEDOUT);
	assert_non_null(next_call);
	assert_ptr_not_equal(next_call, call);
	pair_until_later(&pair, 1);
	pair_release_later(&pair);
	pair_settle(&pair);
	weir_call_abandon(next_call);
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	assert_int_equal(outcome.status, 0);
}

static struct weir_conn *conns[3]; /* the last connection belongs to another engine */
static int nopen;

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	(void)conn;
	(void)error;
	(void)arg;
	nopen += event == WEIR_CONN_OPEN;
}

static void go_round(struct outcome *outcome, struct weir_call *call,
		     const struct weir_result *result)
{
	struct chain *chain = outcome->arg;
	struct weir_call *next;

	check(chain, call, result);
	assert_ptr_equal(weir_call_conn(call), conns[chain->round % 2]);
	if (++chain->round == ROUNDS)
		return;
	assert_null(weir_call_reuse(call, conns[2]));
	assert_int_equal(errno, EINVAL);
	next = weir_call_reuse(call, conns[chain->round % 2]);
	assert_non_null(next);
	assert_ptr_equal(weir_call_conn(next), conns[chain->round % 2]);
	assert_same_header(chain, next);
	chain->nsame += next == call;
	submit(chain, next);
}

static void again__on_another_connection(void **state)
{
	static const uint32_t procs[] = {PAIR_ECHO, PAIR_READ, PAIR_BIG};
	const struct weir_connect_options options = {.struct_bytes = sizeof(options),
						     .on_event = on_event};

	(void)state;
	nopen = 0;
	conns[0] = pair.conn;
	assert_int_equal(weir_connect(pair.client, pair.addr, &options, &conns[1]), 0);
	assert_int_equal(weir_connect(pair.server, pair.addr, &options, &conns[2]), 0);
	pair_until(&pair, &nopen, 2);
	for (size_t i = 0; i < sizeof(procs) / sizeof(procs[0]); i++) {
		struct chain chain;
		struct weir_call_params params = begin_chain(&chain, procs[i]);

		chain.outcome.check = go_round;
		submit(&chain, begin(&chain, &params));
		pair_until(&pair, &chain.outcome.done, ROUNDS);
		assert_int_equal(chain.outcome.done, ROUNDS);
		if (strcmp(pair_driver, "shm") == 0 && procs[i] == PAIR_ECHO)
			assert_int_equal(chain.nsame, ROUNDS - 1);
	}
	pair_settle(&pair);
	assert_int_equal(pair.client->send_pool->in_use, 1);
}

static struct mem_buf *bufs[BUFS_MAX];

/* Takes a buffer from the call whose 'done' callback runs, as the pool does when no other buffer is
 * free. Returns NULL if that call cannot give up its buffer. */
static struct mem_buf *reclaim_from(struct mem_pool *pool)
{
	return pool->reclaim(pool, pool->reclaim_arg);
}

static void begin_another(struct outcome *outcome, struct weir_call *call,
			  const struct weir_result *result)
{
	struct weir_call_params params = pair_params(PAIR_NULL, outcome);
	bool is_send_done = call->is_send_done;
	struct weir_call *other;

	(void)result;
	/* The buffer is not reclaimed while the device can still read it. */
	call->is_send_done = false;
	assert_null(reclaim_from(pair.client->send_pool));
	call->is_send_done = is_send_done;
	assert_null(reclaim_from(pair.client->long_pool)); /* nor for another pool */
	other = weir_call_begin(weir_call_conn(call), &params);
	assert_int_equal(other != NULL, is_send_done);
	outcome->nwords = other != NULL;
	if (other) {
		/* The pool has no other free buffer. */
		assert_null(weir_call_begin(weir_call_conn(call), &params));
		assert_int_equal(errno, ENOBUFS);
		assert_null(weir_call_reuse(call, weir_call_conn(call)));
		assert_int_equal(errno, ENOBUFS);
		weir_call_abandon(other);
	}
}

static void buffer__of_a_call_that_ends_is_had_where_the_pool_is_empty(void **state)
{
	struct mem_pool *pool = pair.client->send_pool;
	uint32_t n = 0, in_use = pool->in_use;

	(void)state;
	for (uint32_t proc = PAIR_NULL; proc <= PAIR_BIG; proc += PAIR_BIG - PAIR_NULL) {
		struct chain chain;
		struct weir_call_params params = begin_chain(&chain, proc);
		struct weir_call *call = begin(&chain, &params);

		chain.outcome.check = begin_another;
		while (n < BUFS_MAX && (bufs[n] = mem_pool_get(pool)))
			n++;
		assert_in_range(n, 1, BUFS_MAX - 1);
		submit(&chain, call);
		pair_until(&pair, &chain.outcome.done, 1);
		if (strcmp(pair_driver, "shm") == 0)
			assert_int_equal(chain.outcome.nwords, 1);
		while (n > 0)
			mem_pool_put(bufs[--n]);
		pair_settle(&pair);
		assert_int_equal(pool->in_use, in_use);
	}
}

static void buffers__are_not_asked_of_requesters_that_are_gone(void **state)
{
	struct mem_pool *pool = pair.client->send_pool;
	struct outcome outcome;
	uint32_t n = 0;

	(void)state;
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	weir_conn_close(pair.conn);
	pair_until(&pair, &pair.closed, 1);
	pair_settle(&pair);
	while (n < BUFS_MAX && (bufs[n] = mem_pool_get(pool)))
		n++;
	assert_int_equal(pool->in_use, pool->count);
	assert_int_equal(pool->empty, 1);
	while (n > 0)
		mem_pool_put(bufs[--n]);
}

/* In the 'done' callback of a call, ends another call and then begins a new call, which needs a
 * buffer. */
static void begin_another_behind(struct outcome *outcome, struct weir_call *call,
				 const struct weir_result *result)
{
	struct mem_pool *pool = pair.client->send_pool;
	struct mem_buf *inner;

	call_fail(outcome->arg, -ECANCELED);
	inner = mem_pool_is_quick(pool) ? mem_pool_get(pool)
					/* the buffer of the call that ended can be the reclaimed
					 * one */
					: NULL;
	begin_another(outcome, call, result);
	if (inner)
		mem_pool_put(inner);
}

static void buffer__of_a_call_in_whose_done_another_ended(void **state)
{
	struct mem_pool *pool = pair.client->send_pool;
	struct outcome outer, inner;
	struct weir_call_params params;
	uint32_t n = 0, in_use = pool->in_use;

	(void)state;
	pair_call(&pair, PAIR_NULL, NULL, 0, &inner);
	outcome_init(&outer, &pair);
	outcome_init(&inner, &pair);
	params = pair_params(PAIR_LATER, &inner);
	outer.check = begin_another_behind;
	outer.arg = weir_call_begin(pair.conn, &params);
	weir_xdr_put_u32(weir_call_args(outer.arg), 1);
	assert_int_equal(weir_call_submit(outer.arg), 0);
	pair_until_later(&pair, 1);
	params = pair_params(PAIR_NULL, &outer);
	assert_int_equal(weir_call_submit(weir_call_begin(pair.conn, &params)), 0);
	while (n < BUFS_MAX && (bufs[n] = mem_pool_get(pool)))
		n++;
	pair_until(&pair, &outer.done, 1);
	assert_int_equal(inner.done, 1);
	assert_int_equal(inner.status, -ECANCELED);
	while (n > 0)
		mem_pool_put(bufs[--n]);
	pair_release_later(&pair);
	pair_settle(&pair);
	assert_int_equal(pool->in_use, in_use);
}

static void begin_beside(struct outcome *outcome, struct weir_call *call,
			 const struct weir_result *result)
{
	struct weir_call_params params = pair_params(PAIR_NULL, outcome);

	(void)result;
	assert_null(weir_call_begin(weir_call_conn(call), &params));
	assert_int_equal(errno, EAGAIN);
	next_call = weir_call_reuse(call, weir_call_conn(call));
	next_errno = errno;
	outcome->nwords = next_call == call;
}

/* Checks that a reused call needs no second slot. A call that becomes a copy in another object does
 * need one. */
static void again__while_all_slots_are_in_use(void **state)
{
	struct weir_call *calls[2 * 64];
	struct outcome outcome, unused;
	struct weir_call_params params;
	uint32_t n = 0;

	(void)state;
	outcome_init(&outcome, &pair);
	outcome.check = begin_beside;
	params = pair_params(PAIR_NULL, &outcome);
	assert_int_equal(weir_call_submit(weir_call_begin(pair.conn, &params)), 0);
	params = pair_params(PAIR_NULL, &unused);
	while (n < 2 * 64 && (calls[n] = weir_call_begin(pair.conn, &params)))
		n++;
	assert_int_equal(errno, EAGAIN);
	pair_until(&pair, &outcome.done, 1);
	if (outcome.nwords)
		weir_call_abandon(next_call);
	else
		assert_true(!next_call && next_errno == EAGAIN);
	assert_true(outcome.nwords || strcmp(pair_driver, "shm") != 0);
	while (n > 0)
		weir_call_abandon(calls[--n]);
}

static int run(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(again__each_form_of_call),
		T(again__credential_and_verifier_stay),
		T(again__not_but_in_done),
		T(again__abandoned_gives_all_back),
		T(again__not_where_the_connection_closes),
		T(again__what_timed_out),
		cmocka_unit_test_setup_teardown(again__on_another_connection, setup_several,
						teardown),
		T(buffer__of_a_call_that_ends_is_had_where_the_pool_is_empty),
		T(again__while_all_slots_are_in_use),
		T(buffer__of_a_call_in_whose_done_another_ended),
		T(buffers__are_not_asked_of_requesters_that_are_gone),
	};

	return cmocka_run_group_tests_name("call_reuse", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
