/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TURN_H
#define TURN_H

/*
 * Users take turns at the polls of a device, so that the time of the polling thread is divided
 * among users, and not among connections. A turn has what is polled for one user: the hot queue
 * pairs and the muxes. It also has the user's cold queue pairs. A poll looks at a few cold queue
 * pairs, of the users in round-robin order.
 *
 * While several users have something to be polled, these rules hold:
 *
 * - In a poll, a user's turn gives at most SHM_TURN_SHARE messages. After a turn that moved more
 *   than SHM_TURN_BYTES, it gives one message. After each turn that did not, it gives one message
 *   more than before. So others wait at most for one large block, and not for sixteen.
 * - A turn with a debt gives nothing. A debt is made of these bytes:
 *     - the bytes that RDMA Reads and Writes of the user's queue pairs move, and SHM_TURN_COPY for
 *       each of these operations
 *     - the bytes of a message in either direction after the first SHM_TURN_REPAID bytes
 *     - SHM_TURN_REPAID for each message that a mux drops
 * - In a poll, one of the user's queue pairs that wait for their peer continues, and only if the
 *   turn has no debt. It carries out at most as many requests as a turn gives messages, and none
 *   after a request that leaves a debt.
 * - Each poll repays SHM_TURN_REPAID bytes of a debt, and the same number for each message of other
 *   users.
 *
 * So a user who has large blocks moved leaves others their part of the time. When the others become
 * inactive, this user soon has all of the time. A debt is repaid in the same way while nothing of
 * the user is polled, and while the user has no connection: a new connection does not remove a
 * debt. Users whose muxes are polled may be inactive for ever. Therefore a user has no debt if
 * others got nothing in the latest SHM_TURN_LONELY polls. After that number of polls, the same
 * holds for a user who alone has something to be polled: another user's connection may have become
 * cold between two of its messages. If no other user has a connection, there is no limit.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "mux.h"

#define SHM_TURN_SHARE	16u	/* messages */
#define SHM_TURN_REPAID 1024u	/* bytes, which are copied in about the time of a message */
#define SHM_TURN_COPY	512u	/* bytes that each Read or Write counts besides its own */
#define SHM_TURN_BYTES	131072u /* a turn that moves more gives one message the next time */
#define SHM_TURN_LONELY 1024u	/* after these polls without messages of others: no debt */

struct shm_account;
struct shm_qp;

/* A queue pair that is not hot. A poll only looks for a message in its ring. */
struct shm_cold {
	const _Atomic uint64_t *header;
	uint64_t number; /* number of the cell in which the next message would begin */
	struct shm_qp *qp;
};

struct shm_colds {
	struct shm_cold *at;
	uint32_t room; /* capacity: all queue pairs of the user */
	uint32_t n;
	uint32_t next; /* index of the next one to look at */
};

struct shm_turn {
	TAILQ_HEAD(, shm_qp) hot;
	TAILQ_HEAD(, shm_mux) muxes;
	uint32_t nhot;
	uint32_t nmuxes;
	uint32_t given;	 /* messages in this poll, while several users are polled */
	uint32_t share;	 /* messages that it may give in one poll */
	bool was_served; /* it gave messages since its share was computed */
	struct shm_colds cold;
	uint64_t debt; /* bytes */
	/* Value of 'repaid' of all turns at the latest repayment of this debt, or at the end of its
	 * latest poll. */
	uint64_t repaid_at;
	/* Value of 'repaid' of all turns when one of its waiting queue pairs last continued. */
	uint64_t tried_at;
	uint32_t lonely; /* polls since others got a message */
	uint32_t refs;	 /* queue pairs and muxes; with 0, the turn is kept for its debt */
	uint32_t uid;
	TAILQ_ENTRY(shm_turn) polled; /* listed while it has hot queue pairs or muxes */
	TAILQ_ENTRY(shm_turn) cooled; /* listed while it has cold queue pairs */
	TAILQ_ENTRY(shm_turn) entry;
};

/* The turns of a device. The engine's thread owns them. */
struct shm_turns {
	uint32_t n; /* number of turns in 'all' */
	uint32_t npolled;
	TAILQ_HEAD(, shm_turn) polled;
	TAILQ_HEAD(, shm_turn) cooled;
	uint32_t ncold; /* queue pairs */
	TAILQ_HEAD(, shm_turn) all;
	uint64_t
		repaid; /* bytes that all polls of several users repaid to a user who got nothing */
};

void shm_turns_init(struct shm_turns *turns);
void shm_turns_fini(struct shm_turns *turns);
/* Returns the turn of a user, with a reference for the caller. Returns NULL if no memory is
 * available. */
struct shm_turn *shm_turn_get(struct shm_turns *turns, const struct shm_account *account);
void shm_turn_put(struct shm_turns *turns, struct shm_turn *turn); /* NULL is allowed */

void shm_turn_add_hot(struct shm_turns *turns, struct shm_turn *turn, struct shm_qp *qp);
void shm_turn_remove_hot(struct shm_turns *turns, struct shm_turn *turn, struct shm_qp *qp);
/* A queue pair that was removed from the hot ones becomes cold, or the other way round. */
void shm_turn_add_cold(struct shm_turns *turns, struct shm_turn *turn, const struct shm_cold *cold);
void shm_turn_remove_cold(struct shm_turns *turns, struct shm_turn *turn, struct shm_qp *qp);
/* The mux takes over a reference to the turn. */
void shm_turn_add_mux(struct shm_turns *turns, struct shm_turn *turn, struct shm_mux *mux);
void shm_turn_remove_mux(struct shm_turns *turns, struct shm_mux *mux);

/* Returns the number of messages that the turn may give in this poll. */
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

/* Adds a message of 'len' bytes that was moved. For a message of at most SHM_TURN_REPAID bytes, no
 * call is needed. */
static inline void shm_turn_add_message(struct shm_turn *turn, uint32_t len)
{
	if (len > SHM_TURN_REPAID)
		turn->debt += len - SHM_TURN_REPAID;
}

/* Repays debts of the polled turns, after a poll that gave 'n' messages. A call is needed only
 * while several users are polled. */
void shm_turns_end_poll(struct shm_turns *turns, uint32_t n);
/* Ends a poll that gave 'n' messages, if several users have turns. */
void shm_turns_end_any_poll(struct shm_turns *turns, uint32_t n);
/* Returns the current debt. */
uint64_t shm_turn_debt(const struct shm_turns *turns, struct shm_turn *turn);
/* Repays before a poll of one user. Returns the debt that is dropped because the user has been
 * alone for long. */
uint64_t shm_turn_repay_alone(struct shm_turn *turn);

#endif
