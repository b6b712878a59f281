/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "apart.h"
#include "compound.h"
#include "pair_memory.h"
#include "sim.h"

#define POLLS_MAX 4000000u     /* simulated: what is to come comes within so many */
#define WAIT_NS	  20000000000u /* real: within this time, however busy the machine is */
#define QUIET_NS                                                                                             \
	200000000u /* real: nothing that a device has begun takes as long, however busy the machine is */

const char *pair_driver = "sim";
const char *pair_host = "127.0.0.1";
bool pair_shared;
uint64_t pair_seed = 1;
const bool *pair_non_idempotent;
weir_accept_fn pair_accept;
enum weir_exposure pair_exposure = WEIR_EXPOSURE_AUTO;
enum weir_protection pair_protection = WEIR_PROTECTION_SHARED;
enum weir_protocol pair_client_protocol = WEIR_PROTOCOL_V1, pair_server_protocol = WEIR_PROTOCOL_V1;
enum weir_extension pair_extension = WEIR_EXTENSION_OFF;
const struct sim_options *pair_wires;
uint32_t pair_buffers = PAIR_BUFFERS;

static const struct weir_ulb_proc ulb_procs[] = {
	{.proc = PAIR_READ, .result_items_max = 1},
	{.proc = PAIR_WRITE, .arg_items_max = 1},
	{.proc = PAIR_MULTI, .arg_items_max = 2, .result_items_max = 2},
	{.proc = PAIR_LATER, .arg_items_max = 1},
	{.proc = PAIR_FIXED, .result_items_max = 1},
	{.proc = PAIR_COMPOUND, .result_items_max = COMPOUND_OPS_MAX},
};

static const struct weir_ulb ulb = {
	.name = "pair",
	.prog = PAIR_PROG,
	.vers_low = PAIR_VERS,
	.vers_high = PAIR_VERS,
	.procs = ulb_procs,
	.nprocs = sizeof(ulb_procs) / sizeof(ulb_procs[0]),
};

static void garbage(struct weir_request *req)
{
	weir_request_reply_error(req, WEIR_RPC_GARBAGE_ARGS);
}

static void handle_echo(struct weir_request *req)
{
	struct weir_xdr_out *out;
	const void *data;
	uint32_t len;

	if (weir_xdr_get_opaque_ref(weir_request_args(req), &data, PAIR_MEMORY_BYTES, &len) != 0) {
		garbage(req);
		return;
	}
	out = weir_request_results(req, 8 + len);
	assert_non_null(out);
	weir_xdr_put_opaque(out, data, len);
	weir_request_reply(req);
}

static void handle_read(struct weir_request *req, struct pair *pair)
{
	uint32_t count;

	if (weir_xdr_get_u32(weir_request_args(req), &count) != 0) {
		garbage(req);
		return;
	}
	assert_non_null(weir_request_results(req, 4));
	assert_int_equal(weir_request_result_item(req, pair->server_region, pair->server_mem, count), 0);
	weir_request_reply(req);
}

static void handle_fixed(struct weir_request *req, struct pair *pair)
{
	assert_non_null(weir_request_results(req, 4));
	assert_int_equal(
		weir_request_result_item(req, pair->server_region, pair->server_mem, PAIR_FIXED_BYTES), 0);
	weir_request_reply(req);
}

static void handle_big(struct weir_request *req, struct pair *pair)
{
	struct weir_xdr_out *out;
	uint32_t count;

	if (weir_xdr_get_u32(weir_request_args(req), &count) != 0) {
		garbage(req);
		return;
	}
	out = weir_request_results(req, count + 8);
	if (!out) {
		if (weir_request_retry_when_buffers(req) != 0)
			weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
		return;
	}
	weir_xdr_put_opaque(out, pair->server_mem, count);
	weir_request_reply(req);
}

