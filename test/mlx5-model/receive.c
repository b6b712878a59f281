/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes a receive for a message, copies the message, and completes the receive. */
#include "receive.h"

#include <endian.h>
#include <string.h>

#define SCATTER_MAX 32u /* bytes of a message that fit in a completion of 64 bytes */

struct receive {
	const struct mlx5_wqe_data_seg *segments;
	uint32_t nsegments;
	uint16_t index;
};

bool receive_is_posted(const struct qp *qp)
{
	if (qp->srq)
		return srq_has_entry(qp->srq);
	return qp->rq_entries && qp_recvs_posted(qp) != qp->rq_head;
}

static bool take_receive(struct qp *qp, struct receive *receive)
{
	const uint8_t *entry;

	if (qp->srq)
		return srq_take(qp->srq, &receive->index, &receive->segments, &receive->nsegments);
	if (!receive_is_posted(qp))
		return false;
	receive->index = qp->rq_head++;
	entry = qp->rq + (size_t)(receive->index & (qp->rq_entries - 1)) * qp->rq_entry_size;
	receive->segments = (const struct mlx5_wqe_data_seg *)(const void *)entry;
	receive->nsegments = qp->rq_entry_size / (uint32_t)sizeof(*receive->segments);
	return true;
}

/* Finds the memory of a receive for 'bytes' bytes. Later segments are not looked at. Returns 0, or
 * the syndrome of the receive. */
static uint8_t find_room(const struct qp *qp, const struct receive *receive, uint64_t bytes,
			 struct pieces *room)
{
	const struct pd *pd = qp->srq ? qp->srq->pd : qp->pd;

	room->n = 0;
	room->bytes = 0;
	for (uint32_t i = 0; i < receive->nsegments && room->bytes < bytes; i++) {
		const struct mlx5_wqe_data_seg *segment = &receive->segments[i];
		uint32_t len = be32toh(segment->byte_count);
		uint8_t *at;

		if (be32toh(segment->lkey) == MLX5_INVALID_LKEY || room->n == PIECES_MAX)
			break; /* it ends a list of fewer segments than fit */
		at = memory_local(be32toh(segment->lkey), pd, be64toh(segment->addr), len,
				  IBV_ACCESS_LOCAL_WRITE);
		if (!at)
			return MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
		room->piece[room->n++] = (struct piece){at, len};
		room->bytes += len;
	}
	return room->bytes < bytes ? MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR : 0;
}

/* Copies a message to the pieces of 'to', which have room for it. */
static void copy_message(const struct pieces *to, const struct pieces *message)
{
	const struct piece *piece = to->piece;
	uint64_t used = 0; /* bytes of *piece */

	for (uint32_t i = 0; i < message->n; i++) {
		const uint8_t *from = message->piece[i].at;
		uint64_t left = message->piece[i].len;

		while (left > 0) {
			uint64_t len = piece->len - used < left ? piece->len - used : left;

			memcpy(piece->at + used, from, len);
			from += len;
			left -= len;
			used += len;
			if (used == piece->len) {
				piece++;
				used = 0;
			}
		}
	}
}

/* Fails a receive that has been taken. Returns the syndrome of the sender. */
static uint8_t fail_receive(struct qp *qp, const struct receive *receive, uint8_t syndrome)
{
	qp_complete_recv_error(qp, syndrome, receive->index);
	switch (syndrome) {
	case MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR:
		qp_to_error(qp);
		return MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR;
	case MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR:
		qp_fail(qp, IBV_EVENT_QP_ACCESS_ERR);
		return MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR;
	default:
		qp_to_error(qp);
		return MLX5_CQE_SYNDROME_REMOTE_OP_ERR;
	}
}

enum result receive_message(struct qp *to, const struct pieces *message, uint8_t opcode,
			    uint32_t key, uint8_t *syndrome)
{
	struct mlx5_cqe64 cqe = {0};
	struct receive receive;
	struct pieces room;
	uint8_t form = 0, bad;

	if (!take_receive(to, &receive))
		return RESULT_WAIT;
	bad = find_room(to, &receive, message->bytes, &room);
	if (!bad && opcode == MLX5_CQE_RESP_SEND_INV &&
	    !memory_invalidate(key, to->pd, to->object.handle))
		bad = MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR;
	if (bad) {
		*syndrome = fail_receive(to, &receive, bad);
		return RESULT_FAILED;
	}
	if (to->scatters && to->recv_cq->entry_size == sizeof(cqe) && message->bytes > 0 &&
	    message->bytes <= SCATTER_MAX) {
		const struct pieces entry = {.piece = {{(uint8_t *)&cqe, SCATTER_MAX}}, .n = 1};

		copy_message(&entry, message);
		form = MLX5_INLINE_SCATTER_32;
	} else {
		copy_message(&room, message);
	}
	cqe.byte_cnt = htobe32((uint32_t)message->bytes);
	cqe.imm_inval_pkey = htobe32(key);
	cqe.wqe_counter = htobe16(receive.index);
	qp_complete(to, to->recv_cq, &cqe, 0, opcode, form);
	return RESULT_DONE;
}

uint8_t *receive_rdma(struct qp *to, uint32_t rkey, uint64_t addr, uint64_t bytes, bool is_read,
		      uint8_t *syndrome)
{
	uint32_t right = is_read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
	uint8_t *at = NULL;

	if (to->access & right)
		at = memory_remote(rkey, to->pd, to->object.handle, addr, bytes, right);
	if (!at) {
		*syndrome = MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR;
		qp_fail(to, IBV_EVENT_QP_ACCESS_ERR);
	}
	return at;
}
