/* SPDX-License-Identifier: BSD-3-Clause */

/* Tests of credit shares: how connections divide the receives of one queue. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "credit.h"
#include "credit_share.h"

#define MEMBERS 6u
#define ASKED	64u

static void join__3_3_3_one_credit_until_the_first_reply(void **state)
{
	struct credit_pool pool;
	struct credit_share share[3];

	(void)state;
	credit_pool_init(&pool, 2, 2);
	assert_true(credit_share_join(&pool, &share[0], NULL));
	assert_true(credit_share_join(&pool, &share[1], NULL));
	assert_int_equal(share[0].size, 1);
	assert_false(credit_share_join(&pool, &share[2], NULL)); /* the queue is full */
	credit_share_leave(&pool, &share[0], 0);
	assert_true(credit_share_join(&pool, &share[2], NULL));
	assert_int_equal(pool.shared, 2);
}

static void grant__3_3_1_is_never_zero_nor_more_than_asked_or_allowed(void **state)
{
	struct credit_pool pool;
	struct credit_share share;

	(void)state;
	credit_pool_init(&pool, 100, 1);
	credit_share_join(&pool, &share, NULL);
	assert_int_equal(credit_share_grant(&pool, &share, 0, 64), 1);
	for (uint32_t i = 0; i < 10; i++) {
		assert_in_range(credit_share_grant(&pool, &share, 7, 64), 1, 7);
		assert_in_range(credit_share_grant(&pool, &share, UINT32_MAX, 9), 1, 9);
	}
	assert_int_equal(share.size, 9);
	credit_pool_init(&pool, 1, 1);
	credit_share_join(&pool, &share, NULL);
	assert_int_equal(credit_share_grant(&pool, &share, 64, 64), 1);
	assert_int_equal(pool.shared, 1);
}

/* Grants and sends 'n' replies. Returns the grant of the last one. */
static uint32_t replies(struct credit_pool *pool, struct credit_share *share, uint32_t n)
{
	uint32_t granted = 0;

	for (; n > 0; n--) {
		granted = credit_share_grant(pool, share, ASKED, ASKED);
		credit_share_sent(pool, share, granted);
	}
	return granted;
}

static void grant__grows_for_one_that_is_busy_and_leaves_some(void **state)
{
	struct credit_pool pool;
	struct credit_share busy, late;

	(void)state;
	credit_pool_init(&pool, 64, 4);
	credit_share_join(&pool, &busy, NULL);
	assert_int_equal(replies(&pool, &busy, 1), CREDIT_SHARE_START);
	assert_in_range(replies(&pool, &busy, 1), CREDIT_SHARE_START + 1, 2 * CREDIT_SHARE_START);
	replies(&pool, &busy, 100);
	assert_in_range(busy.size, 28, 32); /* half of the queue */
	credit_share_join(&pool, &late, NULL);
	assert_int_equal(replies(&pool, &late, 1), CREDIT_SHARE_START);
	for (uint32_t i = 0; i < 200; i++) {
		replies(&pool, &late, 1);
		replies(&pool, &busy, 1);
	}
	assert_in_range(busy.size, 18, 22); /* each has a third of the queue */
	assert_in_range(late.size, 18, 22);
}

/*
 * Checks a peer with many connections, of which one is busy. That connection is granted as many
 * credits as it asks for.
 */
static void grant__is_not_held_back_by_idle_ones_of_its_group(void **state)
{
	enum { CONNECTIONS = 4096 };
	static struct credit_share share[CONNECTIONS];
	struct credit_group group = {0};
	struct credit_pool pool;
	uint32_t granted = 0;

	(void)state;
	credit_pool_init(&pool, CONNECTIONS + 128, CONNECTIONS);
	for (uint32_t i = 0; i < CONNECTIONS; i++)
		assert_true(credit_share_join(&pool, &share[i], &group));
	for (uint32_t i = 0; i < 8; i++) {
		granted = credit_share_grant(&pool, &share[0], 32, 32);
		credit_share_sent(&pool, &share[0], granted);
	}
	assert_int_equal(granted, 32);
	for (uint32_t i = 0; i < CONNECTIONS; i++)
		credit_share_leave(&pool, &share[i], 0);
	assert_int_equal(group.size, 0);
}

