/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TURN_H
#define TURN_H

/*
 * Users take turns at the polls of a device, so that the time of the polling thread is divided
 * among users, and not among connections. A turn has what is polled of one user: the queue pairs
 * that are hot, and the muxes.
 *
 * While several users have such, these rules hold:
 *   - In a poll, each user's turn gives at most SHM_TURN_SHARE messages.
 *   - The bytes that RDMA Reads and Writes of a user's queue pairs move are its debt. A turn with a
 *     debt gives nothing. After each poll, SHM_TURN_REPAID bytes of a debt are repaid, and as many
 *     for each message of other users.
 * So a user who has large blocks moved leaves others their part of the time, and has all of it soon
 * after they fall silent. While one user has all that is polled, there is no limit.
 */

#include <stdint.h>
#include <sys/queue.h>

#include "mux.h"

#define SHM_TURN_SHARE	16u   /* messages */
#define SHM_TURN_REPAID 4096u /* bytes, which are copied in about the time of a message */

struct shm_account;

struct shm_turn {
	TAILQ_HEAD(, shm_qp) hot;
	TAILQ_HEAD(, shm_mux) muxes;
	uint32_t nhot;
	uint32_t nmuxes;
	uint32_t given; /* messages in this poll, where several users have turns */
	uint64_t debt;	/* bytes */
	uint32_t refs;	/* of queue pairs and muxes */
	const struct shm_account *account;
	TAILQ_ENTRY(shm_turn)
	polled; /* in the device's list, while it has something to be polled
		 */
	LIST_ENTRY(shm_turn) entry;
};

/* The turns of a device; the engine's thread's. */
struct shm_turns {
	TAILQ_HEAD(, shm_turn) polled;
	uint32_t npolled;
	LIST_HEAD(, shm_turn) all;
};

void shm_turns_init(struct shm_turns *turns);
/* The turn of a user, whose account outlives it. NULL: there is no memory. The caller has a
 * reference to it. */
struct shm_turn *shm_turn_get(struct shm_turns *turns, const struct shm_account *account);
void shm_turn_put(struct shm_turn *turn); /* NULL is allowed */

void shm_turn_add_hot(struct shm_turns *turns, struct shm_turn *turn, struct shm_qp *qp);
void shm_turn_remove_hot(struct shm_turns *turns, struct shm_turn *turn, struct shm_qp *qp);
/* The mux takes over a reference to the turn. */
void shm_turn_add_mux(struct shm_turns *turns, struct shm_turn *turn, struct shm_mux *mux);
void shm_turn_remove_mux(struct shm_turns *turns, struct shm_mux *mux);

/* Where several users have turns, at the end of a poll that gave 'n' messages: debts are repaid. */
void shm_turns_end_poll(struct shm_turns *turns, uint32_t n);

#endif
