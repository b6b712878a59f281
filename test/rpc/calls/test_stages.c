/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the times in the stages of calls and requests, which are exact because the clock of each
 * engine is the time of its polls. All tests run over sim, so that time is virtual, and RDMA
 * operations take time. */
#include "timed.h"

#include <errno.h>
#include <string.h>

#include <weir/inspect.h>
#include <weir/latency.h>
#include <weir/log.h>

#include "sim.h"

#define MS	   1000000u
#define STUCK_MS   200u
#define ITEM_BYTES 20000u
#define INFOS	   (2 * WEIR_LATENCY_PROCEDURES)
#define QUEUE_WRS  64u	 /* work requests in the send queue of a device with short queues */
#define READS	   48u	 /* replies of READ that need more work requests than that */
#define READ_BYTES 4096u /* bytes of the result of each */
#define ROUNDS	   4u

static struct pair pair;
static struct sim_options wires;
static struct weir_procedure_latency infos[INFOS];
static char line_of[2][600]; /* by side: the latest line about a stuck call or request */

static void keep_line(void *arg, enum weir_log_level level, enum weir_log_category category,
		      const char *text)
{
	(void)arg;
	(void)level;
	if (strstr(text, "waits for"))
		snprintf(line_of[category == WEIR_LOG_RESPONDER], sizeof(line_of[0]), "%s", text);
}

static void measure_stages(struct weir_profile *profile)
{
	profile->latency = WEIR_LATENCY_STAGES;
	profile->stuck_call_ms = STUCK_MS;
	profile->call_timeout_ms = 100000;
}

static void measure_calls(struct weir_profile *profile)
{
	measure_stages(profile);
	profile->latency = WEIR_LATENCY_CALLS;
}

static void measure_reconnecting(struct weir_profile *profile)
{
	measure_stages(profile);
	profile->reconnect = WEIR_RECONNECT_ON;
	profile->reconnect_delay_ms = 5;
	profile->reconnect_delay_max_ms = 5;
}

static void measure_many_credits(struct weir_profile *profile)
{
	measure_stages(profile);
	profile->credits = READS;
	profile->recv_buffers = profile->send_buffers = 4 * READS;
	profile->connections = 2; /* if receives are shared, one connection gets many of them */
}

static void connect_pair(void (*change)(struct weir_profile *profile))
{
	pair_wires = &wires;
	pair_start(&pair, change);
	pair_wires = NULL;
	pair_connect(&pair);
	memset(line_of, 0, sizeof(line_of));
	assert_int_equal(weir_log_set(keep_line, NULL, WEIR_LOG_WARNING), 0);
}

static void start(void (*change)(struct weir_profile *profile))
{
	sim_options_init(&wires);
	wires.wire = (struct sim_latency){MS, 3 * MS};
	connect_pair(change);
}

static int setup(void **state)
{
	(void)state;
	start(measure_stages);
	return 0;
}

static int setup_reconnecting(void **state)
{
	(void)state;
	start(measure_reconnecting);
	return 0;
}

/* Sends that are posted at the same time also arrive at the same time. */
static int setup_short_queues(void **state)
{
	(void)state;
	sim_options_init(&wires);
	wires.wire = (struct sim_latency){MS, MS};
	wires.attr.max_send_wr = QUEUE_WRS;
	connect_pair(measure_many_credits);
	return 0;
}

static int setup_calls(void **state)
{
	(void)state;
	start(measure_calls);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(weir_log_set(NULL, NULL, WEIR_LOG_OFF), 0);
	pair_stop(&pair);
	return 0;
}

/* Returns the times of a procedure in a stage, or NULL if there are none. */
static const struct weir_histogram *stage(const struct weir_engine *engine, uint32_t proc,
					  enum weir_stage which)
{
	uint32_t n;

	infos[0].struct_bytes = sizeof(infos[0]);
	n = weir_engine_procedures(engine, infos, INFOS);
	for (uint32_t i = 0; i < n; i++)
		if (infos[i].proc == proc)
			return weir_engine_stage(engine, &infos[i], which);
	return NULL;
}

/* Returns the time of the only call of a procedure in a stage. */
static uint64_t only(const struct weir_engine *engine, uint32_t proc, enum weir_stage which)
{
	const struct weir_histogram *times = stage(engine, proc, which);

	assert_non_null(times);
	assert_int_equal(weir_histogram_count(times), 1);
	assert_int_equal(weir_histogram_min(times), weir_histogram_sum(times));
	return weir_histogram_sum(times);
}

