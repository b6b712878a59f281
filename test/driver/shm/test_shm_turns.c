/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of how the driver shm divides its polls among users. */
#include "turns.h"

#define MUXES 12u /* number of muxes; a device accepts at most MUX_COUNT from one process */

static void assert_equal_turns(void)
{
	assert_in_range(messages[MODEST], FULL * 9 / 10, FULL + EARLY);
	assert_in_range(messages[GREEDY], FULL * 9 / 10, FULL + EARLY);
}

static void user__with_many_connections_has_one_turn(void **state)
{
	(void)state;
	pair(MODEST, false);
	while (nraws < RAWS)
		pair(GREEDY, false);
	poll_full(POLLS);
	assert_equal_turns();
}

static void user__with_many_muxes_has_one_turn(void **state)
{
	(void)state;
	pair_with_mux(MODEST);
	while (nraws < MUXES)
		pair_with_mux(GREEDY);
	assert_int_equal(dev()->turns.npolled, USERS);
	poll_full(POLLS);
	assert_equal_turns();
}

/*
 * Checks that all connections of a user, with rings of their own or in a mux, share that user's
 * part of a poll.
 */
/* Checks that messages for no queue pair count towards the user's part as well. */
static void user__with_messages_for_nobody_has_one_turn(void **state)
{
	(void)state;
	pair(MODEST, false);
	while (nraws < MUXES) {
		pair_with_mux(GREEDY);
		raws[nraws - 1].mux_tag ^= 1ull << 63;
	}
	poll_full(POLLS);
	assert_int_equal(messages[GREEDY], 0);
	assert_in_range(messages[MODEST], FULL * 9 / 10, FULL + EARLY);
	assert_in_range(nsent, FULL / 2, FULL + EARLY + POLLS + MUXES * MUX_BYTES / MSG);
}

static void user__with_rings_and_muxes_has_one_turn(void **state)
{
	(void)state;
	pair_with_mux(MODEST);
	pair_with_mux(GREEDY);
	while (nraws < RAWS)
		pair(GREEDY, false);
	poll_full(POLLS);
	assert_equal_turns();
	for (uint32_t i = 1; i < RAWS; i++)
		assert_true(((struct shm_qp *)qps[i])->state == QP_READY);
}

/* Checks that each connection of a user gets its share of the user's part. */
static void user__divides_the_turn_among_connections(void **state)
{
	(void)state;
	pair(MODEST, false);
	while (nraws < RAWS)
		pair(GREEDY, false);
	poll_full(POLLS);
	for (uint32_t i = 1; i < RAWS; i++)
		assert_in_range(by_connection[i], FULL / (RAWS - 1) * 9 / 10, FULL);
}

static void cool_down(uint32_t nhot)
{
	for (uint32_t i = 0; i < 20 * SHM_COLD_POLLS && dev()->nhot > nhot; i++)
		poll_once();
	assert_int_equal(dev()->nhot, nhot);
}

/*
 * Checks silent connections while other connections are not polled because of their user's debt.
 * The silent connections stay hot.
 */
static void silent__connections_stay_hot_beside_many_with_a_debt(void **state)
{
	(void)state;
	while (nraws < RAWS - 1)
		give_region(pair(GREEDY, false));
	pair(MODEST, false);
	nsenders = RAWS - 1;
	reader = GREEDY;
	nreads = COPIES;
	poll_full(SHM_COLD_POLLS / RAWS);
	assert_int_equal(dev()->nhot, RAWS);
	poll_full(SHM_COLD_POLLS / 8);
	assert_true(latest_qp()->is_hot);
}

/*
 * Checks that the first message of a user is found soon, however many silent connections other
 * users have.
 */
static void silent__connections_of_others_are_looked_at_less_often(void **state)
{
	(void)state;
	pair(MODEST, false);
	while (nraws < RAWS)
		pair(GREEDY, false);
	nsenders = 1;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		cool_down(0);
		assert_in_range(polls_to_message(), 1, USERS + 1);
		while (poll_once() > 0)
			;
	}
}

/*
 * Checks that copies for one user do not delay the checks of other users' connections, although
 * copies take time.
 */
static void silent__connections_are_looked_at_for_bytes(void **state)
{
	(void)state;
	give_region(pair(GREEDY, false));
	while (nraws < RAWS)
		pair(MODEST, false);
	reader = GREEDY;
	nsenders = 1;
	for (uint32_t i = 1; i < RAWS; i++) {
		while (dev()->nhot > 1)
			poll_full(1);
		assert_int_equal(ring_put_one(&raws[i].tx, raws[i].region, MSG), 1);
		messages[MODEST] = 0;
		poll_full(6);
		assert_int_equal(messages[MODEST], 1);
	}
}

/*
 * Checks that a mux belongs to one user. Otherwise data that are moved for one user of a mux would
 * not count for that user.
 */
static void mux__is_of_one_user(void **state)
{
	struct raw *second = &raws[1];

	(void)state;
	pair_with_mux(GREEDY);
	next_user = MODEST;
	raw_init(second);
	raw_offer_mux(second);
	assert_true(dup2(raws[0].fds[2], second->fds[2]) >= 0);
	nraws = 2;
	raw_pair(second, &b);
	qps[1] = b.qp;
	assert_int_equal(second->answer.has_mux, 0);
	b.ops->unlisten(b.listener);
	b.listener = NULL;
}

/*
 * Checks that the 'struct shm_turn' of a user is no longer polled when the user's last connection
 * has ended.
 */
static void turn__ends_with_its_connections(void **state)
{
	(void)state;
	pair(MODEST, false);
	pair_with_mux(GREEDY);
	pair(GREEDY, false);
	assert_int_equal(dev()->turns.npolled, USERS);
	while (nraws > 1)
		unpair();
	assert_int_equal(dev()->turns.npolled, 1);
	assert_null(TAILQ_NEXT(TAILQ_FIRST(&dev()->turns.all), entry));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(user__with_many_connections_has_one_turn),
		TEST(user__with_many_muxes_has_one_turn),
		TEST(user__with_messages_for_nobody_has_one_turn),
		TEST(user__with_rings_and_muxes_has_one_turn),
		TEST(user__divides_the_turn_among_connections),
		TEST(silent__connections_stay_hot_beside_many_with_a_debt),
		TEST(silent__connections_of_others_are_looked_at_less_often),
		TEST(silent__connections_are_looked_at_for_bytes),
		TEST(mux__is_of_one_user),
		TEST(turn__ends_with_its_connections),
	};

	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
