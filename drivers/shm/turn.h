/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TURN_H
#define TURN_H

/*
 * Users take turns at the polls of a device, so that the time of the polling thread is divided
 * among users, and not among connections. A struct shm_turn has all that is polled for one user:
 * the hot queue pairs and the muxes. It also has the user's cold queue pairs. Each poll looks at a
 * few cold queue pairs, of the users in round-robin order.
 *
 * While several users have something to be polled, these rules hold:
 *
 * - In a poll, a user's turn gives at most SHM_TURN_SHARE messages, which is its share. If it gave
 *   messages and then has a debt of more than SHM_TURN_BYTES, its share becomes one message. Each
 *   time it gave messages without such a debt, its share grows by one message again. Therefore
 *   other users wait for at most one large block, and not for sixteen.
 * - A turn with a debt gives nothing. The debt is the sum of these bytes:
 *     - the bytes that RDMA Reads and Writes of the user's queue pairs move, and SHM_TURN_COPY for
 *       each of these operations
 *     - the bytes of a message in either direction after the first SHM_TURN_REPAID bytes
 *     - SHM_TURN_REPAID for each message that a mux drops
 *     - SHM_TURN_WAKE for each WAKE that is sent to the user (wake.c). A peer could say before each
 *       message for it that it sleeps.
 * - In each poll, at most one of the user's queue pairs that wait for their peer continues, and
 *   only if the turn has no debt. This queue pair carries out at most SHM_TURN_SHARE requests, and
 *   none after a request that leaves a debt.
 * - Each poll repays SHM_TURN_REPAID bytes of a debt, and SHM_TURN_REPAID bytes more for each
 *   message that other users get.
 *
 * Therefore a user whose large blocks are moved leaves other users their part of the time. When the
 * others become inactive, this user soon has all of the time. A debt is repaid in the same way
 * while nothing of the user is polled, and while the user has no connection. Therefore a new
 * connection does not remove a debt. Users whose muxes are polled can be inactive for ever.
 * Therefore a user's debt is dropped if other users got nothing in the latest SHM_TURN_LONELY
 * polls. A user who alone has something to be polled also waits for that number of polls, because
 * another user's connection might have become cold between two of its messages. If no other user
 * has a connection, there is no limit.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "mux.h"

#define SHM_TURN_SHARE	16u    /* messages */
#define SHM_TURN_REPAID 1024u  /* bytes that are copied in about the time of one message */
#define SHM_TURN_COPY	512u   /* bytes that each RDMA Read or Write adds to its length */
#define SHM_TURN_WAKE	16384u /* bytes that are copied in about the time of the system call */
/* with a debt of more bytes, a turn gives one message the next time */
#define SHM_TURN_BYTES 131072u
/* polls without messages of other users, after which there is no debt */
#define SHM_TURN_LONELY 1024u

struct shm_account;
struct shm_qp;

/* A queue pair that is not hot. A poll only looks for a message in its ring. */
struct shm_cold {
	const _Atomic uint64_t
		*header; /* header of the cell in which the next message would begin */
	uint64_t number; /* ring_number() of this cell */
	struct shm_qp *qp;
};

/* The cold queue pairs of a user. */
struct shm_colds {
	struct shm_cold *at;
	/* elements of 'at'; at least the number of the user's queue pairs and muxes */
	uint32_t room;
	uint32_t n;
	uint32_t next; /* index of the element that was looked at last */
};

