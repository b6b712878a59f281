/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completions. Queue pairs are hot or cold. Hot ones are polled each time. A cold one has nothing outstanding but receives. Where
 * it has a bell (bells.h), it is polled when that rings, and is hot from then on only if it rings often, or if hardly any is: so
 * one that is active does not pay for those that are idle, and thousands that are active now and then are polled where the messages
 * are. Without a bell, only the ring's next header is looked at, of a few in turn at each poll, fetched some looks before; as
 * many as hot ones were looked at in vain. So it is, seldom, with those that have one: a bell may not have rung. One
 * that is alone stays hot.
 *
 * From hot to cold takes two steps where there is a bell: the peer is asked to ring, and some polls later, when its next message
 * can only be one that it has rung for, the queue pair is not looked at any more.
 *
 * Where several are hot, none gives more than a few completions at a visit: a peer that sends without a pause takes no more of the
 * engine than one with as many calls under way as that. One that is alone gives all that it has, and a cold one is
 * looked at for each such share of it: its first message waits for as many as the others would have had in their turns. Those that
 * ring have up to half of a poll, in the order in which they rang, and those that are hot the other half. What a peer
 * rings for nothing is bounded for each of them.
 */
#include <rte_cycles.h>

#include "shm.h"

#define COLD_SCAN    1u	 /* looked at in a poll */
#define COLD_AHEAD   16u /* fetched before they are */
#define HOT_SHARE    8u	 /* completions at a visit */
#define RUNG_OFTEN   4u	 /* polls between two messages of one that is worth polling each time */
#define COOLING	     16u /* polls from when the peer is asked to ring */
#define LANES_FEW    8u	 /* looked at in a poll */
#define RINGS_MOST   64u /* taken of one of them */
#define RINGS_VAIN   16u /* of these, for which there was no message */
#define RINGS_AHEAD  16u /* taken together: what they lead to is fetched meanwhile */
#define OVERDUE_MOST 16u /* of those that are to be looked at for missed bells, in a poll */

/* The header of a ring that nobody reads any more. */
static const _Atomic uint64_t no_message;

static inline struct shm_colds *colds_of(const struct shm_qp *qp)
{
	return qp->lane ? &shm_dev_of(qp)->belled : &shm_dev_of(qp)->cold;
}

/* What the peer is to do about it: bells.h. */
static inline void set_mark(const struct shm_qp *qp, uint64_t mark)
{
	if (qp->lane)
		atomic_store_explicit(&qp->lane->in->marks[qp->place], mark, memory_order_release);
}

/* It is cold, and all that came is taken: the next message may lie in the note. */
static inline void set_mark_cold(struct shm_qp *qp)
{
	if (!qp->note_in) {
		set_mark(qp, BELL_COLD);
		return;
	}
	qp->note_at = (uint32_t)(qp->rx.head / RING_CELL);
	set_mark(qp, note_position(qp->note_base, qp->rx.head) | BELL_COLD | BELL_NOTE);
}

bool shm_has_message(const struct shm_qp *qp)
{
	return shm_note_len(qp) >= 0 || ring_look(&qp->rx) != 0;
}

void shm_qp_warm(struct shm_qp *qp)
{
	struct shm_colds *colds = colds_of(qp);
	uint32_t place = qp->cold_place;

	qp->empty_polls = 0;
	if (qp->is_hot)
		return;
	set_mark(qp, 0);
	colds->at[place] = colds->at[--colds->n];
	colds->at[place].qp->cold_place = place;
	TAILQ_INSERT_TAIL(&shm_dev_of(qp)->hot, qp, entry);
	shm_dev_of(qp)->nhot++;
	qp->is_hot = true;
}

static void cool(struct shm_qp *qp)
{
	struct shm_colds *colds = colds_of(qp);
	bool is_ready = qp->state == QP_READY;

	TAILQ_REMOVE(&shm_dev_of(qp)->hot, qp, entry);
	shm_dev_of(qp)->nhot--;
	qp->is_hot = false;
	qp->is_cooling = false;
	qp->cold_place = colds->n++;
	colds->at[qp->cold_place] = (struct shm_cold){
		.header = is_ready ? ring_header_at(qp->rx.cells, qp->rx.size, qp->rx.head) : &no_message,
		.lap = is_ready ? qp->rx.lap : 1,
		.qp = qp,
	};
	if (qp->lane && is_ready)
		set_mark_cold(qp);
}

