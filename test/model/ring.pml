/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring with one writer and one reader. The writer sends messages of one or two cells, for a lap
 * and more. The cells of a message are not atomic, except their headers.
 *
 * The model describes this code:
 *
 *   drivers/shm/ring.c: has_room_now(), has_room(), put_rest(), put_whole(), put_piece()
 *   drivers/shm/ring.c: ring_put(), copy_out_exact(), take_message()
 *   drivers/shm/ring.h: ring_header(), ring_next(), ring_advance()
 *   drivers/shm/ring_cells.h: ring_write_small(), ring_take_small(), ring_copy_out()
 *
 * The three functions that write a message store its cells in different orders. The writer chooses
 * one of them for each message. The reader must get each message once, complete and in order. The
 * published head must never be one that has_room_now() refuses. No access to the payload of a cell
 * is a data race: a cell is written after the header before it was read, and is written again after
 * the reader has read it.
 */
#define PUT_WHOLE 1		/* drivers/shm/ring.c: put_whole: release */
#define PUT_SMALL 2		/* drivers/shm/ring_cells.h: ring_write_small: release */
#define PUT_GATHERED 3		/* drivers/shm/ring.c: ring_put: release */
#define HAS_ROOM 4		/* drivers/shm/ring.c: has_room_now: acquire */
#define HEADER 5		/* drivers/shm/ring.h: ring_header: acquire */
#define ADVANCE 6		/* drivers/shm/ring.h: ring_advance: release */
#define REACHES_END 255

#define THREADS 2
#define CELLS 4 /* of the ring; a message takes one or two */
#define QUARTER 2 /* cells after which the reader publishes its head */
#define COUNT 5 /* messages */
#define LOCATIONS (CELLS + 1)
#define MESSAGES 7
#define PLAINS CELLS
#define HEAD CELLS
#include "atomics.pml"

/* Positions count cells through all laps. A header has the number of its cell and the number of the
 * cells of the message, or 0 if no message begins in the cell. */
#define cell(at) ((at) % CELLS)
#define header(at, cells) (((at) + 1) * 4 + (cells))

proctype writer()
{
	byte tail, full_at = CELLS, head, cells, form, n;

	do
	:: n < COUNT ->
		n++;
		atomic { if
		:: cells = 1
		:: cells = 2
		fi };
		do
		:: full_at - tail >= cells -> break
		:: else ->
			load(HEAD, ORDER(HAS_ROOM, ACQUIRE), head);
			assert(head >= full_at - CELLS && head <= tail);
			full_at = head + CELLS;
			head = 0
		od;
		if
		:: /* put_whole() */
			if
			:: cells == 2 ->
				write_plain(cell(tail + 1), 2 * n + 1);
				store(cell(tail + 1), RELAXED, header(tail + 1, 0))
			:: else
			fi;
			write_plain(cell(tail), 2 * n);
			store(cell(tail), ORDER(PUT_WHOLE, RELEASE), header(tail, cells))
		:: /* ring_write_small() */
			write_plain(cell(tail), 2 * n);
			if
			:: cells == 2 ->
				write_plain(cell(tail + 1), 2 * n + 1);
				store(cell(tail + 1), RELAXED, header(tail + 1, 0))
			:: else
			fi;
			store(cell(tail), ORDER(PUT_SMALL, RELEASE), header(tail, cells))
		:: /* ring_put() */
			write_plain(cell(tail), 2 * n);
			if
			:: cells == 2 ->
				store(cell(tail + 1), RELAXED, header(tail + 1, 0));
				write_plain(cell(tail + 1), 2 * n + 1)
			:: else
			fi;
			store(cell(tail), ORDER(PUT_GATHERED, RELEASE), header(tail, cells))
		fi;
		tail = tail + cells
	:: else -> break
	od
}

proctype reader()
{
	byte head, publish_at = QUARTER, word, payload, n, cells;

	do
	:: n < COUNT ->
		load(cell(head), ORDER(HEADER, ACQUIRE), word);
		if
		:: word / 4 == head + 1 ->
			n++;
			cells = word % 4;
			word = 0;
			assert(cells == 1 || cells == 2);
			read_plain(cell(head), payload);
			assert(payload == 2 * n);
			if
			:: cells == 2 ->
				read_plain(cell(head + 1), payload);
				assert(payload == 2 * n + 1);
			:: else
			fi;
			payload = 0;
			head = head + cells;
			cells = 0;
			if
			:: head >= publish_at ->
				publish_at = head + QUARTER;
				store(HEAD, ORDER(ADVANCE, RELEASE), head)
			:: else
			fi
		:: else -> word = 0
		fi
	:: else -> break
	od;
	assert(variant != REACHES_END)
}

init {
	begin();
	atomic { run writer(); run reader() }
}
