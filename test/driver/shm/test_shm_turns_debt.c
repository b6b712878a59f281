/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of debts over shm: data that are copied for a user add to a debt, and while the user has a
 * debt, time is left to others.
 */
#include "turns.h"

#define LONG	3000u	     /* bytes of a long message */
#define MUCH	(1ull << 40) /* bytes of debt */
#define STALLED 8u
#define WAITING 4u	  /* waiting work requests of each connection */
#define MANY	10000000u /* a bound for a number of polls, which is never reached */
#define ONE_READ                                                                                   \
	((RAW_REGION_BYTES + SHM_TURN_COPY + SHM_TURN_REPAID - 1) / SHM_TURN_REPAID) /* polls */

static void bytes__of_one_user_leave_time_to_others(void **state)
{
	uint64_t paid;

	(void)state;
	give_region(pair(GREEDY, false));
	pair(MODEST, false);
	reader = GREEDY;
	poll_full(POLLS);
	paid = (POLLS + messages[MODEST]) * SHM_TURN_REPAID;
	assert_in_range(messages[MODEST], FULL * 9 / 10, FULL + EARLY);
	assert_in_range(bytes[GREEDY], paid / 2, paid + SHM_TURN_SHARE * RAW_REGION_BYTES);
}

/* Checks that each RDMA Read adds to the debt, even a Read of a few bytes. */
static void copies__of_one_user_leave_time_to_others(void **state)
{
	uint64_t paid;

	(void)state;
	give_region(pair(GREEDY, false));
	pair(MODEST, false);
	reader = GREEDY;
	nreads = COPIES;
	read_bytes = 1;
	poll_full(POLLS);
	paid = (POLLS + messages[MODEST]) * SHM_TURN_REPAID;
	assert_in_range(bytes[GREEDY] * SHM_TURN_COPY, paid / 2, paid * 11 / 10);
}

/* Checks that users who are silent but still polled do not delay a user with a debt for long. */
static void bytes__are_soon_repaid_where_others_are_silent(void **state)
{
	struct raw *raw = pair(GREEDY, false);

	(void)state;
	give_region(raw);
	pair(MODEST, false);
	nsenders = 1;
	assert_int_equal(dev()->turns.npolled, USERS);
	poll_once();
	read_region(0);
	assert_int_equal(polls_to_message(), ONE_READ + 1);
	assert_int_equal(polls_to_message(), 1);
}

/* Checks that a user whose mux is polled, but who stays silent, does not delay others for ever. */
static void bytes__are_free_where_others_stay_silent(void **state)
{
	(void)state;
	give_region(pair(GREEDY, false));
	pair_with_mux(MODEST);
	nsenders = 1;
	for (uint32_t i = 0; i < SHM_TURN_LONELY; i++)
		poll_once();
	for (uint32_t i = 0; i < ROUNDS; i++) {
		read_region(0);
		poll_once();
		assert_in_range(polls_to_message(), 1, 2);
	}
}

/*
 * Checks that a user for whom large blocks were moved gets one message delivered at a time, so that
 * others wait only for one.
 */
static void bytes__of_one_message_at_a_time(void **state)
{
	(void)state;
	give_region(pair(GREEDY, false));
	pair(MODEST, false);
	reader = GREEDY;
	nreads = 4;
	poll_full(POLLS);
	for (uint32_t i = 0; i < POLLS; i++) {
		uint64_t before = messages[GREEDY];

		poll_full(1);
		assert_in_range(messages[GREEDY] - before, 0, 1);
	}
	assert_true(messages[GREEDY] > 0);
}

/* Checks that data which are moved for a user before other users connect add nothing to a debt. */
static void bytes__of_an_only_user_are_free(void **state)
{
	(void)state;
	give_region(pair(GREEDY, false));
	for (uint32_t i = 0; i < POLLS; i++) {
		assert_int_equal(polls_to_message(), 1);
		read_region(0);
	}
	poll_once();
	pair(MODEST, false);
	assert_int_equal(polls_to_message(), 1);
	assert_true(messages[GREEDY] > 0);
}

