/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of connections that arrive when the responder has reached its limit of connections, and of
 * connections that are idle. One peer must not keep other peers out. The other peers are further
 * engines of the simulated world. Time is virtual.
 */
#include "pair_main.h"

#include <errno.h>
#include <string.h>

#include "conn.h"
#include "sim.h"

#define MS	1000000ull
#define SECOND	1000000000ull
#define IDLE_MS 50u
#define CONNS	4u
#define STEP_NS 50000u

/* A connection of a peer, and counts of its events. */
struct end {
	struct weir_conn *conn;
	int opened, closed, error;
};

static struct pair pair;
static struct weir_engine *other; /* the engine of the second peer */
static struct weir_engine *third; /* the engine of a third peer, which some tests create */
static struct end ends[8];

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	struct end *end = arg;

	(void)conn;
	end->opened += event == WEIR_CONN_OPEN;
	if (event == WEIR_CONN_CLOSED) {
		end->closed++;
		end->error = error;
	}
}

static void low(struct weir_profile *profile)
{
	profile->first_call_timeout_ms = 0;
	profile->idle_timeout_ms = 0;
	profile->reconnect_delay_ms = 1;
	profile->recv_buffers = 256;
}

static int setup(void **state)
{
	(void)state;
	memset(ends, 0, sizeof(ends));
	pair_start(&pair, low);
	assert_int_equal(weir_engine_create(&pair.profile, &other), 0);
	pair.server->profile.connections = CONNS;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	if (third)
		weir_engine_destroy(third);
	weir_engine_destroy(other);
	third = other = NULL;
	pair_stop(&pair);
	return 0;
}

/*
 * Polls all engines and then advances time by 'step_ns'. Steps must be small, because the deadlines
 * that engines keep themselves are not events of the simulation.
 */
static void poll_all_and_step(uint64_t step_ns)
{
	weir_engine_poll(pair.client, 0, pair.now_ns);
	weir_engine_poll(pair.server, 0, pair.now_ns);
	weir_engine_poll(other, 0, pair.now_ns);
	if (third)
		weir_engine_poll(third, 0, pair.now_ns);
	sim_run_until(pair.world, pair.now_ns + step_ns);
	pair.now_ns = sim_now(pair.world);
}

static void poll_all(void)
{
	poll_all_and_step(STEP_NS);
}

static void pass(uint64_t ns)
{
	for (uint64_t until = pair.now_ns + ns; pair.now_ns < until;)
		poll_all();
}

/* Lets 'ns' nanoseconds pass, in which nothing is sent. */
static void rest(uint64_t ns)
{
	for (uint64_t until = pair.now_ns + ns; pair.now_ns < until;)
		poll_all_and_step(MS);
}

static void until(const int *flag)
{
	for (uint32_t i = 0; *flag == 0; i++) {
		assert_true(i < 1000000);
		poll_all();
	}
}

static struct engine_counters stats(void)
{
	return pair_stats(pair.server);
}

static void begin(struct weir_engine *engine, struct end *end)
{
	const struct weir_connect_options options = {
		.struct_bytes = sizeof(options), .on_event = on_event, .arg = end};

	assert_int_equal(weir_connect(engine, pair.addr, &options, &end->conn), 0);
}

static void connect_one(struct weir_engine *engine, struct end *end)
{
	begin(engine, end);
	until(&end->opened);
	pass(MS);
}

static void is_refused(struct weir_engine *engine, struct end *end)
{
	uint64_t before = stats().connections_refused;

	begin(engine, end);
	until(&end->closed);
	assert_int_equal(end->opened, 0);
	assert_int_equal(end->error, -ECONNREFUSED);
	assert_int_equal(stats().connections_refused, before + 1);
}

/*
 * Makes a call that succeeds, and polls until the responder has recorded that the connection is in
 * use.
 */
static void use(struct end *end)
{
	struct weir_call_params params;
	struct weir_call *call;
	struct outcome outcome;

	outcome_init(&outcome, &pair);
	params = pair_params(PAIR_NULL, &outcome);
	call = weir_call_begin(end->conn, &params);
	assert_non_null(call);
	assert_int_equal(weir_call_submit(call), 0);
	until(&outcome.done);
	assert_int_equal(outcome.status, 0);
	pass(20 * MS);
}

static void fill(void)
{
	for (uint32_t i = 0; i < CONNS; i++)
		connect_one(pair.client, &ends[i]);
	assert_int_equal(pair.server->nconnections, CONNS);
}

