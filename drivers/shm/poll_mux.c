/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of muxes (mux.h), and how a queue pair gets from its own rings to its mux. */
#include <errno.h>

#include "compiler.h"
#include "recv.h"
#include "shm_dev.h"

/* The queue pair that a tag names, or NULL if it has ended. */
static struct shm_qp *mux_find(const struct shm_mux *mux, uint64_t tag)
{
	uint32_t place = tag & MUX_KIND_MASK;
	struct shm_qp *qp = place < MUX_SLOTS ? mux->qps[place] : NULL;

	while (qp && qp->mux_tag >> MUX_TAG_SHIFT != tag >> MUX_TAG_SHIFT)
		qp = qp->older;
	return qp;
}

/* The peer has written what can't be in a mux: all of its connections end. */
static void break_mux(struct shm_dev *dev, struct shm_mux *mux)
{
	mux->is_broken = true;
	dev->fabric.stats.protocol_errors++;
	for (uint32_t place = 0, left = mux->nqps; place < MUX_SLOTS && left > 0; place++)
		for (struct shm_qp *qp = mux->qps[place]; qp; qp = qp->older, left--)
			shm_qp_lose(qp, -EPROTO);
}

static void break_qp(struct shm_qp *qp)
{
	shm_dev_of(qp)->fabric.stats.protocol_errors++;
	shm_qp_lose(qp, -EPROTO);
}

/* 1: put; 0: there is no room now; -1: the queue pair is at its end. */
static int put_control(struct shm_qp *qp, uint32_t kind)
{
	int rc = ring_put_tagged(&qp->mux->tx, qp->mux_tag | kind << MUX_KIND_SHIFT, NULL, 0);

	if (rc < 0)
		break_qp(qp);
	return rc;
}

bool shm_mux_step(struct shm_qp *qp)
{
	int rc;

	if (qp->state != QP_READY)
		return false;
	if (qp->mux->is_connector && !qp->is_greeted) {
		rc = put_control(qp, MUX_HELLO);
		if (rc != 1)
			return rc == 0;
		qp->is_greeted = true;
	}
	if (qp->is_heard && !qp->tx_in_mux && qp->npending == 0) {
		rc = put_control(qp, MUX_SWITCH);
		if (rc != 1)
			return rc == 0;
		qp->tx_in_mux = true;
		shm_qp_update_limits(qp);
	}
	qp->is_switching = !(qp->tx_in_mux && qp->rx_in_mux);
	return false;
}

enum took { TOOK, TOOK_NOTHING, MUST_WAIT };

/* HELLO or SWITCH. What came by the own ring is taken before; *n counts that. */
static enum took on_control(struct shm_qp *qp, uint32_t kind, struct fabric_wc *wcs, uint32_t max,
			    uint32_t *n)
{
	if (kind == MUX_SWITCH) {
		if (qp->state != QP_READY || qp->rx_in_mux) {
			break_qp(qp);
			return TOOK_NOTHING;
		}
		*n += shm_recv_ring(qp, wcs + *n, max - *n);
		if (qp->state != QP_READY)
			return TOOK_NOTHING;
		if (ring_look(&qp->rx) != 0)
			return MUST_WAIT;
	}
	shm_qp_make_hot(qp);
	qp->is_heard = true;
	qp->rx_in_mux |= kind == MUX_SWITCH;
	return TOOK_NOTHING;
}

/* The next message, which 'word' heads and which may be any. If it need not wait the reader is
 * behind it. */
static out_of_line enum took mux_recv_slow(struct shm_dev *dev, struct shm_mux *mux, uint32_t word,
					   struct fabric_wc *wcs, uint32_t max, uint32_t *n)
{
	struct ring_reader *rx = &mux->rx;
	int64_t len = ring_msg_len(rx, word) - RING_TAG;
	const struct fabric_recv_wr *wr;
	uint64_t at = rx->head, tag;
	uint32_t inv_rkey = 0, kind, before = *n;
	struct shm_qp *qp;

	if (len < 0) {
		break_mux(dev, mux);
		return MUST_WAIT;
	}
	if (word & RING_INV) {
		inv_rkey = ring_key(rx);
		at += RING_CELL;
	}
	tag = ring_tag(rx, at);
	kind = (uint32_t)tag >> MUX_KIND_SHIFT;
	qp = mux_find(mux, tag);
	if (!qp || qp->state == QP_ERROR) {
		ring_drop(rx, word);
		return TOOK_NOTHING;
	}
	if (kind == MUX_HELLO || kind == MUX_SWITCH) {
		enum took took = on_control(qp, kind, wcs, max, n);

		if (took != MUST_WAIT)
			ring_drop(rx, word);
		return took;
	}
	if (kind != MUX_DATA || !qp->rx_in_mux) {
		break_qp(qp);
		ring_drop(rx, word);
		return TOOK_NOTHING;
	}
	wr = shm_recvs_next(qp->recvs);
	if (!shm_recv_check(qp, wr, len <= qp->rx.max_msg ? len : -1, wcs, n)) {
		/* The message has no receive. If its queue pair is in error, none will come. */
		if (qp->state != QP_ERROR)
			return MUST_WAIT;
		ring_drop(rx, word);
		return *n > before ? TOOK : TOOK_NOTHING;
	}
	ring_take_tagged(rx, at, wr->addr, wr->len, (uint32_t)len);
	shm_recv_complete(qp, wr, &wcs[(*n)++], (uint32_t)len, inv_rkey);
	return TOOK;
}

