/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of calls with one Read segment, whose data the responder reads on the fast path where
 * possible. The answer must equal the answer to the same call with an additional empty segment,
 * which takes the general path.
 */
#include "raw_client.h"

#include <endian.h>
#include <string.h>

#define ITEM_BYTES 1000u
#define POSITION   48u
/* Word offsets in the message with one Read segment. */
#define AT_POSITION 5u
#define AT_LENGTH   7u
#define AT_PAYLOAD  13u
#define WORDS	    26u
#define SEGMENT_END 10u

static void make_write(struct words *m, uint32_t xid)
{
	memset(m, 0, sizeof(*m));
	words_put(m, 4, xid, 1, 16, 0);
	words_put(m, 6, 1, POSITION, raw.mr.rkey, ITEM_BYTES, (uint32_t)(raw.raddr >> 32),
		  (uint32_t)raw.raddr);
	words_put(m, 3, 0, 0, 0);
	words_put(m, 13, xid, 0, 2, PAIR_PROG, PAIR_VERS, PAIR_WRITE, 0, 0, 0, 0, 7, ITEM_BYTES, 9);
	assert_int_equal(m->n, WORDS);
}

static void set(struct words *m, uint32_t at, uint32_t word)
{
	m->w[at] = htobe32(word);
}

static uint32_t get(const struct words *m, uint32_t at)
{
	return be32toh(m->w[at]);
}

/* Adds a segment of no bytes after the existing segment. */
static void add_segment(struct words *m)
{
	memmove(&m->w[SEGMENT_END + 6], &m->w[SEGMENT_END], (m->n - SEGMENT_END) * 4);
	memcpy(&m->w[SEGMENT_END], &m->w[SEGMENT_END - 6], 6 * 4);
	m->w[SEGMENT_END + 3] = 0;
	m->n += 6;
}

/*
 * Sends the call 'm' as it is, and with an additional empty segment, and checks that both answers
 * are equal. Returns the accept_stat of the answer, or UINT32_MAX if the answer is not an accepted
 * RPC reply.
 */
static uint32_t ask_both(const struct words *m)
{
	struct words one, two, other = *m;

	add_segment(&other);
	raw_ask_words(&raw, m, &one);
	raw_ask_words(&raw, &other, &two);
	assert_int_equal(one.n, two.n);
	assert_memory_equal(one.w, two.w, one.n * 4);
	return one.n > 12 && one.w[3] == 0 ? one.w[12] : UINT32_MAX;
}

static void write__4_5_2_each_bit_is_judged_as_with_more_segments(void **state)
{
	uint32_t good = 0;
	struct words m;

	(void)state;
	memset(raw.mem, 3, 2 * ITEM_BYTES);
	for (uint32_t at = 0; at < WORDS; at++) {
		/*
		 * Other tests check words that end the connection, words whose change makes another
		 * header shape, and words whose change leaves no item.
		 */
		if (at > 0 && at < AT_PAYLOAD && at != AT_POSITION && at != AT_LENGTH)
			continue;
		for (uint32_t bit = 0; bit < (at == AT_LENGTH ? 12 : 32); bit++) {
			make_write(&m, 77);
			set(&m, at, get(&m, at) ^ 1u << bit);
			if (at != 18 || get(&m, at) != PAIR_LATER)
				good += ask_both(&m) == 0;
		}
	}
	/*
	 * The calls that succeed have changes in the words before and after the item, or in the
	 * flavors of the authentication.
	 */
	assert_in_range(good, 64, 128);
}

/*
 * Checks items of all short lengths, with and without XDR roundup padding. The data are read into
 * the argument buffer, or into memory of the program. In half of the calls, the Payload stream ends
 * with the item.
 */
static void write__3_4_5_all_lengths_reach_the_program(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 24; round++) {
		uint32_t len = round / 4, padding = round % 4 == 1 ? (0u - len) & 3u : 0;
		struct words m;

		pair.place_writes = round % 2;
		memset(raw.mem, 3, 64);
		make_write(&m, 100 + round);
		set(&m, AT_LENGTH, len + padding);
		set(&m, WORDS - 2, len);
		assert_int_equal(ask_both(&m), 0);
		m.n--; /* removes the word after the item */
		assert_int_equal(ask_both(&m), WEIR_RPC_GARBAGE_ARGS);
		/* the program was asked for memory once in each call */
		assert_int_equal(pair.asked, 4 * (round + 1));
	}
}

/*
 * Checks positions at which the count word would be inside the RPC header. Such a call is not
 * valid.
 */
static void write__4_5_2_an_item_in_the_rpc_header(void **state)
{
	struct words m;

	(void)state;
	for (uint32_t position = 36; position <= 60; position += 4) {
		make_write(&m, 200);
		set(&m, AT_POSITION, position);
		assert_int_equal(ask_both(&m) == 0, position == POSITION);
		/* The length of this credential could be mistaken for the count word. */
		set(&m, 19, 1);
		set(&m, 20, 8);
		set(&m, 21, ITEM_BYTES);
		set(&m, 22, ITEM_BYTES);
		assert_int_not_equal(ask_both(&m), 0);
	}
}

static int run(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(write__4_5_2_each_bit_is_judged_as_with_more_segments),
		T(write__3_4_5_all_lengths_reach_the_program),
		T(write__4_5_2_an_item_in_the_rpc_header),
	};

	return cmocka_run_group_tests_name("wire_one_read", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
