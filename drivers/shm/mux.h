/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MUX_H
#define MUX_H

/*
 * Muxes: one ring for all connections between two devices except the first connection.
 *
 * If each connection had its own ring, a poll would have to look at the rings of inactive
 * connections, too. A message of a rarely used connection would be written to cache lines and a
 * page that no cache has. The ring of a mux is like the ring of one connection: a poll looks only
 * at its next header, and the messages of all connections follow each other in the order in which
 * they were sent. A tag before each message names the queue pair by its slot, and the connection by
 * a number. So a message of a connection that has ended never goes to another connection that has
 * got the same slot. A single connection needs no tag. Therefore the first connection keeps its own
 * ring.
 *
 * The connecting device creates the memory, for all connections to the process of one listener. It
 * offers the memory with each connection except the first. The accepting device has one mux of the
 * memory for itself, by its number within its process, and assigns the slots. When no queue pair of
 * the accepting side uses a mux, the mux ends. Its successor begins at another, random lap of its
 * rings, so that no cell that is still in them has a valid number. The connecting side follows when
 * none of its queue pairs uses the old mux. Until then, its new connections keep their own rings.
 *
 * Messages go by a queue pair's own rings, which the reader polls, until both sides use the mux:
 *
 *   connector -> acceptor  HELLO   the connector has the mux
 *   acceptor -> connector  SWITCH  the acceptor has the mux, too, and sends nothing more by its
 *                                  own ring
 *   connector -> acceptor  SWITCH  the connector sends nothing more by its own ring
 *
 * A message that waits for a receive delays all messages after it in the mux. The engine's thread
 * owns everything but the memory.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "account.h"
#include "fabric.h"
#include "mapping.h"
#include "reap.h"
#include "ring.h"
#include "shm_wire.h"

#define MUX_NONE  UINT32_MAX
#define MUX_VAIN  64u /* messages without a completion in one poll of a mux */
#define MUX_OLDER 8u  /* queue pairs in one slot */

struct shm_dev;
struct shm_qp;

/* A mux from the view of one of its two devices. */
struct shm_mux {
	struct ring_reader rx;
	_Alignas(64) struct ring_writer tx;
	struct shm_qp **qps; /* by slot; MUX_SLOTS elements */
	uint32_t nqps;
	uint32_t free_from; /* no slot below this one is free */
	uint32_t start;	    /* lap in which the mux began */
	bool is_connector;
	bool is_broken;	       /* the peer wrote an impossible message; no further one is taken */
	struct shm_turn *turn; /* turn of the user that has the mux's connections */
	TAILQ_ENTRY(shm_mux) entry;
};

/* The memory that is shared with a peer. */
struct shm_mux_set {
	struct reap_job job; /* must be the first member: its function frees the structure */
	struct shm_account *account;
	struct shm_mapping mapping;
	/* NULL: there is only one connection, or the memory could not be created. */
	struct mux_memory *memory;
	uint64_t tag;  /* identifies the memory when its guard reports a loss */
	uint32_t refs; /* number of queue pairs */
	int fd;	       /* of the connector, for further offers; otherwise -1 */
	/* Who owns the set: the listener's address (connector only), the peer's process, the file
	 * (acceptor only). */
	char addr[FABRIC_ADDR_MAX];
	pid_t pid;
	dev_t file_dev;
	ino_t file_ino;
	struct shm_mux *muxes[MUX_COUNT];
	/* Empty slot arrays for the next muxes. The reaper unmaps them with the memory, so that the
	 * engine's thread does not wait for other threads that map or unmap. */
	struct shm_qp **slot_arrays[MUX_COUNT];
	uint32_t nslot_arrays;
	LIST_ENTRY(shm_mux_set) entry;
};

/* Returns a number that no other device of the process has, or MUX_NONE. */
uint32_t mux_number_take(void);
void mux_number_put(uint32_t number);
/* Frees all numbers in a child, inside fork(2): they belong to the parent's devices. */
void mux_fork_child(void);

/* Called on the connecting side, for a queue pair that is about to connect to 'addr', where the
 * process 'pid' of a user listens. Returns the descriptor to offer, which stays owned by the mux
 * set, or -1. */
int mux_offer(struct shm_dev *dev, struct shm_qp *qp, const char *addr, pid_t pid,
	      struct shm_account *account);
/* Called on the accepting side, on the control thread. Maps the memory that a peer of a user
 * offers, and memory for the slot arrays, so that the engine's thread makes no system call for
 * them. Returns the same values as mapping_peer(). */
int muxes_map(struct shm_dev *dev, struct shm_account *account, int fd, struct shm_mux_set **out);
/* Gives the reaper what muxes_map() has mapped. NULL is allowed. May be called on any thread. */
void muxes_give_up(struct shm_mux_set *mux_set);
/* Called on the accepting side. Takes a slot of the memory that the process 'pid' (0: unknown)
 * offers. The function takes over 'offered' in any case. Returns false if there is no slot. Here
 * and below, the conn_id of the queue pair and that of its peer are known. */
bool mux_take_slot(struct shm_dev *dev, struct shm_qp *qp, struct shm_mux_set *offered, pid_t pid,
		   uint32_t peer_conn_id, struct mux_slot *slot);
/* Called on the connecting side. Enters the queue pair into the slot that the peer has assigned. If
 * this is not possible, the queue pair keeps its own rings. */
void mux_set_slot(struct shm_dev *dev, struct shm_qp *qp, const struct mux_slot *slot);
/* Returns the queue pair that a tag names, or NULL if this queue pair has ended. */
struct shm_qp *mux_find(const struct shm_mux *mux, uint64_t tag);
/* A queue pair ends: frees its slot. The mux set ends with its last queue pair. */
void mux_leave(struct shm_dev *dev, struct shm_qp *qp);

#endif