/* A message that is sure to be taken; else false. With the ring in registers. */
static hot_inline bool mux_recv_fast(struct shm_mux *mux, struct ring_reader *rx, uint32_t len,
				     struct fabric_wc *wc)
{
	uint64_t tag = ring_tag(rx, rx->head);
	struct shm_qp *qp = mux->qps[tag & (MUX_SLOTS - 1)];
	const struct fabric_recv_wr *wr;

	if (unlikely(!qp || qp->mux_tag != tag || !qp->rx_in_mux || qp->state != QP_READY))
		return false;
	wr = shm_recvs_next(qp->recvs);
	if (unlikely(len >= recv_fast_end(qp) ||
		     !recv_is_fast(qp->recvs, wr, len, qp->recvs->is_shared)))
		return false;
	ring_take_tagged_whole(rx, wr->addr, len);
	recv_fill_wc(qp, wr, wc, len, 0);
	shm_recvs_take(qp->recvs);
	shm_dev_of(qp)->fabric.stats.recvs++;
	return true;
}

/*
 * If the next message has come, fetch what its receiver will access. Where many receivers take
 * turns, the caches have lost each of them since its latest message.
 */
static inline void fetch_receiver(const struct shm_mux *mux, const struct ring_place *next)
{
	const struct shm_qp *qp;

	if (!ring_cell_ready(ring_header(next->cell), next->header))
		return;
	qp = mux->qps[ring_tag_in(next->cell) & (MUX_SLOTS - 1)];
	if (qp) {
		const char *receiver = qp->fabric.ctx;

		__builtin_prefetch(receiver);
		__builtin_prefetch(receiver + FABRIC_RECEIVER_LINES_AT);
		__builtin_prefetch(receiver + FABRIC_RECEIVER_LINES_AT + 64);
	}
}

/* The next message, of 'len' bytes. False: it is not sure to be taken. */
static hot_inline bool mux_deliver_fast(struct shm_mux *mux, struct ring_place *next, uint32_t len)
{
	uint64_t tag = ring_tag_in(next->cell);
	struct shm_qp *qp = mux->qps[tag & (MUX_SLOTS - 1)];
	struct fabric_recv_wr *wr;

	if (unlikely(!qp || qp->mux_tag != tag || !qp->rx_in_mux || len >= qp->deliver_end))
		return false;
	wr = recv_top(qp->recvs);
	if (unlikely(!ring_takes_whole(wr->len, len)))
		return false;
	if (likely(next->at < mux->rx.contig_end && len <= RING_SMALL_MAX - RING_TAG)) {
		ring_take_small(next, RING_TAG, wr->addr, len);
		mux->rx.head = next->at;
	} else {
		ring_take_tagged_wrap(&mux->rx, wr->addr, len);
		*next = ring_place_of(&mux->rx);
	}
	shm_dev_of(qp)->fabric.stats.recvs++;
	fetch_receiver(mux, next); /* while this one is dealt with */
	recv_deliver(qp, wr, len);
	return true;
}

uint32_t shm_deliver_mux(struct shm_dev *dev, struct shm_mux *mux, uint32_t max)
{
	struct ring_place next = ring_place_of(&mux->rx);
	uint32_t n;

	ring_fetch(&mux->rx);
	for (n = 0; n < max && !mux->is_broken; n++) {
		uint64_t len = ring_header(next.cell) ^ next.header;

		if (unlikely(len > RING_LEN_MASK))
			break;
		if (unlikely(!mux_deliver_fast(mux, &next, (uint32_t)len - RING_TAG)))
			break;
	}
	dev->fabric.ndelivered += n;
	return n;
}

uint32_t shm_poll_mux(struct shm_dev *dev, struct shm_mux *mux, struct fabric_wc *wcs, uint32_t max)
{
	struct ring_reader rx = mux->rx;
	uint32_t n = 0, vain = 0;

	if (unlikely(mux->is_broken))
		return 0;
	ring_fetch(&rx);
	while (n < max) {
		/* As shm_recv_ring() has it, with the tag. */
		uint64_t len = ring_next(&rx) ^ RING_VALID;
		uint32_t word;
		enum took took;

		if (likely(len <= RING_LEN_MASK &&
			   mux_recv_fast(mux, &rx, (uint32_t)len - RING_TAG, &wcs[n]))) {
			n++;
			continue;
		}
		word = ring_look(&rx);
		if (word == 0)
			break;
		ring_reader_set(&mux->rx, &rx);
		took = mux_recv_slow(dev, mux, word, wcs, max, &n);
		rx = mux->rx;
		if (took == TOOK_NOTHING) {
			vain++;
			mux->turn->debt += SHM_TURN_REPAID;
		}
		if (took == MUST_WAIT || vain == MUX_VAIN)
			break;
	}
	ring_reader_set(&mux->rx, &rx);
	return n;
}
