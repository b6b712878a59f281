/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completions. A queue pair whose messages arrive by its own ring is hot or cold. A hot queue pair
 * is polled each time. A cold one has nothing outstanding except receives. A poll looks only at the
 * next header in the ring of a cold queue pair, and only at a few cold queue pairs, round-robin. It
 * prefetches each header COLD_AHEAD looks earlier. For each look at a hot queue pair that has no
 * message, a poll looks at one cold queue pair. A single queue pair stays hot. A queue pair whose
 * messages arrive by a mux, and which has no other work, is in neither list: thousands of such
 * queue pairs cost no more than the mux.
 *
 * Users take turns (turn.h). If a turn has several hot queue pairs, none of them gives more than
 * HOT_SHARE completions per visit. So a connection that sends without a pause takes no more of its
 * user's turn than a connection with HOT_SHARE calls outstanding. A single hot queue pair gives all
 * that it has. For each HOT_SHARE messages, a poll looks at one more cold queue pair. So the first
 * message of a cold queue pair waits for as many messages as several hot queue pairs would have
 * given. Muxes get up to half of a turn, round-robin, and the hot queue pairs get the other half.
 */
#include "recv.h"

#include "compiler.h"
#include "shm_dev.h"
#include "shm_qp.h"

/* cold queue pairs that a poll looks at first */
#define COLD_SCAN 1u
/* looks from the prefetch of a header to its own look */
#define COLD_AHEAD 16u
#define HOT_SHARE  8u /* completions per visit */
/* bytes that are copied in about the time of HOT_SHARE messages */
#define HOT_BYTES (HOT_SHARE * SHM_TURN_REPAID)
#define MUXES_FEW 8u /* muxes that a poll of a turn looks at */

/* Looks at the user's next cold queue pair. If this queue pair has a message, it becomes hot. */
static void look_at_cold(struct shm_colds *colds)
{
	const struct shm_cold *cold;
	uint32_t ahead;

	if (++colds->next >= colds->n)
		colds->next = 0;
	ahead = colds->next + COLD_AHEAD;
	if (ahead < colds->n)
		__builtin_prefetch((const void *)(uintptr_t)colds->at[ahead].header);
	cold = &colds->at[colds->next];
	if (ring_cell_ready(atomic_load_explicit(cold->header, memory_order_relaxed), cold->number))
		shm_qp_make_hot(cold->qp);
}

/* Looks at the next 'few' cold queue pairs, at most at each once, of the users in round-robin
 * order. */
static void scan(struct shm_turns *turns, uint32_t few)
{
	if (few > turns->ncold)
		few = turns->ncold;
	for (uint32_t i = 0; i < few && turns->ncold > 0; i++) {
		struct shm_turn *turn = TAILQ_FIRST(&turns->cooled);

		if (unlikely(TAILQ_NEXT(turn, cooled) != NULL)) {
			TAILQ_REMOVE(&turns->cooled, turn, cooled);
			TAILQ_INSERT_TAIL(&turns->cooled, turn, cooled);
		}
		look_at_cold(&turn->cold);
	}
}

static uint32_t poll_done(struct shm_qp *qp, struct fabric_wc *wcs, uint32_t max)
{
	uint32_t n = 0;

	while (n < max && qp->done_head != qp->done_tail) {
		const struct shm_done *done = &qp->done[qp->done_head++ & qp->done_mask];

		wcs[n++] = (struct fabric_wc){
			.wr_id = done->wr_id,
			.qp_ctx = qp->fabric.ctx,
			.op = (enum fabric_op)done->op,
			.status = (enum fabric_status)done->status,
			.byte_len = done->bytes,
		};
		qp->sq_used -= done->entries;
	}
	shm_qp_update_limits(qp);
	return n;
}

/* Flushes the waiting requests and the own receives of a queue pair in error. Shared receives stay
 * posted. Returns the number of completions in 'wcs'. */
static uint32_t poll_flush(struct shm_qp *qp, struct fabric_wc *wcs, uint32_t max)
{
	uint32_t n = 0;

	if (qp->is_stalled) {
		shm_stall_try(qp);
		n = poll_done(qp, wcs, max);
	}
	while (n < max && !shm_recvs_empty(&qp->own)) {
		wcs[n++] = (struct fabric_wc){
			.wr_id = qp->own.wrs[qp->own.head++ & qp->own.mask].wr_id,
			.qp_ctx = qp->fabric.ctx,
			.op = FABRIC_RECV,
			.status = FABRIC_ERR_FLUSHED,
		};
	}
	return n;
}

