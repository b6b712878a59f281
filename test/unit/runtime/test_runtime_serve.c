/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of a runtime that serves requesters over shm. The threads of the runtime sleep when they
 * have no work. The test's own thread polls the engine of the requester.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <weir/weir.h>

#include "engine.h"

#define THREADS	 3u
#define CONNS	 9u
#define CALLS	 300u
#define PROGRAM	 400000u
#define DRAIN_MS 30000u

static struct weir_runtime *runtime;
static struct weir_engine *client;
static struct weir_conn *conns[CONNS];
static uint32_t nopen, nended, nanswered;
static _Thread_local uint32_t self = UINT32_MAX;
static _Atomic uint32_t nconns[THREADS], nrequests[THREADS], nruns, nfinis;
static struct weir_request *_Atomic held; /* a request that 'fini' or 'is_busy' answers later */
static _Atomic bool holds;
static _Atomic uint32_t nasked; /* calls of is_busy() while a request is held */
static char addr[64];
static uint32_t accepting = UINT32_MAX; /* bits of the threads whose devices accept requests */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Replaces the operation of the driver. The engine of the device is that of a thread. */
static bool can_accept(const struct fabric_dev *dev, const struct fabric_conn_req *req)
{
	uint32_t thread = 0;

	assert_non_null(req);
	while (weir_runtime_engine(runtime, thread)->dev != dev)
		thread++;
	return accepting >> thread & 1;
}

static int on_init(struct weir_runtime *of, uint32_t thread, void *arg)
{
	assert_ptr_equal(arg, addr);
	self = thread;
	if (accepting != UINT32_MAX)
		weir_runtime_engine(of, thread)->driver.can_accept = can_accept;
	return 0;
}

static void on_fini(struct weir_runtime *of, uint32_t thread, void *arg)
{
	(void)of;
	(void)arg;
	assert_int_equal(self, thread);
	nfinis++;
}

static void answer(struct weir_request *req)
{
	struct weir_xdr_out *out = weir_request_results(req, 4);

	assert_non_null(out);
	assert_int_equal(weir_xdr_put_u32(out, self), 0);
	weir_request_reply(req);
}

/* The thread is busy as long as it has asked only a few times. Then it answers the request. */
static bool is_busy(struct weir_runtime *of, uint32_t thread, void *arg)
{
	struct weir_request *req = atomic_load(&held);

	(void)arg;
	if (!req || weir_runtime_find(of, weir_request_engine(req)) != (int)thread)
		return false;
	if (++nasked < 100)
		return true;
	atomic_store(&held, NULL);
	answer(req);
	return true;
}

static void on_request(struct weir_request *req, void *arg)
{
	assert_ptr_equal(arg, addr);
	assert_int_equal(weir_runtime_find(runtime, weir_request_engine(req)), self);
	nrequests[self]++;
	if (atomic_load(&holds))
		atomic_store(&held, req);
	else
		answer(req);
}

static void on_server_event(struct weir_conn *conn, enum weir_conn_event event, int error,
			    void *arg)
{
	(void)conn;
	(void)error;
	(void)arg;
	if (event == WEIR_CONN_OPEN)
		nconns[self]++;
}

static void on_client_event(struct weir_conn *conn, enum weir_conn_event event, int error,
			    void *arg)
{
	(void)conn;
	(void)error;
	(void)arg;
	if (event == WEIR_CONN_OPEN)
		nopen++;
	else
		nended++;
}

static struct weir_profile profile(void)
{
	struct weir_profile p;

	weir_profile_defaults(&p);
	snprintf(p.driver, sizeof(p.driver), "%s", "shm");
	snprintf(p.lcores, sizeof(p.lcores), "%s", "any");
	p.send_buffers = p.recv_buffers = 512;
	p.credits = 8;
	p.long_buffers = p.bulk_buffers = 1;
	p.idle = WEIR_IDLE_EVENT;
	return p;
}

