/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the ring of the driver shm: messages of each length at each offset of the wrap, a full
 * ring, and a peer that writes invalid content to the ring.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ring_cells.h"

#define SIZE	4096u
#define MAX_MSG 1500u

static uint8_t *memory;
static struct ring_writer writer;
static struct ring_reader reader;

static int setup(void **state)
{
	(void)state;
	memory = aligned_alloc(RING_CELL, ring_footprint(SIZE));
	memset(memory, 0, ring_footprint(SIZE));
	ring_writer_init(&writer, memory, SIZE);
	ring_reader_init(&reader, memory, SIZE, MAX_MSG);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(memory);
	return 0;
}

static int put(const uint8_t *data, uint32_t len, uint32_t inv_rkey)
{
	const struct fabric_sge sge = {(void *)(uintptr_t)data, len, 0};

	return ring_put(&writer, &sge, 1, len, inv_rkey);
}

/*
 * Receives a message into a buffer of 'size' bytes. Checks that no byte after the buffer is
 * changed, and, if the buffer is longer than the message, that no byte after the message is.
 */
static void expect_taken_to(uint32_t size, const uint8_t *data, uint32_t len, uint32_t inv_rkey)
{
	uint8_t got[MAX_MSG + 2 * RING_CELL];
	uint32_t word = ring_peek(&reader), key;

	assert_int_not_equal(word, 0);
	assert_int_equal(ring_msg_len(&reader, word), len);
	memset(got, 0xee, sizeof(got));
	key = ring_take(&reader, word, got, size, len);
	assert_memory_equal(got, data, len);
	for (uint32_t i = size; i < sizeof(got); i++)
		assert_int_equal(got[i], 0xee);
	assert_int_equal(key, inv_rkey);
}

static void expect_taken(const uint8_t *data, uint32_t len, uint32_t inv_rkey)
{
	expect_taken_to(len, data, len, inv_rkey);
}

static void put__any_length_at_any_place_arrives(void **state)
{
	uint32_t nflat = 0, ncurved = 0;
	uint8_t data[MAX_MSG];

	(void)state;
	for (uint32_t i = 0; i < MAX_MSG; i++)
		data[i] = (uint8_t)(i * 7 + 1);
	for (uint32_t start = 0; start < SIZE / RING_CELL; start++) {
		for (uint32_t len = 0; len <= MAX_MSG; len += len < 200 ? 1 : 61) {
			assert_int_equal(put(data, len, len), 1);
			expect_taken(data, len, len);
			assert_int_equal(ring_peek(&reader), 0);
			nflat += ring_has_small_room(&writer);
			ncurved += !ring_has_small_room(&writer);
			assert_int_equal(ring_put_one(&writer, data, len), 1);
			expect_taken_to(len + start % RING_CELL, data, len, 0);
			assert_int_equal(ring_peek(&reader), 0);
		}
		assert_int_equal(put(data, 1, 0), 1); /* shifts the next round by one cell */
		expect_taken(data, 1, 0);
	}
	assert_true(nflat > ncurved && ncurved > 1000);
}

/* Checks messages with a tag, at the start of any lap. */
static void put__tagged_of_any_length_at_any_place_arrives(void **state)
{
	uint8_t data[MAX_MSG], got[MAX_MSG + 2 * RING_CELL];

	(void)state;
	for (uint32_t i = 0; i < MAX_MSG; i++)
		data[i] = (uint8_t)(i * 7 + 1);
	ring_writer_start(&writer, 0x7ffffffe);
	ring_reader_start(&reader, 0x7ffffffe);
	for (uint32_t start = 0; start < SIZE / RING_CELL; start++) {
		for (uint32_t len = 0; len <= MAX_MSG - RING_TAG; len += len < 200 ? 1 : 61) {
			uint64_t tag = 0x123456789abcdef0u + len;
			uint32_t size = len + (start % 2 ? start % RING_CELL : 0), word;

			assert_int_equal(ring_put_tagged(&writer, tag, data, len), 1);
			word = ring_peek(&reader);
			assert_int_equal(ring_msg_len(&reader, word), len + RING_TAG);
			assert_true(ring_tag(&reader, reader.head) == tag);
			memset(got, 0xee, sizeof(got));
			assert_int_equal(ring_take_tagged(&reader, word, got, size, len), 0);
			assert_memory_equal(got, data, len);
			for (uint32_t i = size; i < sizeof(got); i++)
				assert_int_equal(got[i], 0xee);
			assert_int_equal(ring_peek(&reader), 0);
		}
		/* This message is dropped. It shifts the next round by one or two cells. */
		assert_int_equal(put(data, 1, start % 2), 1);
		ring_drop(&reader, ring_peek(&reader));
		assert_true(reader.head == ring_tail(&writer));
	}
}

/* Sends messages of a few cells, of all lengths, one after the other, through many laps. */
static void cursor__is_that_of_the_next_message(void **state)
{
	uint8_t data[RING_SMALL_MAX], got[RING_SMALL_MAX];
	uint32_t nfew = 0, nturns = 0;
	struct ring_cursor next;

	(void)state;
	for (uint32_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + 1);
	next = ring_cursor_of(&reader);
	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t len = i * 13 % (RING_SMALL_MAX + 1);

		assert_true(next.at == reader.head &&
			    next.cell == ring_cell_at(&reader.cells, next.at));
		assert_true(next.header == ring_first_header(next.at));
		assert_int_equal(ring_put_one(&writer, data, len), 1);
		assert_int_equal(ring_header(next.cell) ^ next.header, len);
		if (next.at < reader.contig_end) {
			ring_take_small(&next, 0, got, len);
			reader.head = next.at;
			nfew++;
		} else {
			ring_take_wrap(&reader, got, len);
			next = ring_cursor_of(&reader);
			nturns++;
		}
		assert_memory_equal(got, data, len);
	}
	assert_true(nfew > nturns && nturns > 1000);
}

