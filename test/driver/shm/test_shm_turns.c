/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How polls are divided among users over shm. The driver takes the user of a connection from a
 * function that is wrapped, so that one process is several users. Messages and bytes are counted.
 */
#include "shm_raw.h"

#include <unistd.h>

#include "eal.h"
#include "shm_dev.h"
#include "shm_qp.h"

#define RAWS   24u
#define MUXES  12u /* a device takes no more than MUX_COUNT of one process */
#define RECVS  32u
#define MSG    64u
#define WCS    64u
#define POLLS  2000u
#define ROUNDS 20u
#define KEY    (5u << KEY_INDEX_BITS | 9)
#define COPIES 64u			/* for a message */
#define FULL   (POLLS * SHM_TURN_SHARE) /* messages that a user can have */
#define EARLY  (8 * WCS)		/* more, until all are polled */
#define USERS  2u
#define GREEDY 0u
#define MODEST 1u
#define ONE_READ                                                                                   \
	((RAW_REGION_BYTES + SHM_TURN_COPY + SHM_TURN_REPAID - 1) / SHM_TURN_REPAID) /* polls */

static struct end b;
static struct raw raws[RAWS];
static struct fabric_qp *qps[RAWS];
static uint32_t users[RAWS]; /* of each */
static uint32_t nraws, nsenders;
static uint32_t next_user;

/* What the users were given. */
static uint64_t messages[USERS], bytes[USERS], by_connection[RAWS];
static uint64_t nsent; /* messages by muxes */
/* Each message of this user has the region read; else -1. */
static int reader;
static uint32_t nreads, read_bytes;

struct shm_account *__wrap_shm_account_of(const struct weir_peer *who);

struct shm_account *__wrap_shm_account_of(const struct weir_peer *who)
{
	(void)who;
	return shm_account_get(next_user);
}

static int setup(void **state)
{
	(void)state;
	nraws = 0;
	nsenders = RAWS;
	memset(messages, 0, sizeof(messages));
	memset(bytes, 0, sizeof(bytes));
	memset(by_connection, 0, sizeof(by_connection));
	nsent = 0;
	reader = -1;
	nreads = 1;
	read_bytes = RAW_REGION_BYTES;
	end_open(&b, "", RAWS);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	raw_close_all(raws, qps, nraws, &b);
	return 0;
}

static const struct shm_dev *dev(void)
{
	return (const struct shm_dev *)b.dev;
}

static struct raw *pair(uint32_t user, bool has_mux)
{
	struct raw *raw = &raws[nraws];

	next_user = user;
	raw_init(raw);
	if (has_mux)
		raw_offer_mux(raw);
	raw_pair(raw, &b);
	b.ops->unlisten(b.listener);
	b.listener = NULL;
	users[nraws] = user;
	qps[nraws] = b.qp;
	for (uint32_t i = 0; i < RECVS; i++)
		end_recv(&b, b.qp, nraws, 0, 4096);
	nraws++;
	return raw;
}

static void pair_with_mux(uint32_t user)
{
	struct raw *raw = pair(user, true);

	raw_begin_mux(raw);
	assert_int_equal(
		ring_put_tagged(&raw->mux_tx, raw->mux_tag | MUX_HELLO << MUX_KIND_SHIFT, NULL, 0),
		1);
	assert_int_equal(
		ring_put_tagged(&raw->mux_tx, raw->mux_tag | MUX_SWITCH << MUX_KIND_SHIFT, NULL, 0),
		1);
	END_WAIT(&b, NULL, ((struct shm_qp *)b.qp)->rx_in_mux);
}

/* The first of them, which is all unless a test says otherwise, send as much as there is room for.
 */
static void send_all(void)
{
	static const uint8_t data[MSG];

	for (uint32_t i = 0; i < nraws && i < nsenders; i++) {
		if (raws[i].muxes)
			while (ring_put_tagged(&raws[i].mux_tx, raws[i].mux_tag, data, MSG) == 1)
				nsent++;
		else
			while (ring_put_one(&raws[i].tx, data, MSG) == 1)
				;
	}
}

static void read_region(uint32_t i)
{
	for (uint32_t n = 0; n < nreads; n++)
		assert_true(b.ops->read_direct(qps[i], end_sge(&b, 0, read_bytes), KEY, 0));
	bytes[users[i]] += nreads * read_bytes;
}

