/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MUX_H
#define MUX_H

/*
 * Muxes: one ring for all connections between two devices, but the first.
 *
 * With a ring for each, those that are silent would have to be looked at as well, and each message
 * of one that is seldom used would land in lines, and in a page, that no cache has any more. A
 * mux's ring is as one connection's: its next header is all that is looked at, and messages of all
 * connections follow each other in it, in the order in which they were sent. Each has a tag in
 * front, which names the queue pair by its place, and the connection by a number, so that what one
 * connection has left is never of another one that has its place by then. One alone needs no tag:
 * the first connection keeps to its own ring.
 *
 * The connecting device makes the memory, for all connections to one listener's process, and offers
 * it with each but the first. The accepting device has a mux of it to itself, by its number within
 * its process, and gives out the places. A mux that no queue pair of the accepting side uses any
 * more is begun anew, elsewhere in the laps of its rings, which it draws by chance: what lies in
 * them has no number of theirs then. The connecting side follows when no queue pair of its own uses
 * the old one; until then it does without.
 *
 * Messages lie in a queue pair's own rings, whose reader polls it, until both sides have the mux:
 *
 *   connector -> acceptor  HELLO   I have the mux
 *   acceptor -> connector  SWITCH  so have I, and nothing more of mine comes by the own ring
 *   connector -> acceptor  SWITCH  likewise
 *
 * A message that waits for a receive makes those behind it wait. All but the memory is its engine's
 * thread's.
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
#define MUX_VAIN  64u /* messages in a poll that give no completion */
#define MUX_OLDER 8u  /* queue pairs in one place */

struct shm_dev;
struct shm_qp;

/* A mux, as one of its two devices sees it. */
struct shm_mux {
	struct ring_reader rx;
	_Alignas(64) struct ring_writer tx;
	struct shm_qp **qps; /* by place; MUX_SLOTS */
	uint32_t nqps;
	uint32_t free_from; /* no place below is free */
	uint32_t start;	    /* lap in which it began */
	bool is_connector;
	bool is_broken; /* the peer has written what can't be: nothing is taken of it any more */
	struct shm_turn *turn; /* of the user whose connections it has */
	TAILQ_ENTRY(shm_mux) entry;
};

/* The memory that is shared with a peer. */
struct shm_mux_set {
	struct reap_job job; /* first: it is freed by that */
	struct shm_account *account;
	struct shm_mapping mapping;
	struct mux_memory *memory; /* NULL: there is one connection, or could be none */
	uint64_t tag;		   /* what its guard says when the memory is lost */
	uint32_t refs;		   /* queue pairs */
	int fd;			   /* the connector's, to be offered again; -1 */
	/* whose it is, and of the connector's, at what address; of the acceptor's, the file */
	char addr[FABRIC_ADDR_MAX];
	pid_t pid;
	dev_t file_dev;
	ino_t file_ino;
	struct shm_mux *muxes[MUX_COUNT];
	/* For the next muxes, and all empty. The reaper unmaps them with the memory, so that the
	 * engine's thread does not wait for others that map or unmap. */
	struct shm_qp **places[MUX_COUNT];
	uint32_t nplaces;
	LIST_ENTRY(shm_mux_set) entry;
};

/* A number for a device that no other of the process has, or MUX_NONE. */
uint32_t mux_number_take(void);
void mux_number_put(uint32_t number);
/* In a child, inside fork(2): the numbers that are taken are the parent's devices'. */
void mux_fork_child(void);

/* The connecting side, for a queue pair about to connect to 'addr', where the process 'pid' of a
 * user listens. What to offer, borrowed, or -1. */
int mux_offer(struct shm_dev *dev, struct shm_qp *qp, const char *addr, pid_t pid,
	      struct shm_account *account);
/* The accepting side, on the control thread: map what a peer of a user offers, and memory for the
 * places, so that the engine's thread makes no system call for them. Returns what mapping_peer()
 * does. */
int muxes_map(struct shm_dev *dev, struct shm_account *account, int fd, struct shm_mux_set **out);
/* Leave to the reaper what muxes_map() has mapped, if anything. Any thread. */
void muxes_give_up(struct shm_mux_set *mux_set);
/* The accepting side: have a place of what the process 'pid' (0: unknown) offers. It takes over
 * 'offered' in any case. False: there is no place. Here and below the queue pair's conn_id and
 * 'peer_conn_id' are known. */
bool mux_take_slot(struct shm_dev *dev, struct shm_qp *qp, struct shm_mux_set *offered, pid_t pid,
		   uint32_t peer_conn_id, struct mux_slot *slot);
/* The connecting side: the place that the peer has given. What can't be had is done without. */
void mux_set_slot(struct shm_dev *dev, struct shm_qp *qp, const struct mux_slot *slot);
/* The queue pair that a tag names, or NULL if it has ended. */
struct shm_qp *mux_find(const struct shm_mux *mux, uint64_t tag);
/* A queue pair ends: its slot becomes free, and the mux set ends with its last queue pair. */
void mux_leave(struct shm_dev *dev, struct shm_qp *qp);

#endif