/* Polls a queue pair, and stores up to 'max' completions in 'wcs'. Returns their number. If this
 * poll has no completion yet ('is_first', and this queue pair has none), messages can overtake no
 * completion. Such messages are delivered where possible, and counted in *delivered. */
static inline uint32_t poll_qp(struct shm_qp *qp, struct fabric_wc *wcs, uint32_t max,
			       bool is_first, uint32_t *delivered)
{
	uint32_t n = 0;

	if (qp->done_head != qp->done_tail)
		n = poll_done(qp, wcs, max);
	if (unlikely(qp->is_switching) && !qp->is_stalled && shm_mux_step(qp))
		shm_stall_begin(qp);
	if (is_first && n == 0 && qp->deliver_end > 0 && !qp->rx_in_mux) {
		uint32_t few = shm_deliver_ring(qp, max);

		*delivered += few;
		max -= few;
	}
	if (likely(qp->state == QP_READY)) {
		if (!qp->rx_in_mux && ring_look(&qp->rx) != 0)
			n += shm_recv_ring(qp, wcs + n, max - n);
	} else if (qp->state == QP_ERROR) {
		n += poll_flush(qp, wcs + n, max - n);
	}
	return n;
}

/* Returns whether there is nothing to poll in a queue pair until the peer acts, a receive is
 * posted, or an event occurs. stall.c tries the requests that wait for the peer. A queue pair in
 * error is polled until its waiting requests are flushed. A queue pair that waits for a shared
 * receive is polled, because many queue pairs take these receives. */
static bool is_idle(const struct shm_qp *qp)
{
	if (qp->done_head != qp->done_tail)
		return false;
	return qp->state == QP_ERROR ? !qp->is_stalled : !qp->is_rnr || !qp->recvs->is_shared;
}

/* Handles that a poll has found nothing in a queue pair, and makes the queue pair cold if it need
 * not be polled any more. */
static void was_empty(struct shm_qp *qp)
{
	if (qp->rx_in_mux) {
		if ((qp->tx_in_mux || qp->is_stalled || qp->state == QP_ERROR) && is_idle(qp))
			shm_qp_make_cold(qp);
		return;
	}
	if (shm_dev_of(qp)->nqps == 1)
		return;
	qp->empty_polls++;
	/* Hot queue pairs of other users do not count, because a user with a debt can have many
	 * that are not polled. */
	if ((qp->is_rnr || qp->empty_polls * qp->turn->nhot > SHM_COLD_POLLS) && is_idle(qp))
		shm_qp_make_cold(qp);
}

/* The results of a poll so far. */
struct found {
	struct fabric_wc *wcs;
	uint32_t n;	    /* number of completions in 'wcs' */
	uint32_t delivered; /* messages */
	uint32_t vain;	    /* looks that found no message, or other work of the same duration */
};

static inline uint32_t found_messages(const struct found *found)
{
	return found->n + found->delivered;
}

/* Receives at most 'max' messages from a few of the user's muxes, and at most half of 'max' if the
 * user also has hot queue pairs. The next poll begins with the other muxes. */
static hot_inline void poll_muxes(struct shm_dev *dev, struct shm_turn *turn, uint32_t max,
				  struct found *found)
{
	uint32_t few = turn->nmuxes < MUXES_FEW ? turn->nmuxes : MUXES_FEW;
	uint32_t end = found_messages(found) + max;

	dev->npolls++;
	if (!TAILQ_EMPTY(&turn->hot))
		end -= max - (max + dev->npolls % 2) / 2;
	for (uint32_t i = 0; i < few && found_messages(found) < end; i++) {
		struct shm_mux *mux = TAILQ_FIRST(&turn->muxes);

		if (found->n == 0 && ring_look(&mux->rx) != 0)
			found->delivered += shm_deliver_mux(dev, mux, end - found_messages(found));
		if (ring_look(&mux->rx) != 0)
			found->n += shm_recv_mux(dev, mux, found->wcs + found->n,
						 end - found_messages(found));
		if (turn->nmuxes > 1) {
			TAILQ_REMOVE(&turn->muxes, mux, entry);
			TAILQ_INSERT_TAIL(&turn->muxes, mux, entry);
		}
	}
}

/* Receives at most 'max' messages from the user's hot queue pairs, and at most 'share' from each.
 */
static hot_inline void poll_hot(struct shm_turn *turn, uint32_t max, uint32_t share,
				struct found *found)
{
	struct shm_qp *qp, *next;
	uint32_t end = found_messages(found) + max;

