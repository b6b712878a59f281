/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the pool of 'struct op' of weir-nfsd, which is divided among clients. A call that gets
 * no op is answered with NFS3ERR_JUKEBOX, and holds nothing while its reply waits for a buffer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "caller.h"
#include "op.h"
#include "op_table.h"
#include "server.h"

#define CONNS	8u /* number of connections of each client */
#define CLIENTS 3u

/* The connections. 'user' is the state that the server keeps for a connection. */
static struct conn {
	struct weir_peer peer;
	void *user;
} conns[CLIENTS][CONNS];

/* The only request of the tests, and what the server did with it. */
static struct {
	struct conn *conn;
	struct weir_rpc_call_header header;
	void *user;
	bool args_released, has_buffer;
	uint32_t nforgotten, nwaits, nreplies, nerrors;
	struct weir_xdr_in args;
	struct weir_xdr_out out;
	uint8_t reply[4096];
} request;

static struct server server;
static struct poller *const home = &server.pollers[0];
static struct op *taken[OPS_MAX + 1];
static uint32_t ntaken;

#define REQ	 ((struct weir_request *)&request)
#define WRAP(fn) __wrap_weir_##fn

bool WRAP(request_args_released)(const struct weir_request *req);
void *WRAP(request_user)(const struct weir_request *req);
void WRAP(request_set_user)(struct weir_request *req, void *user);
const struct weir_rpc_call_header *WRAP(request_header)(const struct weir_request *req);
struct weir_engine *WRAP(request_engine)(const struct weir_request *req);
struct weir_conn *WRAP(request_conn)(const struct weir_request *req);
struct weir_xdr_in *WRAP(request_args)(struct weir_request *req);
void WRAP(request_skip_replay_cache)(struct weir_request *req);
struct weir_xdr_out *WRAP(request_results)(struct weir_request *req, uint32_t max_bytes);
void WRAP(request_reply)(struct weir_request *req);
void WRAP(request_reply_error)(struct weir_request *req, enum weir_rpc_accept_stat stat);
void WRAP(request_release_args)(struct weir_request *req);
int WRAP(request_retry_when_buffers)(struct weir_request *req);
int WRAP(conn_peer)(const struct weir_conn *conn, struct weir_peer *peer);
void *WRAP(conn_user)(const struct weir_conn *conn);
void WRAP(conn_set_user)(struct weir_conn *conn, void *user);

bool WRAP(request_args_released)(const struct weir_request *req)
{
	(void)req;
	return request.args_released;
}

void *WRAP(request_user)(const struct weir_request *req)
{
	(void)req;
	return request.user;
}

void WRAP(request_set_user)(struct weir_request *req, void *user)
{
	(void)req;
	request.user = user;
}

const struct weir_rpc_call_header *WRAP(request_header)(const struct weir_request *req)
{
	(void)req;
	return &request.header;
}

struct weir_engine *WRAP(request_engine)(const struct weir_request *req)
{
	(void)req;
	return home->engine;
}

struct weir_conn *WRAP(request_conn)(const struct weir_request *req)
{
	(void)req;
	return (struct weir_conn *)request.conn;
}

struct weir_xdr_in *WRAP(request_args)(struct weir_request *req)
{
	(void)req;
	return &request.args;
}

void WRAP(request_skip_replay_cache)(struct weir_request *req)
{
	(void)req;
	request.nforgotten++;
}

struct weir_xdr_out *WRAP(request_results)(struct weir_request *req, uint32_t max_bytes)
{
	(void)req;
	assert_true(max_bytes <= sizeof(request.reply));
	weir_xdr_out_init(&request.out, request.reply, max_bytes);
	return request.has_buffer ? &request.out : NULL;
}

void WRAP(request_reply)(struct weir_request *req)
{
	(void)req;
	request.nreplies++;
}

void WRAP(request_reply_error)(struct weir_request *req, enum weir_rpc_accept_stat stat)
{
	(void)req;
	(void)stat;
	request.nerrors++;
}

void WRAP(request_release_args)(struct weir_request *req)
{
	(void)req;
	request.args_released = true;
}

int WRAP(request_retry_when_buffers)(struct weir_request *req)
{
	(void)req;
	request.nwaits++;
	return 0;
}

int WRAP(conn_peer)(const struct weir_conn *conn, struct weir_peer *peer)
{
	*peer = ((const struct conn *)conn)->peer;
	return 0;
}

void *WRAP(conn_user)(const struct weir_conn *conn)
{
	return ((const struct conn *)conn)->user;
}

void WRAP(conn_set_user)(struct weir_conn *conn, void *user)
{
	((struct conn *)conn)->user = user;
}

static int setup(void **state)
{
	(void)state;
	memset(&server, 0, sizeof(server));
	memset(&request, 0, sizeof(request));
	for (uint32_t i = 0; i < CLIENTS * CONNS; i++) {
		struct conn *conn = &conns[i / CONNS][i % CONNS];

		*conn = (struct conn){.user = NULL};
		snprintf(conn->peer.address, sizeof(conn->peer.address), "192.0.2.%u:%u",
			 i / CONNS + 1, 1000 + i);
	}
	home->server = &server;
	server.npollers = 1;
	TAILQ_INIT(&home->free_ops);
	LIST_INIT(&home->op_holds);
	ntaken = 0;
	return 0;
}