/* Checks the numbers of cells when they start again from 0. The ring begins shortly before that. */
static void put__numbers_come_again(void **state)
{
	const uint64_t begin = (1ull << (64 - RING_WORD_BITS)) * RING_CELL - 2 * SIZE;
	uint8_t data[MAX_MSG];

	(void)state;
	memset(data, 1, sizeof(data));
	writer.full_at = begin + SIZE;
	writer.header = ring_first_header(begin);
	reader.head = reader.publish_at = begin;
	for (uint32_t len = 0; ring_tail(&writer) - begin < 6 * (uint64_t)SIZE;
	     len = (len + 61) % MAX_MSG) {
		assert_int_equal(ring_peek(&reader), 0);
		assert_int_equal(ring_put_one(&writer, data, len), 1);
		expect_taken(data, len, 0);
	}
	assert_true(ring_number(ring_tail(&writer)) < ring_number(begin));
}

static void put__stale_payload_is_never_a_header(void **state)
{
	uint8_t data[MAX_MSG];
	const uint32_t valid = RING_VALID | 4;

	(void)state;
	for (uint32_t i = 0; i + 4 <= MAX_MSG; i += 4)
		memcpy(data + i, &valid,
		       4); /* each word looks like the header of a message of 4 bytes */
	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t len = i * 37 % MAX_MSG / 4 * 4;

		assert_int_equal(put(data, len, 0), 1);
		expect_taken(data, len, 0);
		assert_int_equal(ring_peek(&reader), 0);
	}
}

static void put__full_ring_takes_nothing_until_the_reader_says(void **state)
{
	uint8_t data[200] = {1};
	uint32_t n = 0, taken = 0;

	(void)state;
	while (put(data, sizeof(data), n) == 1)
		n++;
	/* A message whose key is 0 needs no cell for the key. */
	assert_int_equal(n, (SIZE + RING_CELL) / (ring_cells_bytes(sizeof(data)) + RING_CELL));
	for (; taken < n; taken++)
		expect_taken(data, sizeof(data), taken);
	assert_int_equal(ring_peek(&reader), 0);
	while (put(data, sizeof(data), n) == 1)
		n++;
	assert_true(n - taken >=
		    /*
		     * at least three quarters, because the reader publishes its progress in
		     * quarters of the ring
		     */
		    8);
}

static void put__gathers_its_elements(void **state)
{
	uint8_t data[300], empty[1];
	const struct fabric_sge sges[] = {
		{data, 3, 0}, {empty, 0, 0}, {data + 3, 90, 0}, {data + 93, 207, 0}};

	(void)state;
	for (uint32_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i + 9);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(ring_put(&writer, sges, 4, 300, 5), 1);
		expect_taken(data, 300, 5);
	}
}

static void fill(void)
{
	uint8_t data[200] = {0};

	while (put(data, sizeof(data), 0) == 1)
		;
}

static void put__a_mark_that_cannot_be_ends_the_writer(void **state)
{
	static const uint64_t offsets[] = {1, 63, 65, 1u << 20, UINT64_MAX};
	struct ring_shared *shared = (struct ring_shared *)memory;
	uint8_t data[200] = {0};

	(void)state;
	fill();
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		shared->head = offsets[i] == 1u << 20 ? ring_tail(&writer) + RING_CELL : offsets[i];
		assert_int_equal(put(data, sizeof(data), 0), -1);
	}
	shared->head = 2 * RING_CELL; /* the position can advance, but not go back */
	assert_int_equal(put(data, 8, 0), 1);
	fill();
	shared->head = RING_CELL;
	assert_int_equal(put(data, sizeof(data), 0), -1);
}

static void peek__headers_that_cannot_be_are_told(void **state)
{
	static const uint32_t words[] = {1,
					 0x7fffffff,
					 0xffffffff,
					 RING_INV | 4,
					 RING_VALID | (MAX_MSG + 1),
					 RING_VALID | RING_LEN_MASK,
					 RING_VALID | RING_INV | (MAX_MSG + 1),
					 RING_VALID << 1 | RING_VALID | 4};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		assert_int_equal(ring_msg_len(&reader, words[i]), -1);
	assert_int_equal(ring_msg_len(&reader, RING_VALID), 0);
	assert_int_equal(ring_msg_len(&reader, RING_VALID | MAX_MSG), MAX_MSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(put__any_length_at_any_place_arrives, setup,
						teardown),
		cmocka_unit_test_setup_teardown(put__tagged_of_any_length_at_any_place_arrives,
						setup, teardown),
		cmocka_unit_test_setup_teardown(cursor__is_that_of_the_next_message, setup,
						teardown),
		cmocka_unit_test_setup_teardown(put__numbers_come_again, setup, teardown),
		cmocka_unit_test_setup_teardown(put__stale_payload_is_never_a_header, setup,
						teardown),
		cmocka_unit_test_setup_teardown(put__full_ring_takes_nothing_until_the_reader_says,
						setup, teardown),
		cmocka_unit_test_setup_teardown(put__gathers_its_elements, setup, teardown),
		cmocka_unit_test_setup_teardown(put__a_mark_that_cannot_be_ends_the_writer, setup,
						teardown),
		cmocka_unit_test_setup_teardown(peek__headers_that_cannot_be_are_told, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
