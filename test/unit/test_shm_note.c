/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes beside a ring: any length, in order with the ring's messages, and nothing stale is ever news, however laps count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "note.h"

#define SIZE	4096u
#define CELLS	(SIZE / RING_CELL)
#define MAX_MSG 1500u
#define BASE	0x5eed0000dull

static uint8_t *memory;
static struct shm_note *note;
static struct ring_writer writer;
static struct ring_reader reader;
static uint8_t data[MAX_MSG], got[MAX_MSG + RING_CELL];

static int setup(void **state)
{
	(void)state;
	memory = aligned_alloc(RING_CELL, ring_footprint(SIZE));
	note = aligned_alloc(RING_CELL, sizeof(*note));
	memset(memory, 0, ring_footprint(SIZE));
	memset(note, 0, sizeof(*note));
	ring_writer_init(&writer, memory, SIZE);
	ring_reader_init(&reader, memory, SIZE, MAX_MSG);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(note);
	free(memory);
	return 0;
}

/* Both sides are this far, with a ring that is empty. */
static void start_at(uint64_t at)
{
	writer.tail = writer.head = at;
	reader.head = reader.published = at;
	reader.lap = ring_lap(at, reader.shift);
	atomic_store(&writer.shared->head, at);
}

static void fill(uint32_t len, uint32_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		data[i] = (uint8_t)(i * 7 + seed);
}

static void send_note(uint32_t len, uint32_t seed)
{
	fill(len, seed);
	assert_true(ring_can_pass(&writer));
	note_put(note, BASE, &writer, data, len);
}

static void send_ring(uint32_t len, uint32_t seed)
{
	fill(len, seed);
	assert_int_equal(ring_put_one(&writer, data, len), 1);
}

/* The next message is in the note, and nothing at that place of the ring; or the other way round. */
static void expect(bool in_note, uint32_t len, uint32_t seed)
{
	uint32_t word = ring_peek(&reader);

	fill(len, seed);
	memset(got, 0xee, sizeof(got));
	if (in_note) {
		assert_int_equal(word, 0);
		assert_int_equal(note_peek(note, BASE, &reader), len);
		note_take(note, &reader, got, len);
	} else {
		assert_int_equal(note_peek(note, BASE, &reader), -1);
		assert_int_equal(ring_msg_len(&reader, word), len);
		ring_take(&reader, word, got, len, len);
	}
	assert_memory_equal(got, data, len);
	for (uint32_t i = len; i < sizeof(got); i++)
		assert_int_equal(got[i], 0xee);
}

static void expect_none(void)
{
	assert_int_equal(ring_peek(&reader), 0);
	assert_int_equal(note_peek(note, BASE, &reader), -1);
}

static void put__any_length_arrives(void **state)
{
	(void)state;
	expect_none();
	for (uint32_t len = 0; len <= NOTE_DATA; len++) {
		send_note(len, len);
		expect(true, len, len);
		expect_none();
	}
}

/* What follows while the note is not read yet lies in the ring, behind it. */
static void put__is_in_order_with_the_ring(void **state)
{
	uint32_t seed = 0;

	(void)state;
	srandom(11);
	for (uint32_t round = 0; round < 20000; round++) {
		uint32_t lens[4], n = (uint32_t)random() % 4;
		bool in_note = random() % 2;

		for (uint32_t i = 0; i < n; i++)
			lens[i] = (uint32_t)random() % (i == 0 && in_note ? NOTE_DATA + 1 : 400);
		for (uint32_t i = 0; i < n; i++)
			if (i == 0 && in_note)
				send_note(lens[i], seed);
			else
				send_ring(lens[i], seed + i);
		for (uint32_t i = 0; i < n; i++)
			expect(i == 0 && in_note, lens[i], seed + i);
		expect_none();
		seed += n;
	}
	assert_true(reader.head > 100 * SIZE);
}

/* A note takes the place of the last cell, of the first, and of those about them. */
static void pass__around_the_end(void **state)
{
	(void)state;
	for (uint32_t before = CELLS - 3; before < CELLS + 3; before++) {
		teardown(NULL);
		setup(NULL);
		for (uint32_t i = 0; i < before; i++) {
			send_ring(8, i);
			expect(false, 8, i);
		}
		send_note(100, 1);
		send_ring(200, 2);
		expect(true, 100, 1);
		expect(false, 200, 2);
		expect_none();
	}
}