/* Checks that a user whose connection became cold between two messages does not count as silent. */
static void bytes__are_a_debt_while_others_are_cold_for_a_moment(void **state)
{
	struct raw *raw = pair(GREEDY, false);
	const struct shm_turn *turn = ((struct shm_qp *)b.qp)->turn;
	uint64_t debt;

	(void)state;
	give_region(raw);
	pair(MODEST, false);
	nsenders = 1;
	poll_once();
	shm_qp_make_cold(latest_qp());
	assert_int_equal(dev()->turns.npolled, 1);
	poll_full(ROUNDS);
	read_region(0);
	assert_in_range(polls_to_message(), ONE_READ, ONE_READ + 1);

	/* Messages that are delivered to the modest user meanwhile do not reduce the debt. */
	read_region(0);
	debt = turn->debt;
	assert_int_equal(ring_put_one(&raws[1].tx, raws[1].region, MSG), 1);
	assert_int_equal(poll_once(), 1);
	assert_in_range(turn->debt, debt - 2 * SHM_TURN_REPAID, debt);

	shm_qp_make_cold(latest_qp());
	for (uint32_t i = 0; i < SHM_TURN_LONELY; i++)
		poll_once();
	read_region(0);
	assert_int_equal(polls_to_message(), 1);
}

/* Receives a message of 'n' bytes in one poll, and checks the debt. */
static void receive_long(struct raw *raw, uint32_t n)
{
	const struct shm_turn *turn = latest_qp()->turn;
	int rc;

	while (shm_turn_debt(&dev()->turns, latest_qp()->turn) > 0)
		poll_once();
	rc = raw->muxes ? ring_put_tagged(&raw->mux_tx, raw->mux_tag, raw->region, n)
			: ring_put_one(&raw->tx, raw->region, n);

	assert_int_equal(rc, 1);
	assert_int_equal(polls_to_message(), 1);
	/* the poll repaid part of the debt */
	assert_int_equal(turn->debt, n - 2 * SHM_TURN_REPAID);
}

/*
 * Checks that a message adds to the debt if it is so long that it takes longer than most messages.
 */
static void bytes__of_messages_count(void **state)
{
	(void)state;
	pair(MODEST, false);
	nsenders = 0;
	receive_long(pair(GREEDY, false), LONG);
	pair_with_mux(GREEDY);
	receive_long(&raws[nraws - 1], LONG);
}

static void send_long(enum fabric_op op, uint32_t expected)
{
	const struct shm_turn *turn = latest_qp()->turn;
	struct fabric_sge sge = end_sge(&b, 0, LONG);
	uint64_t before = turn->debt;

	if (op == FABRIC_SEND_INV)
		end_post(&b, (struct fabric_wr){.op = op, .rkey = KEY}, sge);
	else
		assert_true(b.ops->send_direct(b.qp, sge.addr, sge.len));
	assert_int_equal(turn->debt - before, expected);
}

static void bytes__of_replies_count(void **state)
{
	(void)state;
	pair(MODEST, false);
	for (uint32_t i = 0; i < 2; i++) {
		if (i == 0)
			pair(GREEDY, false);
		else
			pair_with_mux(GREEDY);
		END_WAIT(&b, NULL, !latest_qp()->is_switching);
		send_long(FABRIC_SEND, LONG - SHM_TURN_REPAID);
		send_long(FABRIC_SEND_INV, LONG - SHM_TURN_REPAID);
	}
}

