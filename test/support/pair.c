/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The engines, connection and memory of a pair (pair.h), and functions that wait for events of both
 * sides.
 */

#include "pair.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <weir/latency.h>

#include "apart.h"
#include "pair_memory.h"
#include "pair_program.h"
#include "requester.h"
#include "sim.h"

#define POLLS_MAX 4000000u /* Bound for a wait over sim, in polls. */
/* Bound for a wait over other drivers, in real time. It is long enough for a busy machine. */
#define WAIT_NS 20000000000u
/*
 * After this real time without work, all operations that a device has begun have ended, however
 * busy the machine is.
 */
#define QUIET_NS 200000000u

/* The function of test/mlx5-model/mlx5_model.h, or NULL if no test has preloaded the model. */
bool mlx5_model_is_idle(void) __attribute__((weak));

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

uint32_t pair_recvs_at_rest(const struct pair *pair)
{
	return pair->profile.shared_receives ? pair->profile.recv_buffers : 0;
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

static void on_server_event(struct weir_conn *conn, enum weir_conn_event event, int error,
			    void *arg)
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

static bool is_rdma(const char *driver)
{
	const struct fabric_ops *ops = fabric_driver_find(driver);

	return ops && ops->is_rdma;
}

bool pair_is_rdma(void)
{
	return is_rdma(pair_driver);
}

void pair_new_addr(char *addr, size_t size)
{
	static unsigned serial;

	if (pair_is_rdma())
		snprintf(addr, size, "%s:%u", pair_host, 23000 + serial++);
	else
		snprintf(addr, size, "weir-test-%d-%u", (int)getpid(), serial++);
}

void pair_server_start(struct pair *pair)
{
	const struct weir_program program = {
		.struct_bytes = sizeof(program),
		.prog = PAIR_PROG,
		.vers_low = PAIR_VERS,
		.vers_high = PAIR_VERS,
		.nprocs = PAIR_NPROCS,
		.ulb = &pair_ulb,
		.handle = pair_handle,
		.arg_sink = pair_arg_sink,
		.arg = pair,
		.non_idempotent = pair_non_idempotent,
	};
	const struct weir_listen_options listen = {.struct_bytes = sizeof(listen),
						   .programs = &program,
						   .nprograms = 1,
						   .on_event = on_server_event,
						   .arg = pair,
						   .accept = pair_accept};

	struct weir_profile profile = pair->profile;

	profile.protocol = pair_server_protocol;
	assert_int_equal(weir_engine_create(&profile, &pair->server), 0);
	assert_int_equal(weir_engine_set_clock(pair->server, NULL, NULL), 0);
	pair->server_mem = pair_memory_make(pair->server, true, &pair->server_region);
	assert_int_equal(weir_listen(pair->server, pair->addr, &listen, &pair->listener), 0);
}

/*
 * Fails the test if the pool of long buffers or of bulk buffers of the engine was ever empty,
 * unless the test chose the numbers of these buffers.
 */
static void expect_not_exhausted(const struct pair *pair, const struct weir_engine *engine)
{
	struct engine_counters stats = {0};

	test_counters(engine, &stats);
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

	pair->is_never_exhausted = pair_buffers == PAIR_BUFFERS && profile->long_buffers == 0 &&
				   profile->bulk_buffers == 0;
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
	/* Transparent huge pages cost the kernel much less work than pages of 4 KiB. */
	pair->profile.page_bytes = WEIR_PAGES_THP;
	pair->profile.exposure = pair_exposure;
	pair->profile.protection = pair_protection;
	pair->profile.protocol = pair_client_protocol;
	/* With these estimated costs of 0, the extension is used wherever it is possible. */
	pair->profile.round_trip_ns = pair->profile.operation_ns = 0;
	pair->profile.message_ns = pair->profile.copy_ns = 0;
	pair->profile.extension = pair_extension;
	if (pair_extension != WEIR_EXTENSION_OFF)
		/* with shared receives, requesters use more receives */
		pair->profile.recv_buffers = 128;
	if (strcmp(pair_driver, "sim") == 0) {
		pair->world = sim_world_create(pair_seed, pair_wires);
		assert_non_null(pair->world);
		snprintf(pair->profile.driver_options, sizeof(pair->profile.driver_options),
			 "world=%u", sim_world_id(pair->world));
	}
	if (strcmp(pair_driver, "verbs") == 0)
		snprintf(pair->profile.driver_options, sizeof(pair->profile.driver_options),
			 "direct=off");
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
	assert_int_equal(weir_engine_set_clock(pair->client, NULL, NULL), 0);
	pair->client_mem = pair_memory_make(pair->client, false, &pair->client_region);
	if (apart_is_on())
		apart_server_start(pair);
	else
		pair_server_start(pair);
}

int pair_connect_begin(struct pair *pair)
{
	const struct weir_connect_options options = {
		.struct_bytes = sizeof(options), .on_event = on_event, .arg = pair};

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
		/*
		 * No buffer was reused while the device could still read it, and no object of the
		 * simulated world is left.
		 */
		assert_int_equal(sim_sources_changed(pair->world), 0);
		assert_int_equal(sim_world_objects(pair->world), 0);
		sim_world_destroy(pair->world);
	}
}