struct shm_turn {
	TAILQ_HEAD(, shm_qp) hot;
	TAILQ_HEAD(, shm_mux) muxes;
	uint32_t nhot;
	uint32_t nmuxes;
	uint32_t given;	 /* messages that it gave in this poll, while several users are polled */
	uint32_t share;	 /* messages that it is allowed to give in one poll */
	bool was_served; /* it gave messages since its share was computed */
	struct shm_colds cold;
	uint64_t debt; /* in bytes: see above */
	/* For a turn that is not polled: the value of shm_turns.repaid up to which its debt is
	 * repaid. */
	uint64_t repaid_at;
	/* Value of shm_turns.repaid when one of its waiting queue pairs last continued. */
	uint64_t tried_at;
	/* number of polls since another user got a message; at most SHM_TURN_LONELY */
	uint32_t lonely;
	/* its queue pairs and muxes; while 0, the turn exists only for its debt */
	uint32_t refs;
	uint32_t uid;
	TAILQ_ENTRY(shm_turn) polled; /* listed while it has hot queue pairs or muxes */
	TAILQ_ENTRY(shm_turn) cooled; /* listed while it has cold queue pairs */
	TAILQ_ENTRY(shm_turn) entry;
};

/* The turns of a device. The engine's thread owns them. */
struct shm_turns {
	uint32_t n;	  /* number of turns in 'all' */
	uint32_t npolled; /* number of turns in 'polled' */
	TAILQ_HEAD(, shm_turn) polled;
	TAILQ_HEAD(, shm_turn) cooled;
	uint32_t ncold; /* number of cold queue pairs of all turns */
	TAILQ_HEAD(, shm_turn) all;
	uint64_t
		/* Running counter: while several users have turns, each poll raises it by the bytes
		 * that the poll repays to a user who got no message. The debt of a turn that is not
		 * polled is later reduced by the difference from repaid_at. */
		repaid;
};

void shm_turns_init(struct shm_turns *turns);
void shm_turns_fini(struct shm_turns *turns);
/* Returns the turn of a user, with a reference for the caller. Returns NULL if no memory is
 * available. */
struct shm_turn *shm_turn_get(struct shm_turns *turns, const struct shm_account *account);
void shm_turn_put(struct shm_turns *turns, struct shm_turn *turn); /* NULL is allowed */

void shm_turn_add_hot(struct shm_turns *turns, struct shm_turn *turn, struct shm_qp *qp);
void shm_turn_remove_hot(struct shm_turns *turns, struct shm_turn *turn, struct shm_qp *qp);
/* shm_turn_add_cold() adds a queue pair to the cold ones of its user, after it was removed from the
 * hot ones. shm_turn_remove_cold() removes it, before it becomes hot. */
void shm_turn_add_cold(struct shm_turns *turns, struct shm_turn *turn, const struct shm_cold *cold);
void shm_turn_remove_cold(struct shm_turns *turns, struct shm_turn *turn, struct shm_qp *qp);
/* Adds a mux, which takes over the caller's reference to the turn. */
void shm_turn_add_mux(struct shm_turns *turns, struct shm_turn *turn, struct shm_mux *mux);
void shm_turn_remove_mux(struct shm_turns *turns, struct shm_mux *mux);

/* Computes and returns the number of messages that the turn is allowed to give in this poll. */
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

/* Adds a message of 'len' bytes that was sent or received to the debt of a turn. For a message of
 * at most SHM_TURN_REPAID bytes, no call is needed. */
static inline void shm_turn_add_message(struct shm_turn *turn, uint32_t len)
{
	if (len > SHM_TURN_REPAID)
		turn->debt += len - SHM_TURN_REPAID;
}

/* Repays debts of the polled turns after a poll, in which all turns together gave 'n' messages. A
 * call is needed only while several users are polled. */
void shm_turns_end_poll(struct shm_turns *turns, uint32_t n);
/* Ends a poll in which all turns together gave 'n' messages. It is called only if several users
 * have turns. */
void shm_turns_end_any_poll(struct shm_turns *turns, uint32_t n);
/* Returns the current debt of a turn in bytes, after what polls have repaid while the turn was not
 * polled. */
uint64_t shm_turn_debt(const struct shm_turns *turns, struct shm_turn *turn);
/* Repays SHM_TURN_REPAID bytes of the debt of a user who alone has something to be polled, and
 * returns 0. After SHM_TURN_LONELY such polls, drops the rest of the debt and returns its bytes. */
uint64_t shm_turn_repay_alone(struct shm_turn *turn);

#endif
