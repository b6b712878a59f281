/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the duplicate request cache by itself: its bounds, and the entries that are dropped at a
 * bound.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "drc.h"

#define ENTRIES 8u
#define BYTES	4096u

static struct drc *drc;

static int setup(void **state)
{
	(void)state;
	drc = drc_create(ENTRIES, BYTES);
	return drc ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	drc_destroy(drc);
	return 0;
}

static struct drc_key key(uint32_t xid)
{
	struct drc_key key = {.xid = xid};

	memset(key.hash, (int)(xid * 7), sizeof(key.hash));
	return key;
}

static struct drc_entry *add_of(uint8_t who, uint32_t xid)
{
	const uint8_t peer[DRC_HASH_BYTES] = {1, 2, 3, 4, who};
	struct drc_key k = key(xid);

	return drc_add(drc, &k, peer);
}

static struct drc_entry *add(uint32_t xid)
{
	return add_of(1, xid);
}

static struct drc_entry *find(uint32_t xid)
{
	struct drc_key k = key(xid);

	return drc_find(drc, &k);
}

static uint8_t content[BYTES];

/* Ends a request with a reply of two pieces, which have 'bytes' bytes in total. */
static void done(struct drc_entry *entry, uint32_t xid, uint32_t bytes)
{
	struct piece pieces[2] = {{.base = content, .len = 4, .kind = PIECE_XDR},
				  {.base = content + 4, .len = bytes - 4, .kind = PIECE_ITEM}};

	memset(content, (int)xid, sizeof(content));
	drc_done(drc, entry, pieces, 2);
}

static void expect_reply(uint32_t xid, uint32_t bytes)
{
	struct drc_entry *entry = find(xid);
	struct piece pieces[2];

	assert_non_null(entry);
	assert_int_equal(entry->state, DRC_DONE);
	assert_int_equal(drc_reply(drc, entry, pieces, 2), 2);
	assert_int_equal(pieces[0].len, 4);
	assert_int_equal(pieces[0].kind, PIECE_XDR);
	assert_int_equal(pieces[1].len, bytes - 4);
	assert_int_equal(pieces[1].kind, PIECE_ITEM);
	memset(content, (int)xid, sizeof(content));
	assert_memory_equal(pieces[0].base, content, 4);
	assert_memory_equal(pieces[1].base, content, bytes - 4);
}

static void find__by_all_of_the_key(void **state)
{
	struct drc_entry *entry = add(1);
	struct drc_key other = key(1);

	(void)state;
	assert_ptr_equal(find(1), entry);
	assert_int_equal(entry->state, DRC_BUSY);
	assert_null(find(2));
	other.hash[DRC_HASH_BYTES - 1] ^= 1;
	assert_null(drc_find(drc, &other));
	other = key(1);
	other.xid = 2;
	assert_null(drc_find(drc, &other));
}

static void done__reply_comes_back(void **state)
{
	(void)state;
	for (uint32_t xid = 1; xid <= ENTRIES; xid++)
		done(add(xid), xid, xid * 9 + 4);
	for (uint32_t xid = 1; xid <= ENTRIES; xid++)
		expect_reply(xid, xid * 9 + 4);
}

static void done__of_no_bytes_and_too_many(void **state)
{
	struct piece empty = {.base = content, .kind = PIECE_XDR}, piece;

	(void)state;
	drc_done(drc, add(1), &empty, 1);
	assert_int_equal(drc_reply(drc, find(1), &piece, 1), 1);
	assert_int_equal(piece.len, 0);
	/* the longest reply that fits, with the words for the entry */
	done(add(2), 2, BYTES / 8 - 32);
	expect_reply(2, BYTES / 8 - 32);
	done(add(3), 3, BYTES / 8 - 31);
	assert_int_equal(find(3)->state, DRC_DONE);
	assert_int_equal(drc_reply(drc, find(3), &piece, 1), 0);
	/* A reply is not returned either if it has more pieces than the caller has space for. */
	assert_int_equal(drc_reply(drc, find(2), &piece, 1), 0);
}

static void add__oldest_that_is_done_goes(void **state)
{
	(void)state;
	for (uint32_t xid = 1; xid <= ENTRIES; xid++)
		assert_non_null(add(xid));
	/* no entry can be dropped, because all requests are being carried out */
	assert_null(add(100));
	done(find(3), 3, 20);
	done(find(2), 2, 20);
	assert_non_null(add(100));
	assert_null(find(3)); /* the reply of entry 3 is the oldest */
	expect_reply(2, 20);
	assert_non_null(add(101));
	assert_null(find(2));
	assert_null(add(102));
}

static void forget__makes_room(void **state)
{
	(void)state;
	for (uint32_t xid = 1; xid <= ENTRIES; xid++)
		assert_non_null(add(xid));
	drc_forget(drc, find(5));
	assert_null(find(5));
	assert_non_null(add(5));
	assert_null(add(100));
}