/*
 * Checks that the connections of a peer, however many there are, leave about an eighth of the queue
 * to other peers.
 */
static void grant__of_a_group_leaves_some_to_others(void **state)
{
	struct credit_share share[12], other;
	struct credit_group group = {0};
	struct credit_pool pool;

	(void)state;
	credit_pool_init(&pool, 256, 16);
	for (uint32_t i = 0; i < 12; i++)
		assert_true(credit_share_join(&pool, &share[i], &group));
	for (uint32_t round = 0; round < 100; round++)
		for (uint32_t i = 0; i < 12; i++)
			replies(&pool, &share[i], 1);
	assert_in_range(group.size, 100, 256 * 7 / 8 + 12);
	assert_true(credit_share_join(&pool, &other, NULL));
	replies(&pool, &other, 100);
	assert_in_range(other.size, 12, 64);
	for (uint32_t i = 0; i < 12; i++)
		credit_share_leave(&pool, &share[i], 0);
	assert_int_equal(group.size, 0);
}

static void idle__shrinks_with_the_next_reply(void **state)
{
	struct credit_pool pool;
	struct credit_share share;

	(void)state;
	credit_pool_init(&pool, 200, 1);
	credit_share_join(&pool, &share, NULL);
	replies(&pool, &share, 20);
	assert_int_equal(share.size, 64);
	for (uint32_t i = 0; i < 10; i++)
		credit_share_idle(&pool, &share);
	assert_int_equal(share.size, 64); /* the peer can still use the old grant */
	assert_int_equal(replies(&pool, &share, 1), 1);
	assert_int_equal(share.size, 63);
	credit_share_idle(&pool, &share);
	assert_int_equal(share.size, 1);
	assert_int_equal(pool.shared, 1);
}

static void resize__takes_what_there_is_and_keeps_what_is_in_flight(void **state)
{
	struct credit_pool pool;
	struct credit_share share, other;

	(void)state;
	credit_pool_init(&pool, 16, 2);
	credit_share_join(&pool, &share, NULL);
	credit_share_join(&pool, &other, NULL);
	assert_int_equal(credit_share_resize(&pool, &share, 64, 1), 14);
	assert_int_equal(pool.shared, 15);
	assert_int_equal(credit_share_resize(&pool, &other, 8, 1), 1);
	/*
	 * Other connections have too few credits. Therefore the share shrinks to the number that
	 * its peer requests, but not below the calls in flight.
	 */
	assert_int_equal(credit_share_resize(&pool, &share, 14, 10), 10);
	assert_int_equal(credit_share_resize(&pool, &other, 8, 1), 5);
	assert_int_equal(credit_share_resize(&pool, &share, 0, 0), 1);
}

static void extend__as_far_as_there_is_room(void **state)
{
	struct credit_pool pool;
	struct credit_share share;

	(void)state;
	credit_pool_init(&pool, 16, 2);
	credit_share_join(&pool, &share, NULL);
	assert_false(
		/* one receive is kept for a further connection */
		credit_share_extend(&pool, &share, 15));
	assert_true(credit_share_extend(&pool, &share, 14));
	assert_int_equal(share.size, 15);
	assert_int_equal(pool.shared, 15);
	credit_share_reduce(&pool, &share, 14);
	assert_int_equal(share.size, 1);
	assert_int_equal(pool.shared, 1);
}

/* A requester that sends as many calls as its grants allow, at any time. */
struct peer {
	struct credit_requester book;
	struct credit_share share;
	uint32_t on_the_way; /* calls that were sent and have not arrived */
	uint32_t held;	     /* calls that arrived and have not been answered */
	uint32_t nreplies;   /* replies that were sent and have not arrived */
	uint32_t replies[64];
};

static uint64_t random_state;

