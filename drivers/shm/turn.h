/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TURN_H
#define TURN_H

/*
 * Users take turns at the polls of a device, so that the time of the polling thread is divided
 * among users, and not among connections. A turn has what is polled of one user: the queue pairs
 * that are hot, and the muxes. It also has the user's cold queue pairs, which are neither. Of
 * these, a poll looks at a few, one of each user after the other.
 *
 * While several users have something to be polled, these rules hold:
 *
 *   - In a poll, a user's turn gives SHM_TURN_SHARE messages at most. After one that moved more
 * than SHM_TURN_BYTES it gives one, and after each that did not, one more than that: others wait
 *     for a large block at most, and not for sixteen.
 *   - A turn with a debt gives nothing. What makes a debt is the bytes that RDMA Reads and Writes
 *     of the user's queue pairs move, SHM_TURN_COPY for each of these, those bytes of a message in
 *     either direction that are past SHM_TURN_REPAID, and SHM_TURN_REPAID for each message that a
 *     mux drops.
 *   - In a poll, one of the user's queue pairs that wait for their peer goes on, and only if the
 *     turn has no debt. It does as many requests as a turn gives messages, or fewer: none behind
 *     one that leaves a debt.
 *   - In each poll, SHM_TURN_REPAID bytes of a debt are repaid, and as many for each message of
 *     other users.
 *
 * So a user who has large blocks moved leaves others their part of the time, and has all of it soon
 * after they fall silent. A debt is repaid in the same way while nothing of the user is polled, and
 * while the user has no connection: nobody gets rid of a debt by a new connection. Users whose
 * muxes are polled may be silent for ever: a user has no debt if others got nothing in the latest
 * SHM_TURN_LONELY polls. Nor has a user, by then, who alone has something to be polled: another
 * user's connection may have become cold between two of its messages. If no other user has a
 * connection, there is no limit either.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "mux.h"

#define SHM_TURN_SHARE	16u	/* messages */
#define SHM_TURN_REPAID 1024u	/* bytes, which are copied in about the time of a message */
#define SHM_TURN_COPY	512u	/* bytes as which each Read or Write counts besides its own */
#define SHM_TURN_BYTES	131072u /* a turn that moves more gives one message the next time */
#define SHM_TURN_LONELY 1024u	/* polls that gave nothing to others, after which it has no debt */

struct shm_account;
struct shm_qp;

/* A queue pair that is not hot. A poll only looks whether its ring has a message. */
struct shm_cold {
	const _Atomic uint64_t *header;
	uint64_t number; /* of the cell that a message would begin with */
	struct shm_qp *qp;
};

struct shm_colds {
	struct shm_cold *at;
	uint32_t room; /* for all queue pairs of the user */
	uint32_t n;
	uint32_t next; /* to be looked at */
};

struct shm_turn {
	TAILQ_HEAD(, shm_qp) hot;
	TAILQ_HEAD(, shm_mux) muxes;
	uint32_t nhot;
	uint32_t nmuxes;
	uint32_t given;	 /* messages in this poll, while several users are polled */
	uint32_t share;	 /* messages that it may give at a time */
	bool was_served; /* since its share was last looked at */
	struct shm_colds cold;
	uint64_t debt;	    /* bytes */
	uint64_t repaid_at; /* 'repaid' of all turns, when its debt was last repaid, or when it was
			       polled for the last time */
	uint64_t tried_at; /* 'repaid' of all turns, when one of its queue pairs that waited went on
			    */
	uint32_t lonely;   /* polls, since others got a message */
	uint32_t refs;	   /* of queue pairs and muxes; without any, it is kept for its debt */
	uint32_t uid;
	TAILQ_ENTRY(shm_turn) polled; /* listed while it has hot queue pairs or muxes */
	TAILQ_ENTRY(shm_turn) cooled; /* listed while it has cold queue pairs */
	TAILQ_ENTRY(shm_turn) entry;
};

/* The turns of a device; the engine's thread's. */
struct shm_turns {
	uint32_t n; /* in 'all' */
	uint32_t npolled;
	TAILQ_HEAD(, shm_turn) polled;
	TAILQ_HEAD(, shm_turn) cooled;
	uint32_t ncold; /* queue pairs */
	TAILQ_HEAD(, shm_turn) all;
	uint64_t repaid; /* bytes, in all polls of several users, of one who was given nothing */
};

void shm_turns_init(struct shm_turns *turns);
void shm_turns_fini(struct shm_turns *turns);
/* The turn of a user. NULL: there is no memory. The caller has a reference to it. */
struct shm_turn *shm_turn_get(struct shm_turns *turns, const struct shm_account *account);
void shm_turn_put(struct shm_turns *turns, struct shm_turn *turn); /* NULL is allowed */

void shm_turn_add_hot(struct shm_turns *turns, struct shm_turn *turn, struct shm_qp *qp);
void shm_turn_remove_hot(struct shm_turns *turns, struct shm_turn *turn, struct shm_qp *qp);
/* A queue pair that was removed from the hot ones becomes a cold one, or the other way round. */
void shm_turn_add_cold(struct shm_turns *turns, struct shm_turn *turn, const struct shm_cold *cold);
void shm_turn_remove_cold(struct shm_turns *turns, struct shm_turn *turn, struct shm_qp *qp);
/* The mux takes over a reference to the turn. */
void shm_turn_add_mux(struct shm_turns *turns, struct shm_turn *turn, struct shm_mux *mux);
void shm_turn_remove_mux(struct shm_turns *turns, struct shm_mux *mux);

/* How many messages the turn may give in this poll. */
static inline uint32_t shm_turn_share(struct shm_turn *turn)
{
	if (turn->was_served) {
		if (turn->debt > SHM_TURN_BYTES)
			turn->share = 1;
		else if (turn->share < SHM_TURN_SHARE)
			turn->share++;
	}
	turn->was_served = false;
	return turn->share;
}

/* A message of 'len' bytes was moved. Not needed for one of SHM_TURN_REPAID bytes or fewer. */
static inline void shm_turn_add_message(struct shm_turn *turn, uint32_t len)
{
	if (len > SHM_TURN_REPAID)
		turn->debt += len - SHM_TURN_REPAID;
}

/* Repay debts of those that were polled, in a poll that gave 'n' messages. Only needed while
 * several users are polled. */
void shm_turns_end_poll(struct shm_turns *turns, uint32_t n);
/* End a poll that gave 'n' messages, if several users have turns. */
void shm_turns_end_any_poll(struct shm_turns *turns, uint32_t n);
/* The debt that is left by now. */
uint64_t shm_turn_debt(const struct shm_turns *turns, struct shm_turn *turn);
/* Repay before a poll of one user. Returns the debt that is forgotten, because the user has been
 * alone for long. */
uint64_t shm_turn_repay_alone(struct shm_turn *turn);

#endif