static uint64_t server_now(void)
{
	return weir_engine_now(pair.server);
}

/* The first call takes the only credit of a new connection (RFC 8166 section 3.3.3). The second one
 * waits for a credit until the reply to the first one brings more. */
static void call__waits_for_a_credit_until_one_returns(void **state)
{
	uint64_t begin_ns = weir_engine_now(pair.client);
	struct timed first, second;

	(void)state;
	timed_submit(&pair, PAIR_LATER, &first);
	timed_submit(&pair, PAIR_NULL, &second);
	pair_until_later(&pair, 1);
	pair_pass_ms(&pair, 20);
	pair_release_later(&pair);
	pair_until(&pair, &second.outcome.done, 1);
	assert_int_equal(only(pair.client, PAIR_LATER, WEIR_STAGE_QUEUED), 0);
	assert_int_equal(only(pair.client, PAIR_LATER, WEIR_STAGE_SENT), first.end_ns - begin_ns);
	assert_int_equal(only(pair.client, PAIR_LATER, WEIR_STAGE_CREDIT), 0);
	assert_int_equal(only(pair.client, PAIR_NULL, WEIR_STAGE_QUEUED), 0);
	assert_int_equal(only(pair.client, PAIR_NULL, WEIR_STAGE_CREDIT), first.end_ns - begin_ns);
	assert_int_equal(only(pair.client, PAIR_NULL, WEIR_STAGE_SENT),
			 second.end_ns - first.end_ns);
	assert_in_range(first.end_ns - begin_ns, 22 * MS, 60000ull * MS);
	assert_true(second.end_ns > first.end_ns);
}

static struct weir_call_info only_call(void)
{
	struct weir_call_info info = {.struct_bytes = sizeof(info)};

	assert_int_equal(weir_engine_calls(pair.client, &info, 1), 1);
	return info;
}

/* A connection that is reset while its call waits for the reply. The call is queued until the
 * connection is open again. */
static void call__is_queued_again_when_its_connection_is_lost(void **state)
{
	uint64_t begin_ns = weir_engine_now(pair.client), lost_ns, sent_ns;
	struct timed timed;

	(void)state;
	timed_submit(&pair, PAIR_LATER, &timed);
	pair_until_later(&pair, 1);
	pair_pass_ms(&pair, 10);
	weir_conn_reset(pair.conn);
	while (only_call().state != WEIR_CALL_QUEUED)
		pair_poll(&pair);
	lost_ns = weir_engine_now(pair.client);
	assert_int_equal(only_call().stage_ns, 0);
	while (only_call().state == WEIR_CALL_QUEUED) {
		assert_int_equal(only_call().stage_ns, weir_engine_now(pair.client) - lost_ns);
		pair_poll(&pair);
	}
	sent_ns = weir_engine_now(pair.client);
	assert_int_equal(only_call().stage_ns, 0);
	while (timed.outcome.done == 0) {
		pair_pass_ms(&pair, 1);
		pair_release_later(&pair);
	}
	assert_int_equal(only(pair.client, PAIR_LATER, WEIR_STAGE_QUEUED), sent_ns - lost_ns);
	assert_int_equal(only(pair.client, PAIR_LATER, WEIR_STAGE_SENT),
			 lost_ns - begin_ns + (timed.end_ns - sent_ns));
	assert_in_range(sent_ns - lost_ns, MS, 60000ull * MS);
}

/* A call that waits for a credit until its connection is reset, and then for the connection. */
static void call__waits_for_a_credit_and_then_for_the_connection(void **state)
{
	uint64_t begin_ns = weir_engine_now(pair.client), lost_ns;
	struct timed first, second;
	uint64_t queued_ns, credit_ns, took_ns;

	(void)state;
	timed_submit(&pair, PAIR_LATER, &first);
	timed_submit(&pair, PAIR_NULL, &second);
	pair_until_later(&pair, 1);
	pair_pass_ms(&pair, 10);
	weir_conn_reset(pair.conn);
	while (pair.lost == 0)
		pair_poll(&pair);
	lost_ns = weir_engine_now(pair.client);
	while (second.outcome.done == 0) {
		pair_pass_ms(&pair, 1);
		pair_release_later(&pair);
	}
	queued_ns = only(pair.client, PAIR_NULL, WEIR_STAGE_QUEUED);
	credit_ns = only(pair.client, PAIR_NULL, WEIR_STAGE_CREDIT);
	took_ns = second.end_ns - begin_ns;
	assert_int_equal(queued_ns + credit_ns + only(pair.client, PAIR_NULL, WEIR_STAGE_SENT),
			 took_ns);
	assert_in_range(queued_ns, MS, took_ns);
	assert_in_range(credit_ns, lost_ns - begin_ns, took_ns - queued_ns);
	assert_in_range(lost_ns - begin_ns, 10 * MS, 60000ull * MS);
}

