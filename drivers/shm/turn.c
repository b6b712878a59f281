/* SPDX-License-Identifier: BSD-3-Clause */
/* The turns of users: which queue pairs and muxes they have, and how their debts are repaid. poll.c
 * polls them. */
#include "turn.h"

#include <string.h>

#include "account.h"
#include "alloc.h"
#include "shm_qp.h"

#define COLDS_MIN 16u

void shm_turns_init(struct shm_turns *turns)
{
	TAILQ_INIT(&turns->polled);
	TAILQ_INIT(&turns->cooled);
	TAILQ_INIT(&turns->all);
	turns->repaid = SHM_TURN_REPAID; /* differs from tried_at of a new turn, which is 0 */
}

static void turn_free(struct shm_turns *turns, struct shm_turn *turn)
{
	TAILQ_REMOVE(&turns->all, turn, entry);
	turns->n--;
	mem_free(turn->cold.at);
	mem_free(turn);
}

void shm_turns_fini(struct shm_turns *turns)
{
	struct shm_turn *turn;

	while ((turn = TAILQ_FIRST(&turns->all)) != NULL)
		turn_free(turns, turn);
}

static bool is_polled(const struct shm_turn *turn)
{
	return turn->nhot + turn->nmuxes > 0;
}

static void repay(struct shm_turn *turn, uint64_t bytes)
{
	turn->debt = turn->debt > bytes ? turn->debt - bytes : 0;
}

uint64_t shm_turn_debt(const struct shm_turns *turns, struct shm_turn *turn)
{
	if (!is_polled(turn)) {
		repay(turn, turns->repaid - turn->repaid_at);
		turn->repaid_at = turns->repaid;
	}
	return turn->debt;
}

static struct shm_turn *turn_new(struct shm_turns *turns, uint32_t uid)
{
	struct shm_turn *turn = mem_zalloc(sizeof(*turn));

	if (!turn)
		return NULL;
	/* Bytes that were moved while there was a single user are no debt when a second user
	 * connects. */
	if (turns->n == 1)
		TAILQ_FIRST(&turns->all)->debt = 0;
	TAILQ_INIT(&turn->hot);
	TAILQ_INIT(&turn->muxes);
	turn->uid = uid;
	turn->repaid_at = turns->repaid;
	turn->share = SHM_TURN_SHARE;
	TAILQ_INSERT_HEAD(&turns->all, turn, entry);
	turns->n++;
	return turn;
}

static void drop_unused(struct shm_turns *turns, struct shm_turn *turn)
{
	if (turn->refs == 0 && (turns->n == 1 || shm_turn_debt(turns, turn) == 0))
		turn_free(turns, turn);
}

/* Extends the list of cold queue pairs for one more queue pair of the user, since all of them can
 * be cold at once. Returns false if no memory is available. */
static bool colds_make_room(struct shm_turn *turn)
{
	struct shm_colds *colds = &turn->cold;
	uint32_t room = colds->room > 0 ? 2 * colds->room : COLDS_MIN;
	struct shm_cold *at;

	if (turn->refs < colds->room)
		return true;
	at = mem_zalloc(room * sizeof(*at));
	if (!at)
		return false;
	if (colds->n > 0)
		memcpy(at, colds->at, colds->n * sizeof(*at));
	mem_free(colds->at);
	colds->at = at;
	colds->room = room;
	return true;
}

struct shm_turn *shm_turn_get(struct shm_turns *turns, const struct shm_account *account)
{
	struct shm_turn *turn = TAILQ_FIRST(&turns->all);

	while (turn && turn->uid != account->uid)
		turn = TAILQ_NEXT(turn, entry);
	if (!turn)
		turn = turn_new(turns, account->uid);
	if (!turn)
		return NULL;
	if (!colds_make_room(turn)) {
		drop_unused(turns, turn);
		return NULL;
	}
	turn->refs++;
	return turn;
}

void shm_turn_put(struct shm_turns *turns, struct shm_turn *turn)
{
	if (!turn)
		return;
	turn->refs--;
	drop_unused(turns, turn);
}

/* Lists a turn as polled, if it is not. Called before a hot queue pair or a mux is added to it. */
static void poll_begin(struct shm_turns *turns, struct shm_turn *turn)
{
	if (is_polled(turn))
		return;
	(void)shm_turn_debt(turns, turn);
	turn->given = 0;
	turn->lonely = 0;
	TAILQ_INSERT_TAIL(&turns->polled, turn, polled);
	turns->npolled++;
}

/* Removes a turn from the list of polled turns, if it has nothing to be polled. Called after a hot
 * queue pair or a mux was removed from it. */
static void poll_end(struct shm_turns *turns, struct shm_turn *turn)
{
	if (is_polled(turn))
		return;
	turn->repaid_at = turns->repaid;
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

void shm_turn_add_cold(struct shm_turns *turns, struct shm_turn *turn, const struct shm_cold *cold)
{
	struct shm_colds *colds = &turn->cold;

	if (colds->n == 0)
		TAILQ_INSERT_TAIL(&turns->cooled, turn, cooled);
	turns->ncold++;
	cold->qp->cold_index = colds->n;
	colds->at[colds->n++] = *cold;
}

void shm_turn_remove_cold(struct shm_turns *turns, struct shm_turn *turn, struct shm_qp *qp)
{
	struct shm_colds *colds = &turn->cold;
	uint32_t index = qp->cold_index;

	colds->at[index] = colds->at[--colds->n];
	colds->at[index].qp->cold_index = index;
	turns->ncold--;
	if (colds->n == 0)
		TAILQ_REMOVE(&turns->cooled, turn, cooled);
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
	shm_turn_put(turns, turn);
}

void shm_turns_end_poll(struct shm_turns *turns, uint32_t n)
{
	struct shm_turn *turn;

	for (turn = TAILQ_FIRST(&turns->polled); turn; turn = TAILQ_NEXT(turn, polled)) {
		uint64_t others = (uint64_t)n - turn->given;
		uint64_t repaid = (1 + others) * SHM_TURN_REPAID;

		if (others > 0)
			turn->lonely = 0;
		else if (turn->lonely < SHM_TURN_LONELY)
			turn->lonely++;
		repay(turn, turn->lonely < SHM_TURN_LONELY ? repaid : turn->debt);
		turn->given = 0;
	}
}

uint64_t shm_turn_repay_alone(struct shm_turn *turn)
{
	uint64_t debt = turn->debt;

	if (turn->lonely >= SHM_TURN_LONELY) {
		turn->debt = 0;
		return debt;
	}
	turn->lonely++;
	repay(turn, SHM_TURN_REPAID);
	return 0;
}

/* Ends a poll. The function also moves the first of all turns to the end of their list. If this
 * turn is not polled, its debt is reduced by what the polls so far repay, because these polls must
 * not repay bytes that the user moves later. If nothing uses the turn any more and it has no debt,
 * the turn is freed. */
void shm_turns_end_any_poll(struct shm_turns *turns, uint32_t n)
{
	struct shm_turn *turn = TAILQ_FIRST(&turns->all);

	turns->repaid += (1 + (uint64_t)n) * SHM_TURN_REPAID;
	if (!turn)
		return;
	TAILQ_REMOVE(&turns->all, turn, entry);
	TAILQ_INSERT_TAIL(&turns->all, turn, entry);
	(void)shm_turn_debt(turns, turn);
	drop_unused(turns, turn);
}
