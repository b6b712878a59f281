/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of memory that runs out during set-up. Each allocation of a set-up fails once: those of two
 * engines, a region, a listener, a connection and a call. The step that needs it reports -ENOMEM,
 * or the connection ends, or weir does without the memory. Nothing leaks, and the next set-up
 * works.
 */
#include "pair.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "pair_main.h"

#define ALLOCATIONS_MAX 2000u
#define RELEASE_MS	10000u

/* The linker replaces the allocators by the __wrap functions, which can fail. */
void *__real_mem_zalloc(size_t bytes);
void *__real_mem_reserve(size_t bytes);
void __real_mem_free(void *p);
void __real_mem_unreserve(void *p, size_t bytes);
void *__wrap_mem_zalloc(size_t bytes);
void *__wrap_mem_reserve(size_t bytes);
void __wrap_mem_free(void *p);
void __wrap_mem_unreserve(void *p, size_t bytes);

/* The allocations of this thread are those of the engines. Those of other threads are the driver's,
 * and fail in a run of their own. */
static _Thread_local bool is_main;
static bool fails_main;
static _Atomic uint32_t left; /* allocations until one fails; 0: none fails */
static _Atomic uint32_t nfailed;
static _Atomic int nlive;

static bool fails(void)
{
	uint32_t before = atomic_load(&left);

	if (is_main != fails_main)
		return false;
	while (before > 0 && !atomic_compare_exchange_weak(&left, &before, before - 1))
		;
	if (before != 1)
		return false;
	nfailed++;
	return true;
}

void *__wrap_mem_zalloc(size_t bytes)
{
	void *p = fails() ? NULL : __real_mem_zalloc(bytes);

	nlive += p != NULL;
	return p;
}

void *__wrap_mem_reserve(size_t bytes)
{
	void *p = fails() ? NULL : __real_mem_reserve(bytes);

	nlive += p != NULL;
	return p;
}

void __wrap_mem_free(void *p)
{
	nlive -= p != NULL;
	__real_mem_free(p);
}

void __wrap_mem_unreserve(void *p, size_t bytes)
{
	nlive -= p != NULL;
	__real_mem_unreserve(p, bytes);
}

static struct pair pair;

/* The objects that a set-up made, and how far it came. */
struct made {
	struct weir_region *region;
	struct weir_engine *server, *client;
	struct weir_listener *listener;
	struct weir_conn *conn;
	char addr[64];
	int opened, closed, done, status;
};

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	struct made *made = arg;

	(void)error;
	made->opened += event == WEIR_CONN_OPEN;
	if (event != WEIR_CONN_CLOSED)
		return;
	made->closed++;
	if (conn == made->conn)
		made->conn = NULL;
}

static void handle(struct weir_request *req, void *arg)
{
	(void)arg;
	if (!weir_request_results(req, 4)) {
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
		return;
	}
	weir_request_reply(req);
}

static void on_done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	struct made *made = arg;

	(void)call;
	made->done++;
	made->status = result->status;
}

static void poll_made(const struct made *made)
{
	pair_poll(&pair);
	weir_engine_poll(made->server, 0, pair.now_ns + 1);
	weir_engine_poll(made->client, 0, pair.now_ns + 1);
}

static int make_engines(struct made *made)
{
	const struct weir_region_options options = {
		.struct_bytes = sizeof(options), .len_bytes = 65536, .numa_node = -1};
	static const struct weir_program program = {.struct_bytes = sizeof(program),
						    .prog = PAIR_PROG,
						    .vers_low = PAIR_VERS,
						    .vers_high = PAIR_VERS,
						    .nprocs = 1,
						    .handle = handle};
	const struct weir_listen_options listen = {
		.struct_bytes = sizeof(listen), .programs = &program, .nprograms = 1};
	int rc = weir_region_create(&options, &made->region);

	if (rc == 0)
		rc = weir_engine_create(&pair.profile, &made->server);
	if (rc == 0)
		rc = weir_engine_add_region(made->server, made->region);
	if (rc == 0)
		rc = weir_listen(made->server, made->addr, &listen, &made->listener);
	if (rc == 0)
		rc = weir_engine_create(&pair.profile, &made->client);
	return rc;
}

static int connect_and_call(struct made *made)
{
	const struct weir_connect_options options = {
		.struct_bytes = sizeof(options), .on_event = on_event, .arg = made};
	const struct weir_call_params params = {.struct_bytes = sizeof(params),
						.prog = PAIR_PROG,
						.vers = PAIR_VERS,
						.done = on_done,
						.arg = made};
	struct weir_call *call;
	int rc = weir_connect(made->client, made->addr, &options, &made->conn);

	if (rc != 0)
		return rc;
	for (uint32_t i = 0; made->opened == 0 && made->closed == 0 && pair_wait(&pair, i); i++)
		poll_made(made);
	if (made->closed > 0)
		return -ENOMEM;
	call = weir_call_begin(made->conn, &params);
	if (!call)
		return -errno;
	rc = weir_call_submit(call);
	for (uint32_t i = 0; rc == 0 && made->done == 0 && pair_wait(&pair, i); i++)
		poll_made(made);
	return rc == 0 ? made->status : rc;
}

/* Sets everything up while one allocation fails, and takes it down again. Returns the first error,
 * or 0. */
static int set_up(uint32_t failing)
{
	struct made made = {0};
	int rc;

	pair_new_addr(made.addr, sizeof(made.addr));
	atomic_store(&left, failing);
	rc = make_engines(&made);
	if (rc == 0)
		rc = connect_and_call(&made);
	weir_engine_destroy(made.client);
	weir_listener_close(made.listener);
	weir_engine_destroy(made.server);
	weir_region_destroy(made.region);
	atomic_store(&left, 0);
	return rc;
}

/* Waits until the threads of the driver have released what ended. */
static void expect_live(int live, uint32_t failing)
{
	for (uint32_t i = 0; atomic_load(&nlive) > live && i < RELEASE_MS; i++) {
		pair_poll(&pair);
		usleep(1000);
	}
	if (atomic_load(&nlive) != live)
		fail_msg("after the failure of allocation %u, %d allocations were not freed",
			 failing, atomic_load(&nlive) - live);
}

static void fail_each(bool of_main)
{
	uint32_t nerrors = 0, i = 1;
	int live;

	is_main = true;
	fails_main = of_main;
	pair_start(&pair, NULL);
	assert_int_equal(set_up(0), 0); /* what the first set-up of a process allocates, stays */
	assert_int_equal(set_up(0), 0);
	live = atomic_load(&nlive);
	for (; i < ALLOCATIONS_MAX; i++) {
		uint32_t before = atomic_load(&nfailed);
		int rc = set_up(i);

		expect_live(live, i);
		if (atomic_load(&nfailed) == before)
			break;
		if (rc != 0 && rc != -ENOMEM)
			fail_msg("the failure of allocation %u was reported as %s", i,
				 strerror(-rc));
		nerrors += rc != 0;
	}
	assert_in_range(i, 2, ALLOCATIONS_MAX - 1);
	assert_true(nerrors > 0);
	assert_int_equal(set_up(0), 0);
	pair_stop(&pair);
}

static void allocations__of_the_engines(void **state)
{
	(void)state;
	fail_each(true);
}

/* The control threads of the driver. Over sim there is none. */
static void allocations__of_the_driver(void **state)
{
	(void)state;
	if (strcmp(pair_driver, "sim") != 0)
		fail_each(false);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allocations__of_the_engines),
		cmocka_unit_test(allocations__of_the_driver),
	};

	return cmocka_run_group_tests_name("allocations", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