static int start(const struct weir_runtime_options *options)
{
	struct weir_program program = {
		.struct_bytes = sizeof(program),
		.prog = PROGRAM,
		.vers_low = 1,
		.vers_high = 1,
		.nprocs = 1,
		.handle = on_request,
		.arg = addr,
	};
	struct weir_listen_options listen = {
		.struct_bytes = sizeof(listen),
		.programs = &program,
		.nprograms = 1,
		.on_event = on_server_event,
	};
	struct weir_profile p = profile();

	snprintf(addr, sizeof(addr), "runtime-%d", (int)getpid());
	for (uint32_t i = 0; i < THREADS; i++)
		nconns[i] = nrequests[i] = 0;
	nopen = nended = nanswered = 0;
	nfinis = nruns = nasked = 0;
	holds = false;
	held = NULL;
	assert_int_equal(weir_runtime_create(&p, options, &runtime), 0);
	assert_int_equal(weir_runtime_listen(runtime, addr, NULL), -EINVAL);
	assert_int_equal(weir_runtime_listen(runtime, addr, &listen), 0);
	assert_int_equal(weir_runtime_listen(runtime, addr, &listen), -EADDRINUSE);
	assert_int_equal(weir_engine_create(&p, &client), 0);
	return weir_runtime_start(runtime);
}

static int setup_with(bool (*busy)(struct weir_runtime *, uint32_t, void *),
		      void (*run)(struct weir_runtime *, uint32_t, void *))
{
	struct weir_runtime_options options = {
		.struct_bytes = sizeof(options),
		.nthreads = THREADS,
		.init = on_init,
		.fini = on_fini,
		.is_busy = busy,
		.run = run,
		.arg = addr,
	};

	return start(&options);
}

static int setup(void **state)
{
	(void)state;
	return setup_with(NULL, NULL);
}

static int setup_devices(void **state)
{
	(void)state;
	accepting = 6;
	return setup_with(NULL, NULL);
}

static int setup_no_device(void **state)
{
	(void)state;
	accepting = 0;
	return setup_with(NULL, NULL);
}

static int setup_busy(void **state)
{
	(void)state;
	return setup_with(is_busy, NULL);
}

static int teardown(void **state)
{
	(void)state;
	accepting = UINT32_MAX;
	weir_engine_destroy(client);
	weir_runtime_destroy(runtime);
	return 0;
}

static void poll_client(void)
{
	if (weir_engine_poll(client, 0, now_ns()) == 0)
		sched_yield();
}

static void connect_all(void)
{
	const struct weir_connect_options options = {.struct_bytes = sizeof(options),
						     .on_event = on_client_event};

	for (uint32_t i = 0; i < CONNS; i++) {
		assert_int_equal(weir_connect(client, addr, &options, &conns[i]), 0);
		while (nopen <= i)
			poll_client();
	}
}

static void on_done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	(void)call;
	(void)arg;
	assert_int_equal(result->status, 0);
	nanswered++;
}

static void begin_call(struct weir_conn *conn)
{
	const struct weir_call_params params = {
		.struct_bytes = sizeof(params),
		.prog = PROGRAM,
		.vers = 1,
		.results_max_bytes = 4,
		.done = on_done,
	};
	struct weir_call *call = weir_call_begin(conn, &params);

	assert_non_null(call);
	assert_int_equal(weir_call_submit(call), 0);
}

static void call_all(void)
{
	for (uint32_t i = 0; i < CALLS; i++) {
		begin_call(conns[i % CONNS]);
		while (nanswered <= i)
			poll_client();
	}
}

/* The threads get the connections in turn, and serve them. */
static void serve__all_threads_alike(void **state)
{
	(void)state;
	connect_all();
	call_all();
	for (uint32_t i = 0; i < THREADS; i++) {
		assert_int_equal(nconns[i], CONNS / THREADS);
		assert_true(nrequests[i] >= CALLS / CONNS * (CONNS / THREADS));
	}
	assert_int_equal(weir_runtime_find(runtime, client), -ENOENT);
	assert_null(weir_runtime_engine(runtime, THREADS));
	assert_int_equal(weir_runtime_cpu(runtime, THREADS), -1);
	assert_int_equal(weir_runtime_stop(runtime, DRAIN_MS), 0);
	assert_int_equal(nfinis, THREADS);
	/* The connections still exist, and their engines belong to this thread. */
	assert_int_equal(nended, 0);
	assert_int_equal(weir_runtime_stop(runtime, DRAIN_MS), 0);
	assert_int_equal(weir_runtime_listen(runtime, addr, NULL), -ECANCELED);
}