static void reply_write(struct weir_request *req, struct pair_results *results)
{
	struct weir_xdr_out *out = weir_request_results(req, 12);

	if (!out) {
		weir_request_set_user(req, results);
		weir_request_release_args(req);
		if (weir_request_retry_when_buffers(req) != 0)
			weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
		return;
	}
	for (uint32_t i = 0; i < 3; i++)
		weir_xdr_put_u32(out, results->words[i]);
	weir_request_reply(req);
}

static void handle_write(struct weir_request *req, struct pair *pair)
{
	struct weir_xdr_in *args = weir_request_args(req);
	uint32_t before = 0, after = 0, len = 0, sum = 0;
	struct pair_results *results;
	const void *data = NULL;

	if (weir_request_args_released(req)) {
		assert_int_equal(weir_xdr_remaining(args), 0);
		reply_write(req, weir_request_user(req));
		return;
	}

	weir_xdr_get_u32(args, &before);
	weir_xdr_get_opaque_ref(args, &data, PAIR_MEMORY_BYTES, &len);
	weir_xdr_get_u32(args, &after);
	if (args->failed || weir_xdr_remaining(args) != 0) {
		garbage(req);
		return;
	}
	for (uint32_t i = 0; i < len; i++)
		sum = sum * 33 + ((const uint8_t *)data)[i];
	results = &pair->results[pair->nresults++ % PAIR_RESULTS_MAX];
	*results = (struct pair_results){{before + after, len, sum}};
	reply_write(req, results);
}

static void handle_multi(struct weir_request *req, struct pair *pair)
{
	struct weir_xdr_in *args = weir_request_args(req);
	uint32_t a = 0, b = 0, c = 0, len[2] = {0};
	const void *data[2] = {NULL};
	struct weir_xdr_out *out;
	uint8_t *mem = pair->server_mem + (1u << 20);

	weir_xdr_get_u32(args, &a);
	weir_xdr_get_opaque_ref(args, &data[0], 1u << 19, &len[0]);
	weir_xdr_get_u32(args, &b);
	weir_xdr_get_opaque_ref(args, &data[1], 1u << 19, &len[1]);
	weir_xdr_get_u32(args, &c);
	if (args->failed || weir_xdr_remaining(args) != 0) {
		garbage(req);
		return;
	}
	memcpy(mem, data[0], len[0]);
	memcpy(mem + (1u << 19), data[1], len[1]);
	out = weir_request_results(req, 32);
	weir_xdr_put_u32(out, a);
	if (a == PAIR_ABSENT)
		assert_int_equal(weir_request_result_absent(req), 0);
	else
		weir_request_result_item(req, pair->server_region, mem, len[0]);
	weir_xdr_put_u32(out, c);
	weir_request_result_item(req, pair->server_region, mem + (1u << 19), len[1]);
	weir_xdr_put_u32(out, b);
	weir_request_reply(req);
}

static void handle(struct weir_request *req, void *arg)
{
	struct pair *pair = arg;
	struct weir_xdr_out *out;

	pair->handled++;
	pair->cred_flavor = weir_request_header(req)->cred.flavor;
	switch (weir_request_header(req)->proc) {
	case PAIR_NULL:
		weir_request_results(req, 0);
		weir_request_reply(req);
		break;
	case PAIR_ECHO:
		handle_echo(req);
		break;
	case PAIR_READ:
		handle_read(req, pair);
		break;
	case PAIR_FIXED:
		handle_fixed(req, pair);
		break;
	case PAIR_BIG:
		handle_big(req, pair);
		break;
	case PAIR_WRITE:
		handle_write(req, pair);
		break;
	case PAIR_COMPOUND:
		compound_handle(req, pair);
		break;
	case PAIR_MULTI:
		handle_multi(req, pair);
		break;
	case PAIR_LATER:
		assert_true(pair->nlater < PAIR_LATER_MAX);
		pair->later[pair->nlater++] = req;
		break;
	case PAIR_GARBAGE:
		garbage(req);
		break;
	case PAIR_FAIL:
		if (pair->forgets)
			weir_request_skip_replay_cache(req);
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
		break;
	case PAIR_DENY:
		weir_request_reply_denied(req, WEIR_RPC_AUTH_TOOWEAK);
		break;
	case PAIR_OVERRUN:
		out = weir_request_results(req, 4);
		while (weir_xdr_put_u32(out, 1) == 0)
			;
		weir_request_reply(req);
		break;
	}
}