/* Look at the next few cold ones; those with a message are polled from now on. */
static void scan(struct shm_colds *colds, uint32_t few)
{
	if (few > colds->n)
		few = colds->n;
	for (uint32_t i = 0; i < few && colds->n > 0; i++) {
		const struct shm_cold *cold;
		uint32_t ahead;

		if (++colds->next >= colds->n)
			colds->next = 0;
		ahead = colds->next + COLD_AHEAD;
		if (ahead < colds->n)
			__builtin_prefetch((const void *)(uintptr_t)colds->at[ahead].header);
		cold = &colds->at[colds->next];
		if (ring_is_of_lap(atomic_load_explicit(cold->header, memory_order_relaxed), cold->lap))
			shm_qp_warm(cold->qp);
	}
}

/* The same where there are bells, which should have rung. */
static void scan_belled(struct shm_dev *dev, uint32_t few)
{
	struct shm_colds *colds = &dev->belled;

	for (uint32_t i = 0; i < few && colds->n > 0; i++) {
		struct shm_qp *qp;

		if (++colds->next >= colds->n)
			colds->next = 0;
		qp = colds->at[colds->next].qp;
		if (qp->state == QP_READY && shm_has_message(qp))
			shm_qp_warm(qp);
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
		qp->sq_used -= done->places;
	}
	return n;
}

