/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of calls without chunks, which the responder receives and answers on the fast path. The
 * answer must equal the answer to the same call with an empty Write chunk, which takes the general
 * path.
 */
#include "raw_client.h"

#include <endian.h>
#include <string.h>

#define AT_PAYLOAD 7u
#define WORDS	   21u

static void make_echo(struct words *m)
{
	memset(m, 0, sizeof(*m));
	words_put(m, 7, 77, 1, 16, 0, 0, 0, 0);
	words_put(m, 14, 77, 0, 2, PAIR_PROG, PAIR_VERS, PAIR_ECHO, 0, 0, 0, 0, 12, 1, 2, 3);
	assert_int_equal(m->n, WORDS);
}

/* Adds a Write chunk without segments. */
static void add_chunk(struct words *m)
{
	memmove(&m->w[7], &m->w[5], (m->n - 5) * 4);
	m->w[5] = htobe32(1);
	m->w[6] = 0;
	m->n += 2;
}

/*
 * Sends the call 'm' as it is, and with an empty Write chunk, and checks that both answers are
 * equal. Returns the accept_stat of the answer, or UINT32_MAX if the answer is not an accepted RPC
 * reply.
 */
static uint32_t ask_both(const struct words *m)
{
	struct words one, two, other = *m;

	add_chunk(&other);
	raw_ask_words(&raw, m, &one);
	raw_ask_words(&raw, &other, &two);
	if (one.n > AT_PAYLOAD && one.w[3] == 0) { /* the second answer returns the empty chunk */
		assert_int_equal(two.w[5], 1);
		assert_int_equal(two.w[6], 0);
		memmove(&two.w[5], &two.w[7], (two.n - 7) * 4);
		two.n -= 2;
	}
	assert_int_equal(one.n, two.n);
	assert_memory_equal(one.w, two.w, one.n * 4);
	return one.n > 12 && one.w[3] == 0 && one.w[9] == 0 ? one.w[12] : UINT32_MAX;
}

static void echo__5531_9_each_bit_is_judged_as_with_chunks(void **state)
{
	uint32_t good = 0;
	struct words m;

	(void)state;
	make_echo(&m);
	assert_int_equal(ask_both(&m), 0);
	for (uint32_t at = 0; at < WORDS; at++) {
		/* Other tests check the chunk lists. */
		if (at > 2 && at < AT_PAYLOAD)
			continue;
		for (uint32_t bit = 0; bit < 32; bit++) {
			make_echo(&m);
			m.w[at] ^= htobe32(1u << bit);
			if (be32toh(m.w[12]) != PAIR_LATER || at != 12)
				good += ask_both(&m) == 0;
		}
	}
	/*
	 * The calls that succeed have changes in the requested credits, in the flavors, in the data
	 * that are returned or in their length, or in the procedure.
	 */
	assert_in_range(good, 6 * 32, 7 * 32);
}

static void echo__5531_9_cut_anywhere(void **state)
{
	struct words m;

	(void)state;
	for (uint32_t n = AT_PAYLOAD; n <= WORDS; n++) {
		make_echo(&m);
		m.n = n;
		assert_int_equal(ask_both(&m) == 0, n == WORDS);
	}
}

static int run(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(echo__5531_9_each_bit_is_judged_as_with_chunks),
		T(echo__5531_9_cut_anywhere),
	};

	return cmocka_run_group_tests_name("wire_short", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