static struct caller *caller_at(struct conn *conn)
{
	request.conn = conn;
	return caller_of(REQ, &server.exports);
}

static void close_conn(struct conn *conn)
{
	op_conn_event((struct weir_conn *)conn, WEIR_CONN_CLOSED, 0, &server);
	assert_null(conn->user);
}

static void free_ops(void)
{
	while (ntaken > 0)
		op_free(taken[--ntaken]);
}

static int teardown(void **state)
{
	(void)state;
	free_ops();
	for (uint32_t i = 0; i < CLIENTS * CONNS; i++)
		close_conn(&conns[i / CONNS][i % CONNS]);
	assert_true(LIST_EMPTY(&home->op_holds));
	assert_int_equal(home->nops_used, 0);
	op_free_all(home);
	return 0;
}

/*
 * Takes ops for the first 'nconns' connections of a client in turn, until none of them gets more.
 * Returns the number of ops.
 */
static uint32_t take_all(uint32_t client, uint32_t nconns)
{
	uint32_t n = 0, nrefused = 0;

	for (uint32_t i = 0; nrefused < nconns; i = (i + 1) % nconns) {
		struct op *op = op_take(home, caller_at(&conns[client][i]));

		if (!op) {
			nrefused++;
			continue;
		}
		nrefused = 0;
		n++;
		assert_true(ntaken < OPS_MAX);
		taken[ntaken++] = op;
		op->entries_buf = NULL;
	}
	return n;
}

/*
 * Checks that a client gets nearly half of the free ops, but not more, on all of its connections
 * together.
 */
static void take_share(uint32_t client)
{
	uint32_t nfree = OPS_MAX - ntaken;
	uint32_t n = take_all(client, CONNS);

	assert_in_range(n, nfree * 15 / 32, nfree / 2);
}

static void ops__of_one_client_leave_half_to_others(void **state)
{
	(void)state;
	take_share(0);
	take_share(1);
	take_share(2);
	free_ops();
	take_share(1);
}

static void ops__of_one_connection_leave_some_to_its_client(void **state)
{
	(void)state;
	assert_in_range(take_all(0, 1), OPS_MAX * 2 / 5 - 1, OPS_MAX * 2 / 5 + 1);
	assert_true(take_all(0, CONNS) > 0);
}

/*
 * Checks that a client which closes its connections and makes new ones does not get a second share.
 */
static void ops__count_when_their_connection_is_gone(void **state)
{
	(void)state;
	take_share(0);
	for (uint32_t i = 0; i < CONNS; i++)
		close_conn(&conns[0][i]);
	assert_int_equal(take_all(0, CONNS), 0);
	take_share(1);
	free_ops();
	take_share(0);
}

static void begin_call(uint32_t proc, bool has_buffer)
{
	memset(&request, 0, sizeof(request));
	request.conn = &conns[0][0];
	request.header.proc = proc;
	request.has_buffer = has_buffer;
}

/* Checks that the reply is that of the procedure for a failure. Its first word is the status. */
static void assert_jukebox(void)
{
	assert_int_equal(request.nreplies, 1);
	assert_int_equal(request.nerrors, 0);
	assert_true(request.nforgotten > 0);
	assert_false(request.out.failed);
	assert_true(weir_xdr_out_len(&request.out) >= 4);
	assert_int_equal(request.reply[2] << 8 | request.reply[3], NFS3ERR_JUKEBOX);
}

static void call__without_an_op_is_to_be_tried_again(void **state)
{
	uint32_t n;

	(void)state;
	n = take_all(0, CONNS);
	for (uint32_t proc = NFS3_GETATTR; proc < NFS3_NPROCS; proc++) {
		begin_call(proc, true);
		op_handle(REQ, &server);
		assert_jukebox();
		assert_int_equal(request.nwaits, 0);
		assert_int_equal(home->nops_used, n);
	}
}

static void call__without_an_op_or_a_buffer_waits_without_its_arguments(void **state)
{
	(void)state;
	take_all(0, CONNS);
	begin_call(NFS3_WRITE, false);
	request.user = &server; /* the state of data that were placed */
	op_handle(REQ, &server);
	assert_int_equal(request.nreplies + request.nerrors, 0);
	assert_int_equal(request.nwaits, 1);
	assert_true(request.args_released);
	request.has_buffer = true;
	op_handle(REQ, &server);
	assert_jukebox();
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ops__of_one_client_leave_half_to_others),
		TEST(ops__of_one_connection_leave_some_to_its_client),
		TEST(ops__count_when_their_connection_is_gone),
		TEST(call__without_an_op_is_to_be_tried_again),
		TEST(call__without_an_op_or_a_buffer_waits_without_its_arguments),
	};

	return cmocka_run_group_tests_name("op_pool", tests, NULL, NULL);
}