/* All receives of a queue pair in error come back, its own only. */
static uint32_t poll_flush(struct shm_qp *qp, struct fabric_wc *wcs, uint32_t max)
{
	uint32_t n = 0;

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

/* A message waits and no receive is posted. */
static void not_ready(struct shm_qp *qp)
{
	struct shm_dev *dev = shm_dev_of(qp);
	uint64_t now = rte_rdtsc();

	if (!qp->is_rnr) {
		qp->is_rnr = true;
		qp->rnr_since = now;
		dev->fabric.stats.rnr++;
	}
	if (now - qp->rnr_since >= dev->rnr_ticks)
		shm_qp_break(qp);
}

static void receive_failed(struct shm_qp *qp, struct fabric_wc *wc, enum fabric_status status)
{
	*wc = (struct fabric_wc){
		.wr_id = shm_recvs_next(qp->recvs)->wr_id,
		.qp_ctx = qp->fabric.ctx,
		.op = FABRIC_RECV,
		.status = status,
	};
	shm_recvs_take(qp->recvs);
	shm_qp_break(qp);
}

/* A message of 'len' bytes, which are -1 where it can't be, is next: whether 'wr', the next receive, takes it. If not, what that
 * means is done, and *n counts the completion that there may be. */
static bool may_take(struct shm_qp *qp, const struct fabric_recv_wr *wr, int64_t len, struct fabric_wc *wcs,
		     uint32_t *n)
{
	if (__builtin_expect(shm_recvs_empty(qp->recvs), 0)) {
		not_ready(qp);
		return false;
	}
	qp->is_rnr = false;
	if (__builtin_expect(len < 0, 0)) {
		shm_dev_of(qp)->fabric.stats.protocol_errors++;
		receive_failed(qp, &wcs[(*n)++], FABRIC_ERR_FATAL);
		return false;
	}
	if (__builtin_expect(wr->lkey == SHM_NO_LKEY, 0)) {
		receive_failed(qp, &wcs[(*n)++], FABRIC_ERR_LOCAL_PROT);
		return false;
	}
	if (__builtin_expect((uint64_t)len > wr->len, 0)) {
		receive_failed(qp, &wcs[(*n)++], FABRIC_ERR_LOCAL_LEN);
		return false;
	}
	return true;
}

/* The completion of a message that 'wr' took. */
static inline void received(const struct shm_qp *qp, const struct fabric_recv_wr *wr, struct fabric_wc *wc,
			    uint32_t len, uint32_t inv_rkey)
{
	/* One by one: as a whole it would be cleared first. */
	wc->wr_id = wr->wr_id;
	wc->qp_ctx = qp->fabric.ctx;
	wc->op = FABRIC_RECV;
	wc->status = FABRIC_OK;
	wc->byte_len = len;
	wc->inv_rkey = inv_rkey;
}

static inline void count_recv(struct fabric_stats *stats, uint32_t len)
{
	stats->recvs++;
	stats->recv_bytes += len;
}

/* The next message is in the note; whether it gives a completion. */
static __attribute__((noinline)) uint32_t take_note(struct shm_qp *qp, uint32_t len, struct fabric_wc *wc)
{
	const struct fabric_recv_wr *wr = shm_recvs_next(qp->recvs);
	uint32_t n = 0;

	if (!may_take(qp, wr, len <= NOTE_DATA && len <= qp->rx.max_msg ? (int64_t)len : -1, wc, &n))
		return n;
	note_take(qp->note_in, &qp->rx, wr->addr, len);
	received(qp, wr, wc, len, 0);
	shm_recvs_take(qp->recvs);
	count_recv(&shm_dev_of(qp)->fabric.stats, len);
	return 1;
}

#define TAKE_ENDS 2u /* nothing more is to be taken now */

/* The message that 'word' heads, which may be any. 1 if that gives a completion, and TAKE_ENDS. */
static __attribute__((noinline)) uint32_t take_any(struct shm_qp *qp, uint32_t word, struct fabric_wc *wc)
{
	const struct fabric_recv_wr *wr = shm_recvs_next(qp->recvs);
	int64_t len = ring_msg_len(&qp->rx, word);
	struct shm_dev *dev = shm_dev_of(qp);
	uint32_t n = 0, inv_rkey;

	if (!may_take(qp, wr, len, wc, &n))
		return n | TAKE_ENDS;
	inv_rkey = ring_take(&qp->rx, word, wr->addr, wr->len, (uint32_t)len);
	received(qp, wr, wc, (uint32_t)len, inv_rkey);
	shm_recvs_take(qp->recvs);
	if (inv_rkey != 0 && !key_invalidate(&dev->keys, inv_rkey, qp->conn_id)) {
		wc->status = FABRIC_ERR_REMOTE_ACCESS;
		dev->fabric.stats.remote_access_errors++;
		shm_qp_break(qp);
		return 1 | TAKE_ENDS;
	}
	count_recv(&dev->fabric.stats, (uint32_t)len);
	return 1;
}

/* Whether a message is sure to be taken by 'wr'; else it is not known. A receive that covers no registration has no length
 * (recvs.c), and a message of no bytes goes the long way. */
static inline bool may_surely_take(const struct shm_qp *qp, const struct shm_recvs *recvs,
				   const struct fabric_recv_wr *wr, uint32_t word)
{
	uint32_t len = word & RING_LEN_MASK;

	return (word & ~RING_LEN_MASK) == RING_VALID && len <= qp->rx.max_msg && len - 1 < wr->len &&
	       recvs->head != recvs->tail && !qp->is_rnr;
}

/* What most messages are, in one pass, with the ring in registers. */
static inline __attribute__((always_inline)) uint32_t poll_ring(struct shm_qp *qp, struct fabric_wc *wcs,
								uint32_t max, bool is_shared)
{
	struct fabric_stats *stats = &shm_dev_of(qp)->fabric.stats;
	struct shm_recvs *recvs = qp->recvs;
	struct ring_reader rx = qp->rx;
	uint32_t n = 0, word;

	while (n < max && (word = ring_peek(&rx)) != 0) {
		const struct fabric_recv_wr *wr = shm_recvs_next_of(recvs, is_shared);
		uint32_t len = word & RING_LEN_MASK, took;

		if (__builtin_expect(!may_surely_take(qp, recvs, wr, word), 0)) {
			ring_reader_set(&qp->rx, &rx);
			took = take_any(qp, word, &wcs[n]);
			n += took & 1;
			if (took & TAKE_ENDS)
				return n;
			rx = qp->rx;
			continue;
		}
		ring_take_plain(&rx, wr->addr, wr->len, len);
		received(qp, wr, &wcs[n++], len, 0);
		shm_recvs_take_of(recvs, is_shared);
		count_recv(stats, len);
	}
	ring_reader_set(&qp->rx, &rx);
	return n;
}

static uint32_t poll_recv(struct shm_qp *qp, struct fabric_wc *wcs, uint32_t max)
{
	uint32_t n = qp->recvs->is_shared ? poll_ring(qp, wcs, max, true) : poll_ring(qp, wcs, max, false);
	int32_t note;

	if (n < max && qp->state == QP_READY && (note = shm_note_len(qp)) >= 0)
		n += take_note(qp, (uint32_t)note, &wcs[n]);
	return n;
}

static uint32_t poll_qp(struct shm_qp *qp, struct fabric_wc *wcs, uint32_t max)
{
	uint32_t n = 0;

	if (__builtin_expect(qp->npending > 0, 0) && qp->state != QP_CONNECTING)
		shm_run_pending(qp);
	if (qp->done_head != qp->done_tail)
		n = poll_done(qp, wcs, max);
	if (__builtin_expect(qp->state == QP_READY, 1))
		return n + poll_recv(qp, wcs + n, max - n);
	if (qp->state == QP_ERROR)
		n += poll_flush(qp, wcs + n, max - n);
	return n;
}

static bool is_idle(const struct shm_qp *qp)
{
	return qp->state != QP_CONNECTING && qp->npending == 0 && qp->done_head == qp->done_tail &&
	       !qp->is_rnr;
}

void shm_qp_stir(struct shm_qp *qp)
{
	if (!qp->lane || !is_idle(qp) || shm_dev_of(qp)->nhot < SHM_HOT_FEW)
		shm_qp_warm(qp);
}

/* A cold one that has rung: what is in its note, behind which there is nothing that will not ring; else all that there is. */
static uint32_t poll_rung(struct shm_qp *qp, struct fabric_wc *wcs, uint32_t max, bool *is_note)
{
	int32_t len = shm_note_len(qp);

	*is_note = len >= 0 && qp->state == QP_READY && is_idle(qp);
	return *is_note ? take_note(qp, (uint32_t)len, wcs) : poll_qp(qp, wcs, max);
}

/* Poll a cold one, and decide whether to do so each time. */
static uint32_t visit(struct shm_qp *qp, struct fabric_wc *wcs, uint32_t max)
{
	struct shm_dev *dev = shm_dev_of(qp);
	bool is_often = dev->npolls - qp->rung_poll < RUNG_OFTEN || dev->nhot < SHM_HOT_FEW, is_note;
	uint32_t got = poll_rung(qp, wcs, max, &is_note);

	if (qp->is_hot) /* it has come to its end */
		return got;
	if (got > 0)
		qp->rung_poll = dev->npolls;
	if ((got > 0 && is_often) || (got == max && !is_note && ring_peek(&qp->rx) != 0) || !is_idle(qp))
		shm_qp_warm(qp);
	else if (got > 0)
		set_mark_cold(qp);
	return got;
}

/* The next queue pairs of a lane that have rung, without those that are polled anyway. *taken counts the rings. */
static uint32_t take_rings(struct shm_dev *dev, struct shm_lane *lane, struct shm_qp **qps, uint32_t max,
			   uint32_t *taken)
{
	uint32_t n = 0, place;
	bool missed = false;

	while (n < max && *taken < RINGS_MOST && bells_next(lane, &place, &missed)) {
		struct shm_qp *qp = place < BELL_PLACES ? lane->qps[place] : NULL;

		++*taken;
		if (__builtin_expect(missed, 0))
			dev->overdue = dev->belled.n;
		if (!qp || qp->is_hot)
			continue;
		for (uint32_t line = 0; line < 2; line++)
			__builtin_prefetch((const uint8_t *)qp + 64 * line);
		qps[n++] = qp;
	}
	return n;
}

/* Where the next message is, and what its completion leads to. */
static inline void prefetch_message(const struct shm_qp *qp)
{
	const uint8_t *at = qp->rx.cells + (qp->rx.head & (qp->rx.size - 1));

	if (qp->note_in && qp->note_at == (uint32_t)(qp->rx.head / RING_CELL)) {
		at = (const uint8_t *)qp->note_in;
		__builtin_prefetch(at + RING_CELL);
		__builtin_prefetch(at + 2 * RING_CELL);
	}
	__builtin_prefetch(at);
	__builtin_prefetch(qp->fabric.ctx);
}

/* Poll those that have rung. */
static uint32_t answer(struct shm_dev *dev, struct shm_lane *lane, struct fabric_wc *wcs, uint32_t max)
{
	uint32_t n = 0, taken = 0, vain = 0, nqps;
	struct shm_qp *qps[RINGS_AHEAD];

	do {
		nqps = max - n < RINGS_AHEAD ? max - n : RINGS_AHEAD;
		nqps = take_rings(dev, lane, qps, nqps, &taken);
		for (uint32_t i = 0; i < nqps; i++)
			prefetch_message(qps[i]);
		for (uint32_t i = 0; i < nqps; i++) {
			/* One completion at least is left for each of the others. */
			uint32_t share = max - n - (nqps - i - 1), got;

			if (qps[i]->is_hot) /* it rang twice */
				continue;
			got = visit(qps[i], wcs + n, share < HOT_SHARE ? share : HOT_SHARE);
			n += got;
			vain += got == 0;
		}
	} while (nqps > 0 && n < max && vain < RINGS_VAIN);
	return n;
}

/* All that there is to be done about bells in a poll. */
static uint32_t poll_bells(struct shm_dev *dev, struct fabric_wc *wcs, uint32_t max)
{
	uint32_t n = 0, most = max, few = dev->nlanes < LANES_FEW ? dev->nlanes : LANES_FEW;
	struct shm_lane *lane;

	dev->npolls++;
	if (!TAILQ_EMPTY(&dev->hot))
		most = (max + dev->npolls % 2) / 2;
	for (uint32_t i = 0; i < few && n < most; i++) {
		lane = TAILQ_FIRST(&dev->lanes);
		n += answer(dev, lane, wcs + n, most - n);
		if (dev->nlanes > 1) {
			TAILQ_REMOVE(&dev->lanes, lane, entry);
			TAILQ_INSERT_TAIL(&dev->lanes, lane, entry);
		}
	}
	if (dev->npolls % SHM_BELLED_EVERY == 0)
		scan_belled(dev, COLD_SCAN);
	if (__builtin_expect(dev->overdue > 0, 0)) {
		uint32_t more = dev->overdue < OVERDUE_MOST ? dev->overdue : OVERDUE_MOST;

		scan_belled(dev, more);
		dev->overdue -= more;
	}
	return n;
}

/* It has a bell: of how many looks in vain is it time to ask the peer to ring, the fewer the more are hot, and then to look no more? */
static void was_empty_with_bell(struct shm_qp *qp)
{
	uint32_t nhot = shm_dev_of(qp)->nhot;

	if (qp->is_cooling) {
		if (qp->empty_polls >= COOLING && is_idle(qp))
			cool(qp);
	} else if (qp->empty_polls >= RUNG_OFTEN &&
		   (uint64_t)qp->empty_polls * nhot * nhot > SHM_COLD_POLLS) {
		qp->is_cooling = true;
		qp->empty_polls = 0;
		set_mark(qp, BELL_COLD);
	}
}

/* One more look was in vain. */
static void was_empty(struct shm_qp *qp)
{
	const struct shm_dev *dev = shm_dev_of(qp);

	if (dev->nqps == 1)
		return;
	qp->empty_polls++;
	if (qp->lane)
		was_empty_with_bell(qp);
	else if (qp->empty_polls * dev->nhot > SHM_COLD_POLLS && is_idle(qp))
		cool(qp);
}

/* It has a message while it is about to be cold: so it will be, unless the message came soon, or many do. */
static __attribute__((noinline)) void may_stay_hot(struct shm_qp *qp)
{
	if (qp->empty_polls >= RUNG_OFTEN) {
		qp->empty_polls--;
		return;
	}
	qp->is_cooling = false;
	qp->empty_polls = 0;
	set_mark(qp, 0);
}

uint32_t shm_poll(struct fabric_dev *fdev, struct fabric_wc *wcs, uint32_t max)
{
	struct shm_dev *dev = (struct shm_dev *)fdev;
	struct shm_qp *qp, *next;
	uint32_t n = 0, share, vain = 0;

	if (__builtin_expect(dev->nlanes > 0, 0))
		n = poll_bells(dev, wcs, max);
	if (__builtin_expect(dev->cold.n > 0, 0))
		scan(&dev->cold, COLD_SCAN);
	share = dev->nhot > 1 ? HOT_SHARE : max;
	for (qp = TAILQ_FIRST(&dev->hot); qp && n < max; qp = next) {
		uint32_t got = poll_qp(qp, wcs + n, max - n < share ? max - n : share);

		next = TAILQ_NEXT(qp, entry);
		n += got;
		if (got > 0) {
			if (__builtin_expect(qp->is_cooling, 0))
				may_stay_hot(qp);
			else
				qp->empty_polls = 0;
			continue;
		}
		vain++;
		was_empty(qp);
	}
	if (__builtin_expect(qp != NULL, 0)) {
		/* The rest goes first the next time. */
		while ((next = TAILQ_FIRST(&dev->hot)) != qp) {
			TAILQ_REMOVE(&dev->hot, next, entry);
			TAILQ_INSERT_TAIL(&dev->hot, next, entry);
		}
	}
	if (__builtin_expect(dev->cold.n > 0, 0))
		scan(&dev->cold, n / HOT_SHARE + vain);
	return n;
}
