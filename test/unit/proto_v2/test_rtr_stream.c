/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the virtual stream of sections and items: the values that were encoded before the
 * division are decoded again.
 */
#include <stdlib.h>

#include "rdma1_msg.h"
#include "rtr_stream.h"

#define ITEMS_MAX    5u
#define SECTIONS_MAX 6u
#define PARTS_MAX    (SECTIONS_MAX + 2 * ITEMS_MAX)

static uint64_t seed;

static uint32_t any(uint32_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((seed >> 33) % below);
}

/*
 * A message with 40 bytes of header, opaques that are each followed by words, and a payload that is
 * divided into sections.
 */
struct message {
	struct msg payload;
	uint8_t data[ITEMS_MAX][64];
	struct rtr_stream_item items[ITEMS_MAX];
	uint32_t nitems;
	uint32_t words[ITEMS_MAX]; /* after each item */
	struct weir_xdr_part sections[SECTIONS_MAX];
	uint32_t nsections;
};

static void make(struct message *a)
{
	uint32_t excised = 0, at = 0;

	memset(a, 0, sizeof(*a));
	for (uint32_t i = 0; i < 10; i++)
		msg_u32(&a->payload, i);
	a->nitems = any(ITEMS_MAX + 1);
	for (uint32_t i = 0; i < a->nitems; i++) {
		uint32_t len = any(64);

		for (uint32_t k = 0; k < len; k++)
			a->data[i][k] = (uint8_t)any(256);
		msg_u32(&a->payload, len);
		a->items[i] = (struct rtr_stream_item){a->payload.len + excised, len, a->data[i]};
		excised += (len + 3) & ~3u;
		a->words[i] = any(4);
		for (uint32_t k = 0; k < a->words[i]; k++)
			msg_u32(&a->payload, k);
	}
	a->nsections = 1 + any(SECTIONS_MAX);
	for (uint32_t i = 0; i < a->nsections; i++) {
		uint32_t left = a->payload.len - at,
			 len = i + 1 == a->nsections ? left : 4 * any(left / 4 + 1);

		a->sections[i] =
			(struct weir_xdr_part){.base = a->payload.buf + at, .len_bytes = len};
		at += len;
	}
}

static void parts__are_decoded_as_the_whole_message(void **state)
{
	(void)state;
	for (uint64_t run = 0; run < 4000; run++) {
		struct weir_xdr_part parts[PARTS_MAX];
		struct weir_xdr_in in;
		struct message a;
		uint32_t word, len;
		const void *data;
		int n;

		seed = run;
		make(&a);
		n = rtr_stream_parts(a.sections, a.nsections, a.items, a.nitems, parts,
				     a.nsections + 2 * a.nitems);
		assert_true(n > 0);
		weir_xdr_in_init_parts(&in, parts, (uint32_t)n);
		for (uint32_t i = 0; i < 10; i++) {
			assert_int_equal(weir_xdr_get_u32(&in, &word), 0);
			assert_int_equal(word, i);
		}
		for (uint32_t i = 0; i < a.nitems; i++) {
			assert_int_equal(weir_xdr_get_opaque_ref(&in, &data, 64, &len), 0);
			assert_int_equal(len, a.items[i].len);
			if (len > 0)
				assert_ptr_equal(data, a.data[i]);
			for (uint32_t k = 0; k < a.words[i]; k++) {
				assert_int_equal(weir_xdr_get_u32(&in, &word), 0);
				assert_int_equal(word, k);
			}
		}
		assert_int_equal(weir_xdr_remaining(&in), 0);
		assert_int_equal(rtr_stream_parts(a.sections, a.nsections, a.items, a.nitems, parts,
						  (uint32_t)n - 1),
				 -E2BIG);
	}
}

/*
 * Checks an item of 8 bytes, whose length is at byte 40 of 48, and ways in which it can be wrong.
 */
static void parts__items_lie_where_their_length_is(void **state)
{
	static const struct {
		uint32_t disp, len, second;
		int expected;
	} cases[] = {
		{44, 8, 0, 3},
		{44, 7, 0, -EBADMSG}, /* not the length in the word before it */
		{40, 8, 0, -EBADMSG}, /* after another word */
		{48, 8, 0, -EBADMSG},
		{52, 8, 0, -EBADMSG}, /* past the payload */
		{0xfffffffc, 8, 0, -EBADMSG},
		{0, 8, 0, -EBADMSG},
		{44, 8, 52, -EBADMSG}, /* directly after the first item, where no length can be */
		{44, 8, 56, 4},	       /* after the last word */
		{44, 8, 48, -EBADMSG},
	};
	uint8_t data[8] = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rtr_stream_item items[2] = {{cases[i].disp, cases[i].len, data},
						   {cases[i].second, 0, data}};
		struct weir_xdr_part parts[5], section;
		struct msg m = {.len = 0};

		for (uint32_t k = 0; k < 10; k++)
			msg_u32(&m, 99);
		msg_u32(&m, 8);
		msg_u32(&m, 0);
		section = (struct weir_xdr_part){.base = m.buf, .len_bytes = m.len};
		assert_int_equal(rtr_stream_parts(&section, 1, items, cases[i].second == 0 ? 1 : 2,
						  parts, 5),
				 cases[i].expected);
	}
}

static void parts__nothing_is_nothing(void **state)
{
	const struct rtr_stream_item item = {4, 0, NULL};
	struct weir_xdr_part part;

	(void)state;
	assert_int_equal(rtr_stream_parts(NULL, 0, NULL, 0, &part, 1), 0);
	assert_int_equal(rtr_stream_parts(NULL, 0, &item, 1, &part, 1), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts__are_decoded_as_the_whole_message),
		cmocka_unit_test(parts__items_lie_where_their_length_is),
		cmocka_unit_test(parts__nothing_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
