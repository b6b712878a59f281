/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the handles that the segments of chunks get in a capture. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "handles.h"
#include "wire.h"

#define RKEY 0x77u

static struct handles handles;
static uint32_t last;
static uint8_t message[256];
static uint32_t len;

static int start(void **state)
{
	(void)state;
	memset(&handles, 0, sizeof(handles));
	last = 1000;
	handles.last = &last;
	len = 0;
	return 0;
}

static void put(uint32_t word)
{
	wire_put_u32(message + len, word);
	len += 4;
}

static void put_segment(uint32_t rkey, uint32_t bytes, uint64_t raddr)
{
	put(rkey);
	put(bytes);
	put((uint32_t)(raddr >> 32));
	put((uint32_t)raddr);
}

/* Begins a header of the version and the type. */
static void begin(uint32_t version, uint32_t type)
{
	len = 0;
	put(42);
	put(version);
	put(16);
	put(type);
}

/* Makes a call with a Read chunk, a Write chunk of two segments and a Reply chunk. */
static void make_call(void)
{
	begin(1, 0);
	put(1);
	put(40);
	put_segment(RKEY, 4096, 0x1000);
	put(0);
	put(1);
	put(2);
	put_segment(RKEY, 100, 0x10000);
	put_segment(RKEY, 100, 0x10064);
	put(0);
	put(1);
	put(1);
	put_segment(RKEY, 50, 0x20000);
}

static uint32_t word(uint32_t at)
{
	return wire_get_u32(message + at);
}

static void call__gets_a_handle_for_each_segment(void **state)
{
	uint8_t before[sizeof(message)];

	(void)state;
	make_call();
	memcpy(before, message, len);
	assert_true(handles_has_chunks(message, len));
	handles_replace(&handles, message, len, true);
	assert_int_equal(word(24), 1001);
	assert_int_equal(word(52), 1002);
	assert_int_equal(word(68), 1003);
	assert_int_equal(word(96), 1004);
	for (uint32_t at = 0; at < len; at += 4)
		if (at != 24 && at != 52 && at != 68 && at != 96)
			assert_memory_equal(message + at, before + at, 4);
	assert_int_equal(handles_find(&handles, RKEY, 0x1000), 1001);
	assert_int_equal(handles_find(&handles, RKEY, 0x1fff), 1001);
	assert_int_equal(handles_find(&handles, RKEY, 0x2000), RKEY);
	assert_int_equal(handles_find(&handles, RKEY, 0x10063), 1002);
	assert_int_equal(handles_find(&handles, RKEY, 0x10064), 1003);
	assert_int_equal(handles_find(&handles, RKEY + 1, 0x1000), RKEY + 1);
}

static void reply__has_the_handles_of_its_call(void **state)
{
	(void)state;
	make_call();
	handles_replace(&handles, message, len, true);
	begin(1, 1);
	put(0);
	put(0);
	put(1);
	put(1);
	put_segment(RKEY, 30, 0x20000);
	handles_replace(&handles, message, len, false);
	assert_int_equal(word(32), 1004);
	assert_int_equal(last, 1004);
}

static void call__that_uses_memory_again_gets_other_handles(void **state)
{
	(void)state;
	make_call();
	handles_replace(&handles, message, len, true);
	make_call();
	handles_replace(&handles, message, len, true);
	assert_int_equal(word(24), 1005);
	assert_int_equal(handles_find(&handles, RKEY, 0x1000), 1005);
}

static void segments__beyond_the_limit_replace_the_oldest(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < HANDLES_MAX; i++) {
		make_call();
		handles_replace(&handles, message, len, true);
	}
	assert_int_equal(handles_find(&handles, RKEY, 0x1000), last - 3);
	begin(1, 0);
	for (uint32_t i = 0; i < 5; i++) {
		put(1);
		put(0);
		put_segment(i, 1, i);
	}
	handles_replace(&handles, message, len, true);
	assert_int_equal(handles_find(&handles, 4, 4), last);
}

static void header__that_is_truncated_changes_nothing_after_its_end(void **state)
{
	uint8_t before[sizeof(message)];

	(void)state;
	make_call();
	memcpy(before, message, sizeof(before));
	for (uint32_t known = 0; known < len; known++) {
		memcpy(message, before, sizeof(message));
		handles_replace(&handles, message, known, true);
		assert_memory_equal(message + known, before + known, sizeof(message) - known);
	}
}

static void header__that_is_of_no_use(void **state)
{
	(void)state;
	begin(2, 0);
	put(1);
	put(0);
	put_segment(RKEY, 1, 1);
	assert_false(handles_has_chunks(message, len));
	begin(1, 4); /* RDMA_ERROR */
	put(1);
	put(1);
	put(1);
	assert_false(handles_has_chunks(message, len));
	begin(1, 0); /* no chunks */
	put(0);
	put(0);
	put(0);
	assert_false(handles_has_chunks(message, len));
	begin(1, 0); /* more segments than the message has */
	put(0);
	put(1);
	put(UINT32_MAX);
	put_segment(RKEY, 1, 1);
	handles_replace(&handles, message, len, true);
	assert_int_equal(last, 1001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(call__gets_a_handle_for_each_segment, start),
		cmocka_unit_test_setup(reply__has_the_handles_of_its_call, start),
		cmocka_unit_test_setup(call__that_uses_memory_again_gets_other_handles, start),
		cmocka_unit_test_setup(segments__beyond_the_limit_replace_the_oldest, start),
		cmocka_unit_test_setup(header__that_is_truncated_changes_nothing_after_its_end,
				       start),
		cmocka_unit_test_setup(header__that_is_of_no_use, start),
	};

	return cmocka_run_group_tests_name("handles", tests, NULL, NULL);
}