/* Returns the real time in nanoseconds, which also passes for other threads and processes. */
static uint64_t real_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void pair_pass(struct pair *pair)
{
	if (pair->world) {
		/*
		 * Without an event, only the clock of the world advances. This makes the deadlines
		 * pass that engines keep themselves.
		 */
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
		sched_yield(); /* the other side can need this CPU */
	return work;
}

bool pair_wait(struct pair *pair, uint32_t polls)
{
	if (pair->world)
		return polls < POLLS_MAX;
	if (polls == 0)
		pair->wait_end_ns = real_ns() + WAIT_NS;
	if (polls > 1000 && polls % 1000 == 0)
		usleep(100); /* the wait depends on another thread or process */
	return polls % 1000 != 0 || real_ns() < pair->wait_end_ns;
}

void pair_until(struct pair *pair, const int *flag, int value)
{
	for (uint32_t i = 0; *flag < value && pair_wait(pair, i); i++)
		pair_poll(pair);
	assert_true(*flag >= value);
}

void pair_pass_ms(struct pair *pair, uint64_t ms)
{
	for (uint64_t until = pair->now_ns + ms * 1000000u; pair->now_ns < until;)
		pair_poll(pair);
}

void pair_until_later(struct pair *pair, uint32_t n)
{
	for (uint32_t i = 0; pair->nlater < n && pair_wait(pair, i); i++)
		pair_poll(pair);
	assert_true(pair->nlater >= n);
}

void pair_submit(struct pair *pair, struct weir_conn *conn, uint32_t proc, uint32_t word,
		 struct outcome *outcome)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(outcome, pair);
	params = pair_params(proc, outcome);
	call = weir_call_begin(conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), word);
	assert_int_equal(weir_call_submit(call), 0);
}

struct weir_request *pair_hold(struct pair *pair, struct outcome *outcome)
{
	pair_submit(pair, pair->conn, PAIR_LATER, PAIR_HELD_WORD, outcome);
	pair_until_later(pair, 1);
	return pair->later[0];
}

bool pair_unsettled(struct pair *pair, struct pair_quiet *quiet, uint32_t work)
{
	uint64_t now;

	if (++quiet->polls < 2000)
		return true;
	/*
	 * In sim and shm, all work is done inside these polls. A real device does its work at its
	 * own pace, and a model of a device knows when it has done all.
	 */
	if (!is_rdma(pair->driver))
		return false;
	if (mlx5_model_is_idle)
		return work > 0 || !mlx5_model_is_idle();
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
		.struct_bytes = sizeof(struct weir_call_params),
		.prog = PAIR_PROG,
		.vers = PAIR_VERS,
		.proc = proc,
		.args_max_bytes = 64,
		.results_max_bytes = 64,
		.ulb = &pair_ulb,
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

struct engine_counters pair_stats(const struct weir_engine *engine)
{
	struct engine_counters stats = {0};

	test_counters(engine, &stats);
	return stats;
}

void pair_expect_idle(struct pair *pair)
{
	const struct requester *req = requester_of(pair->conn);
	struct engine_counters client, server;

	pair_settle(pair);
	client = pair_stats(pair->client);
	server = pair_stats(pair->server);
	assert_int_equal(req->credits.in_flight, 0);
	assert_int_equal(req->reply_reserved, 0);
	/* The buffer of zeros, which the engine holds as long as it exists. */
	assert_int_equal(pair->client->send_pool->in_use, 1);
	assert_int_equal(pair->server->send_pool->in_use, 1);
	assert_int_equal(pair->client->long_pool->in_use, 0);
	assert_int_equal(pair->client->bulk_pool->in_use, 0);
	assert_int_equal(pair->server->bulk_pool->in_use, 0);
	assert_int_equal(pair->client->nwindows_free, pair->client->nwindows);
	assert_int_equal(client.groups_broken + server.groups_broken, 0);
	assert_int_equal(client.dropped + server.dropped, 0);
}