/* Checks that a user keeps a debt when all of the user's connections end and a new one begins. */
static void turn__with_a_debt_outlives_its_connections(void **state)
{
	struct shm_turn *turn;

	(void)state;
	pair(MODEST, false);
	pair(GREEDY, false);
	turn = ((struct shm_qp *)b.qp)->turn;
	turn->debt = MUCH;
	unpair();
	assert_int_equal(dev()->turns.npolled, 1);
	pair(GREEDY, false);
	assert_ptr_equal(((struct shm_qp *)b.qp)->turn, turn);
	assert_in_range(turn->debt, MUCH / 2, MUCH);

	/* The 'struct shm_turn' is kept until the debt is repaid. */
	turn->debt = ROUNDS * SHM_TURN_REPAID;
	unpair();
	for (uint32_t i = 0; i < ROUNDS - 1; i++)
		poll_once();
	assert_int_equal(dev()->turns.n, USERS);
	for (uint32_t i = 0; i < USERS; i++)
		poll_once();
	assert_int_equal(dev()->turns.n, 1);
}

/* Calls cm_poll() once. Returns the number of events, which must all be DISCONNECTED. */
static uint32_t events_once(void)
{
	struct fabric_cm_event events[WCS];
	uint32_t n = b.ops->cm_poll(b.dev, events, WCS);

	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(events[i].kind, FABRIC_CM_DISCONNECTED);
	return n;
}

/*
 * Returns how many connections in the list 'draining' were checked since 'first' was its first
 * element. Each check moves a connection to the end of the list.
 */
static uint32_t nlooks(const struct shm_event *first)
{
	const struct shm_event *event;
	uint32_t place = 0, n = 0;

	TAILQ_FOREACH(event, &dev()->draining, entry)
	{
		if (event == first)
			place = n;
		n++;
	}
	return place > 0 ? n - place : n;
}

/*
 * Checks connections that end while their messages are not received, because of the user's debt. A
 * poll does not check all of them, but all of them end.
 */
static void connections__that_end_with_a_debt_cost_few_looks(void **state)
{
	uint64_t until = end_now_ns() + END_WAIT_NS;
	const struct shm_event *first;
	uint32_t nended = 0;

	(void)state;
	pair(MODEST, false);
	while (nraws < RAWS)
		pair(GREEDY, false);
	latest_qp()->turn->debt = MUCH;
	for (uint32_t i = 1; i < RAWS; i++) {
		assert_int_equal(ring_put_one(&raws[i].tx, raws[i].region, MSG), 1);
		close(raws[i].fd);
		raws[i].fd = -1;
	}
	while (atomic_load(&dev()->nevents) < RAWS - 1 && end_now_ns() < until)
		;
	assert_int_equal(events_once(), 0);
	first = TAILQ_FIRST(&dev()->draining);
	assert_int_equal(events_once(), 0);
	assert_in_range(nlooks(first), 1, RAWS / 2);
	while (nended < RAWS - 1 && end_now_ns() < until)
		nended += events_once();
	assert_int_equal(nended, RAWS - 1);
	assert_int_equal(messages[GREEDY], 0);
}

/*
 * Checks the debt of a user without hot connections. Polls repay such a debt as well, except those
 * that happened before the debt.
 */
static void turn__that_is_not_polled_repays(void **state)
{
	struct shm_turn *turn;

	(void)state;
	pair(MODEST, false);
	pair(GREEDY, false);
	turn = ((struct shm_qp *)b.qp)->turn;
	shm_qp_make_cold((struct shm_qp *)b.qp);
	for (uint32_t i = 0; i < POLLS; i++)
		poll_once();
	turn->debt = MUCH;
	for (uint32_t i = 0; i < ROUNDS; i++)
		poll_once();
	shm_qp_make_hot((struct shm_qp *)b.qp);
	assert_in_range(turn->debt, MUCH - (ROUNDS + USERS) * SHM_TURN_REPAID,
			MUCH - ROUNDS * SHM_TURN_REPAID);
}

/*
 * Makes a connection of the greedy user with n waiting work requests. Its peer does not read its
 * ring.
 */
static void pair_stalled(enum fabric_op op, uint32_t bytes_each, uint32_t n)
{
	struct shm_qp *qp;

	give_region(pair(GREEDY, false));
	qp = (struct shm_qp *)b.qp;
	while (qp->npending == 0)
		end_post(&b, (struct fabric_wr){.op = FABRIC_SEND}, end_sge(&b, 0, 1000));
	while (qp->npending < n)
		end_post(&b, (struct fabric_wr){.op = op, .rkey = KEY}, end_sge(&b, 0, bytes_each));
}