/* Only the engines whose device can accept a connection get some. */
static void serve__by_device(void **state)
{
	(void)state;
	connect_all();
	call_all();
	assert_int_equal(nconns[0], 0);
	assert_int_equal(nconns[1], 5);
	assert_int_equal(nconns[2], 4);
}

/* If no device can accept a connection, an engine gets it, whose driver logs the reason. */
static void serve__without_a_device(void **state)
{
	(void)state;
	connect_all();
	call_all(); /* each connection has then begun on its thread */
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(nconns[i], CONNS / THREADS);
}

/* Begins a call that the responder answers only while it stops. */
static void begin_held_call(void)
{
	connect_all();
	atomic_store(&holds, true);
	begin_call(conns[0]);
	while (!atomic_load(&held))
		poll_client();
}

static void serve__until_no_thread_is_busy(void **state)
{
	const struct weir_connect_options options = {.struct_bytes = sizeof(options)};
	struct weir_conn *conn;

	(void)state;
	begin_held_call();
	assert_int_equal(weir_runtime_stop(runtime, DRAIN_MS), 0);
	assert_true(nasked >= 100);
	while (nanswered == 0)
		poll_client();
	/* The listener was closed. */
	assert_int_equal(weir_connect(client, addr, &options, &conn), -ECONNREFUSED);
}

static void serve__until_the_limit(void **state)
{
	(void)state;
	begin_held_call();
	assert_int_equal(weir_runtime_stop(runtime, 50), -ETIMEDOUT);
	assert_int_equal(nfinis, THREADS);
	answer(atomic_load(&held));
	while (nanswered == 0) {
		weir_runtime_poll(runtime);
		poll_client();
	}
}

static void run_own(struct weir_runtime *of, uint32_t thread, void *arg)
{
	struct weir_engine *engine = weir_runtime_engine(of, thread);

	assert_ptr_equal(arg, addr);
	assert_int_equal(self, thread);
	while (!weir_runtime_is_stopping(of)) {
		uint64_t now = now_ns();

		weir_engine_idle(engine, weir_engine_poll(engine, 0, now), now);
	}
	nruns++;
}

static void serve__by_own_loops(void **state)
{
	(void)state;
	assert_int_equal(setup_with(NULL, run_own), 0);
	connect_all();
	call_all();
	assert_int_equal(nruns, 0);
	assert_int_equal(weir_runtime_stop(runtime, DRAIN_MS), 0);
	assert_int_equal(nruns, THREADS);
}

static void run_nothing(struct weir_runtime *of, uint32_t thread, void *arg)
{
	(void)of;
	(void)thread;
	(void)arg;
	nruns++;
}

/* The wait ends when all threads have run. */
static void serve__nothing(void **state)
{
	(void)state;
	assert_int_equal(setup_with(NULL, run_nothing), 0);
	weir_runtime_wait(runtime);
	assert_int_equal(nruns, THREADS);
	weir_runtime_wait(runtime);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(serve__all_threads_alike, setup, teardown),
		cmocka_unit_test_setup_teardown(serve__by_device, setup_devices, teardown),
		cmocka_unit_test_setup_teardown(serve__without_a_device, setup_no_device, teardown),
		cmocka_unit_test_setup_teardown(serve__until_no_thread_is_busy, setup_busy,
						teardown),
		cmocka_unit_test_setup_teardown(serve__until_the_limit, setup, teardown),
		cmocka_unit_test_teardown(serve__by_own_loops, teardown),
		cmocka_unit_test_teardown(serve__nothing, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