void pair_release_later(struct pair *pair)
{
	for (uint32_t i = 0; i < pair->nlater; i++) {
		struct weir_request *req = pair->later[i];
		struct weir_xdr_out *out = weir_request_results(req, 4);
		uint32_t value = 0;

		weir_xdr_get_u32(weir_request_args(req), &value);
		weir_xdr_put_u32(out, value + 1);
		weir_request_reply(req);
	}
	pair->nlater = 0;
}

uint32_t pair_recvs_at_rest(const struct pair *pair)
{
	return pair->profile.shared_receives ? pair->profile.recv_buffers : 0;
}

static int place(struct weir_request *req, uint32_t item, uint32_t len, struct weir_arg_sink *sink, void *arg)
{
	struct pair *pair = arg;

	(void)req;
	pair->asked++;
	if (!pair->place_writes)
		return -1;
	assert_true(len <= 1u << 20 && item < 2);
	sink->region = pair->server_region;
	sink->data = pair->server_mem + 65536 + item * (2u << 20);
	return 0;
}

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	struct pair *pair = arg;

	(void)conn;
	if (event == WEIR_CONN_OPEN) {
		pair->opened++;
	} else if (event == WEIR_CONN_LOST) {
		pair->lost++;
	} else {
		pair->closed++;
		pair->close_error = error;
		pair->conn = NULL;
	}
}

static void on_server_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	struct pair *pair = arg;

	if (event == WEIR_CONN_OPEN) {
		pair->server_opened++;
		pair->server_conn = conn;
	} else {
		pair->server_closed++;
		pair->server_close_error = error;
		pair->server_conn = NULL;
	}
}

void pair_new_addr(char *addr, size_t size)
{
	static unsigned serial;

	if (strcmp(pair_driver, "verbs") == 0)
		snprintf(addr, size, "%s:%u", pair_host, 23000 + serial++);
	else
		snprintf(addr, size, "weir-test-%d-%u", (int)getpid(), serial++);
}

void pair_server_start(struct pair *pair)
{
	const struct weir_program program = {
		.prog = PAIR_PROG,
		.vers_low = PAIR_VERS,
		.vers_high = PAIR_VERS,
		.nprocs = PAIR_NPROCS,
		.ulb = &ulb,
		.handle = handle,
		.arg_sink = place,
		.arg = pair,
		.non_idempotent = pair_non_idempotent,
	};
	const struct weir_listen_options listen = {.programs = &program,
						   .nprograms = 1,
						   .on_event = on_server_event,
						   .arg = pair,
						   .accept = pair_accept};

	struct weir_profile profile = pair->profile;

	profile.protocol = pair_server_protocol;
	assert_int_equal(weir_engine_create(&profile, &pair->server), 0);
	pair->server_mem = pair_memory_make(pair->server, true, &pair->server_region);
	assert_int_equal(weir_listen(pair->server, pair->addr, &listen, &pair->listener), 0);
}

/* A test that was to have as many as it takes had them. */
static void expect_not_exhausted(const struct pair *pair, const struct weir_engine *engine)
{
	struct weir_engine_stats stats;

	weir_engine_stats(engine, &stats);
	if (pair->is_never_exhausted) {
		assert_int_equal(stats.long_pool_empty, 0);
		assert_int_equal(stats.bulk_pool_empty, 0);
	}
}

void pair_server_stop(struct pair *pair)
{
	weir_listener_close(pair->listener);
	weir_engine_poll(pair->server, 0, pair->now_ns + 1);
	expect_not_exhausted(pair, pair->server);
	weir_engine_remove_region(pair->server, pair->server_region);
	weir_engine_destroy(pair->server);
	pair_memory_end(pair->server_region);
	pair->server = NULL;
	pair->listener = NULL;
}

