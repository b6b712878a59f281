/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the connection requests that wait at a listener. No peer keeps others out, and no peer
 * displaces others for ever.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backlog.h"

#define BACKLOG	 8u
#define REQUESTS 4096u

static struct backlog backlog;
static struct backlog_entry entries[REQUESTS];
static uint32_t nentries, ndisplaced, nrefused;

static int setup(void **state)
{
	(void)state;
	backlog_init(&backlog, BACKLOG);
	nentries = ndisplaced = nrefused = 0;
	return 0;
}

/*
 * Adds a request of peer 'who' as a listener does. Sets *displaced to the entry that it displaces,
 * or NULL. Returns the entry, or NULL if the request is refused.
 */
static struct backlog_entry *request(uint64_t who, struct backlog_entry **displaced)
{
	const struct backlog_peer peer = {{1, who}};

	assert_true(nentries < REQUESTS);
	*displaced = NULL;
	if (backlog_is_full(&backlog)) {
		*displaced = backlog_displaced(&backlog, &peer);
		if (!*displaced) {
			nrefused++;
			return NULL;
		}
		ndisplaced++;
		backlog_remove(&backlog, *displaced);
	}
	backlog_add(&backlog, &entries[nentries], &peer);
	assert_true(backlog.n <= BACKLOG);
	return &entries[nentries++];
}

static struct backlog_entry *waits(uint64_t who)
{
	struct backlog_entry *displaced, *entry = request(who, &displaced);

	assert_non_null(entry);
	assert_null(displaced);
	return entry;
}

static uint32_t count(uint64_t who)
{
	const struct backlog_entry *entry;
	uint32_t n = 0;

	TAILQ_FOREACH(entry, &backlog.entries, entry)
	n += entry->peer.id[1] == who;
	return n;
}

static void displaced__of_one_peer_alone_is_its_own_oldest(void **state)
{
	struct backlog_entry *first, *displaced;

	(void)state;
	first = waits(1);
	for (uint32_t i = 1; i < BACKLOG; i++)
		waits(1);
	assert_non_null(request(1, &displaced));
	assert_ptr_equal(displaced, first);
	assert_int_equal(count(1), BACKLOG);
}

static void displaced__the_oldest_of_the_largest_peer(void **state)
{
	struct backlog_entry *first, *displaced;

	(void)state;
	first = waits(1);
	for (uint32_t i = 1; i < 4; i++)
		waits(1);
	for (uint32_t i = 0; i < 3; i++)
		waits(2);
	waits(3);
	assert_non_null(request(4, &displaced));
	assert_ptr_equal(displaced, first);
	assert_int_equal(count(1), 3);
	assert_int_equal(count(2), 3);
	assert_int_equal(count(3), 1);
}

/*
 * Checks two peers that try to get all entries. Each gets half of them. After that, a request of
 * either peer displaces one of its own.
 */
static void displaced__until_peers_have_the_same(void **state)
{
	struct backlog_entry *displaced;

	(void)state;
	for (uint32_t i = 0; i < BACKLOG; i++)
		waits(1);
	for (uint32_t i = 0; i < BACKLOG / 2; i++) {
		assert_non_null(request(2, &displaced));
		assert_int_equal(displaced->peer.id[1], 1);
	}
	for (uint32_t i = 0; i < 100; i++) {
		uint64_t who = 1 + i % 2;

		assert_non_null(request(who, &displaced));
		assert_int_equal(displaced->peer.id[1], who);
	}
	assert_int_equal(count(1), BACKLOG / 2);
	assert_int_equal(count(2), BACKLOG / 2);
	assert_int_equal(nrefused, 0);
}

/*
 * Checks a peer that has one entry fewer than the peer with the most entries. Its next request
 * displaces one of its own.
 */
static void displaced__two_peers_do_not_displace_each_other(void **state)
{
	struct backlog_entry *own, *displaced;

	(void)state;
	own = waits(2);
	for (uint32_t i = 0; i < 2; i++)
		waits(1);
	for (uint64_t who = 3; who < 8; who++)
		waits(who);
	assert_non_null(request(2, &displaced));
	assert_ptr_equal(displaced, own);
	assert_int_equal(count(1), 2);
}

static void displaced__none_where_all_have_one(void **state)
{
	struct backlog_entry *displaced;

	(void)state;
	for (uint64_t who = 1; who <= BACKLOG; who++)
		waits(who);
	assert_null(request(BACKLOG + 1, &displaced));
	assert_int_equal(nrefused, 1);
	assert_int_equal(backlog.n, BACKLOG);
	backlog_remove(&backlog, &entries[3]);
	backlog_remove(&backlog, &entries[3]); /* an entry can be removed twice */
	waits(BACKLOG + 1);
}

/* Checks that many requests of a few peers do not displace the request of a peer that makes few. */
static void displaced__a_flood_displaces_itself(void **state)
{
	struct backlog_entry *mine, *displaced;

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		request(1 + i % 3, &displaced);
	mine = request(9, &displaced);
	assert_non_null(mine);
	for (uint32_t i = 0; i < 1000; i++) {
		request(1 + i % 3, &displaced);
		assert_true(mine->waits);
	}
	assert_int_equal(ndisplaced, 100 + 1 + 1000 - BACKLOG);
}

static void displaced__a_single_entry(void **state)
{
	struct backlog_entry *first, *displaced;

	(void)state;
	backlog_init(&backlog, 1);
	first = waits(1);
	assert_null(request(2, &displaced));
	assert_non_null(request(1, &displaced));
	assert_ptr_equal(displaced, first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(displaced__of_one_peer_alone_is_its_own_oldest, setup),
		cmocka_unit_test_setup(displaced__the_oldest_of_the_largest_peer, setup),
		cmocka_unit_test_setup(displaced__until_peers_have_the_same, setup),
		cmocka_unit_test_setup(displaced__two_peers_do_not_displace_each_other, setup),
		cmocka_unit_test_setup(displaced__none_where_all_have_one, setup),
		cmocka_unit_test_setup(displaced__a_flood_displaces_itself, setup),
		cmocka_unit_test_setup(displaced__a_single_entry, setup),
	};

	return cmocka_run_group_tests_name("backlog", tests, NULL, NULL);
}