/*
 * Checks that each reply that is found is correct, and that as many replies are found as fit into
 * the cache.
 */
static void done__in_place_of_older_ones(void **state)
{
	const uint32_t sizes[] = {4, 5, 11, 480, 130, 77, 480, 8, 300, 16};
	uint32_t bytes[2000];

	(void)state;
	for (uint32_t xid = 1; xid < 2000; xid++) {
		bytes[xid] = sizes[(xid * xid / 3 + xid) % 10];
		done(add(xid), xid, bytes[xid]);
		for (uint32_t old = xid > 12 ? xid - 12 : 1; old <= xid; old++)
			if (find(old))
				expect_reply(old, bytes[old]);
		/* One of the longest replies needs an eighth of the cache. */
		for (uint32_t old = xid > 5 ? xid - 5 : 1; old <= xid; old++)
			assert_non_null(find(old));
		assert_null(find(xid - ENTRIES));
	}
}

/*
 * Checks that entries of a peer that makes few calls are kept longer than those of a peer that
 * makes many.
 */
static void add__pushes_out_of_who_has_most(void **state)
{
	(void)state;
	done(add_of(1, 1), 1, 20);
	done(add_of(2, 2), 2, 20);
	for (uint32_t xid = 10; xid < 100; xid++) {
		done(add_of(3, xid), xid, 20);
		if (xid == 50)
			done(add_of(2, 3), 3, 20);
	}
	for (uint32_t xid = 1; xid <= 3; xid++)
		expect_reply(xid, 20);
	for (uint32_t xid = 10; xid < 100; xid++)
		assert_true(!find(xid) == (xid < 100 - (ENTRIES - 3)));
}

/*
 * Checks the same division by bytes: the peer with many bytes loses entries, even if it has few
 * entries.
 */
static void done__pushes_out_of_who_has_most(void **state)
{
	(void)state;
	for (uint32_t xid = 1; xid <= 3; xid++)
		done(add_of(1, xid), xid, 20);
	for (uint32_t xid = 10; xid < 100; xid++) {
		done(add_of(2, xid), xid, 480);
		if (xid == 50)
			done(add_of(3, 4), 4, 300);
	}
	for (uint32_t xid = 1; xid <= 3; xid++)
		expect_reply(xid, 20);
	expect_reply(4, 300);
	expect_reply(99, 480);
}

/*
 * Checks that peers which make equally many calls have equally many entries. Of these peers'
 * entries, the oldest is dropped.
 */
static void add__divides_among_all(void **state)
{
	(void)state;
	for (uint32_t xid = 0; xid < 40; xid++)
		done(add_of(1, 100 + xid), 100 + xid, 20);
	for (uint32_t xid = 0; xid < 40; xid++)
		for (uint8_t who = 2; who <= 4; who++)
			done(add_of(who, who * 200u + xid), who * 200u + xid, 20);
	for (uint32_t who = 2; who <= 4; who++)
		for (uint32_t xid = 38; xid < 40; xid++)
			expect_reply(who * 200u + xid, 20);
	expect_reply(139, 20); /* the latest reply of the peer that makes no more calls */
}

/* Checks that all counts stay correct with many peers, in any order of events. */
static void peers__come_and_go(void **state)
{
	uint32_t seed = 1, nfound = 0;

	(void)state;
	for (uint32_t xid = 1; xid < 20000; xid++) {
		uint32_t bytes = 4 + (seed >> 8) % 470;
		struct drc_entry *entry = add_of((uint8_t)((seed >> 20) % 23), xid);

		seed = seed * 1664525u + 1013904223u;
		assert_non_null(entry);
		if ((seed >> 16) % 5 == 0) {
			drc_forget(drc, entry);
			continue;
		}
		done(entry, xid, bytes);
		expect_reply(xid, bytes);
		assert_int_equal(drc_left(drc), ENTRIES);
	}
	for (uint32_t xid = 1; xid < 20000; xid++)
		nfound += find(xid) != NULL;
	/* the cache can hold at least seven of the longest replies */
	assert_in_range(nfound, 7, ENTRIES);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(find__by_all_of_the_key),
		TEST(done__reply_comes_back),
		TEST(done__of_no_bytes_and_too_many),
		TEST(add__oldest_that_is_done_goes),
		TEST(forget__makes_room),
		TEST(done__in_place_of_older_ones),
		TEST(add__pushes_out_of_who_has_most),
		TEST(done__pushes_out_of_who_has_most),
		TEST(add__divides_among_all),
		TEST(peers__come_and_go),
	};

	return cmocka_run_group_tests_name("drc", tests, NULL, NULL);
}