static uint32_t below(uint32_t n)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(random_state >> 33) % n;
}

static void step(struct credit_pool *pool, struct peer *peer)
{
	switch (below(8)) {
	case 0: /* send all calls that the grant allows */
	case 1:
		while (credit_available(&peer->book) > 0) {
			credit_take(&peer->book);
			peer->on_the_way++;
		}
		break;
	case 2:
	case 3:
		if (peer->on_the_way > 0) {
			peer->on_the_way--;
			peer->held++;
		}
		break;
	case 4:
	case 5:
		if (peer->held > 0 && peer->nreplies < 64) {
			uint32_t granted = credit_share_grant(pool, &peer->share, ASKED, ASKED);

			peer->held--;
			credit_share_sent(pool, &peer->share, granted);
			peer->replies[peer->nreplies++] = granted;
		}
		break;
	case 6:
		if (peer->nreplies > 0) {
			credit_reply(&peer->book, peer->replies[0]);
			for (uint32_t i = 1; i < peer->nreplies; i++)
				peer->replies[i - 1] = peer->replies[i];
			peer->nreplies--;
		}
		break;
	case 7:
		if (peer->on_the_way == 0 && peer->held == 0 && peer->nreplies == 0)
			credit_share_idle(pool, &peer->share);
		break;
	}
}

static void grant__3_3_1_the_sum_is_within_the_queue_whatever_peers_send(void **state)
{
	(void)state;
	for (uint32_t run = 0; run < 200; run++) {
		struct peer peers[MEMBERS] = {0};
		struct credit_pool pool;
		uint32_t capacity = MEMBERS + run % 60;

		random_state = run;
		credit_pool_init(&pool, capacity, MEMBERS);
		for (uint32_t i = 0; i < MEMBERS; i++) {
			assert_true(credit_share_join(&pool, &peers[i].share, NULL));
			credit_requester_init(&peers[i].book, ASKED);
		}
		for (uint32_t n = 0; n < 3000; n++) {
			uint32_t need = 0, shares = 0;

			step(&pool, &peers[below(n / 500 % MEMBERS + 1)]);
			for (uint32_t i = 0; i < MEMBERS; i++) {
				/*
				 * All calls that the peer is allowed to send can arrive at any
				 * time. There must be a receive for each.
				 */
				uint32_t most = peers[i].on_the_way + peers[i].held +
						credit_available(&peers[i].book);

				assert_true(most <= peers[i].share.size);
				assert_true(peers[i].share.size >= 1);
				need += most;
				shares += peers[i].share.size;
			}
			assert_int_equal(shares, pool.shared);
			assert_true(shares <= capacity);
			assert_true(need <= capacity);
		}
	}
}

/*
 * Checks that the fast path, which compares with the latest grant, gives the result of a new
 * calculation.
 */
static void grant__once_more_is_what_it_would_be(void **state)
{
	static const uint32_t asked[] = {0, 1, 7, 16, 32, 64, UINT32_MAX};
	struct credit_share shares[MEMBERS] = {0};
	uint32_t unsent[MEMBERS] = {0}, granted[MEMBERS] = {0}, nsteady = 0;
	bool is_member[MEMBERS] = {false};
	struct credit_pool pool;

	(void)state;
	srandom(7);
	credit_pool_init(&pool, 120, MEMBERS);
	for (uint32_t i = 0; i < 200000; i++) {
		uint32_t m = (uint32_t)random() % MEMBERS, what = (uint32_t)random() % 100;
		struct credit_share *share = &shares[m];

		if (!is_member[m]) {
			is_member[m] = credit_share_join(&pool, share, NULL);
		} else if (what == 0 && unsent[m] == 0) {
			credit_share_leave(&pool, share, 0);
			is_member[m] = false;
		} else if (what == 1) {
			credit_share_idle(&pool, share);
		} else if (unsent[m] < 4) {
			uint32_t requested =
				random() % 8 ? ASKED / 4 : asked[(uint32_t)random() % 7];
			struct credit_pool pool_then = pool;
			struct credit_share share_then = *share;
			uint32_t anew = credit_share_change(&pool_then, &share_then, requested, 48);

			nsteady += requested == share->steady && requested <= pool.left;
			granted[m] = credit_share_grant(&pool, share, requested, 48);
			assert_int_equal(granted[m], anew);
			assert_int_equal(pool.shared, pool_then.shared);
			assert_int_equal(share->size, share_then.size);
			assert_int_equal(share->latest, share_then.latest);
			assert_int_equal(share->next, share_then.next);
			assert_int_equal(share->unsent, share_then.unsent);
			unsent[m]++;
		}
		for (; is_member[m] && unsent[m] > 0 && random() % 2; unsent[m]--)
			credit_share_sent(&pool, share, granted[m]);
		assert_in_range(pool.shared, 0, pool.capacity);
	}
	assert_in_range(nsteady, 1000, 199000);
}