static void arrive__of_another_peer_takes_the_place_of_the_longest_idle(void **state)
{
	(void)state;
	fill();
	/* Uses the connections in such an order that ends[2] has been idle for the longest time. */
	use(&ends[2]);
	use(&ends[0]);
	use(&ends[1]);
	use(&ends[3]);
	connect_one(other, &ends[4]);
	use(&ends[4]);
	assert_int_equal(ends[2].closed, 1);
	assert_int_equal(ends[0].closed + ends[1].closed + ends[3].closed, 0);
	assert_int_equal(stats().connections_evicted, 1);
	assert_int_equal(stats().connections_refused, 0);
	assert_int_equal(pair.server->nconnections, CONNS);
	use(&ends[0]);
}

/*
 * Checks that a peer without a connection gets one even if all connections of another peer are
 * constantly in use.
 */
static void arrive__finds_a_place_where_all_are_busy(void **state)
{
	struct outcome outcomes[CONNS];

	(void)state;
	fill();
	for (uint32_t i = 0; i < CONNS; i++) {
		struct weir_call_params params;
		struct weir_call *call;
		const uint32_t word = i;

		outcome_init(&outcomes[i], &pair);
		params = pair_params(PAIR_LATER, &outcomes[i]);
		call = weir_call_begin(ends[i].conn, &params);
		assert_non_null(call);
		weir_xdr_put_u32(weir_call_args(call), word);
		assert_int_equal(weir_call_submit(call), 0);
	}
	while (pair.nlater < CONNS)
		poll_all();
	connect_one(other, &ends[4]);
	use(&ends[4]);
	assert_int_equal(stats().connections_evicted, 1);
	pair_release_later(&pair);
	pass(20 * MS);
	assert_int_equal(ends[0].closed + ends[1].closed + ends[2].closed + ends[3].closed, 1);
}

/*
 * Checks that two peers get the same number of connections. When both have that number, neither
 * peer displaces a connection of the other.
 */
static void arrive__peers_with_equal_shares_do_not_displace_each_other(void **state)
{
	(void)state;
	fill();
	connect_one(other, &ends[4]);
	connect_one(other, &ends[5]);
	assert_int_equal(stats().connections_evicted, 2);
	is_refused(other, &ends[6]);
	is_refused(pair.client, &ends[7]);
	assert_int_equal(stats().connections_evicted, 2);
	use(&ends[4]);
	use(&ends[5]);
}

/*
 * Checks that closing the listener refuses a connection that still waits to be accepted. No
 * connection arrives after that.
 */
static void arrive__ends_with_the_listener(void **state)
{
	int opened;

	(void)state;
	fill();
	opened = pair.server_opened;
	begin(other, &ends[4]);
	for (uint32_t i = 0; pair.server->arrivals.n == 0; i++) {
		assert_true(i < 100000);
		poll_all();
	}
	weir_listener_close(pair.listener);
	pair.listener = NULL;
	assert_int_equal(pair.server->arrivals.n, 0);
	until(&ends[4].closed);
	assert_int_equal(ends[4].opened, 0);
	pass(20 * MS);
	assert_int_equal(pair.server_opened, opened);
}

/*
 * Checks that a peer without a connection is accepted while another peer fills the list of waiting
 * connections (server->arrivals). One of that peer's entries is refused, and its entry is given to
 * the new peer.
 */
static void arrive__one_peer_does_not_take_all_turns(void **state)
{
	int *closed[] = {&ends[4].closed, &ends[5].closed};

	(void)state;
	assert_int_equal(weir_engine_create(&pair.profile, &third), 0);
	fill();
	pair.server->arrivals.max = 2;
	begin(other, &ends[4]);
	begin(other, &ends[5]);
	for (uint32_t i = 0; pair.server->arrivals.n < 2; i++) {
		assert_true(i < 100000);
		poll_all();
	}
	/*
	 * The third peer's request arrives before the server's next tick. In that tick, waiting
	 * connections could be accepted.
	 */
	begin(third, &ends[6]);
	weir_engine_poll(third, 0, pair.now_ns);
	sim_run_until(pair.world, pair.now_ns + STEP_NS * 10);
	weir_engine_poll(pair.server, 0, pair.now_ns);
	assert_int_equal(pair.server->arrivals.n, 2);
	assert_int_equal(stats().connections_refused, 1);
	pair.now_ns = sim_now(pair.world);
	for (uint32_t i = 0; ends[6].opened == 0 || *closed[0] + *closed[1] == 0; i++) {
		assert_true(i < 100000);
		poll_all();
	}
	assert_int_equal(*closed[0] + *closed[1], 1);
	assert_int_equal(ends[6].closed, 0);
}