static void choose_buffers(struct pair *pair)
{
	struct weir_profile *profile = &pair->profile;

	pair->is_never_exhausted =
		pair_buffers == PAIR_BUFFERS && profile->long_buffers == 0 && profile->bulk_buffers == 0;
	if (profile->long_buffers == 0)
		profile->long_buffers = pair_buffers;
	if (profile->bulk_buffers == 0)
		profile->bulk_buffers = pair_buffers;
}

void pair_start(struct pair *pair, void (*change)(struct weir_profile *profile))
{
	memset(pair, 0, sizeof(*pair));
	pair->driver = pair_driver;
	pair->mem_bytes = PAIR_MEMORY_BYTES;
	weir_profile_defaults(&pair->profile);
	snprintf(pair->profile.driver, sizeof(pair->profile.driver), "%s", pair_driver);
	pair->profile.credits = 16;
	pair->profile.send_buffers = 128;
	pair->profile.recv_buffers = 64;
	pair->profile.long_buffers = pair->profile.bulk_buffers = 0;
	pair->profile.long_buffer_bytes = 5u << 18;
	pair->profile.bulk_buffer_bytes = 5u << 18;
	pair->profile.page_bytes = WEIR_PAGES_THP; /* much less work for the kernel than of 4 KiB */
	pair->profile.exposure = pair_exposure;
	pair->profile.protection = pair_protection;
	pair->profile.protocol = pair_client_protocol;
	/* By the extension wherever it can be. */
	pair->profile.round_trip_ns = pair->profile.operation_ns = 0;
	pair->profile.message_ns = pair->profile.copy_ns = 0;
	pair->profile.extension = pair_extension;
	if (pair_extension != WEIR_EXTENSION_OFF)
		pair->profile.recv_buffers = 128; /* requesters take more */
	if (strcmp(pair_driver, "sim") == 0) {
		pair->world = sim_world_create(pair_seed, pair_wires);
		assert_non_null(pair->world);
		snprintf(pair->profile.driver_options, sizeof(pair->profile.driver_options), "world=%u",
			 sim_world_id(pair->world));
	}
	pair->profile.shared_receives = WEIR_SHARED_RECEIVES_OFF;
	if (pair_shared) {
		pair->profile.shared_receives = WEIR_SHARED_RECEIVES_ON;
		pair->profile.connections = 16;
	}
	if (change)
		change(&pair->profile);
	choose_buffers(pair);
	pair_new_addr(pair->addr, sizeof(pair->addr));
	assert_int_equal(weir_engine_create(&pair->profile, &pair->client), 0);
	pair->client_mem = pair_memory_make(pair->client, false, &pair->client_region);
	if (apart_is_on())
		apart_server_start(pair);
	else
		pair_server_start(pair);
}

int pair_connect_begin(struct pair *pair)
{
	const struct weir_connect_options options = {.on_event = on_event, .arg = pair};

	return weir_connect(pair->client, pair->addr, &options, &pair->conn);
}

void pair_connect(struct pair *pair)
{
	int opened = pair->opened, server_opened = pair->server_opened;

	assert_int_equal(pair_connect_begin(pair), 0);
	pair_until(pair, &pair->opened, opened + 1);
	if (!apart_is_on())
		pair_until(pair, &pair->server_opened, server_opened + 1);
}

void pair_stop(struct pair *pair)
{
	weir_listener_close(pair->listener);
	pair->listener = NULL;
	pair_poll(pair);
	pair_release_later(pair);
	expect_not_exhausted(pair, pair->client);
	weir_engine_remove_region(pair->client, pair->client_region);
	weir_engine_destroy(pair->client);
	if (pair->server)
		pair_server_stop(pair);
	else if (apart_is_on())
		apart_server_stop();
	pair_memory_end(pair->client_region);
	if (pair->world) {
		/* No buffer was reused while the device might still read it, and nothing was left behind. */
		assert_int_equal(sim_sources_changed(pair->world), 0);
		assert_int_equal(sim_world_objects(pair->world), 0);
		sim_world_destroy(pair->world);
	}
}

