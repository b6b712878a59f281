/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHM_WIRE_H
#define SHM_WIRE_H

/*
 * The memory that both processes of a connection map, and the messages on their socket. Both
 * processes run on the same host. Each change here needs another SHM_VERSION: a side refuses a peer
 * of another version, because that peer can have another layout.
 *
 * These files read and write the memory:
 *
 *   ring.[ch]         one direction of messages
 *   ring_cells.h      copies payload into cells and out of them
 *   keys.[ch]         the key table: keys.c says which memory a peer may access, and inline
 *                     functions in keys.h check each access
 *   mux.h             one ring for many connections
 *   rdma.c            the marks in a ring that end accesses to memory
 *   cm_message.c      the messages on a socket
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric.h"

#define SHM_REGIONS_MAX 64u /* regions of one device, and thus of one peer */
#define SHM_FDS_MAX	3u  /* file descriptors with a message */
#define SHM_MSG_MAX	65536u

/* Sizes of a ring (ring.h) in bytes, and the low bits of a cell's header, which are called its
 * word. */
#define RING_CELL   64u
#define RING_HEADER 8u
#define RING_DATA   (RING_CELL - RING_HEADER)
/* bits of the word; the header's bits above the word are the cell's number */
#define RING_WORD_BITS 19u
#define RING_VALID     0x40000u
#define RING_INV                                                                                   \
	0x20000u /* the first cell has only an rkey to invalidate; the payload follows it */
#define RING_LEN_MASK  0x1ffffu
#define RING_BYTES_MIN 4096u
#define RING_BYTES_MAX (64u << 20)
#define RING_TAG       8u

/* The members of a ring that both sides access. Only the reader of the ring writes them. In the
 * memory, the cells of the ring follow this structure. */
struct ring_shared {
	/* total bytes of cells that the reader has published as taken */
	_Alignas(RING_CELL) _Atomic uint64_t head;
	/* rdma.c: 1: the reader has ended the connection, and its memory must not be accessed */
	_Atomic uint32_t is_over;
	/* rdma.c: the rkey of the RDMA Write that the reader carries out at this moment; 0: none */
	_Alignas(RING_CELL) _Atomic uint32_t busy;
};

_Static_assert(SHM_MSG_MAX + RING_TAG <= RING_LEN_MASK,
	       "a header has room for the longest message's length");

/* A key table (keys.h) has KEY_ENTRIES entries. Its owner writes the table, and the peers read it.
 */
#define KEY_INDEX_BITS 10u
#define KEY_ENTRIES    (1u << KEY_INDEX_BITS)
#define KEY_ANY_CONN   0u

struct key_entry {
	/* sequence count; odd while the owner writes the entry */
	_Alignas(64) _Atomic uint32_t seq;
	_Atomic uint32_t key;	 /* 0: no key */
	_Atomic uint32_t access; /* flags of enum fabric_access */
	/* the only connection that may use the key, or KEY_ANY_CONN */
	_Atomic uint32_t conn_id;
	_Atomic uint32_t region; /* ID of the region; the peer finds its mapping by this ID */
	uint32_t is_lasting;	 /* only the owner reads this member: see struct key_range */
	_Atomic uint64_t raddr;	 /* address by which peers name the first byte */
	_Atomic uint64_t len;	 /* bytes that the key opens */
	_Atomic uint64_t offset; /* position of the first byte in the region */
};

/* The memory of a key table. Peers map it read-only. */
struct key_table_memory {
	struct key_entry entries[KEY_ENTRIES];
	/* wake.c: not 0 while the thread of the owner's engine sleeps. Each sleep has another
	 * value. It is in a page of its own, so that the memory has whole pages. */
	_Alignas(4096) _Atomic uint32_t asleep;
};

/* Returns the address by which peers name the first byte of the region 'index'. This
 * address reveals nothing of the owner's address space. */
static inline uint64_t shm_region_raddr(uint32_t index)
{
	return (uint64_t)(index + 1) << 44;
}

