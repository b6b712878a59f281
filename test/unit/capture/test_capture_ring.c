/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the ring of records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "capture_ring.h"

#define RING_BYTES 65536u

static struct capture_ring *ring;

static int start(void **state)
{
	(void)state;
	ring = capture_ring_create(RING_BYTES);
	return ring ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	capture_ring_destroy(ring);
	return 0;
}

/* Appends a record with 'len' bytes of data. Returns false if there is no room. */
static bool append(uint32_t number, uint32_t len)
{
	struct capture_record *record = capture_ring_reserve(ring, len);

	if (!record)
		return false;
	record->kind = CAPTURE_SEND;
	record->conn = number;
	record->kept = record->len = len;
	memset(record + 1, (int)number, len);
	capture_ring_commit(ring, record);
	return true;
}

/* Takes the first record, which must be this one. */
static void take(uint32_t number)
{
	const struct capture_record *record = capture_ring_first(ring);
	const uint8_t *data;

	assert_non_null(record);
	assert_int_equal(record->conn, number);
	data = (const uint8_t *)(record + 1);
	for (uint32_t i = 0; i < record->kept; i++)
		assert_int_equal(data[i], (uint8_t)number);
	capture_ring_pop(ring);
}

static void records__of_all_lengths_stay_in_order(void **state)
{
	uint32_t in = 0, out = 0;

	(void)state;
	for (uint32_t round = 0; round < 2000; round++) {
		for (uint32_t i = 0; i < 1 + round % 5; i++)
			assert_true(append(in, in * 37 % 3001)), in++;
		while (out < in)
			take(out++);
	}
	assert_null(capture_ring_first(ring));
	assert_int_equal(atomic_load(&ring->ndropped), 0);
}

static void ring__that_is_full_drops_and_counts(void **state)
{
	uint32_t in = 0;

	(void)state;
	while (append(in, 1000))
		in++;
	assert_true(in * (1000 + sizeof(struct capture_record)) > RING_BYTES - 2 * 1100);
	assert_int_equal(atomic_load(&ring->ndropped), 1);
	assert_false(append(in, 1000));
	assert_int_equal(atomic_load(&ring->ndropped), 2);
	take(0);
	take(1);
	assert_true(append(in, 1000));
	for (uint32_t i = 2; i <= in; i++)
		take(i);
	assert_null(capture_ring_first(ring));
}

static void record__that_is_not_committed_is_not_there(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		assert_non_null(capture_ring_reserve(ring, 900));
		assert_null(capture_ring_first(ring));
		assert_true(append(i, 700));
		take(i);
	}
}

static void record__of_the_largest_length(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		assert_true(append(i, capture_ring_data_max(ring)));
		assert_true(append(i + 1, 8));
		take(i);
		take(i + 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(records__of_all_lengths_stay_in_order, start, stop),
		cmocka_unit_test_setup_teardown(ring__that_is_full_drops_and_counts, start, stop),
		cmocka_unit_test_setup_teardown(record__that_is_not_committed_is_not_there, start,
						stop),
		cmocka_unit_test_setup_teardown(record__of_the_largest_length, start, stop),
	};

	return cmocka_run_group_tests_name("capture_ring", tests, NULL, NULL);
}