/* Cells that are passed over keep their lap's number: none may keep it until that comes again. In one lap of so many none is passed. */
static void can_pass__not_in_full_laps(void **state)
{
	static const uint64_t laps[] = {RING_FULL_LAPS, 3ull * RING_FULL_LAPS, 1ull << 32,
					(1ull << 32) + RING_FULL_LAPS};

	(void)state;
	for (size_t i = 0; i < sizeof(laps) / sizeof(laps[0]); i++) {
		uint32_t nnotes = 0, seed = 0;

		start_at((laps[i] - 2) * SIZE); /* laps count from 1: the one before the full one */
		while (writer.tail < (laps[i] + 1) * SIZE) {
			bool in_note = ring_can_pass(&writer);

			assert_int_equal(in_note, writer.tail / SIZE != laps[i] - 1);
			if (in_note)
				send_note(20, seed);
			else
				send_ring(20 + seed % 150, seed);
			expect(in_note, in_note ? 20 : 20 + seed % 150, seed);
			expect_none();
			nnotes += in_note;
			seed++;
		}
		assert_in_range(nnotes, 2 * CELLS - 3, 2 * CELLS);
		for (uint32_t cell = 0; cell < CELLS; cell++)
			assert_in_range(
				(uint32_t)(*ring_header_at(reader.cells, SIZE, cell * RING_CELL) >> 32) -
					(uint32_t)laps[i],
				0, 1);
	}
}

static void can_pass__full_ring_takes_none(void **state)
{
	uint32_t n = 0;

	(void)state;
	for (; n < CELLS; n++)
		send_ring(8, n);
	assert_false(ring_can_pass(&writer));
	for (uint32_t i = 0; i < CELLS / 4; i++) {
		assert_false(ring_can_pass(&writer));
		expect(false, 8, i);
	}
	send_note(8, n);
	for (uint32_t i = CELLS / 4; i < n; i++)
		expect(false, 8, i);
	expect(true, 8, n);
	expect_none();
}

/* Notes alone: the reader says how far it is, so that there is room for ever. */
static void pass__notes_alone_never_fill_it(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 100 * CELLS; i++) {
		send_note(i % 60, i);
		expect(true, i % 60, i);
	}
	assert_in_range(writer.tail - writer.head, 0, SIZE);
}

static void can_pass__a_mark_that_cannot_be_ends_it(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < CELLS; i++)
		send_ring(8, i);
	atomic_store(&writer.shared->head, writer.tail + RING_CELL);
	assert_false(ring_can_pass(&writer));
	assert_int_equal(ring_put_one(&writer, data, 8), -1);
}

static void peek__anything_else_is_no_message(void **state)
{
	const uint64_t here = note_position(BASE, reader.head);

	(void)state;
	/* Of another connection, of an earlier place, of a later one. */
	send_note(33, 1);
	assert_int_equal(note_peek(note, BASE + 1, &reader), -1);
	assert_int_equal(note_peek(note, note_base(7, 8), &reader), -1);
	expect(true, 33, 1);
	expect_none();
	atomic_store(&note->header, here - 1);
	expect_none();
	atomic_store(&note->header, here + (2u << NOTE_LEN_BITS) + 20);
	expect_none();
	/* Lengths that can't be are told as they are. */
	for (uint32_t len = 0; len < 1u << NOTE_LEN_BITS; len++) {
		atomic_store(&note->header, note_position(BASE, reader.head) | len);
		assert_int_equal(note_peek(note, BASE, &reader), len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(put__any_length_arrives, setup, teardown),
		cmocka_unit_test_setup_teardown(put__is_in_order_with_the_ring, setup, teardown),
		cmocka_unit_test_setup_teardown(pass__around_the_end, setup, teardown),
		cmocka_unit_test_setup_teardown(can_pass__not_in_full_laps, setup, teardown),
		cmocka_unit_test_setup_teardown(can_pass__full_ring_takes_none, setup, teardown),
		cmocka_unit_test_setup_teardown(pass__notes_alone_never_fill_it, setup, teardown),
		cmocka_unit_test_setup_teardown(can_pass__a_mark_that_cannot_be_ends_it, setup, teardown),
		cmocka_unit_test_setup_teardown(peek__anything_else_is_no_message, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