/*
 * Creates three peers at a server that accepts two connections. The first two peers have one
 * connection each. The third peer has an engine and no connection.
 */
static void fill_by_two_peers(void)
{
	pair.server->profile.connections = 2;
	assert_int_equal(weir_engine_create(&pair.profile, &third), 0);
	connect_one(pair.client, &ends[0]);
	connect_one(other, &ends[1]);
	assert_int_equal(pair.server->nconnections, 2);
}

/*
 * Checks that a peer which has only one connection and does not use it is displaced after a long
 * time, so that it does not keep other peers out for ever.
 */
static void arrive__of_a_peer_with_none_takes_the_place_of_one_long_idle(void **state)
{
	(void)state;
	fill_by_two_peers();
	is_refused(third, &ends[2]);
	rest(6 * SECOND);
	is_refused(third, &ends[3]);
	use(&ends[0]);
	rest(6 * SECOND);
	connect_one(third, &ends[4]);
	use(&ends[4]);
	assert_int_equal(ends[1].closed, 1);
	assert_int_equal(ends[0].closed, 0);
	assert_int_equal(stats().connections_evicted, 1);
	/*
	 * The peer whose connection was displaced cannot displace another connection until that
	 * connection has been idle for the required time as well.
	 */
	is_refused(other, &ends[5]);
	use(&ends[0]);
	assert_int_equal(stats().connections_evicted, 1);
	/* A peer that has a connection cannot displace an idle connection to get a second one. */
	rest(20 * SECOND);
	is_refused(pair.client, &ends[6]);
	assert_int_equal(stats().connections_evicted, 1);
	use(&ends[0]);
	use(&ends[4]);
}

/*
 * Checks that a connection with an active call does not count as idle, however long the call takes.
 */
static void arrive__leaves_a_call_under_way_its_connection(void **state)
{
	struct weir_call_params params;
	struct weir_call *call;
	struct outcome outcome;

	(void)state;
	fill_by_two_peers();
	outcome_init(&outcome, &pair);
	params = pair_params(PAIR_LATER, &outcome);
	call = weir_call_begin(ends[0].conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), 6);
	assert_int_equal(weir_call_submit(call), 0);
	while (pair.nlater == 0)
		poll_all();
	for (int i = 0; i < 3; i++) {
		rest(5 * SECOND);
		use(&ends[1]);
	}
	is_refused(third, &ends[2]);
	pair_release_later(&pair);
	until(&outcome.done);
	assert_int_equal(outcome.status, 0);
	is_refused(third, &ends[3]);
	assert_int_equal(stats().connections_evicted, 0);
}

static void arrive__more_of_one_peer_than_connections_peer_is_refused(void **state)
{
	(void)state;
	pair.server->profile.connections_peer = 2;
	connect_one(pair.client, &ends[0]);
	connect_one(pair.client, &ends[1]);
	is_refused(pair.client, &ends[2]);
	assert_int_equal(stats().peer_limit_refused, 1);
	connect_one(other, &ends[3]);
	use(&ends[3]);
	weir_conn_close(ends[0].conn);
	until(&ends[0].closed);
	pass(20 * MS);
	connect_one(pair.client, &ends[4]);
	use(&ends[4]);
}

static void idle_timeout__ends_a_connection_that_was_used_once(void **state)
{
	(void)state;
	pair.server->profile.idle_timeout_ms = IDLE_MS;
	connect_one(pair.client, &ends[0]);
	connect_one(pair.client, &ends[1]);
	use(&ends[0]);
	for (uint32_t i = 0; i < 6; i++) {
		use(&ends[1]);
		pass(IDLE_MS / 3 * MS);
	}
	assert_int_equal(ends[0].closed, 1);
	assert_int_equal(ends[1].closed, 0);
	assert_int_equal(stats().idle_timeouts, 1);
	assert_int_equal(stats().first_call_timeouts, 0);
}

/*
 * Checks that a connection whose request is being carried out does not count as idle, however long
 * the request takes.
 */