/* Muxes (mux.h). */
#define MUX_SLOTS 16384u /* queue pairs of a mux; further queue pairs keep their own rings */
/* Muxes in one struct mux_memory. A device also accepts at most this number of such memories from
 * one process. */
#define MUX_COUNT 16u
#define MUX_BYTES (256u << 10) /* bytes of the cells of one mux in one direction */

/* A tag has three parts. The high bits are the number of the connection. The middle bits are the
 * kind of the message: MUX_DATA, MUX_HELLO or MUX_SWITCH. The low bits are the slot of the queue
 * pair. */
#define MUX_TAG_SHIFT  32u
#define MUX_DATA       0u
#define MUX_HELLO      1u
#define MUX_SWITCH     2u
#define MUX_KIND_SHIFT 16u
#define MUX_KIND_MASK  0xffffu

/* The ring of a mux for one direction. The kernel allocates a page only when it is accessed. */
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

/* The slot that an acceptor assigns to a connection: the number of the mux, the index of the slot
 * in the mux, and the lap of its rings at which the mux began. */
struct mux_slot {
	uint32_t mux, slot, start;
};

/* Returns the tag of a connection's messages. Both sides compute the same tag, because the
 * connection's number is made of the random numbers of both sides. The connector's number is
 * multiplied by an odd constant, which maps different numbers to different products. A plain sum
 * would be equal for a connection in the opposite direction. */
static inline uint64_t mux_tag(uint32_t connector_id, uint32_t acceptor_id, uint32_t slot)
{
	return (uint64_t)(connector_id * 0x9e3779b1u + acceptor_id) << MUX_TAG_SHIFT | slot;
}

/*
 * Messages on a connection's socket, in native byte order.
 *
 * A connection begins with the acceptor's WELCOME. Before WELCOME the connector must not pass
 * descriptors, because the acceptor has not checked the connector's credentials yet. Until then the
 * acceptor has the kernel refuse descriptors (SO_PASSRIGHTS).
 *
 * When a key first refers to a region of the peer, a side asks for this region by WANT, which has
 * the region's ID. The peer answers with REGION.
 *
 * WAKE wakes the thread of the peer's engine. A side sends it at most once for each value of
 * key_table_memory.asleep, after a message for the peer.
 */
enum shm_msg_type {
	SHM_WELCOME = 1,
	SHM_HELLO,
	SHM_ACCEPT,
	SHM_REJECT,
	SHM_READY,
	SHM_WANT,
	SHM_REGION,
	SHM_GOODBYE,
	SHM_WAKE
};

#define SHM_MAGIC   0x77656972u
#define SHM_VERSION 11u

struct shm_msg {
	uint32_t magic;
	uint16_t version;
	uint16_t type;
	uint32_t ring_bytes;	/* HELLO: bytes of the ring of each direction */
	uint32_t max_msg_bytes; /* HELLO, ACCEPT: the longest Send that this side receives */
	/* HELLO, ACCEPT: the number of this side of the connection in its key table */
	uint32_t conn_id;
	uint32_t private_len;
	/* HELLO: 1 if muxes are offered. ACCEPT: 1 if 'slot' is valid. Otherwise 0. */
	uint32_t has_mux;
	struct mux_slot slot;
	uint8_t private_data[FABRIC_PRIVATE_DATA_MAX];
	struct {
		/* ID of the region. IDs are not reused. The region's index in the tables is id %
		 * SHM_REGIONS_MAX. */
		uint32_t id;
		uint32_t is_writable; /* 0: the region's descriptor is read-only */
		uint64_t len;
		uint64_t fd_offset; /* position of the region in its file, in bytes */
	} region;		    /* WANT: only the ID; REGION: all members */

	/*
	 * File descriptors that go with a message:
	 * - HELLO: rings, key table, muxes
	 * - ACCEPT: key table
	 * - REGION: the region
	 */
};

#endif