static void request__is_handled_until_the_program_replies(void **state)
{
	uint64_t arrived_ns, replied_ns;
	struct timed timed;

	(void)state;
	timed_submit(&pair, PAIR_LATER, &timed);
	pair_until_later(&pair, 1);
	arrived_ns = server_now();
	pair_pass_ms(&pair, 7);
	replied_ns = server_now();
	pair_release_later(&pair);
	pair_until(&pair, &timed.outcome.done, 1);
	pair_settle(&pair);
	assert_int_equal(only(pair.server, PAIR_LATER, WEIR_STAGE_PULLED), 0);
	assert_int_equal(only(pair.server, PAIR_LATER, WEIR_STAGE_HANDLED),
			 replied_ns - arrived_ns);
	assert_int_equal(only(pair.server, PAIR_LATER, WEIR_STAGE_PUSHED), 0);
	assert_int_equal(weir_histogram_count(stage(pair.server, PAIR_LATER, WEIR_STAGE_REPLIED)),
			 1);
	assert_in_range(replied_ns - arrived_ns, 7 * MS, 60000ull * MS);
}

static uint32_t requests(struct weir_request_info *info)
{
	*info = (struct weir_request_info){.struct_bytes = sizeof(*info)};
	return weir_engine_requests(pair.server, info, 1);
}

/* The RDMA Reads of the item take a round trip. */
static void request__is_pulled_until_its_chunks_have_arrived(void **state)
{
	struct weir_request_info info;
	uint64_t arrived_ns, handled_ns;
	struct weir_call *call;
	struct timed timed;

	(void)state;
	call = timed_begin(&pair, PAIR_WRITE, &timed);
	weir_xdr_put_u32(weir_call_args(call), 1);
	assert_int_equal(weir_call_arg_item(call, pair.client_region, pair.client_mem, ITEM_BYTES),
			 0);
	weir_xdr_put_u32(weir_call_args(call), 2);
	assert_int_equal(weir_call_submit(call), 0);
	while (requests(&info) == 0)
		pair_poll(&pair);
	assert_int_equal(info.state, WEIR_REQUEST_PULLING);
	arrived_ns = server_now();
	assert_int_equal(info.stage_ns, 0);
	while (pair.handled == 0) {
		pair_poll(&pair);
		if (pair.handled == 0 && requests(&info) == 1)
			assert_int_equal(info.stage_ns, server_now() - arrived_ns);
	}
	handled_ns = server_now();
	pair_until(&pair, &timed.outcome.done, 1);
	pair_settle(&pair);
	assert_int_equal(only(pair.server, PAIR_WRITE, WEIR_STAGE_PULLED), handled_ns - arrived_ns);
	assert_int_equal(only(pair.server, PAIR_WRITE, WEIR_STAGE_HANDLED), 0);
	assert_int_equal(only(pair.server, PAIR_WRITE, WEIR_STAGE_PUSHED), 0);
	assert_in_range(handled_ns - arrived_ns, 2 * MS, 60000ull * MS);
}

/* Makes calls that all arrive before the responder is polled. */
static void read_all(struct timed timed[READS])
{
	for (uint32_t i = 0; i < READS; i++) {
		struct weir_call *call = timed_begin(&pair, PAIR_READ, &timed[i]);

		weir_xdr_put_u32(weir_call_args(call), READ_BYTES);
		assert_int_equal(weir_call_result_item(call, pair.client_region,
						       pair.client_mem + i * READ_BYTES,
						       READ_BYTES),
				 0);
		assert_int_equal(weir_call_submit(call), 0);
	}
	weir_engine_poll(pair.client, 0, pair.now_ns + 1);
	sim_run_until(pair.world, pair.now_ns + 2 * MS);
	pair_pass(&pair);
	while (weir_engine_poll(pair.server, 0, pair.now_ns + 1) > 0)
		;
	for (uint32_t i = 0; i < READS; i++)
		pair_until(&pair, &timed[i].outcome.done, 1);
	pair_settle(&pair);
}

