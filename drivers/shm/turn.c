/* SPDX-License-Identifier: BSD-3-Clause */
#include "turn.h"

#include "alloc.h"
#include "shm.h"

void shm_turns_init(struct shm_turns *turns)
{
	TAILQ_INIT(&turns->polled);
	LIST_INIT(&turns->all);
}

struct shm_turn *shm_turn_get(struct shm_turns *turns, const struct shm_account *account)
{
	struct shm_turn *turn;

	turn = LIST_FIRST(&turns->all);
	while (turn && turn->account != account)
		turn = LIST_NEXT(turn, entry);
	if (turn) {
		turn->refs++;
		return turn;
	}
	turn = mem_zalloc(sizeof(*turn));
	if (!turn)
		return NULL;
	TAILQ_INIT(&turn->hot);
	TAILQ_INIT(&turn->muxes);
	turn->account = account;
	turn->refs = 1;
	LIST_INSERT_HEAD(&turns->all, turn, entry);
	return turn;
}

void shm_turn_put(struct shm_turn *turn)
{
	if (!turn || --turn->refs > 0)
		return;
	LIST_REMOVE(turn, entry);
	mem_free(turn);
}

/* Something is about to be added. */
static void poll_begin(struct shm_turns *turns, struct shm_turn *turn)
{
	if (turn->nhot + turn->nmuxes > 0)
		return;
	turn->given = 0;
	TAILQ_INSERT_TAIL(&turns->polled, turn, polled);
	turns->npolled++;
}

/* Something was removed. */
static void poll_end(struct shm_turns *turns, struct shm_turn *turn)
{
	if (turn->nhot + turn->nmuxes > 0)
		return;
	TAILQ_REMOVE(&turns->polled, turn, polled);
	turns->npolled--;
}

void shm_turn_add_hot(struct shm_turns *turns, struct shm_turn *turn, struct shm_qp *qp)
{
	poll_begin(turns, turn);
	TAILQ_INSERT_TAIL(&turn->hot, qp, entry);
	turn->nhot++;
}

void shm_turn_remove_hot(struct shm_turns *turns, struct shm_turn *turn, struct shm_qp *qp)
{
	TAILQ_REMOVE(&turn->hot, qp, entry);
	turn->nhot--;
	poll_end(turns, turn);
}

void shm_turn_add_mux(struct shm_turns *turns, struct shm_turn *turn, struct shm_mux *mux)
{
	poll_begin(turns, turn);
	mux->turn = turn;
	TAILQ_INSERT_TAIL(&turn->muxes, mux, entry);
	turn->nmuxes++;
}

void shm_turn_remove_mux(struct shm_turns *turns, struct shm_mux *mux)
{
	struct shm_turn *turn = mux->turn;

	TAILQ_REMOVE(&turn->muxes, mux, entry);
	turn->nmuxes--;
	poll_end(turns, turn);
	shm_turn_put(turn);
}

void shm_turns_end_poll(struct shm_turns *turns, uint32_t n)
{
	struct shm_turn *turn;

	for (turn = TAILQ_FIRST(&turns->polled); turn; turn = TAILQ_NEXT(turn, polled)) {
		uint64_t repaid = (1 + (uint64_t)n - turn->given) * SHM_TURN_REPAID;

		turn->debt -= turn->debt < repaid ? turn->debt : repaid;
		turn->given = 0;
	}
}