/* The time that other threads and processes live in. */
static uint64_t real_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void pair_pass(struct pair *pair)
{
	if (pair->world) {
		/* Without events only the clock moves, for the engines' own deadlines. */
		if (!sim_step(pair->world))
			sim_run_until(pair->world, sim_now(pair->world) + 100000);
		pair->now_ns = sim_now(pair->world);
	} else {
		pair->now_ns = real_ns();
	}
}

uint32_t pair_poll(struct pair *pair)
{
	uint32_t work;

	pair_pass(pair);
	work = weir_engine_poll(pair->client, 0, pair->now_ns + 1);
	if (pair->server)
		work += weir_engine_poll(pair->server, 0, pair->now_ns + 1);
	else if (work == 0 && apart_is_on())
		sched_yield(); /* the other may have no core but this one */
	return work;
}

bool pair_wait(struct pair *pair, uint32_t polls)
{
	if (pair->world)
		return polls < POLLS_MAX;
	if (polls == 0)
		pair->wait_end_ns = real_ns() + WAIT_NS;
	if (polls > 1000 && polls % 1000 == 0)
		usleep(100); /* another thread or process has a part in it */
	return polls % 1000 != 0 || real_ns() < pair->wait_end_ns;
}

void pair_until(struct pair *pair, const int *flag, int value)
{
	for (uint32_t i = 0; *flag < value && pair_wait(pair, i); i++)
		pair_poll(pair);
	assert_true(*flag >= value);
}

void pair_until_later(struct pair *pair, uint32_t n)
{
	for (uint32_t i = 0; pair->nlater < n && pair_wait(pair, i); i++)
		pair_poll(pair);
	assert_true(pair->nlater >= n);
}

bool pair_unsettled(struct pair *pair, struct pair_quiet *quiet, uint32_t work)
{
	uint64_t now;

	if (++quiet->polls < 2000)
		return true;
	/* Of sim and shm everything happens in these polls; a device works beside them, at its own pace. */
	if (strcmp(pair->driver, "verbs") != 0)
		return false;
	now = real_ns();
	if (work > 0 || quiet->since_ns == 0)
		quiet->since_ns = now;
	return now - quiet->since_ns < QUIET_NS;
}

void pair_settle(struct pair *pair)
{
	struct pair_quiet quiet = {0};

	while (pair_unsettled(pair, &quiet, pair_poll(pair)))
		;
}

void outcome_init(struct outcome *outcome, struct pair *pair)
{
	memset(outcome, 0, sizeof(*outcome));
	outcome->pair = pair;
	outcome->status = 12345;
}

void pair_done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	struct outcome *outcome = arg;

	outcome->done++;
	outcome->status = result->status;
	outcome->rdma_err = result->rdma_err;
	if (result->reply)
		outcome->reply = *result->reply;
	if (outcome->check) {
		outcome->check(outcome, call, result);
		return;
	}
	while (result->results && outcome->nwords < 8 && weir_xdr_remaining(result->results) >= 4)
		weir_xdr_get_u32(result->results, &outcome->words[outcome->nwords++]);
}

struct weir_call_params pair_params(uint32_t proc, struct outcome *outcome)
{
	return (struct weir_call_params){
		.prog = PAIR_PROG,
		.vers = PAIR_VERS,
		.proc = proc,
		.args_max_bytes = 64,
		.results_max_bytes = 64,
		.ulb = &ulb,
		.done = pair_done,
		.arg = outcome,
	};
}

void pair_call(struct pair *pair, uint32_t proc, const uint32_t *words, uint32_t nwords,
	       struct outcome *outcome)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(outcome, pair);
	params = pair_params(proc, outcome);
	call = weir_call_begin(pair->conn, &params);
	assert_non_null(call);
	for (uint32_t i = 0; i < nwords; i++)
		weir_xdr_put_u32(weir_call_args(call), words[i]);
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(pair, &outcome->done, 1);
	assert_int_equal(outcome->done, 1);
}