/* One poll: how many messages it gave. */
static uint32_t poll_once(void)
{
	struct fabric_wc wcs[WCS];
	uint32_t n = b.ops->poll(b.dev, wcs, WCS);

	for (uint32_t w = 0; w < n; w++) {
		uint32_t i = (uint32_t)wcs[w].wr_id;

		assert_int_equal(wcs[w].op, FABRIC_RECV);
		assert_int_equal(wcs[w].status, FABRIC_OK);
		messages[users[i]]++;
		by_connection[i]++;
		end_recv(&b, qps[i], i, 0, 4096);
		if ((int)users[i] == reader)
			read_region(i);
	}
	return n;
}

static void poll_full(uint32_t n)
{
	while (n-- > 0) {
		send_all();
		poll_once();
	}
}

/* The peer's region is there to be read, without a wait. */
static void give_region(struct raw *raw)
{
	const struct key_entry entry = {.key = KEY,
					.access = FABRIC_REMOTE_READ,
					.conn_id = KEY_ANY_CONN,
					.region = RAW_REGION_ID,
					.len = RAW_REGION_BYTES};

	memcpy(&raw->keys[KEY & (KEY_ENTRIES - 1)], &entry, sizeof(entry));
	end_post(&b, (struct fabric_wr){.op = FABRIC_READ, .flags = FABRIC_SIGNALED, .rkey = KEY},
		 end_sge(&b, 0, MSG));
	raw_give_region(raw, &b);
	end_wc(&b, NULL, FABRIC_READ, FABRIC_OK);
}

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

/* Connections of one user with rings of their own, and those in a mux, share that user's turn. */
/* Messages that nobody takes count, too. */
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

/* Each connection of a user gets its part of that user's turn. */
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

/* Each Read takes time, even of a few bytes. */
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

/* Polls until there is a message. */
static uint32_t polls_to_message(void)
{
	uint32_t n = 1;

	send_all();
	while (poll_once() == 0)
		n++;
	return n;
}

/* Those who are silent, although they are still polled, do not keep the user waiting for long. */
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

/* A user whose mux is polled may be silent for ever. */
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

/* Who has had large blocks moved gives one message at a time, so that others wait for one. */
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

/* What a user had moved before others came is no debt to them. */
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

static void cool_down(uint32_t nhot)
{
	for (uint32_t i = 0; i < 20 * SHM_COLD_POLLS && dev()->nhot > nhot; i++)
		poll_once();
	assert_int_equal(dev()->nhot, nhot);
}

static struct shm_qp *modest_qp(void)
{
	return (struct shm_qp *)qps[nraws - 1];
}

/* A user whose connection became cold between two messages is not one who is silent. */
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
	shm_qp_make_cold(modest_qp());
	assert_int_equal(dev()->turns.npolled, 1);
	poll_full(ROUNDS);
	read_region(0);
	assert_in_range(polls_to_message(), ONE_READ, ONE_READ + 1);

	/* Messages that it was given meanwhile are not the other's. */
	read_region(0);
	debt = turn->debt;
	assert_int_equal(ring_put_one(&raws[1].tx, raws[1].region, MSG), 1);
	assert_int_equal(poll_once(), 1);
	assert_in_range(turn->debt, debt - 2 * SHM_TURN_REPAID, debt);

	shm_qp_make_cold(modest_qp());
	for (uint32_t i = 0; i < SHM_TURN_LONELY; i++)
		poll_once();
	read_region(0);
	assert_int_equal(polls_to_message(), 1);
}

/* Connections that are not polled for their user's debt do not make those of others cold. */
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
	assert_true(modest_qp()->is_hot);
}

/* The first message of a user is found soon, however many silent connections others have. */
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

/* What is moved for one user takes time, in which others would have been looked at. */
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

/* Else what moves for one of them would not count where the messages come from. */
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

/* The turn of a user ends with the last connection of that user. */
static void turn__ends_with_its_connections(void **state)
{
	(void)state;
	pair(MODEST, false);
	pair_with_mux(GREEDY);
	pair(GREEDY, false);
	assert_int_equal(dev()->turns.npolled, USERS);
	while (nraws > 1) {
		nraws--;
		raw_fini(&raws[nraws]);
		b.ops->qp_destroy(qps[nraws]);
	}
	assert_int_equal(dev()->turns.npolled, 1);
	assert_null(LIST_NEXT(LIST_FIRST(&dev()->turns.all), entry));
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
		TEST(bytes__of_one_user_leave_time_to_others),
		TEST(copies__of_one_user_leave_time_to_others),
		TEST(bytes__are_soon_repaid_where_others_are_silent),
		TEST(bytes__are_free_where_others_stay_silent),
		TEST(bytes__of_one_message_at_a_time),
		TEST(bytes__of_an_only_user_are_free),
		TEST(bytes__are_a_debt_while_others_are_cold_for_a_moment),
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
