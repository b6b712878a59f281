/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of calls with a repeat match (request_fast.c), which the responder recognises by a
 * comparison with the previous call. The tests change each bit of a call. The answer must be the
 * same as when the previous call was of another kind, so that no comparison is possible.
 */
#include "pair_main.h"

#include <endian.h>
#include <string.h>

#include "direct_ops.h"
#include "raw.h"

#define SHORT_PAYLOAD 7u
#define SHORT_WORDS   21u
#define CHUNK_PAYLOAD 13u
#define CHUNK_WORDS   24u
#define AT_LENGTH     8u
#define READ_BYTES    2000u
/* A WRITE call. Its payload begins at the same offset as that of a READ call. */
#define WRITE_WORDS	  26u
#define WRITE_BYTES	  1000u
#define WRITE_POSITION	  48u
#define WRITE_AT_POSITION 5u
#define WRITE_AT_LENGTH	  7u

static struct pair pair;
static struct raw raw;

static int setup(void **state)
{
	(void)state;
	pair_start(&pair, NULL);
	direct_ops_add(&pair);
	raw_open(&raw, &pair);
	raw_connect(&raw);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	raw_end(&raw);
	return 0;
}

static void make_echo(struct words *m)
{
	memset(m, 0, sizeof(*m));
	words_put(m, 7, 77, 1, 16, 0, 0, 0, 0);
	words_put(m, 14, 77, 0, 2, PAIR_PROG, PAIR_VERS, PAIR_ECHO, 0, 0, 0, 0, 12, 1, 2, 3);
	assert_int_equal(m->n, SHORT_WORDS);
}

static void make_read(struct words *m)
{
	memset(m, 0, sizeof(*m));
	words_put(m, 7, 78, 1, 16, 0, 0, 1, 1);
	words_put(m, 4, raw.mr.rkey, READ_BYTES, (uint32_t)(raw.raddr >> 32), (uint32_t)raw.raddr);
	words_put(m, 2, 0, 0);
	words_put(m, 11, 78, 0, 2, PAIR_PROG, PAIR_VERS, PAIR_READ, 0, 0, 0, 0, READ_BYTES);
	assert_int_equal(m->n, CHUNK_WORDS);
}

static void make_write(struct words *m)
{
	memset(m, 0, sizeof(*m));
	words_put(m, 4, 79, 1, 16, 0);
	words_put(m, 6, 1, WRITE_POSITION, raw.mr.rkey, WRITE_BYTES, (uint32_t)(raw.raddr >> 32),
		  (uint32_t)raw.raddr);
	words_put(m, 3, 0, 0, 0);
	words_put(m, 13, 79, 0, 2, PAIR_PROG, PAIR_VERS, PAIR_WRITE, 0, 0, 0, 0, 7, WRITE_BYTES, 9);
	assert_int_equal(m->n, WRITE_WORDS);
}

static void (*const makers[])(struct words *m) = {make_echo, make_read, make_write};

/*
 * Makes a call of a kind for which the responder keeps no header to compare with: the call has a
 * Write chunk without segments.
 */
static void make_other(struct words *m)
{
	make_echo(m);
	memmove(&m->w[7], &m->w[5], (m->n - 5) * 4);
	m->w[5] = htobe32(1);
	m->w[6] = 0;
	m->n += 2;
}

struct answer {
	struct words words;
	/* flavor that the program saw, or UINT32_MAX if the program was not called */
	uint32_t cred_flavor;
	uint8_t mem[2 * READ_BYTES];
};

static void ask(const struct words *m, struct answer *answer)
{
	memset(raw.mem, 0xa5, sizeof(answer->mem));
	memset(&answer->words, 0, sizeof(answer->words));
	pair.cred_flavor = UINT32_MAX;
	raw_ask_words(&raw, m, &answer->words);
	answer->cred_flavor = pair.cred_flavor;
	memcpy(answer->mem, raw.mem, sizeof(answer->mem));
}

static void assert_same(const struct answer *a, const struct answer *b)
{
	assert_int_equal(a->words.n, b->words.n);
	assert_int_equal(a->cred_flavor, b->cred_flavor);
	assert_memory_equal(a->words.w, b->words.w, a->words.n * 4);
	assert_memory_equal(a->mem, b->mem, sizeof(a->mem));
}