/* Replies that need more work requests than the send queue has room for. The last ones wait until
 * Sends of the first ones are complete, which takes at most a round trip. */
static void request__is_pushed_while_the_send_queue_is_full(void **state)
{
	static struct timed timed[READS];
	const struct weir_histogram *times;

	(void)state;
	/* The first calls bring credits for all others. */
	for (uint32_t i = 0; i < ROUNDS; i++)
		read_all(timed);
	times = stage(pair.server, PAIR_READ, WEIR_STAGE_PUSHED);
	assert_non_null(times);
	assert_int_equal(weir_histogram_count(times), ROUNDS * READS);
	assert_int_equal(weir_histogram_min(times), 0);
	/* Shared receives can be too few for so many calls at once. */
	assert_in_range(weir_histogram_max(times), pair_shared ? 0 : 1, 3 * MS);
	assert_int_equal(weir_histogram_sum(stage(pair.server, PAIR_READ, WEIR_STAGE_HANDLED)), 0);
}

/* The Writes of the results, and the Send after them, are complete after a round trip. */
static void request__is_replied_until_its_send_is_complete(void **state)
{
	struct weir_request_info info;
	struct weir_call *call;
	struct timed timed;
	uint64_t replied_ns;

	(void)state;
	call = timed_begin(&pair, PAIR_READ, &timed);
	weir_xdr_put_u32(weir_call_args(call), ITEM_BYTES);
	assert_int_equal(
		weir_call_result_item(call, pair.client_region, pair.client_mem, ITEM_BYTES), 0);
	assert_int_equal(weir_call_submit(call), 0);
	while (pair.handled == 0)
		pair_poll(&pair);
	replied_ns = server_now();
	while (requests(&info) == 1) {
		assert_int_equal(info.state, WEIR_REQUEST_SENT);
		assert_int_equal(info.stage_ns, server_now() - replied_ns);
		pair_poll(&pair);
	}
	assert_int_equal(only(pair.server, PAIR_READ, WEIR_STAGE_PULLED), 0);
	assert_int_equal(only(pair.server, PAIR_READ, WEIR_STAGE_HANDLED), 0);
	assert_int_equal(only(pair.server, PAIR_READ, WEIR_STAGE_PUSHED), 0);
	assert_int_equal(only(pair.server, PAIR_READ, WEIR_STAGE_REPLIED),
			 server_now() - replied_ns);
	assert_in_range(server_now() - replied_ns, 2 * MS, 60000ull * MS);
	pair_until(&pair, &timed.outcome.done, 1);
}

/* The stages of a side add up to the times of its calls or requests. */
static void stages__add_up(void **state)
{
	static const enum weir_stage stages[2][3] = {
		{WEIR_STAGE_QUEUED, WEIR_STAGE_CREDIT, WEIR_STAGE_SENT},
		{WEIR_STAGE_PULLED, WEIR_STAGE_HANDLED, WEIR_STAGE_PUSHED},
	};
	struct timed timed[10];

	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		timed_submit(&pair, i % 2 ? PAIR_LATER : PAIR_NULL, &timed[i]);
	for (uint32_t i = 0; i < 10; i++)
		while (timed[i].outcome.done == 0) {
			if (pair.nlater > 0)
				pair_release_later(&pair);
			pair_pass_ms(&pair, 1);
		}
	pair_settle(&pair);
	for (uint32_t side = 0; side < 2; side++) {
		const struct weir_engine *engine = side == 0 ? pair.client : pair.server;
		uint64_t sum = 0;

		for (uint32_t i = 0; i < 3; i++) {
			const struct weir_histogram *times =
				stage(engine, PAIR_LATER, stages[side][i]);

			assert_int_equal(weir_histogram_count(times), 5);
			sum += weir_histogram_sum(times);
		}
		for (uint32_t i = 0; i < INFOS; i++)
			if (infos[i].proc == PAIR_LATER) {
				assert_int_equal(weir_histogram_sum(infos[i].histogram), sum);
				break;
			}
		assert_true(sum > 0);
	}
}

