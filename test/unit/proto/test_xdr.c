/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of XDR over several parts: inline bytes that are divided at any offset, and items in memory
 * of their own.
 */
#include <endian.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <weir/xdr.h>

#include "xdr_ref.h"

/* ---- one buffer ---- */

static void get__words_and_bools(void **state)
{
	static const uint8_t bytes[] = {0, 0, 0, 1, 0x12, 0x34, 0x56, 0x78, 0, 0, 0, 0,
					1, 2, 3, 4, 5,	  6,	7,    8,    0, 0, 0, 2};
	struct weir_xdr_in in;
	uint64_t u64;
	uint32_t u32;
	bool value;

	(void)state;
	weir_xdr_in_init(&in, bytes, sizeof(bytes));
	assert_int_equal(weir_xdr_remaining(&in), 24);
	assert_int_equal(weir_xdr_get_bool(&in, &value), 0);
	assert_true(value);
	assert_int_equal(weir_xdr_get_u32(&in, &u32), 0);
	assert_int_equal(u32, 0x12345678);
	assert_int_equal(weir_xdr_get_bool(&in, &value), 0);
	assert_false(value);
	assert_int_equal(weir_xdr_get_u64(&in, &u64), 0);
	assert_true(u64 == 0x0102030405060708);
	assert_false(in.failed);
	assert_int_equal(weir_xdr_get_bool(&in, &value), -EBADMSG); /* a bool of 2 */
	assert_true(in.failed);
}

static void get__failure_stays(void **state)
{
	static const uint8_t bytes[16];
	struct weir_xdr_in in;
	uint32_t u32 = 7;
	uint64_t u64;

	(void)state;
	weir_xdr_in_init(&in, bytes, 12);
	assert_int_equal(weir_xdr_get_u64(&in, &u64), 0);
	assert_int_equal(weir_xdr_get_u64(&in, &u64), -EBADMSG);
	assert_true(in.failed);
	assert_int_equal(weir_xdr_get_u32(&in, &u32), -EBADMSG); /* although four bytes were left */
	assert_int_equal(weir_xdr_get_bytes(&in, NULL, 0), -EBADMSG);
	assert_int_equal(u32, 7);
	assert_int_equal(weir_xdr_remaining(&in), 0);
}

static void get__empty_buffer(void **state)
{
	struct weir_xdr_in in;
	uint32_t u32;

	(void)state;
	weir_xdr_in_init_parts(&in, NULL, 0);
	assert_int_equal(weir_xdr_remaining(&in), 0);
	assert_int_equal(weir_xdr_get_bytes(&in, NULL, 0), 0);
	assert_int_equal(weir_xdr_get_u32(&in, &u32), -EBADMSG);
}

/* Checks padding: it is part of an opaque, and its value is not checked. */
static void get_opaque__every_residue(void **state)
{
	const void *ref;
	uint8_t bytes[32];
	uint8_t copy[8];
	uint32_t got;

	(void)state;
	for (uint32_t len = 0; len <= 8; len++) {
		uint32_t padded = len + weir_xdr_pad(len);
		struct weir_xdr_in in;

		memset(bytes, 0xaa, sizeof(bytes));
		memset(bytes, 0, 4);
		bytes[3] = (uint8_t)len;
		for (uint32_t have = 0; have < 4 + padded; have++) {
			weir_xdr_in_init(&in, bytes, have);
			assert_int_equal(weir_xdr_get_opaque(&in, copy, 8, &got), -EBADMSG);
			weir_xdr_in_init(&in, bytes, have);
			assert_int_equal(weir_xdr_get_opaque_ref(&in, &ref, 8, &got), -EBADMSG);
		}
		weir_xdr_in_init(&in, bytes, 4 + padded);
		assert_int_equal(weir_xdr_get_opaque(&in, copy, len, &got), 0);
		assert_int_equal(got, len);
		assert_int_equal(weir_xdr_remaining(&in), 0);
		assert_memory_equal(copy, bytes + 4, len);
		weir_xdr_in_init(&in, bytes, 4 + padded);
		assert_int_equal(weir_xdr_get_opaque_ref(&in, &ref, len, &got), 0);
		assert_int_equal(got, len);
		assert_ptr_equal(ref, bytes + 4);
		assert_int_equal(weir_xdr_remaining(&in), 0);
		weir_xdr_in_init(&in, bytes + 4, padded);
		assert_int_equal(weir_xdr_get_opaque_fixed(&in, copy, len), 0);
		assert_int_equal(weir_xdr_remaining(&in), 0);
		if (len == 0)
			continue;
		weir_xdr_in_init(&in, bytes, 4 + padded); /* over its bound */
		assert_int_equal(weir_xdr_get_opaque(&in, copy, len - 1, &got), -EBADMSG);
		weir_xdr_in_init(&in, bytes, 4 + padded);
		assert_int_equal(weir_xdr_get_opaque_ref(&in, &ref, len - 1, &got), -EBADMSG);
	}
}