/*
 * Sends 'm' after a call of another kind, and then after a call that is like 'kind'. Checks that
 * both answers are equal. Returns true if the answer is an RPC reply with SUCCESS and as long as
 * the answer to 'kind'.
 */
static bool ask_behind(const struct words *kind, const struct words *m)
{
	static struct answer first, again, good, good_again;
	struct words other, one_more = *kind, *like = &one_more;

	one_more.w[0] ^= htobe32(1u << 20); /* another XID */
	one_more.w[kind->w[5] == 0 ? SHORT_PAYLOAD : CHUNK_PAYLOAD] ^= htobe32(1u << 20);

	make_other(&other);
	ask(&other, &first);
	ask(m, &first);
	ask(like, &good);
	ask(like, &good_again);
	assert_same(&good, &good_again);
	ask(m, &again);
	assert_same(&first, &again);
	ask(like, &good_again);
	assert_same(&good, &good_again);
	/* True for an accepted RPC reply with SUCCESS, after the chunk lists. */
	return first.words.n == good.words.n && first.words.w[3] == 0 &&
	       first.words.w[good.words.w[5] == 0 ? 12 : 18] == 0;
}

static bool is_asked(const struct words *m, uint32_t at, uint32_t proc_at)
{
	return at != proc_at || be32toh(m->w[at]) != PAIR_LATER;
}

static void echo__5531_9_each_bit_is_judged_as_the_first_time(void **state)
{
	struct words like, m;
	uint32_t good = 0;

	(void)state;
	make_echo(&like);
	assert_true(ask_behind(&like, &like));
	for (uint32_t at = 0; at < SHORT_WORDS; at++) {
		/* Other tests check the chunk lists. */
		if (at > 3 && at < SHORT_PAYLOAD)
			continue;
		for (uint32_t bit = 0; bit < 32; bit++) {
			m = like;
			m.w[at] ^= htobe32(1u << bit);
			if (is_asked(&m, at, SHORT_PAYLOAD + 5))
				good += ask_behind(&like, &m);
		}
	}
	/*
	 * The calls that succeed have changes in the requested credits, in the flavors, or in the
	 * data that are returned.
	 */
	assert_in_range(good, 6 * 32, 7 * 32);
}

static void read__5531_9_each_bit_is_judged_as_the_first_time(void **state)
{
	struct words like, m;
	uint32_t good = 0;

	(void)state;
	make_read(&like);
	assert_true(ask_behind(&like, &like));
	for (uint32_t at = 0; at < CHUNK_WORDS; at++) {
		/*
		 * Other tests check words that would end the connection, keys and addresses, and
		 * the chunk lists.
		 */
		if (at > 3 && at < CHUNK_PAYLOAD && at != AT_LENGTH)
			continue;
		/*
		 * The last word is the number of bytes to read. Only its low bits give a number
		 * that the server can return.
		 */
		for (uint32_t bit = 0; bit < (at == CHUNK_WORDS - 1 ? 11 : 32); bit++) {
			m = like;
			m.w[at] ^= htobe32(1u << bit);
			if (is_asked(&m, at, CHUNK_PAYLOAD + 5))
				good += ask_behind(&like, &m);
		}
	}
	/*
	 * The calls that succeed have changes in the requested credits, in the flavors, or in
	 * lengths that stay sufficient.
	 */
	assert_in_range(good, 80, 128);
}

static void write__5531_9_each_bit_is_judged_as_the_first_time(void **state)
{
	struct words like, m;
	uint32_t good = 0;

	(void)state;
	make_write(&like);
	assert_true(ask_behind(&like, &like));
	for (uint32_t at = 0; at < WRITE_WORDS; at++) {
		/*
		 * Other tests check words that would end the connection, and the key and address of
		 * the segment.
		 */
		if (at == WRITE_AT_POSITION + 1 || at == WRITE_AT_LENGTH + 1 ||
		    at == WRITE_AT_LENGTH + 2)
			continue;
		/* Only the low bits of the length give a segment that lies in the peer's memory. */
		for (uint32_t bit = 0; bit < (at == WRITE_AT_LENGTH ? 12 : 32); bit++) {
			m = like;
			m.w[at] ^= htobe32(1u << bit);
			if (is_asked(&m, at, CHUNK_PAYLOAD + 5))
				good += ask_behind(&like, &m);
		}
	}
	/*
	 * The calls that succeed have changes in the requested credits, in the flavors, or in the
	 * words before and after the item.
	 */
	assert_in_range(good, 5 * 32, 6 * 32);
}