	for (qp = TAILQ_FIRST(&turn->hot); qp && found_messages(found) < end; qp = next) {
		uint32_t before = found_messages(found), left = end - before;

		found->n += poll_qp(qp, found->wcs + found->n, left < share ? left : share,
				    found->n == 0, &found->delivered);
		next = TAILQ_NEXT(qp, entry);
		if (found_messages(found) > before) {
			qp->empty_polls = 0;
			continue;
		}
		found->vain++;
		was_empty(qp);
	}
	if (unlikely(qp != NULL)) {
		/* The next poll begins with the queue pairs that this poll did not reach. */
		while ((next = TAILQ_FIRST(&turn->hot)) != qp) {
			TAILQ_REMOVE(&turn->hot, next, entry);
			TAILQ_INSERT_TAIL(&turn->hot, next, entry);
		}
	}
}

static hot_inline void poll_turn(struct shm_dev *dev, struct shm_turn *turn, uint32_t max,
				 struct found *found)
{
	uint32_t end = found_messages(found) + max;

	if (unlikely(turn->nmuxes > 0)) {
		poll_muxes(dev, turn, max, found);
		max = end - found_messages(found);
	}
	poll_hot(turn, max, turn->nhot > 1 ? HOT_SHARE : max, found);
}

/* Polls the turn of one of several users. The turn gives at most its share of messages, and none if
 * it has a debt. This function is not inline, because only polls of a single user have to be fast.
 */
static out_of_line void poll_one_turn(struct shm_dev *dev, struct shm_turn *turn, uint32_t max,
				      struct found *found)
{
	uint32_t before = found_messages(found), share = shm_turn_share(turn);

	if (turn->debt > 0)
		return;
	poll_turn(dev, turn, max < share ? max : share, found);
	turn->given += found_messages(found) - before;
	turn->was_served = found_messages(found) > before;
}

/* Polls the turns of several users. The turn that was first is last in the next poll. */
static void poll_turns(struct shm_dev *dev, uint32_t max, struct found *found)
{
	struct shm_turns *turns = &dev->turns;

	for (uint32_t i = turns->npolled; i > 0 && found_messages(found) < max; i--) {
		struct shm_turn *turn = TAILQ_FIRST(&turns->polled);

		if (!turn)
			break;
		TAILQ_REMOVE(&turns->polled, turn, polled);
		TAILQ_INSERT_TAIL(&turns->polled, turn, polled);
		poll_one_turn(dev, turn, max - found_messages(found), found);
	}
	shm_turns_end_poll(turns, found_messages(found));
}

/* Repays the debt of a user who alone has something to be polled, while several users have
 * connections. Such a user soon has no debt: see shm_turn_repay_alone(). In the poll in which the
 * rest of the debt is dropped, more cold queue pairs of other users are looked at, in proportion to
 * the debt. The function is called before everything in a poll that is permitted only to users
 * without a debt. */
static out_of_line void repay_lonely(struct shm_turns *turns, struct found *found)
{
	struct shm_turn *turn = TAILQ_FIRST(&turns->polled);

	if (turns->npolled != 1)
		return;
	(void)shm_turn_share(turn);
	found->vain += (uint32_t)(shm_turn_repay_alone(turn) / HOT_BYTES);
}

/* Polls while several users have connections. */
static void poll_users(struct shm_dev *dev, uint32_t max, struct found *found)
{
	struct shm_turn *turn = TAILQ_FIRST(&dev->turns.polled);

	if (dev->turns.npolled > 1) {
		poll_turns(dev, max, found);
	} else if (turn) {
		poll_one_turn(dev, turn, max, found);
		turn->given = 0;
	}
	shm_turns_end_any_poll(&dev->turns, found_messages(found));
}

uint32_t shm_poll(struct fabric_dev *fdev, struct fabric_wc *wcs, uint32_t max)
{
	struct shm_dev *dev = (struct shm_dev *)fdev;
	struct shm_turns *turns = &dev->turns;
	struct found found = {.wcs = wcs};
	struct shm_turn *turn;

	if (unlikely(turns->ncold > 0))
		scan(turns, COLD_SCAN);
	if (unlikely(turns->n > 1))
		repay_lonely(turns, &found);
	if (unlikely(dev->stalls.n > 0))
		shm_stalls_try(dev);
	turn = TAILQ_FIRST(&turns->polled);
	if (unlikely(turns->n > 1))
		poll_users(dev, max, &found);
	else if (turn)
		poll_turn(dev, turn, max, &found);
	if (unlikely(turns->ncold > 0))
		scan(turns, found_messages(&found) / HOT_SHARE + found.vain);
	return found.n;
}