/* Checks counts near 2^32, for which count + padding exceeds 32 bits. */
static void get_opaque__huge_counts(void **state)
{
	static const uint32_t counts[] = {9,	      0x7fffffff, 0x80000000,
					  0xfffffffc, 0xfffffffd, 0xffffffff};
	uint8_t bytes[12] = {0};
	const void *ref;
	uint32_t got;

	(void)state;
	for (uint32_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		uint32_t count = htobe32(counts[i]);
		struct weir_xdr_in in;

		memcpy(bytes, &count, 4);
		weir_xdr_in_init(&in, bytes, sizeof(bytes));
		assert_int_equal(weir_xdr_get_opaque_ref(&in, &ref, UINT32_MAX, &got), -EBADMSG);
		weir_xdr_in_init(&in, bytes, sizeof(bytes));
		assert_int_equal(weir_xdr_get_opaque(&in, NULL, UINT32_MAX, &got), -EBADMSG);
		weir_xdr_in_init(&in, bytes + 4, 8);
		assert_int_equal(weir_xdr_get_opaque_fixed(&in, NULL, counts[i]), -EBADMSG);
		assert_true(in.failed);
	}
}

/* ---- parts ---- */

/*
 * Divides a stream into three parts at each pair of offsets. The decoded values must be the same.
 */
static void get_parts__cut_anywhere(void **state)
{
	uint8_t bytes[36];
	uint32_t u32, len;
	uint8_t copy[16];
	uint64_t u64;

	(void)state;
	for (uint32_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i + 1);
	memcpy(bytes + 12, (const uint8_t[]){0, 0, 0, 13}, 4);
	for (uint32_t a = 0; a <= sizeof(bytes); a++) {
		for (uint32_t b = a; b <= sizeof(bytes); b++) {
			uint8_t *copies[3] = {malloc(a + 1), malloc(b - a + 1),
					      malloc(sizeof(bytes) - b + 1)};
			struct weir_xdr_part parts[3] = {
				{copies[0], a, 0},
				{copies[1], b - a, 0},
				{copies[2], (uint32_t)sizeof(bytes) - b, 0}};
			struct weir_xdr_in in;

			memcpy(copies[0], bytes, a);
			memcpy(copies[1], bytes + a, b - a);
			memcpy(copies[2], bytes + b, sizeof(bytes) - b);
			weir_xdr_in_init_parts(&in, parts, 3);
			assert_int_equal(weir_xdr_remaining(&in), sizeof(bytes));
			assert_int_equal(weir_xdr_get_u32(&in, &u32), 0);
			assert_int_equal(u32, 0x01020304);
			assert_int_equal(weir_xdr_get_u64(&in, &u64), 0);
			assert_true(u64 == 0x05060708090a0b0c);
			assert_int_equal(weir_xdr_get_opaque(&in, copy, 16, &len), 0);
			assert_int_equal(len, 13);
			assert_memory_equal(copy, bytes + 16, 13);
			assert_int_equal(weir_xdr_remaining(&in), 4);
			assert_int_equal(weir_xdr_get_u64(&in, &u64), -EBADMSG);
			for (uint32_t i = 0; i < 3; i++)
				free(copies[i]);
		}
	}
}

