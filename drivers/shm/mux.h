/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MUX_H
#define MUX_H

/*
 * Muxes. A mux has one ring in each direction, which all connections between two devices share,
 * except the first connection.
 *
 * If each connection had its own ring, a poll would have to look at the rings of inactive
 * connections, too. A message of a rarely used connection would be written to cache lines and a
 * page that no cache has. The ring of a mux is like the ring of one connection: a poll looks only
 * at its next header, and the messages of all connections follow each other in the order in which
 * they were sent. A tag before each message names the queue pair by its slot, and the connection by
 * a number. Therefore a message of a connection that has ended is never taken for a message of a
 * later connection in the same slot. A single connection needs no tag. Therefore the first
 * connection keeps its own rings.
 *
 * The connecting device creates the memory, for all connections to the process of one listener. It
 * offers the memory with each connection except the first. The memory has MUX_COUNT muxes. An
 * accepting device uses the mux that has the device's number within its process, and assigns the
 * slots. When no queue pair of the accepting side uses a mux, the mux ends. The next mux in the
 * same memory begins at another, random lap of the rings, so that no cell that is still in the
 * rings has a valid number. The connecting side begins the next mux, too, when none of its queue
 * pairs uses the old mux. Until then, its new connections keep their own rings.
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
#define MUX_VAIN  64u /* limit of messages without a completion in one poll of a mux */
#define MUX_OLDER 8u  /* limit of queue pairs in one slot of a connector */

struct shm_dev;
struct shm_qp;

/* A mux from the view of one of its two devices. */
struct shm_mux {
	struct ring_reader rx;
	_Alignas(64) struct ring_writer tx;
	/* 'asleep' of the peer's key table, as the first of 'senders' has mapped it. Each
	 * connection maps the table for itself. If each message read the mapping of its own
	 * connection, many connections in turn would need more pages than the TLB has entries. */
	const _Atomic uint32_t *peer_asleep;
	struct shm_qp **qps;	     /* by slot; MUX_SLOTS elements */
	LIST_HEAD(, shm_qp) senders; /* queue pairs that send by the mux */
	uint32_t nqps;
	uint32_t free_from; /* no slot below this one is free */
	uint32_t start;	    /* lap (ring.h) in which the mux began */
	bool is_connector;
	/* the peer wrote a malformed message; no further message is taken */
	bool is_broken;
	struct shm_turn *turn; /* of the user that has the mux's connections (turn.h) */
	TAILQ_ENTRY(shm_mux) entry;
};

/* The muxes that a device shares with a device of a peer, and their memory. */
struct shm_mux_set {
	struct reap_job job; /* must be the first member: its function frees the structure */
	struct shm_account *account;
	struct shm_mapping mapping;
	/* The mapped memory. NULL: there is only one connection, or the memory could not be
	 * created. */
	struct mux_memory *memory;
	uint64_t tag;  /* identifies the memory when its guard (sigbus_guard.h) reports a loss */
	uint32_t refs; /* number of queue pairs that belong to the set */
	/* connector: descriptor of the memory, for further offers; otherwise -1 */
	int fd;
	/* These members identify the set. A connector finds a set by the listener's address and the
	 * peer's process. An acceptor finds a set by the file of the memory, and 'addr' is empty.
	 */
	char addr[FABRIC_ADDR_MAX];
	pid_t pid;
	dev_t file_dev;
	ino_t file_ino;
	struct shm_mux *muxes[MUX_COUNT];
	/* Empty slot arrays for the next muxes. The reaper unmaps these arrays together with the
	 * memory, so that the engine's thread does not wait for other threads that map or unmap. */
	struct shm_qp **slot_arrays[MUX_COUNT];
	uint32_t nslot_arrays;
	LIST_ENTRY(shm_mux_set) entry;
};

/* Returns a number below MUX_COUNT that no other device of the process has, or MUX_NONE if all
 * numbers are taken. */
uint32_t mux_number_take(void);
void mux_number_put(uint32_t number);
/* Frees all numbers in a child of fork(2), because they belong to the parent's devices. */
void mux_fork_child(void);

/* Called on the connecting side, for a queue pair that is about to connect to 'addr', where the
 * process 'pid' of the user of 'account' listens. Adds the queue pair to the mux set for this
 * listener. Returns the descriptor to offer, which the mux set still owns. Returns -1 if nothing is
 * offered: this is the first connection, the PID is unknown, or no memory is available. */
int mux_offer(struct shm_dev *dev, struct shm_qp *qp, const char *addr, pid_t pid,
	      struct shm_account *account);
/* Called on the accepting side, on the control thread. Maps the memory that a peer offers by 'fd',
 * and memory for a slot array, so that the engine's thread makes no system call for them. Returns
 * the same values as mapping_peer(). */
int muxes_map(struct shm_dev *dev, struct shm_account *account, int fd, struct shm_mux_set **out);
/* Has the reaper unmap what muxes_map() has mapped, and free the set. NULL is allowed. It can be
 * called on any thread. */
void muxes_give_up(struct shm_mux_set *mux_set);
/* Called on the accepting side. Takes a free slot of the memory that the process 'pid' (0: unknown)
 * offers, and describes it in *slot. The function takes over 'offered' in any case. Returns false
 * if no slot is available: the queue pair then keeps its own rings. When this function and
 * mux_set_slot() are called, the conn_id of the queue pair and that of its peer are known. */
bool mux_take_slot(struct shm_dev *dev, struct shm_qp *qp, struct shm_mux_set *offered, pid_t pid,
		   uint32_t peer_conn_id, struct mux_slot *slot);
/* Called on the connecting side. Enters the queue pair into the slot that the peer has assigned. If
 * an older mux is still in use, or no memory is available, the queue pair keeps its own rings. */
void mux_set_slot(struct shm_dev *dev, struct shm_qp *qp, const struct mux_slot *slot);
/* Returns the queue pair that a tag names, or NULL if this queue pair has ended. */
struct shm_qp *mux_find(const struct shm_mux *mux, uint64_t tag);
/* Makes a queue pair send by its mux. */
void mux_begin_sending(struct shm_qp *qp);
/* Removes a queue pair that ends from its slot and from its mux set, if it has them. The mux set
 * ends with its last queue pair. */
void mux_leave(struct shm_dev *dev, struct shm_qp *qp);

#endif