static void idle_timeout__not_while_a_request_is_under_way(void **state)
{
	struct weir_call_params params;
	struct weir_call *call;
	struct outcome outcome;

	(void)state;
	pair.server->profile.idle_timeout_ms = IDLE_MS;
	connect_one(pair.client, &ends[0]);
	outcome_init(&outcome, &pair);
	params = pair_params(PAIR_LATER, &outcome);
	call = weir_call_begin(ends[0].conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), 6);
	assert_int_equal(weir_call_submit(call), 0);
	while (pair.nlater == 0)
		poll_all();
	pass(4 * IDLE_MS * MS);
	assert_int_equal(ends[0].closed, 0);
	pair_release_later(&pair);
	until(&outcome.done);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(stats().idle_timeouts, 0);
	pass(4 * IDLE_MS * MS);
	assert_int_equal(stats().idle_timeouts, 1);
}

/*
 * Checks that the idle timeout does not affect a requester that reconnects: its next call succeeds.
 */
static void idle_timeout__is_bridged_by_reconnect(void **state)
{
	const struct weir_connect_options options = {.struct_bytes = sizeof(options),
						     .on_event = on_event,
						     .arg = &ends[0],
						     .reconnect = WEIR_RECONNECT_ON};

	(void)state;
	pair.server->profile.idle_timeout_ms = IDLE_MS;
	assert_int_equal(weir_connect(pair.client, pair.addr, &options, &ends[0].conn), 0);
	until(&ends[0].opened);
	use(&ends[0]);
	pass(2 * IDLE_MS * MS);
	assert_int_equal(stats().idle_timeouts, 1);
	assert_int_equal(ends[0].closed, 0);
	use(&ends[0]);
	assert_int_equal(ends[0].closed, 0);
}

/*
 * Operations of a driver for the responder that reports each connection request as if few file
 * descriptors were left.
 */
static const struct fabric_ops *real_ops;
static struct fabric_ops crowded_ops;

static uint32_t crowded_poll(struct fabric_dev *dev, struct fabric_cm_event *events, uint32_t max)
{
	uint32_t n = real_ops->cm_poll(dev, events, max);

	for (uint32_t i = 0; i < n; i++)
		events[i].is_crowded = events[i].kind == FABRIC_CM_REQUEST;
	return n;
}

static void become_crowded(void)
{
	real_ops = pair.server->ops;
	crowded_ops = *real_ops;
	crowded_ops.cm_poll = crowded_poll;
	pair.server->ops = &crowded_ops;
}

/*
 * Checks the case that few file descriptors are left before the limit of connections is reached.
 * Connections are displaced as at that limit, and a peer that has connections gets no more.
 */
static void arrive__gives_way_where_descriptors_run_out(void **state)
{
	(void)state;
	pair.server->profile.connections = 2 * CONNS;
	fill();
	become_crowded();
	use(&ends[2]);
	use(&ends[0]);
	use(&ends[1]);
	use(&ends[3]);
	connect_one(other, &ends[4]);
	use(&ends[4]);
	assert_int_equal(ends[2].closed, 1);
	assert_int_equal(stats().connections_evicted, 1);
	is_refused(pair.client, &ends[5]);
	assert_int_equal(pair.server->nconnections, CONNS);
	use(&ends[0]);
}

/*
 * Checks the case that the program itself uses most file descriptors. Each peer still gets its
 * first connection.
 */
static void arrive__of_the_first_peer_has_one_of_the_last_descriptors(void **state)
{
	(void)state;
	become_crowded();
	connect_one(pair.client, &ends[0]);
	use(&ends[0]);
	is_refused(pair.client, &ends[1]);
	connect_one(other, &ends[2]);
	use(&ends[2]);
	assert_int_equal(stats().connections_evicted, 0);
}

static int run(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(arrive__of_another_peer_takes_the_place_of_the_longest_idle),
		T(arrive__finds_a_place_where_all_are_busy),
		T(arrive__peers_with_equal_shares_do_not_displace_each_other),
		T(arrive__ends_with_the_listener),
		T(arrive__one_peer_does_not_take_all_turns),
		T(arrive__of_a_peer_with_none_takes_the_place_of_one_long_idle),
		T(arrive__leaves_a_call_under_way_its_connection),
		T(arrive__more_of_one_peer_than_connections_peer_is_refused),
		T(arrive__gives_way_where_descriptors_run_out),
		T(arrive__of_the_first_peer_has_one_of_the_last_descriptors),
		T(idle_timeout__ends_a_connection_that_was_used_once),
		T(idle_timeout__not_while_a_request_is_under_way),
		T(idle_timeout__is_bridged_by_reconnect),
	};

	return cmocka_run_group_tests_name("arrive", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
