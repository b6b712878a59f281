/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies messages into their receives, from a queue pair's own ring or from a mux. A message gives
 * a completion, or it is delivered to its user. recv_drain() is the template of the functions that
 * make completions, and recv_deliver_all() is the template of those that deliver. Both handle
 * well-formed messages for which a long enough receive is posted. recv_ring_slow() and
 * recv_mux_slow() handle any message. */
#include "recv.h"

#include <errno.h>

#include <rte_cycles.h>

#include "compiler.h"
#include "ring_cells.h"
#include "shm_dev.h"
#include "shm_qp.h"

/* Handles a message that waits because no receive is posted. If the message has waited for longer
 * than rnr_ticks, the queue pair enters ERROR. */
static void not_ready(struct shm_qp *qp)
{
	struct shm_dev *dev = shm_dev_of(qp);
	uint64_t now = rte_rdtsc();

	if (!qp->is_rnr) {
		qp->is_rnr = true;
		shm_qp_update_limits(qp);
		qp->rnr_since = now;
		dev->fabric.stats.rnr++;
	}
	if (now - qp->rnr_since >= dev->rnr_ticks)
		shm_qp_lose(qp, -ETIMEDOUT);
}

bool shm_recv_is_awaited(struct shm_qp *qp)
{
	if (!qp->is_rnr || qp->state != QP_READY || qp->recvs->is_shared ||
	    !shm_recvs_empty(qp->recvs))
		return false;
	not_ready(qp);
	return qp->state == QP_READY;
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

/* Fills in the completion of the message that was copied into 'wr'. */
static inline void recv_fill_wc(const struct shm_qp *qp, const struct fabric_recv_wr *wr,
				struct fabric_wc *wc, uint32_t len, uint32_t inv_rkey)
{
	/* The members are assigned one by one: with a compound literal, the compiler clears the
	 * whole completion first. */
	wc->wr_id = wr->wr_id;
	wc->qp_ctx = qp->fabric.ctx;
	wc->op = FABRIC_RECV;
	wc->status = FABRIC_OK;
	wc->byte_len = len;
	wc->inv_rkey = inv_rkey;
}

/* Returns the next receive of a shared queue. If the queue is empty, this receive has length 0. */
static inline struct fabric_recv_wr *recv_top(const struct shm_recvs *recvs)
{
	return recvs->top;
}

/* Delivers the message in 'wr', the next receive of a shared queue, to the engine. During the
 * delivery the receive stays in the queue, and receives that the engine posts meanwhile are stored
 * after it. If deliver() keeps the receive, it is then removed: the newest receive takes its
 * element. */
static inline void recv_deliver(struct shm_qp *qp, struct fabric_recv_wr *wr, uint32_t len)
{
	struct fabric_receiver *receiver = qp->fabric.ctx;

	if (unlikely(!receiver->deliver(receiver, wr->wr_id, len))) {
		*wr = *qp->recvs->top;
		shm_recvs_take_of(qp->recvs, true);
	}
}

/* Returns a limit in bytes: only shorter messages are tried by recv_is_fast(). They are short
 * enough to make no debt. The limit is 0 while a message waits for a receive. */
static inline uint32_t recv_fast_end(const struct shm_qp *qp)
{
	uint32_t max = qp->rx.max_msg < SHM_TURN_REPAID ? qp->rx.max_msg : SHM_TURN_REPAID;

	return qp->is_rnr ? 0 : max + 1;
}

/* Returns whether the next receive, 'wr', can take a message of 'len' bytes by copies of whole
 * cells. If not, the receive might still be long enough for a copy of exactly 'len' bytes. A
 * receive outside of its registration has length 0 (srq.c). */
static inline bool recv_is_fast(const struct shm_recvs *recvs, const struct fabric_recv_wr *wr,
				uint32_t len, bool is_shared)
{
	return ring_takes_whole(wr->len, len) && (is_shared || recvs->head != recvs->tail);
}

/* Checks whether the next receive, 'wr', can take the next message, of 'len' bytes (-1: malformed).
 * Returns true if it can. Otherwise returns false: the message waits if there is no receive, and in
 * any other case the queue pair enters ERROR with a failed completion, which is stored in wcs[*n]
 * and counted in *n. */
static bool recv_check(struct shm_qp *qp, const struct fabric_recv_wr *wr, int64_t len,
		       struct fabric_wc *wcs, uint32_t *n)
{
	if (unlikely(shm_recvs_empty(qp->recvs))) {
		not_ready(qp);
		return false;
	}
	if (unlikely(qp->is_rnr)) {
		qp->is_rnr = false;
		shm_qp_update_limits(qp);
	}
	if (unlikely(len < 0)) {
		shm_dev_of(qp)->fabric.stats.protocol_errors++;
		receive_failed(qp, &wcs[(*n)++], FABRIC_ERR_FATAL);
		return false;
	}
	if (unlikely(wr->lkey == SHM_NO_LKEY)) {
		receive_failed(qp, &wcs[(*n)++], FABRIC_ERR_LOCAL_PROT);
		return false;
	}
	if (unlikely((uint64_t)len > wr->len)) {
		receive_failed(qp, &wcs[(*n)++], FABRIC_ERR_LOCAL_LEN);
		return false;
	}
	return true;
}

/* Fills in the completion *wc of a message of 'len' bytes that was copied into 'wr', and
 * invalidates the key 'inv_rkey' unless it is 0. Returns true. If the message is not allowed to
 * invalidate this key, the completion has failed, the queue pair enters ERROR, and the function
 * returns false. */
static bool recv_complete(struct shm_qp *qp, const struct fabric_recv_wr *wr, struct fabric_wc *wc,
			  uint32_t len, uint32_t inv_rkey)
{
	struct shm_dev *dev = shm_dev_of(qp);

	recv_fill_wc(qp, wr, wc, len, inv_rkey);
	shm_recvs_take(qp->recvs);
	if (inv_rkey != 0 && !key_invalidate(&dev->keys, inv_rkey, qp->conn_id)) {
		wc->status = FABRIC_ERR_REMOTE_ACCESS;
		dev->fabric.stats.remote_access_errors++;
		shm_qp_break(qp);
		return false;
	}
	dev->fabric.stats.recvs++;
	return true;
}

/* The result of a slow function for one message. */
struct recv_result {
	uint32_t n; /* completions */
	enum {
		RECV_GOES_ON,
		RECV_IS_VAIN, /* like RECV_GOES_ON, but the message used no receive */
		RECV_ENDS,    /* no further message can be taken */
	} then;
};

/* Takes the next message of the queue pair's own ring, whose header has 'word', with one completion
 * in *wc. 'then' of the result is RECV_ENDS if the message waits or the queue pair has entered
 * ERROR, and otherwise RECV_GOES_ON. */
static out_of_line struct recv_result recv_ring_slow(struct shm_qp *qp, uint32_t word,
						     struct fabric_wc *wc)
{
	const struct fabric_recv_wr *wr = shm_recvs_next(qp->recvs);
	int64_t len = ring_msg_len(&qp->rx, word);
	struct recv_result result = {0, RECV_ENDS};
	uint32_t inv_rkey;

	if (!recv_check(qp, wr, len, wc, &result.n))
		return result;
	inv_rkey = ring_take(&qp->rx, word, wr->addr, wr->len, (uint32_t)len);
	shm_turn_add_message(qp->turn, (uint32_t)len);
	result.n = 1;
	if (recv_complete(qp, wr, wc, (uint32_t)len, inv_rkey))
		result.then = RECV_GOES_ON;
	return result;
}

/* Ends all connections of a mux, because the peer has written a malformed message to it. */
static void break_mux(struct shm_dev *dev, struct shm_mux *mux)
{
	mux->is_broken = true;
	dev->fabric.stats.protocol_errors++;
	for (uint32_t slot = 0, left = mux->nqps; slot < MUX_SLOTS && left > 0; slot++)
		for (struct shm_qp *qp = mux->qps[slot]; qp; qp = qp->older, left--)
			shm_qp_lose(qp, -EPROTO);
}

/* Handles a HELLO or SWITCH of a mux. Before a SWITCH, the function receives the messages that
 * arrived by the queue pair's own ring. 'then' of the result is RECV_ENDS if such messages are
 * left, so that the SWITCH has to wait, and otherwise RECV_IS_VAIN. */
static struct recv_result recv_control(struct shm_qp *qp, uint32_t kind, struct fabric_wc *wcs,
				       uint32_t max)
{
	struct recv_result result = {0, RECV_IS_VAIN};

	if (kind == MUX_SWITCH) {
		if (qp->state != QP_READY || qp->rx_in_mux) {
			shm_qp_violated(qp);
			return result;
		}
		result.n = shm_recv_ring(qp, wcs, max);
		if (qp->state != QP_READY)
			return result;
		if (ring_look(&qp->rx) != 0) {
			result.then = RECV_ENDS;
			return result;
		}
	}
	shm_mux_on_control(qp, kind);
	return result;
}

/* Takes the next message of a mux, which has 'len' bytes after its tag and is for 'qp'. 'then' of
 * the result is RECV_ENDS if the message waits for a receive. A message for a queue pair in ERROR
 * is dropped. */
static struct recv_result recv_mux_data(struct shm_qp *qp, struct ring_reader *rx, uint32_t word,
					int64_t len, struct fabric_wc *wc)
{
	const struct fabric_recv_wr *wr = shm_recvs_next(qp->recvs);
	struct recv_result result = {0, RECV_GOES_ON};
	uint32_t inv_rkey;

	if (!recv_check(qp, wr, len <= qp->rx.max_msg ? len : -1, wc, &result.n)) {
		/* No receive takes the message. If its queue pair is in ERROR, none ever will. */
		if (qp->state == QP_ERROR) {
			ring_drop(rx, word);
			result.then = result.n > 0 ? RECV_GOES_ON : RECV_IS_VAIN;
		} else {
			result.then = RECV_ENDS;
		}
		return result;
	}
	inv_rkey = ring_take_tagged(rx, word, wr->addr, wr->len, (uint32_t)len);
	shm_turn_add_message(qp->turn, (uint32_t)len);
	recv_complete(qp, wr, wc, (uint32_t)len, inv_rkey);
	result.n = 1;
	return result;
}

/* Takes the next message of the mux, whose header has 'word', with up to 'max' completions in
 * 'wcs'. Unless 'then' of the result is RECV_ENDS, the reader is after the message on return. */
static out_of_line struct recv_result recv_mux_slow(struct shm_dev *dev, struct shm_mux *mux,
						    uint32_t word, struct fabric_wc *wcs,
						    uint32_t max)
{
	struct ring_reader *rx = &mux->rx;
	int64_t len = ring_msg_len(rx, word) - RING_TAG;
	struct recv_result result = {0, RECV_IS_VAIN};
	struct shm_qp *qp;
	uint32_t kind;
	uint64_t tag;

	if (len < 0) {
		break_mux(dev, mux);
		result.then = RECV_ENDS;
		return result;
	}
	tag = ring_tag(rx, rx->head + (word & RING_INV ? RING_CELL : 0));
	kind = (uint32_t)tag >> MUX_KIND_SHIFT;
	qp = mux_find(mux, tag);
	if (qp && qp->state != QP_ERROR) {
		if (kind == MUX_DATA && qp->rx_in_mux)
			return recv_mux_data(qp, rx, word, len, wcs);
		if (kind == MUX_HELLO || kind == MUX_SWITCH)
			result = recv_control(qp, kind, wcs, max);
		else
			shm_qp_violated(qp);
	}
	if (result.then != RECV_ENDS)
		ring_drop(rx, word);
	return result;
}

/* Returns the latest queue pair in the slot of a tag, if a data message with this tag is for it and
 * it receives by the mux. Otherwise returns NULL, and recv_mux_slow() finds out whom the message is
 * for. */
static inline struct shm_qp *mux_receiver(const struct shm_mux *mux, uint64_t tag)
{
	struct shm_qp *qp = mux->qps[tag & (MUX_SLOTS - 1)];

	return likely(qp && qp->mux_tag == tag && qp->rx_in_mux) ? qp : NULL;
}

/* Takes messages until none is left, or until 'max' completions are made. Returns the number of
 * completions. Either 'mux' or 'own' is the constant NULL: the messages arrive by the mux, or by a
 * queue pair's own ring. 'is_shared', a constant, says whether the receives of 'own' are shared.
 * During the loop, a copy of the reader is in registers. */
static hot_inline uint32_t recv_drain(struct shm_dev *dev, struct shm_mux *mux, struct shm_qp *own,
				      bool is_shared, struct fabric_wc *wcs, uint32_t max)
{
	const uint32_t skip = mux ? RING_TAG : 0;
	const struct fabric_wc *end = wcs + max;
	struct ring_reader *source = mux ? &mux->rx : &own->rx;
	uint32_t vain = 0, fast_end = mux ? 0 : recv_fast_end(own);
	struct ring_reader rx = *source;
	struct fabric_wc *wc = wcs;

	ring_fetch(&rx);
	while (wc != end) {
		/* The message's length if a message has arrived that invalidates no key. Otherwise
		 * bits above RING_LEN_MASK are set. */
		uint64_t len = ring_next(&rx) ^ RING_VALID;
		struct recv_result result;
		struct shm_qp *qp = own;
		uint32_t word;

		if (mux) {
			qp = len <= RING_LEN_MASK ? mux_receiver(mux, ring_tag(&rx, rx.head))
						  : NULL;
			fast_end = qp && qp->state == QP_READY ? recv_fast_end(qp) : 0;
			len -= skip;
		}
		if (likely(len < fast_end)) {
			struct shm_recvs *recvs = qp->recvs;
			bool takes_top = mux ? recvs->is_shared : is_shared;
			const struct fabric_recv_wr *wr = shm_recvs_next_of(recvs, takes_top);

			if (likely(recv_is_fast(recvs, wr, (uint32_t)len, takes_top))) {
				ring_advance(&rx,
					     ring_copy_out(&rx, skip, wr->addr, (uint32_t)len));
				recv_fill_wc(qp, wr, wc++, (uint32_t)len, 0);
				shm_recvs_take_of(recvs, takes_top);
				dev->fabric.stats.recvs++;
				continue;
			}
		}
		word = ring_look(&rx);
		if (word == 0)
			break;
		ring_reader_set(source, &rx);
		result = mux ? recv_mux_slow(dev, mux, word, wc, (uint32_t)(end - wc))
			     : recv_ring_slow(own, word, wc);
		rx = *source;
		wc += result.n;
		if (mux && result.then == RECV_IS_VAIN) {
			vain++;
			mux->turn->debt += SHM_TURN_REPAID;
		}
		if (result.then == RECV_ENDS || vain == MUX_VAIN)
			break;
		fast_end = mux ? 0 : recv_fast_end(own);
	}
	ring_reader_set(source, &rx);
	return (uint32_t)(wc - wcs);
}

uint32_t shm_recv_ring(struct shm_qp *qp, struct fabric_wc *wcs, uint32_t max)
{
	struct shm_dev *dev = shm_dev_of(qp);

	return qp->recvs->is_shared ? recv_drain(dev, NULL, qp, true, wcs, max)
				    : recv_drain(dev, NULL, qp, false, wcs, max);
}

uint32_t shm_recv_mux(struct shm_dev *dev, struct shm_mux *mux, struct fabric_wc *wcs, uint32_t max)
{
	return unlikely(mux->is_broken) ? 0 : recv_drain(dev, mux, NULL, false, wcs, max);
}

/* If the next message of a mux has arrived, prefetches the data of its struct fabric_receiver. If
 * messages for many receivers alternate, the caches have dropped the data of a receiver since its
 * latest message. */
static inline void fetch_receiver(const struct shm_mux *mux, const struct ring_cursor *next)
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

/* Delivers messages, at most 'max', until none is left or one needs a slow function. Returns the
 * number of delivered messages. Either 'mux' or 'own' is the constant NULL, as in recv_drain(). */
static hot_inline uint32_t recv_deliver_all(struct fabric_dev *dev, struct shm_mux *mux,
					    struct shm_qp *own, uint32_t max)
{
	const uint32_t skip = mux ? RING_TAG : 0;
	struct ring_reader *rx = mux ? &mux->rx : &own->rx;
	struct ring_cursor next = ring_cursor_of(rx);
	struct shm_qp *qp = own;
	uint32_t left;

	ring_fetch(rx);
	for (left = max; left > 0; left--) {
		uint64_t len = ring_header(next.cell) ^ next.header;
		struct fabric_recv_wr *wr;

		if (mux) {
			if (unlikely(len > RING_LEN_MASK))
				break;
			qp = mux_receiver(mux, ring_tag_in(next.cell));
			if (unlikely(!qp))
				break;
			len -= skip;
		}
		wr = recv_top(qp->recvs);
		if (likely(len < qp->small_deliver_end && next.at < rx->contig_end &&
			   wr->len >= RING_SMALL_MAX)) {
			ring_take_small(&next, skip, wr->addr, (uint32_t)len);
			rx->head = next.at;
		} else if (len < qp->deliver_end && ring_takes_whole(wr->len, (uint32_t)len)) {
			if (mux)
				ring_take_tagged_wrap(rx, wr->addr, (uint32_t)len);
			else
				ring_take_wrap(rx, wr->addr, (uint32_t)len);
			shm_turn_add_message(qp->turn, (uint32_t)len);
			next = ring_cursor_of(rx);
		} else {
			break;
		}
		if (mux)
			fetch_receiver(mux, &next); /* while this message is delivered */
		recv_deliver(qp, wr, (uint32_t)len);
	}
	dev->ndelivered += max - left;
	dev->stats.recvs += max - left;
	return max - left;
}

/* This is a separate function, because inline in a poll it would have to save the poll's registers.
 */
out_of_line uint32_t shm_deliver_ring(struct shm_qp *qp, uint32_t max)
{
	return recv_deliver_all(qp->fabric.dev, NULL, qp, max);
}

uint32_t shm_deliver_mux(struct shm_dev *dev, struct shm_mux *mux, uint32_t max)
{
	return unlikely(mux->is_broken) ? 0 : recv_deliver_all(&dev->fabric, mux, NULL, max);
}
