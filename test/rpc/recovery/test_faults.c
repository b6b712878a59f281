/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of single faults that the driver 'fault' injects, between two engines. weir-sim found most
 * of these cases.
 */
#include "pair_main.h"

#include <errno.h>
#include <string.h>

#include "engine.h"
#include "fault.h"
#include "sim.h"

static struct pair pair;

static void over_fault(struct weir_profile *profile)
{
	char options[sizeof(profile->driver_options)];

	memcpy(options, profile->driver_options, sizeof(options));
	snprintf(profile->driver_options, sizeof(profile->driver_options), "over=%.16s,%.200s",
		 profile->driver, options);
	snprintf(profile->driver, sizeof(profile->driver), "fault");
}

static int setup(void **state)
{
	(void)state;
	pair_start(&pair, over_fault);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

static void works(void)
{
	struct outcome outcome;

	pair_connect(&pair);
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	assert_int_equal(outcome.status, 0);
}

static void connect__whose_receives_are_refused_leaves_nothing_behind(void **state)
{
	const struct weir_connect_options options = {.struct_bytes = sizeof(options)};
	struct weir_conn *conn;

	(void)state;
	assert_true(fault_at(pair.client->dev, FAULT_PREFIX, 1, 0));
	assert_int_equal(weir_connect(pair.client, pair.addr, &options, &conn), -EIO);
	/* frees the endpoint; the engine must not use the freed endpoint in a later poll */
	pair_settle(&pair);
	works();
}

static void listen__refused(void **state)
{
	const struct weir_program program = {
		.struct_bytes = sizeof(program), .prog = 1, .vers_high = 1, .nprocs = 1};
	const struct weir_listen_options options = {
		.struct_bytes = sizeof(options), .programs = &program, .nprograms = 1};
	struct weir_listener *listener;

	(void)state;
	assert_true(fault_at(pair.server->dev, FAULT_LISTEN, 1, EACCES));
	assert_int_equal(weir_listen(pair.server, "elsewhere", &options, &listener), -EACCES);
	assert_int_equal(weir_listen(pair.server, "elsewhere", &options, &listener), 0);
	weir_listener_close(listener);
	works();
}

static int losses;

static void on_lost(struct weir_listener *listener, int error, void *arg)
{
	assert_int_equal(error, -ENODEV);
	losses++;
	/* The first listener is closed in its callback, and the second one later by the test. */
	if (arg)
		weir_listener_close(listener);
}

/*
 * Checks that the callback of a listener runs when its device stops to listen. Two listeners are
 * affected, and the open connection continues.
 */
static void listener__is_told_that_its_device_is_gone(void **state)
{
	const struct weir_program program = {
		.struct_bytes = sizeof(program), .prog = 1, .vers_high = 1, .nprocs = 1};
	struct weir_listen_options options = {.struct_bytes = sizeof(options),
					      .programs = &program,
					      .nprograms = 1,
					      .on_lost = on_lost};
	struct weir_listener *kept, *closed;
	struct outcome outcome;

	(void)state;
	losses = 0;
	assert_int_equal(weir_listen(pair.server, "kept", &options, &kept), 0);
	options.arg = &pair;
	assert_int_equal(weir_listen(pair.server, "closed", &options, &closed), 0);
	pair_connect(&pair);
	/* The pair's own listener is the third to get the fault, and has no callback. */
	for (uint64_t nth = 1; nth <= 3; nth++)
		assert_true(fault_at(pair.server->dev, FAULT_UNLISTENED, nth, ENODEV));
	pair_until(&pair, &losses, 2);
	pair_settle(&pair);
	assert_int_equal(losses, 2);
	assert_int_equal(fault_injected(pair.server->dev, FAULT_UNLISTENED), 3);
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	assert_int_equal(outcome.status, 0);
	weir_listener_close(kept);
	pair_settle(&pair);
	assert_int_equal(losses, 2);
}

static void engine__memory_refused_at_each_registration(void **state)
{
	struct weir_profile profile = pair.profile;
	uint32_t before = sim_world_objects(pair.world), nth = 1;
	struct weir_engine *engine;
	int rc;

	(void)state;
	for (;; nth++) {
		snprintf(profile.driver_options, sizeof(profile.driver_options),
			 "%.200s,kinds=mr,nth=%u", pair.profile.driver_options, nth);
		rc = weir_engine_create(&profile, &engine);
		if (rc == 0)
			break;
		assert_int_equal(rc, -ENOMEM);
		assert_int_equal(sim_world_objects(pair.world), before);
	}
	/*
	 * each of the five pools is one registration; without a fault, the sixth attempt succeeds
	 */
	assert_int_equal(nth, 6);
	assert_int_equal(fault_occasions(engine->dev, FAULT_MR), 5);
	assert_int_equal(weir_engine_add_region(engine, pair.client_region), -ENOMEM);
	assert_int_equal(weir_engine_add_region(engine, pair.client_region), 0);
	weir_engine_destroy(engine);
	assert_int_equal(sim_world_objects(pair.world), before);
}

#define NCALLS 4

static struct outcome outcomes[NCALLS];
static int nstarted;

static void no_check(struct outcome *outcome, struct weir_call *call,
		     const struct weir_result *result)
{
	(void)outcome;
	(void)call;
	(void)result;
}

/* Begins one call of each procedure in 'procs', as far as the connection accepts calls. */
static void start_calls(void)
{
	static const uint32_t procs[NCALLS] = {PAIR_NULL, PAIR_READ, PAIR_WRITE, PAIR_BIG};

	for (int i = 0; i < NCALLS; i++) {
		struct weir_call_params params;
		struct weir_call *call;

		outcome_init(&outcomes[i], &pair);
		outcomes[i].check = no_check;
		params = pair_params(procs[i], &outcomes[i]);
		params.results_max_bytes = procs[i] == PAIR_BIG ? 20008 : 64;
		call = pair.conn ? weir_call_begin(pair.conn, &params) : NULL;
		if (!call)
			continue;
		if (procs[i] == PAIR_WRITE) {
			weir_xdr_put_u32(weir_call_args(call), 1);
			assert_int_equal(weir_call_arg_item(call, pair.client_region,
							    pair.client_mem, 20000),
					 0);
		}
		weir_xdr_put_u32(weir_call_args(call), 20000);
		if (procs[i] == PAIR_READ)
			weir_call_result_item(call, pair.client_region, pair.client_mem + 65536,
					      20000);
		assert_int_equal(weir_call_submit(call), 0);
		nstarted++;
	}
}

static int ndone(void)
{
	int n = 0;

	for (int i = 0; i < NCALLS; i++)
		n += outcomes[i].done;
	return n;
}

/*
 * Connects and makes calls while one fault is injected: occasion number 'nth' of 'kind' at the
 * device of 'engine'. Then checks that the engines still work. Returns false if the fault did not
 * occur, because there were fewer occasions than 'nth'.
 */
static bool survive(struct weir_engine *engine, enum fault_kind kind, uint64_t nth)
{
	uint64_t injected = fault_injected(engine->dev, kind);

	assert_true(fault_at(engine->dev, kind, nth, FAULT_SOME_HOW));
	nstarted = 0;
	memset(outcomes, 0, sizeof(outcomes));
	pair.conn = NULL;
	pair.opened = pair.closed = 0;
	if (pair_connect_begin(&pair) == 0) {
		while (!pair.opened && !pair.closed)
			pair_poll(&pair);
		start_calls();
		for (int i = 0; i < 1000000 && ndone() < nstarted; i++)
			pair_poll(&pair);
		assert_int_equal(ndone(), nstarted);
		if (pair.conn)
			weir_conn_close(pair.conn);
		pair_until(&pair, &pair.closed, 1);
	}
	pair_settle(&pair);
	fault_forget(engine->dev);
	for (int i = 0; i < NCALLS; i++)
		assert_true(outcomes[i].done <= 1);
	assert_int_equal(pair.client->nconnections + pair.server->nconnections, 0);
	assert_int_equal(pair.client->send_pool->in_use, 1);
	assert_int_equal(pair.server->send_pool->in_use, 1);
	assert_int_equal(pair.client->long_pool->in_use + pair.server->bulk_pool->in_use, 0);
	return fault_injected(engine->dev, kind) > injected;
}

/* Checks a fault of each kind, at each side, and on each occasion. */
static void fault__each_kind_at_each_occasion(void **state)
{
	uint32_t survived = 0;

	(void)state;
	for (uint32_t kind = 0; kind < FAULT_LISTEN; kind++) {
		for (uint32_t side = 0; side < 2; side++) {
			uint64_t nth = 1;

			while (nth < 40 && survive(side ? pair.server : pair.client, kind, nth))
				nth++;
			survived += (uint32_t)nth - 1;
		}
	}
	assert_true(survived > 60);
	works();
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(listen__refused, setup, teardown),
		cmocka_unit_test_setup_teardown(listener__is_told_that_its_device_is_gone, setup,
						teardown),
		cmocka_unit_test_setup_teardown(engine__memory_refused_at_each_registration, setup,
						teardown),
		cmocka_unit_test_setup_teardown(fault__each_kind_at_each_occasion, setup, teardown),
	};

	const struct CMUnitTest own_receives[] = {
		cmocka_unit_test_setup_teardown(
			connect__whose_receives_are_refused_leaves_nothing_behind, setup, teardown),
	};

	/*
	 * This test is only for connections with receives of their own, because shared receives are
	 * posted before a connection is made.
	 */
	if (!pair_shared && cmocka_run_group_tests_name("faults", own_receives, NULL, NULL) != 0)
		return 1;
	return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
