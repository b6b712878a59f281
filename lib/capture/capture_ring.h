/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CAPTURE_RING_H
#define CAPTURE_RING_H

/*
 * The ring from the thread of an engine to the thread that writes the file. It has one producer and
 * one consumer, neither of which ever waits for the other. A record is in one piece. If a record
 * does not fit before the end of the memory, the rest of the memory is a record of the kind
 * CAPTURE_SKIP.
 *
 * The producer reserves a record, fills it in, and commits it. A reserved record that is not
 * committed is not in the ring.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"

/* A record has at most 1/CAPTURE_RECORD_PART of the ring. */
#define CAPTURE_RECORD_PART 4u

enum capture_kind {
	CAPTURE_SKIP,	  /* nothing */
	CAPTURE_OPEN,	  /* a connection; the data are a struct capture_opened */
	CAPTURE_CLOSE,	  /* the end of a connection */
	CAPTURE_SEND,	  /* a message */
	CAPTURE_SEND_INV, /* a message that invalidates 'rkey' */
	CAPTURE_WRITE,	  /* an RDMA Write */
	CAPTURE_READ,	  /* an RDMA Read that is complete */
};

/* A message or an operation. Its data follow. */
struct capture_record {
	uint32_t bytes;	   /* of the record, with its data: a multiple of 8 */
	uint8_t kind;	   /* enum capture_kind */
	bool is_ours;	   /* this side has sent the message, or posted the operation */
	uint32_t conn;	   /* the number of the connection in this capture */
	uint32_t len;	   /* length of the message or of the data of the operation */
	uint32_t kept;	   /* how many of these bytes follow */
	uint32_t rkey;	   /* WRITE, READ: the key of the memory; SEND_INV: the invalidated key */
	uint64_t raddr;	   /* WRITE, READ */
	uint64_t time_ns;  /* of CLOCK_REALTIME */
	uint64_t begin_ns; /* READ: the time when it was posted */
};

_Static_assert(sizeof(struct capture_record) % 8 == 0, "the data of a record are aligned");

struct capture_ring {
	uint8_t *memory;
	uint64_t size; /* bytes of 'memory': a power of two */
	bool is_used;  /* an engine has the ring; guarded by the lock of capture_current.c */
	/* of the producer */
	_Alignas(64) _Atomic uint64_t tail; /* end of the records; counts up */
	uint64_t head_seen;		    /* 'head' is at least this */
	_Atomic uint64_t ndropped;	    /* records that are missing */
	/* of the consumer */
	_Alignas(64) _Atomic uint64_t head; /* begin of the records; counts up */
};

/* Creates a ring with at least 'bytes' bytes of memory, which are mapped and touched. Returns NULL
 * if there is no memory. capture_ring_destroy() accepts NULL. */
struct capture_ring *capture_ring_create(uint64_t bytes);
void capture_ring_destroy(struct capture_ring *ring);

/* Returns the largest number of data bytes of a record. */
static inline uint32_t capture_ring_data_max(const struct capture_ring *ring)
{
	return (uint32_t)(ring->size / CAPTURE_RECORD_PART - sizeof(struct capture_record));
}

/* The producer: counts a record as dropped. */
static inline void capture_ring_drop(struct capture_ring *ring)
{
	atomic_fetch_add_explicit(&ring->ndropped, 1, memory_order_relaxed);
}

/* The producer: reserves a record with 'kept' bytes of data, at most capture_ring_data_max().
 * Returns the record, whose 'bytes' is set. Returns NULL and counts the record as dropped if there
 * is no room. capture_ring_commit() appends the record that was reserved last. */
struct capture_record *capture_ring_reserve(struct capture_ring *ring, uint32_t kept);
void capture_ring_commit(struct capture_ring *ring, const struct capture_record *record);

/* The consumer: returns the first record, or NULL if there is none. capture_ring_pop() removes it.
 */
struct capture_record *capture_ring_first(struct capture_ring *ring);
void capture_ring_pop(struct capture_ring *ring);

#endif
