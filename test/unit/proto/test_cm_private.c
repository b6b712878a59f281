/* SPDX-License-Identifier: BSD-3-Clause */

/* Tests of the private data of connections (RFC 8797). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cm_private.h"

static void encode__is_the_exact_message(void **state)
{
	static const uint8_t want[] = {0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 0};
	const struct cm_private mine = {
		.send_bytes = 4096, .recv_bytes = 1024, .remote_invalidation = true};
	uint8_t buf[CM_PRIVATE_SIZE];

	(void)state;
	cm_private_encode(&mine, buf);
	assert_memory_equal(buf, want, sizeof(want));
}

static void encode__rounds_down_and_clamps(void **state)
{
	static const struct {
		uint32_t bytes, code;
	} cases[] = {{0, 0},	{1023, 0},     {1024, 0},     {2047, 0},     {2048, 1},
		     {5000, 3}, {262143, 254}, {262144, 255}, {262145, 255}, {UINT32_MAX, 255}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct cm_private mine = {.send_bytes = cases[i].bytes, .recv_bytes = 1024};
		uint8_t buf[CM_PRIVATE_SIZE];

		cm_private_encode(&mine, buf);
		assert_int_equal(buf[6], cases[i].code);
		assert_int_equal(buf[5], 0);
	}
}

static void decode__finds_the_message_at_any_offset(void **state)
{
	const struct cm_private mine = {
		.send_bytes = 8192, .recv_bytes = 4096, .remote_invalidation = true};
	struct cm_private theirs;
	uint8_t data[56];

	(void)state;
	for (uint32_t at = 0; at + CM_PRIVATE_SIZE <= sizeof(data); at++) {
		memset(data, 0xf6, sizeof(data));
		cm_private_encode(&mine, data + at);
		assert_true(cm_private_decode(data, sizeof(data), &theirs));
		assert_int_equal(theirs.send_bytes, 8192);
		assert_int_equal(theirs.recv_bytes, 4096);
		assert_true(theirs.remote_invalidation);
	}
}

static void expect_defaults(const uint8_t *data, uint32_t len)
{
	struct cm_private theirs;

	assert_false(cm_private_decode(data, len, &theirs));
	assert_int_equal(theirs.send_bytes, 1024);
	assert_int_equal(theirs.recv_bytes, 1024);
	assert_false(theirs.remote_invalidation);
}

static void decode__without_a_valid_message_says_1024(void **state)
{
	const struct cm_private mine = {
		.send_bytes = 8192, .recv_bytes = 4096, .remote_invalidation = true};
	uint8_t data[CM_PRIVATE_SIZE];

	(void)state;
	cm_private_encode(&mine, data);
	expect_defaults(NULL, 0);
	for (uint32_t len = 0; len < CM_PRIVATE_SIZE; len++)
		expect_defaults(data, len);
	data[4] = 2; /* another version */
	expect_defaults(data, sizeof(data));
	data[4] = 1;
	data[0] ^= 1;
	expect_defaults(data, sizeof(data));
}

static void threshold__is_the_smaller_of_both_sides(void **state)
{
	(void)state;
	assert_int_equal(cm_private_threshold(4096, 1024), 1024);
	assert_int_equal(cm_private_threshold(2048, 8192), 2048);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encode__is_the_exact_message),
		cmocka_unit_test(encode__rounds_down_and_clamps),
		cmocka_unit_test(decode__finds_the_message_at_any_offset),
		cmocka_unit_test(decode__without_a_valid_message_says_1024),
		cmocka_unit_test(threshold__is_the_smaller_of_both_sides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