/* Sets the positions of all readers so that all peers seem to have read everything. */
static void read_rings(void)
{
	for (uint32_t i = 1; i < nraws; i++)
		atomic_store(&raws[i].mark->head, ring_tail(&((struct shm_qp *)qps[i])->tx));
}

/*
 * Returns the number of polls until all waiting work requests have continued. Checks that no poll
 * adds more than 'most' to *counter.
 */
static uint32_t polls_to_the_end(const uint64_t *counter, uint32_t most)
{
	uint32_t n;

	for (n = 0; dev()->stalls.n > 0 && n < MANY; n++) {
		uint64_t before = *counter;

		read_rings();
		poll_full(1);
		assert_in_range(*counter - before, 0, most);
	}
	assert_int_equal(dev()->stalls.n, 0);
	return n;
}

/*
 * Checks work requests that wait for a peer, and that continue when the peer chooses. They add to
 * the debt like other work requests.
 */
static void stalls__of_one_user_leave_time_to_others(void **state)
{
	uint64_t moved = (uint64_t)STALLED * WAITING * RAW_REGION_BYTES;
	uint32_t n;

	(void)state;
	pair(MODEST, false);
	for (uint32_t i = 0; i < STALLED; i++)
		pair_stalled(FABRIC_READ, RAW_REGION_BYTES, 1 + WAITING);
	nsenders = 1;
	messages[MODEST] = 0;
	n = polls_to_the_end(&b.dev->stats.reads, 1);
	assert_in_range(messages[MODEST], n * SHM_TURN_SHARE * 9 / 10, n * SHM_TURN_SHARE);
	assert_true((n + messages[MODEST]) * SHM_TURN_REPAID > moved * 9 / 10);
}

static void stalls__of_messages_go_on_by_shares(void **state)
{
	(void)state;
	pair(MODEST, false);
	for (uint32_t i = 0; i < STALLED; i++)
		pair_stalled(FABRIC_SEND, 1, 2 * SHM_TURN_SHARE);
	nsenders = 1;
	assert_true(polls_to_the_end(&b.dev->stats.sends, SHM_TURN_SHARE) >= 2 * STALLED);
}

/*
 * Checks waiting work requests of a user who has a debt after each poll. Each next poll repays that
 * debt before it tries these work requests.
 */
static void stalls__go_on_while_their_user_alone_moves_bytes(void **state)
{
	(void)state;
	give_region(pair(GREEDY, false));
	pair(MODEST, false);
	shm_qp_make_cold(latest_qp());
	pair_stalled(FABRIC_SEND, 1, 2);
	nsenders = 1;
	reader = GREEDY;
	nreads = 1;
	read_bytes = RAW_REGION_BYTES;
	while (bytes[GREEDY] == 0)
		poll_full(1);
	polls_to_the_end(&b.dev->stats.sends, SHM_TURN_SHARE);
	assert_int_equal(dev()->turns.npolled, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bytes__of_one_user_leave_time_to_others),
		TEST(copies__of_one_user_leave_time_to_others),
		TEST(bytes__are_soon_repaid_where_others_are_silent),
		TEST(bytes__are_free_where_others_stay_silent),
		TEST(bytes__of_one_message_at_a_time),
		TEST(bytes__of_an_only_user_are_free),
		TEST(bytes__are_a_debt_while_others_are_cold_for_a_moment),
		TEST(bytes__of_messages_count),
		TEST(bytes__of_replies_count),
		TEST(turn__with_a_debt_outlives_its_connections),
		TEST(connections__that_end_with_a_debt_cost_few_looks),
		TEST(turn__that_is_not_polled_repays),
		TEST(stalls__of_one_user_leave_time_to_others),
		TEST(stalls__of_messages_go_on_by_shares),
		TEST(stalls__go_on_while_their_user_alone_moves_bytes),
	};

	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