static void get_opaque_ref__inline_data_over_two_parts_is_refused(void **state)
{
	static const uint8_t first[] = {0, 0, 0, 8, 1, 2, 3, 4};
	static const uint8_t second[] = {5, 6, 7, 8};
	const struct weir_xdr_part parts[] = {{first, 8, 0}, {second, 4, 0}};
	struct weir_xdr_in in;
	const void *ref;
	uint8_t copy[8];
	uint32_t len;

	(void)state;
	weir_xdr_in_init_parts(&in, parts, 2);
	assert_int_equal(weir_xdr_get_opaque_ref(&in, &ref, 8, &len), -EBADMSG);
	weir_xdr_in_init_parts(&in, parts, 2);
	assert_int_equal(weir_xdr_get_opaque(&in, copy, 8, &len), 0);
	assert_memory_equal(copy, ((const uint8_t[]){1, 2, 3, 4, 5, 6, 7, 8}), 8);
}

/* word, count, item, word. The item has every length, and its padding is in no part (RFC 8166
 * section 3.4.4). */
static void get_opaque_ref__inline_data_over_parts_is_joined_where_there_is_memory(void **state)
{
	uint8_t bytes[4 + 12 + 4 + 8 + 4], memory[16];
	struct weir_xdr_out out;
	struct weir_xdr_in in;
	const void *first, *second;
	uint32_t len, word;

	(void)state;
	weir_xdr_out_init(&out, bytes, sizeof(bytes));
	weir_xdr_put_opaque(&out, "first bytes", 11);
	weir_xdr_put_opaque(&out, "second", 6);
	weir_xdr_put_u32(&out, 77);
	/* The stream is cut in three parts at any pair of word boundaries. */
	for (uint32_t i = 0; i <= sizeof(bytes); i += 4) {
		for (uint32_t j = i; j <= sizeof(bytes); j += 4) {
			const struct weir_xdr_part parts[] = {
				{bytes, i, 0},
				{bytes + i, j - i, 0},
				{bytes + j, (uint32_t)sizeof(bytes) - j, 0}};

			for (uint32_t room = 0; room <= sizeof(memory); room++) {
				bool is_first = (i > 4 && i < 16) || (j > 4 && j < 16);
				bool is_second = (i > 20 && i < 28) || (j > 20 && j < 28);
				uint32_t need = (is_first ? (is_second ? 12u : 11u) : 0u) +
						(is_second ? 6u : 0u);
				int rc;

				memset(memory, 0xee, sizeof(memory));
				weir_xdr_in_init_parts(&in, parts, 3);
				xdr_in_join(&in, memory, room);
				rc = weir_xdr_get_opaque_ref(&in, &first, 11, &len);
				if (rc == 0)
					rc = weir_xdr_get_opaque_ref(&in, &second, 6, &len);
				for (uint32_t at = room; at < sizeof(memory); at++)
					assert_int_equal(memory[at], 0xee);
				if (need > room) {
					assert_int_equal(rc, -EBADMSG);
					continue;
				}
				assert_int_equal(rc, 0);
				assert_int_equal(len, 6);
				assert_memory_equal(first, "first bytes", 11);
				assert_memory_equal(second, "second", 6);
				assert_true(is_first == (first == memory));
				assert_int_equal(weir_xdr_get_u32(&in, &word), 0);
				assert_int_equal(word, 77);
				assert_int_equal(weir_xdr_remaining(&in), 0);
			}
		}
	}
}

