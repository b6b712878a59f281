/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHM_WIRE_H
#define SHM_WIRE_H

/*
 * The memory that the two processes of a connection both map, and the messages on their socket.
 * Both processes run on the same host. A change of anything here needs another SHM_VERSION, by
 * which each side refuses a peer that has another layout.
 *
 * The files that read and write it:
 *
 *   ring.[ch]         one direction of messages
 *   ring_small.h      how payload gets into cells and out of them
 *   keys.[ch]         the key table: what memory a peer may name (keys.c), and the check of what it
 *                     named (inline in keys.h)
 *   mux.[ch]          one ring for many connections
 *   rdma.c            the marks in a ring that end accesses to memory
 *   cm_message.c      the messages on a socket
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric.h"

#define SHM_REGIONS_MAX 64u /* of one device, so of one peer */
#define SHM_FDS_MAX	3u  /* with a message */
#define SHM_MSG_MAX	65536u

/* A ring (ring.h), and a cell's header. */
#define RING_CELL      64u
#define RING_HEADER    8u
#define RING_DATA      (RING_CELL - RING_HEADER)
#define RING_WORD_BITS 19u /* of a header; those above are its cell's number */
#define RING_VALID     0x40000u
#define RING_INV                                                                                   \
	0x20000u /* a key to invalidate is all that the first cell has; the message follows */
#define RING_LEN_MASK  0x1ffffu
#define RING_BYTES_MIN 4096u
#define RING_BYTES_MAX (64u << 20)
#define RING_TAG       8u

/* The shared part, all of it the reader's to write; the cells follow it. */
struct ring_shared {
	_Alignas(RING_CELL) _Atomic uint64_t head; /* bytes that it has done with */
	_Atomic uint32_t is_over;		   /* rdma.c: its end of the connection is over */
	_Alignas(RING_CELL) _Atomic uint32_t
		busy; /* rdma.c: the key by which it writes just now; 0: it does not */
};

_Static_assert(SHM_MSG_MAX + RING_TAG <= RING_LEN_MASK,
	       "a header has room for the longest message's length");

/* A key table (keys.h), which its owner writes and its peers read. */
#define KEY_INDEX_BITS 10u
#define KEY_ENTRIES    (1u << KEY_INDEX_BITS)
#define KEY_ANY_CONN   0u

struct key_entry {
	_Alignas(64) _Atomic uint32_t seq;
	_Atomic uint32_t key;	  /* 0: none */
	_Atomic uint32_t access;  /* enum fabric_access */
	_Atomic uint32_t conn_id; /* the one connection that it is for, or KEY_ANY_CONN */
	_Atomic uint32_t region;  /* index of the region, for the peer's mapping */
	uint32_t is_lasting;	  /* the owner's: see key_range */
	_Atomic uint64_t raddr;	  /* the first byte's name */
	_Atomic uint64_t len;
	_Atomic uint64_t offset; /* of the first byte in the region */
};

/* The name of the first byte of the region in that place. It shows nothing of the address space. */
static inline uint64_t shm_region_raddr(uint32_t place)
{
	return (uint64_t)(place + 1) << 44;
}

/* Muxes (mux.h). */
#define MUX_SLOTS 16384u       /* queue pairs of a mux; more keep to their own rings */
#define MUX_COUNT 16u	       /* of a memory; and memories of a process, in which it connects */
#define MUX_BYTES (256u << 10) /* of a ring */

/* A tag: the connection's number, what kind of message it is, and the place. */
#define MUX_TAG_SHIFT  32u
#define MUX_DATA       0u
#define MUX_HELLO      1u
#define MUX_SWITCH     2u
#define MUX_KIND_SHIFT 16u
#define MUX_KIND_MASK  0xffffu

/* One direction. Pages that are never used are never there. */
struct mux_ring {
	_Alignas(4096) struct ring_shared shared;
	uint8_t cells[MUX_BYTES];
};

_Static_assert(offsetof(struct mux_ring, cells) == sizeof(struct ring_shared),
	       "as ring_writer_init() has it");

struct mux_memory {
	struct {
		struct mux_ring to_acceptor, to_connector;
	} muxes[MUX_COUNT];
};

/* The place that an acceptor gives. */
struct mux_slot {
	uint32_t mux, slot, start;
};

/*
 * The tag of a connection's messages. Both sides compute the same one: its number is made of the
 * random numbers of both sides. One is multiplied, by an odd number, which loses nothing: a plain
 * sum would be the same for a connection in the other direction.
 */
static inline uint64_t mux_tag(uint32_t connector_id, uint32_t acceptor_id, uint32_t slot)
{
	return (uint64_t)(connector_id * 0x9e3779b1u + acceptor_id) << MUX_TAG_SHIFT | slot;
}

/*
 * Messages on a connection's socket, in native byte order.
 *
 * A connection begins with the acceptor's WELCOME. Until then the connector may not pass
 * descriptors: the acceptor has not checked its credentials, and lets the kernel refuse them
 * (SO_PASSRIGHTS).
 *
 * A region is passed when a key first refers to it: WANT names it, and REGION is the answer.
 */
enum shm_msg_type {
	SHM_WELCOME = 1,
	SHM_HELLO,
	SHM_ACCEPT,
	SHM_REJECT,
	SHM_READY,
	SHM_WANT,
	SHM_REGION,
	SHM_GOODBYE
};

#define SHM_MAGIC   0x77656972u
#define SHM_VERSION 10u

struct shm_msg {
	uint32_t magic;
	uint16_t version;
	uint16_t type;
	uint32_t ring_bytes;	/* HELLO: of each of both directions */
	uint32_t max_msg_bytes; /* HELLO, ACCEPT: the longest Send of this side */
	uint32_t conn_id; /* HELLO, ACCEPT: names this side of the connection in its key table */
	uint32_t private_len;
	uint32_t has_mux; /* 1: HELLO: muxes are offered; ACCEPT: and 'slot' is in one; else 0 */
	struct mux_slot slot;
	uint8_t private_data[FABRIC_PRIVATE_DATA_MAX];
	struct {
		uint32_t id; /* its place in the tables is id % SHM_REGIONS_MAX; ids are not used
				again */
		uint32_t is_writable; /* else its descriptor is for reading only */
		uint64_t len;
		uint64_t fd_offset;
	} region; /* WANT: its id; REGION: all of it */
	/* File descriptors: HELLO: rings, key table, muxes; ACCEPT: key table; REGION: region. */
};

#endif
