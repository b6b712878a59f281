/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NOTE_H
#define NOTE_H

/*
 * Notes: where a short message lies that comes for a cold queue pair (bells.h), instead of in its ring.
 *
 * A ring is used all around, so that each message of one that is seldom used lands in lines, and in a page, that no cache has any more:
 * of a thousand such queue pairs each a line of its own, in a page of its own. A note is the same few lines each time, and those
 * of sixteen are in one page.
 *
 * A message in a note takes the place of one cell in the ring, which is left as it is: so a message's position says its order, wherever
 * it lies, and at each position there is one in the note or one in the ring. A note's header has that position and the length.
 * The reader says in its mark up to which position it has taken all that there was, and looks at the note only where it is still
 * there. The writer leaves a note where that is its own position: nobody reads the note then.
 *
 * Positions of one connection begin at a number of its own, drawn from what both sides drew by chance: what another one has left
 * in the same place is never of this one.
 */

#include "ring.h"

#define NOTE_BYTES    256u
#define NOTE_DATA     (NOTE_BYTES - RING_HEADER)
#define NOTE_LEN_BITS 8u

struct shm_note {
	_Alignas(RING_CELL) _Atomic uint64_t header; /* note_position() | length */
	uint8_t data[NOTE_DATA];
};

_Static_assert(sizeof(struct shm_note) == NOTE_BYTES && NOTE_DATA < 1u << NOTE_LEN_BITS, "whole lines");

/* Where positions of a connection begin. */
static inline uint64_t note_base(uint32_t connector_id, uint32_t acceptor_id)
{
	return (uint64_t)connector_id << 24 ^ acceptor_id;
}

/* A place in the ring, in the upper bits. */
static inline uint64_t note_position(uint64_t base, uint64_t at)
{
	return (base + at / RING_CELL) << NOTE_LEN_BITS;
}

/* Leave a message of up to NOTE_DATA bytes at the writer's place. ring_can_pass() has said that it may. */
static inline void note_put(struct shm_note *note, uint64_t base, struct ring_writer *ring, const void *data,
			    uint32_t len)
{
	memcpy(note->data, data, len);
	atomic_store_explicit(&note->header, note_position(base, ring->tail) | len, memory_order_release);
	ring_pass(ring);
}

/* Whether there is a message at the reader's place: its length, or -1. It may be one that can't be: longer than NOTE_DATA. */
static inline int32_t note_peek(const struct shm_note *note, uint64_t base, const struct ring_reader *ring)
{
	uint64_t header = atomic_load_explicit(&note->header, memory_order_acquire);
	uint64_t len = header ^ note_position(base, ring->head);

	return len < 1u << NOTE_LEN_BITS ? (int32_t)len : -1;
}

/* Copy the message of 'len' bytes, at most NOTE_DATA, that note_peek() found, and be done with it. */
static inline void note_take(const struct shm_note *note, struct ring_reader *ring, void *dst, uint32_t len)
{
	memcpy(dst, note->data, len);
	ring_passed(ring);
}

#endif
