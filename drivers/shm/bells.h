/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BELLS_H
#define BELLS_H

/*
 * Bells: which of many queue pairs has a message, so that the rings of those that are silent need not be looked at.
 *
 * Two devices with more than one connection between them share a lane: for each direction, the reader says of each queue pair whether it
 * is cold, which is: not looked at, and the writer puts the place of a cold one to which it has written into a queue of
 * places. The reader looks at one word, the next of that queue, for all of them. No line is written by both. Short messages for
 * cold ones lie in the lane as well: note.h.
 *
 * The connecting device makes the memory, for all connections to one listener's process, and offers it with each but the first: one
 * alone is looked at anyway. The accepting device has a lane of it to itself, by its number within its process, and gives out the
 * places. It is a hint: the queue is never full, what is not read in time is overwritten, and a writer that was about to
 * write when the reader stopped to look may not ring. The reader finds each such message by looking at cold ones now and then, whatever
 * rang. What a peer writes here can make this side look at rings of that peer's, a bounded number in a poll, and nothing else.
 *
 * All but the memory is its engine's thread's.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "fabric.h"
#include "note.h"

#define BELL_PLACES  16384u /* queue pairs of a lane; more have no bells */
#define BELL_NOTES   4096u  /* those with the first places have a note each */
#define BELL_QUEUE   4096u
#define BELL_LANES   16u
#define BELL_NO_LANE UINT32_MAX

/* What the reader says of a queue pair, in one word. 0: it looks without a bell. */
#define BELL_COLD 1u /* it wants to hear of messages */
#define BELL_NOTE                                                                                            \
	2u /* it has taken all up to the position that the word has besides, and looks at the note there */

/* One direction. Pages that are never used are never there. */
struct bell_way {
	_Alignas(4096) _Atomic uint64_t marks[BELL_PLACES]; /* the reader's */
	_Alignas(4096) _Atomic uint32_t
		rung[BELL_QUEUE]; /* the writer's: lap << 16 | place; laps count from 1 */
	_Alignas(4096) struct shm_note notes[BELL_NOTES]; /* the writer's */
};

struct bell_memory {
	struct {
		struct bell_way to_acceptor, to_connector;
	} lanes[BELL_LANES];
};

struct shm_dev;
struct shm_qp;

/* One side's view of a lane. */
struct shm_lane {
	struct bell_way *in, *out; /* what this side reads; what it rings */
	uint32_t in_next, out_next;
	uint16_t in_lap, out_lap;
	uint32_t nqps;
	uint32_t free_from;  /* no place below is free */
	struct shm_qp **qps; /* BELL_PLACES */
	TAILQ_ENTRY(shm_lane) entry;
};

/* The memory that is shared with a peer. */
struct shm_bells {
	struct bell_memory *memory; /* NULL: there is one connection, or could be none */
	uint32_t refs;		    /* queue pairs */
	int fd;			    /* the connector's, to be offered again; -1 */
	/* whose it is: of the connector's, whom it is shared with; of the acceptor's, the file */
	char addr[FABRIC_ADDR_MAX];
	pid_t pid;
	dev_t file_dev;
	ino_t file_ino;
	struct shm_lane *lanes[BELL_LANES];
	LIST_ENTRY(shm_bells) entry;
};

/* What queue pairs without a bell look at: nobody wants to hear of them. */
extern const _Atomic uint64_t bells_never;

/* A number for a device that no other of the process has, or BELL_NO_LANE. */
uint32_t bells_number_take(void);
void bells_number_put(uint32_t number);

/* The connecting side, for a queue pair about to connect to 'addr' through 'fd'. What to offer, borrowed, or -1. */
int bells_offer(struct shm_dev *dev, struct shm_qp *qp, const char *addr, int fd);
/* Whether a descriptor may be what is offered. */
bool bells_fd_ok(int fd);
/* The accepting side: have a place of what 'fd' offers. False: there is none. Here and below the queue pair has its note_base. */
bool bells_take_place(struct shm_dev *dev, struct shm_qp *qp, int fd, uint32_t *lane, uint32_t *place);
/* The connecting side: the place that the peer has given. What can't be had is done without. */
void bells_set_place(struct shm_dev *dev, struct shm_qp *qp, uint32_t lane, uint32_t place);
/* It has nothing to do with bells any more, and is hot. */
void bells_leave(struct shm_dev *dev, struct shm_qp *qp);

/* Tell the peer that a queue pair has a message. It was written before. */
static inline void bells_ring(struct shm_lane *lane, uint32_t place)
{
	atomic_store_explicit(&lane->out->rung[lane->out_next], (uint32_t)lane->out_lap << 16 | place,
			      memory_order_release);
	if (++lane->out_next == BELL_QUEUE) {
		lane->out_next = 0;
		lane->out_lap++;
	}
}

/* Whether a bell has rung: then its place, of any value, is in *place, and *missed says whether others were overwritten before they
 * were read. */
static inline bool bells_next(struct shm_lane *lane, uint32_t *place, bool *missed)
{
	uint32_t word = atomic_load_explicit(&lane->in->rung[lane->in_next], memory_order_acquire);
	uint16_t lap = (uint16_t)(word >> 16);

	if (lap == (uint16_t)(lane->in_lap - 1))
		return false;
	*missed = lap != lane->in_lap;
	lane->in_lap = lap;
	*place = word & 0xffff;
	if (++lane->in_next == BELL_QUEUE) {
		lane->in_next = 0;
		lane->in_lap++;
	}
	return true;
}

#endif
