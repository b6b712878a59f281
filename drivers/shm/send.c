/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the messages of a queue pair into its own ring or into its mux, by work requests (post.c)
 * or as direct sends. Most messages take at most RING_SMALL_CELLS cells. send_small() is the
 * template of the functions for direct sends of these messages.
 */
#include "compiler.h"
#include "ring_cells.h"
#include "shm_dev.h"
#include "shm_qp.h"

/* Sends a contiguous message. Returns the values of ring_put(). */
static inline int put_one(struct shm_qp *qp, const uint8_t *data, uint32_t len)
{
	if (unlikely(qp->tx_in_mux))
		return ring_put_tagged(&qp->mux->tx, qp->mux_tag, data, len);
	return ring_put_one(&qp->tx, data, len);
}

/* Sends a message of several parts, or with a key to invalidate. Returns the values of ring_put().
 */
static int put_gathered(struct shm_qp *qp, const struct fabric_wr *wr, uint32_t len)
{
	uint32_t inv_rkey = wr->op == FABRIC_SEND_INV ? wr->rkey : 0;
	struct fabric_sge sges[SHM_SGES_MAX + 1];

	if (!qp->tx_in_mux)
		return ring_put(&qp->tx, wr->sge, wr->nsge, len, inv_rkey);
	sges[0] = (struct fabric_sge){&qp->mux_tag, RING_TAG, 0};
	for (uint32_t i = 0; i < wr->nsge; i++)
		sges[i + 1] = wr->sge[i];
	return ring_put(&qp->mux->tx, sges, wr->nsge + 1, len + RING_TAG, inv_rkey);
}

int shm_send(struct shm_qp *qp, const struct fabric_wr *wr, uint64_t len, uint32_t *bytes)
{
	int rc;

	if (len > qp->peer_max_msg_bytes)
		return FABRIC_ERR_REMOTE_LEN;
	if (wr->nsge == 1 && wr->op == FABRIC_SEND)
		rc = put_one(qp, wr->sge[0].addr, (uint32_t)len);
	else
		rc = put_gathered(qp, wr, (uint32_t)len);
	if (rc == 0)
		return SHM_NOT_YET;
	if (rc < 0) {
		shm_dev_of(qp)->fabric.stats.protocol_errors++;
		return FABRIC_ERR_FATAL;
	}
	shm_dev_of(qp)->fabric.stats.sends++;
	shm_turn_add_message(qp->turn, (uint32_t)len);
	shm_wake_peer_any(qp);
	*bytes = (uint32_t)len;
	return FABRIC_OK;
}

static out_of_line bool sent_when_cold(struct shm_qp *qp)
{
	shm_qp_kick(qp);
	return true;
}

/* Sends a message of 'n' cells, for which there is room. Returns true. 'by_mux' and 'n' are
 * constants. */
static hot_inline bool send_small(struct shm_qp *qp, bool by_mux, uint32_t n, const uint8_t *data,
				  uint32_t len)
{
	ring_write_small(by_mux ? &qp->mux->tx : &qp->tx, by_mux, qp->mux_tag, data, len, n);
	qp->fabric.dev->stats.sends_direct++;
	shm_wake_peer(qp, by_mux ? qp->mux->peer_asleep : qp->peer_asleep);
	/* A cold queue pair comes here only if it sends by a mux (shm_qp_update_limits()). */
	if (by_mux && unlikely(!qp->is_hot && qp->done_head != qp->done_tail))
		return sent_when_cold(qp);
	return true;
}

/* Defines a function for direct sends of 'n' cells. Each number of cells has a separate function,
 * so that none has the stack frame of another. */
#define DEFINE_SEND(name, by_mux, n)                                                               \
	static out_of_line bool name(struct shm_qp *qp, const uint8_t *data, uint32_t len)         \
	{                                                                                          \
		return send_small(qp, by_mux, n, data, len);                                       \
	}

DEFINE_SEND(send_one, false, 1)
DEFINE_SEND(send_two, false, 2)
DEFINE_SEND(send_three, false, 3)
DEFINE_SEND(mux_send_one, true, 1)
DEFINE_SEND(mux_send_two, true, 2)
DEFINE_SEND(mux_send_three, true, 3)

/* Sends a message of any length directly. Returns false if this is not possible, and the caller
 * must post the Send. */
static out_of_line bool send_any(struct shm_qp *qp, const uint8_t *data, uint32_t len)
{
	if (qp->is_blocked || len > qp->peer_max_msg_bytes || put_one(qp, data, len) != 1)
		return false;
	qp->fabric.dev->stats.sends_direct++;
	shm_turn_add_message(qp->turn, len);
	shm_wake_peer_any(qp);
	if (!qp->is_hot)
		shm_qp_kick(qp);
	return true;
}

static out_of_line bool mux_send(struct shm_qp *qp, const uint8_t *data, uint32_t len)
{
	uint32_t bytes = len + RING_TAG;

	if (unlikely(len - 1 >= qp->mux_small_max || !ring_has_small_room(&qp->mux->tx)))
		return send_any(qp, data, len);
	if (bytes <= RING_DATA)
		return mux_send_one(qp, data, len);
	if (bytes <= 2 * RING_DATA)
		return mux_send_two(qp, data, len);
	return mux_send_three(qp, data, len);
}

bool shm_send_direct(struct fabric_qp *fqp, const void *data, uint32_t len)
{
	struct shm_qp *qp = (struct shm_qp *)fqp;

	/* send_any() sends an empty message, and all messages while small_max is 0. */
	if (unlikely(len - 1 >= qp->small_max || !ring_has_small_room(&qp->tx)))
		return qp->tx_in_mux ? mux_send(qp, data, len) : send_any(qp, data, len);
	if (len <= RING_DATA)
		return send_one(qp, data, len);
	if (len <= 2 * RING_DATA)
		return send_two(qp, data, len);
	return send_three(qp, data, len);
}