static void descriptions__say_how_long_the_stage_has_lasted(void **state)
{
	struct weir_call_info calls[2] = {{.struct_bytes = sizeof(calls[0])}};
	uint64_t begin_ns = weir_engine_now(pair.client), arrived_ns;
	struct weir_request_info info;
	struct timed first, second;
	char part[64];

	(void)state;
	timed_submit(&pair, PAIR_LATER, &first);
	timed_submit(&pair, PAIR_NULL, &second);
	pair_until_later(&pair, 1);
	arrived_ns = server_now();
	pair_pass_ms(&pair, STUCK_MS + 100);
	assert_int_equal(weir_engine_calls(pair.client, calls, 2), 2);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(calls[i].stage_ns, weir_engine_now(pair.client) - begin_ns);
	assert_int_equal(requests(&info), 1);
	assert_int_equal(info.stage_ns, server_now() - arrived_ns);
	snprintf(part, sizeof(part), "in stage 'credit' for %u", STUCK_MS / 10);
	assert_non_null(strstr(line_of[0], part));
	snprintf(part, sizeof(part), "in stage 'handled' for %u", STUCK_MS / 10);
	assert_non_null(strstr(line_of[1], part));
	pair_release_later(&pair);
	pair_until(&pair, &second.outcome.done, 1);
}

static void stages__have_names_and_a_side(void **state)
{
	struct timed timed;

	(void)state;
	timed_submit(&pair, PAIR_NULL, &timed);
	pair_until(&pair, &timed.outcome.done, 1);
	assert_null(stage(pair.client, PAIR_NULL, WEIR_STAGE_PULLED));
	assert_null(stage(pair.server, PAIR_NULL, WEIR_STAGE_SENT));
	assert_null(stage(pair.server, PAIR_NULL, WEIR_STAGE_CREDIT));
	assert_null(stage(pair.client, PAIR_NULL, (enum weir_stage)7));
	assert_non_null(stage(pair.server, PAIR_NULL, WEIR_STAGE_REPLIED));
	infos[0].histogram = NULL;
	assert_null(weir_engine_stage(pair.server, &infos[0], WEIR_STAGE_PULLED));
	assert_string_equal(weir_stage_name(WEIR_STAGE_QUEUED), "queued");
	assert_string_equal(weir_stage_name(WEIR_STAGE_REPLIED), "replied");
	assert_string_equal(weir_stage_name(WEIR_STAGE_CREDIT), "credit");
	assert_string_equal(weir_stage_name((enum weir_stage)7), "unknown");
}

static void stages__are_not_measured_with_calls(void **state)
{
	struct weir_request_info info;
	struct timed timed;

	(void)state;
	timed_submit(&pair, PAIR_LATER, &timed);
	pair_until_later(&pair, 1);
	pair_pass_ms(&pair, STUCK_MS + 100);
	assert_int_equal(requests(&info), 1);
	assert_int_equal(info.stage_ns, 0);
	assert_non_null(strstr(line_of[0], "waits for the reply"));
	assert_null(strstr(line_of[0], "stage"));
	pair_release_later(&pair);
	pair_until(&pair, &timed.outcome.done, 1);
	assert_null(stage(pair.client, PAIR_LATER, WEIR_STAGE_SENT));
	assert_null(stage(pair.server, PAIR_LATER, WEIR_STAGE_HANDLED));
}

#define STAGES_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int run(void)
{
	const struct CMUnitTest tests[] = {
		STAGES_TEST(call__waits_for_a_credit_until_one_returns),
		cmocka_unit_test_setup_teardown(call__is_queued_again_when_its_connection_is_lost,
						setup_reconnecting, teardown),
		cmocka_unit_test_setup_teardown(
			call__waits_for_a_credit_and_then_for_the_connection, setup_reconnecting,
			teardown),
		STAGES_TEST(request__is_handled_until_the_program_replies),
		STAGES_TEST(request__is_pulled_until_its_chunks_have_arrived),
		cmocka_unit_test_setup_teardown(request__is_pushed_while_the_send_queue_is_full,
						setup_short_queues, teardown),
		STAGES_TEST(request__is_replied_until_its_send_is_complete),
		STAGES_TEST(stages__add_up),
		STAGES_TEST(descriptions__say_how_long_the_stage_has_lasted),
		STAGES_TEST(stages__have_names_and_a_side),
		cmocka_unit_test_setup_teardown(stages__are_not_measured_with_calls, setup_calls,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