static void get_opaque_ref__an_item_is_never_joined(void **state)
{
	static const uint8_t count[] = {0, 0, 0, 8}, data[8];
	const struct weir_xdr_part parts[] = {{count, 4, 0}, {data, 4, 1}, {data, 4, 1}},
				   mixed[] = {{count, 4, 0}, {data, 4, 0}, {data, 4, 1}};
	uint8_t memory[16];
	struct weir_xdr_in in;
	const void *ref;
	uint32_t len;

	(void)state;
	weir_xdr_in_init_parts(&in, parts, 3);
	xdr_in_join(&in, memory, sizeof(memory));
	assert_int_equal(weir_xdr_get_opaque_ref(&in, &ref, 8, &len), -EBADMSG);
	weir_xdr_in_init_parts(&in, mixed, 3);
	xdr_in_join(&in, memory, sizeof(memory));
	assert_int_equal(weir_xdr_get_opaque_ref(&in, &ref, 8, &len), -EBADMSG);
	assert_true(in.failed);
}

static void get_opaque_ref__3_4_4_item_is_taken_in_place(void **state)
{
	uint8_t item[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
	static const uint8_t tail[] = {0, 0, 0, 99};
	struct weir_xdr_in in;
	const void *ref;
	uint32_t word, len;

	(void)state;
	for (uint32_t n = 0; n <= 9; n++) {
		const uint8_t head[] = {0, 0, 0, 7, 0, 0, 0, (uint8_t)n};
		const struct weir_xdr_part parts[] = {
			{head, 8, 0}, {n > 0 ? item : NULL, n, 1}, {tail, 4, 0}};

		weir_xdr_in_init_parts(&in, parts, 3);
		assert_int_equal(weir_xdr_remaining(&in), 12 + n);
		assert_int_equal(weir_xdr_get_u32(&in, &word), 0);
		assert_int_equal(weir_xdr_get_opaque_ref(&in, &ref, 9, &len), 0);
		assert_int_equal(len, n);
		if (n > 0)
			assert_ptr_equal(ref, item);
		assert_int_equal(weir_xdr_remaining(&in), 4);
		assert_int_equal(weir_xdr_get_u32(&in, &word), 0);
		assert_int_equal(word, 99);
		assert_int_equal(weir_xdr_remaining(&in), 0);
	}
}

/*
 * Checks optional data, and a union with an opaque arm. The word that selects the arm must be in
 * the stream, and only the data of the arm in the chunk.
 */
static void get__3_4_4_discriminants_stay_in_the_stream(void **state)
{
	static const uint8_t item[] = {1, 2, 3, 4};
	static const uint8_t with_count[] = {0, 0, 0, 1, 0, 0, 0, 4, 1, 2, 3, 4};
	static const uint8_t head[] = {0, 0, 0, 1, 0, 0, 0, 4};
	const struct weir_xdr_part good[] = {{head, 8, 0}, {item, 4, 1}};
	const struct weir_xdr_part whole[] = {{with_count, 12, 1}};
	const struct weir_xdr_part counted[] = {{with_count, 4, 0}, {with_count + 4, 8, 1}};
	struct weir_xdr_in in;
	const void *ref;
	uint32_t arm, len;
	bool is_present;

	(void)state;
	weir_xdr_in_init_parts(&in, good, 2);
	assert_int_equal(weir_xdr_get_bool(&in, &is_present), 0);
	assert_true(is_present);
	assert_int_equal(weir_xdr_get_opaque_ref(&in, &ref, 4, &len), 0);
	assert_ptr_equal(ref, item);
	weir_xdr_in_init_parts(&in, good, 2);
	assert_int_equal(weir_xdr_get_u32(&in, &arm), 0);
	assert_int_equal(arm, 1);
	assert_int_equal(weir_xdr_get_opaque_ref(&in, &ref, 4, &len), 0);
	assert_int_equal(len, 4);
	weir_xdr_in_init_parts(&in, whole, 1);
	assert_int_equal(weir_xdr_get_bool(&in, &is_present), -EBADMSG);
	weir_xdr_in_init_parts(&in, whole, 1);
	assert_int_equal(weir_xdr_get_u32(&in, &arm), -EBADMSG);
	weir_xdr_in_init_parts(&in, counted, 2);
	assert_int_equal(weir_xdr_get_u32(&in, &arm), 0);
	assert_int_equal(weir_xdr_get_opaque_ref(&in, &ref, 8, &len), -EBADMSG);
}

static void get_opaque_ref__3_4_5_item_has_exactly_the_counted_length(void **state)
{
	static const uint8_t item[16];
	struct weir_xdr_in in;
	const void *ref;
	uint32_t len;

	(void)state;
	for (uint32_t count = 0; count <= 16; count++) {
		for (uint32_t n = 0; n <= 16; n++) {
			const uint8_t head[] = {0, 0, 0, (uint8_t)count};
			const struct weir_xdr_part parts[] = {{head, 4, 0}, {item, n, 1}};
			int rc;

			weir_xdr_in_init_parts(&in, parts, 2);
			rc = weir_xdr_get_opaque_ref(&in, &ref, 16, &len);
			assert_int_equal(rc, count == n ? 0 : -EBADMSG);
			weir_xdr_in_init_parts(&in, parts, 2);
			rc = weir_xdr_get_opaque_ref(&in, &ref, 12, &len);
			assert_int_equal(rc, count == n && n <= 12 ? 0 : -EBADMSG);
		}
	}
}

/*
 * Checks that only an opaque that is decoded in place can be an item. A peer cannot move other
 * values to a chunk.
 */
static void get__3_4_2_nothing_else_reaches_into_an_item(void **state)
{
	static const uint8_t head[] = {0, 0, 0, 8};
	static const uint8_t item[] = {0, 0, 0, 1, 0, 0, 0, 1};
	const struct weir_xdr_part parts[] = {{head, 4, 0}, {item, 8, 1}, {head, 4, 0}};
	const struct weir_xdr_part bare[] = {{item, 8, 1}, {head, 4, 0}};
	uint8_t copy[8] = {0xee};
	struct weir_xdr_in in;
	const void *ref;
	uint64_t u64;
	uint32_t u32;
	bool value;

	(void)state;
	weir_xdr_in_init_parts(&in, parts, 3);
	assert_int_equal(weir_xdr_get_opaque(&in, copy, 8, &u32), -EBADMSG);
	assert_int_equal(copy[0], 0xee);
	weir_xdr_in_init_parts(&in, parts, 3);
	/* half of it is in the part before */
	assert_int_equal(weir_xdr_get_u64(&in, &u64), -EBADMSG);
	weir_xdr_in_init_parts(&in, parts, 3);
	assert_int_equal(weir_xdr_get_u32(&in, &u32), 0);
	assert_int_equal(weir_xdr_get_u32(&in, &u32), -EBADMSG);
	weir_xdr_in_init_parts(&in, bare, 2);
	assert_int_equal(weir_xdr_get_u32(&in, &u32), -EBADMSG);
	weir_xdr_in_init_parts(&in, bare, 2);
	assert_int_equal(weir_xdr_get_bool(&in, &value), -EBADMSG);
	weir_xdr_in_init_parts(&in, bare, 2);
	assert_int_equal(weir_xdr_get_opaque_fixed(&in, copy, 8), -EBADMSG);
	weir_xdr_in_init_parts(&in, bare, 2);
	assert_int_equal(weir_xdr_get_bytes(&in, NULL, 1), -EBADMSG);
	weir_xdr_in_init_parts(&in, bare, 2);
	assert_int_equal(weir_xdr_get_bytes(&in, NULL, 0), 0);
	assert_int_equal(weir_xdr_remaining(&in), 12);
	assert_int_equal(weir_xdr_get_opaque_ref(&in, &ref, 8, &u32),
			 -EBADMSG); /* its count would be part of the item */
}

/* ---- encoder ---- */

static void put__every_residue_is_padded_with_zeros(void **state)
{
	static const uint8_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	struct weir_xdr_out out;
	struct weir_xdr_in in;
	uint8_t buf[24], copy[8];
	uint32_t got;

	(void)state;
	for (uint32_t len = 0; len <= 8; len++) {
		uint32_t padded = len + weir_xdr_pad(len);

		memset(buf, 0xee, sizeof(buf));
		weir_xdr_out_init(&out, buf, 4 + padded);
		assert_int_equal(weir_xdr_put_opaque(&out, len > 0 ? data : NULL, len), 0);
		assert_int_equal(weir_xdr_out_len(&out), 4 + padded);
		for (uint32_t i = len; i < padded; i++)
			assert_int_equal(buf[4 + i], 0);
		assert_int_equal(buf[4 + padded], 0xee);
		weir_xdr_in_init(&in, buf, 4 + padded);
		assert_int_equal(weir_xdr_get_opaque(&in, copy, 8, &got), 0);
		assert_int_equal(got, len);
		assert_memory_equal(copy, data, len);
		for (uint32_t size = 0; size < 4 + padded; size++) {
			memset(buf, 0xee, sizeof(buf));
			weir_xdr_out_init(&out, buf, size);
			assert_int_equal(weir_xdr_put_opaque(&out, data, len), -ENOSPC);
			assert_true(out.failed);
			assert_int_equal(buf[0], 0xee);
			assert_int_equal(weir_xdr_out_len(&out), 0);
		}
		weir_xdr_out_init(&out, buf, padded);
		assert_int_equal(weir_xdr_put_opaque_fixed(&out, data, len), 0);
		assert_int_equal(weir_xdr_out_len(&out), padded);
		if (padded > 0) {
			weir_xdr_out_init(&out, buf, padded - 1);
			assert_int_equal(weir_xdr_put_opaque_fixed(&out, data, len), -ENOSPC);
		}
	}
}

static void put__words(void **state)
{
	static const uint8_t expected[] = {1,	 2,    3,    4,	   0x11, 0x12,
					   0x13, 0x14, 0x15, 0x16, 0x17, 0x18};
	struct weir_xdr_out out;
	uint8_t buf[12];

	(void)state;
	weir_xdr_out_init(&out, buf, sizeof(buf));
	assert_int_equal(weir_xdr_put_u32(&out, 0x01020304), 0);
	assert_int_equal(weir_xdr_put_u64(&out, 0x1112131415161718), 0);
	assert_memory_equal(buf, expected, sizeof(buf));
	assert_int_equal(weir_xdr_put_u32(&out, 0), -ENOSPC);
	assert_true(out.failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(get__words_and_bools),
		cmocka_unit_test(get__failure_stays),
		cmocka_unit_test(get__empty_buffer),
		cmocka_unit_test(get_opaque__every_residue),
		cmocka_unit_test(get_opaque__huge_counts),
		cmocka_unit_test(get_parts__cut_anywhere),
		cmocka_unit_test(get_opaque_ref__inline_data_over_two_parts_is_refused),
		cmocka_unit_test(
			get_opaque_ref__inline_data_over_parts_is_joined_where_there_is_memory),
		cmocka_unit_test(get_opaque_ref__an_item_is_never_joined),
		cmocka_unit_test(get_opaque_ref__3_4_4_item_is_taken_in_place),
		cmocka_unit_test(get__3_4_4_discriminants_stay_in_the_stream),
		cmocka_unit_test(get_opaque_ref__3_4_5_item_has_exactly_the_counted_length),
		cmocka_unit_test(get__3_4_2_nothing_else_reaches_into_an_item),
		cmocka_unit_test(put__every_residue_is_padded_with_zeros),
		cmocka_unit_test(put__words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