static void leave__what_is_in_use_is_kept_until_it_comes_back(void **state)
{
	struct credit_pool pool;
	struct credit_share share, next;

	(void)state;
	credit_pool_init(&pool, 4, 1);
	credit_share_join(&pool, &share, NULL);
	replies(&pool, &share, 4);
	credit_share_leave(&pool, &share, 4);
	assert_int_equal(pool.shared, 4);
	assert_false(credit_share_join(&pool, &next, NULL));
	credit_pool_return(&pool, NULL);
	assert_true(credit_share_join(&pool, &next, NULL));
	for (uint32_t i = 0; i < 3; i++)
		credit_pool_return(&pool, NULL);
	assert_int_equal(pool.shared, 1);
}

/*
 * Checks connections of a peer that join, get as many credits as possible, and leave while all of
 * these are in use.
 */
static void leave__what_is_in_use_counts_for_its_group(void **state)
{
	struct credit_group group = {0};
	struct credit_share share, other;
	struct credit_pool pool;
	uint32_t behind = 0;

	(void)state;
	credit_pool_init(&pool, 512, 16);
	for (uint32_t i = 0; i < 1000 && credit_group_may_join(&pool, &group); i++) {
		assert_true(credit_share_join(&pool, &share, &group));
		replies(&pool, &share, 4);
		behind += share.size;
		credit_share_leave(&pool, &share, share.size);
		assert_int_equal(group.size, behind);
		assert_int_equal(group.behind, behind);
	}
	assert_false(credit_group_may_join(&pool, &group));
	assert_in_range(behind, 256, 512 * 7 / 8);
	assert_true(credit_share_join(&pool, &other, NULL));
	replies(&pool, &other, 8);
	assert_in_range(other.size, 24, 64);
	for (uint32_t i = 0; i < behind; i++)
		credit_pool_return(&pool, &group);
	assert_int_equal(group.size, 0);
	assert_int_equal(group.behind, 0);
	assert_true(credit_group_may_join(&pool, &group));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(join__3_3_3_one_credit_until_the_first_reply),
		cmocka_unit_test(grant__3_3_1_is_never_zero_nor_more_than_asked_or_allowed),
		cmocka_unit_test(grant__grows_for_one_that_is_busy_and_leaves_some),
		cmocka_unit_test(grant__is_not_held_back_by_idle_ones_of_its_group),
		cmocka_unit_test(grant__of_a_group_leaves_some_to_others),
		cmocka_unit_test(idle__shrinks_with_the_next_reply),
		cmocka_unit_test(resize__takes_what_there_is_and_keeps_what_is_in_flight),
		cmocka_unit_test(extend__as_far_as_there_is_room),
		cmocka_unit_test(grant__3_3_1_the_sum_is_within_the_queue_whatever_peers_send),
		cmocka_unit_test(grant__once_more_is_what_it_would_be),
		cmocka_unit_test(leave__what_is_in_use_is_kept_until_it_comes_back),
		cmocka_unit_test(leave__what_is_in_use_counts_for_its_group),
	};

	return cmocka_run_group_tests_name("credit_share", tests, NULL, NULL);
}