/*
 * Checks WRITE calls with other positions and lengths: at any position, at the ends of the range,
 * and of no bytes.
 */
static void write__8166_3_4_5_lengths_and_positions(void **state)
{
	static const uint32_t words[] = {0,  4,	 36, 37, 40, 44, 45, 46, 47, 48,
					 49, 50, 51, 52, 53, 54, 55, 56, 60, WRITE_BYTES - 1};
	struct words like, m;
	uint32_t good = 0;

	(void)state;
	make_write(&like);
	for (uint32_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		for (uint32_t what = 0; what < 3; what++) {
			m = like;
			if (what != 0)
				m.w[WRITE_AT_LENGTH] = htobe32(words[i]);
			else
				m.w[WRITE_AT_POSITION] = htobe32(words[i]);
			if (what == 2)
				m.w[CHUNK_PAYLOAD + 11] = m.w[WRITE_AT_LENGTH];
			good += ask_behind(&like, &m);
		}
	}
	/*
	 * These calls succeed: the one with the right position, and those whose count word states
	 * the length of the chunk. The lengths need no padding.
	 */
	assert_int_equal(good, 1 + sizeof(words) / sizeof(words[0]));
}

static void calls__5531_9_cut_anywhere(void **state)
{
	struct words like, m;

	(void)state;
	for (uint32_t kind = 0; kind < 3; kind++) {
		makers[kind](&like);
		for (uint32_t n = kind == 0 ? SHORT_PAYLOAD : CHUNK_PAYLOAD; n <= like.n; n++) {
			m = like;
			m.n = n;
			assert_int_equal(ask_behind(&like, &m), n == like.n);
		}
	}
}

/* Reads the granted credits itself, because raw_ask_words() clears them. */
static void echo__8166_3_3_1_as_many_credits_as_are_asked_for(void **state)
{
	struct words m, answer;

	(void)state;
	for (uint32_t round = 0; round < 64; round++) {
		uint32_t wanted = 1 + round % 3;

		make_echo(&m);
		m.w[2] = htobe32(wanted);
		raw_send_words(&raw, &m);
		raw_recv_words(&raw, &answer);
		assert_in_range(answer.w[2], 1, wanted);
		if (round > 16) /* the first grants are smaller */
			assert_int_equal(answer.w[2], wanted);
	}
}

/*
 * Makes calls of each kind after calls of each other kind, and calls of each procedure after calls
 * of each other procedure.
 */
static void calls__5531_9_one_kind_behind_the_other(void **state)
{
	struct words kinds[3], m;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		makers[i](&kinds[i]);
	for (uint32_t i = 0; i < 9; i++)
		assert_int_equal(ask_behind(&kinds[i / 3], &kinds[i % 3]), i / 3 == i % 3);
	for (uint32_t proc = 0; proc <= PAIR_NPROCS; proc++) {
		if (proc == PAIR_LATER)
			continue;
		for (uint32_t i = 0; i < 3; i++) {
			m = kinds[i];
			m.w[(i == 0 ? SHORT_PAYLOAD : CHUNK_PAYLOAD) + 5] = htobe32(proc);
			ask_behind(&kinds[i], &m);
		}
	}
}

static int run(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(echo__5531_9_each_bit_is_judged_as_the_first_time),
		T(read__5531_9_each_bit_is_judged_as_the_first_time),
		T(write__5531_9_each_bit_is_judged_as_the_first_time),
		T(write__8166_3_4_5_lengths_and_positions),
		T(calls__5531_9_cut_anywhere),
		T(echo__8166_3_3_1_as_many_credits_as_are_asked_for),
		T(calls__5531_9_one_kind_behind_the_other),
	};

	return cmocka_run_group_tests_name("wire_again", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
