/* SPDX-License-Identifier: BSD-3-Clause */
/* Executes the entry at the head of a send queue. */
#include "send.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "late.h"
#include "model.h"
#include "remote.h"
#include "umr.h"

#define UNIT	    16u /* bytes of a segment; a data segment and a control segment have one */
#define INLINE_MASK 0x3ffu

/* Returns the nanoseconds of a timer in InfiniBand's encoding, from its values in 10 microseconds.
 */
static uint64_t rnr_timer_ns(uint8_t timer)
{
	static const uint16_t values[32] = {65535, 1,	 2,    3,     4,     6,	    8,	   12,
					    16,	   24,	 32,   48,    64,    96,    128,   192,
					    256,   384,	 512,  768,   1024,  1536,  2048,  3072,
					    4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};

	return values[timer & 31] * 10000ull;
}

/* Returns the blocks of an entry. An entry without segments, which is invalid, has one. */
static uint16_t blocks_of(uint32_t units)
{
	return (uint16_t)(units ? (units + 3) / 4 : 1);
}

/* Copies the entry at the head. Returns false if it contradicts its place. */
static bool take_entry(const struct qp *qp, struct work *work)
{
	const struct mlx5_wqe_ctrl_seg *ctrl = qp_sq_entry(qp, qp->sq_head);
	uint32_t index_opcode = be32toh(ctrl->opmod_idx_opcode), qpn_units = be32toh(ctrl->qpn_ds);
	size_t ring = (size_t)qp->sq_blocks * QP_BLOCK;
	size_t at = (size_t)(qp->sq_head & (qp->sq_blocks - 1)) * QP_BLOCK;

	work->block = qp->sq_head;
	work->opcode = (uint8_t)index_opcode;
	work->flags = ctrl->fm_ce_se;
	work->units = qpn_units & 0x3f;
	if ((uint16_t)(index_opcode >> 8) != qp->sq_head || qpn_units >> 8 != qp->object.handle ||
	    work->units == 0) {
		model_violation("block %u of queue pair %#x has an entry of %u units for block %u "
				"of queue pair %#x",
				qp->sq_head, qp->object.handle, work->units,
				(uint16_t)(index_opcode >> 8), qpn_units >> 8);
		return false;
	}
	for (uint32_t i = 0; i < work->units; i++, at += UNIT)
		memcpy(work->bytes + i * UNIT, qp->sq + at % ring, UNIT);
	return true;
}

/* Finds the memory of the data segments from unit 'first' on. Returns false if the program may not
 * access it. */
static bool gather(const struct qp *qp, struct work *work, uint32_t first, uint32_t access,
		   struct pieces *pieces)
{
	pieces->n = 0;
	pieces->bytes = 0;
	for (uint32_t unit = first; unit < work->units;) {
		uint8_t *segment = work->bytes + unit * UNIT;
		const struct mlx5_wqe_data_seg *data = (const void *)segment;
		uint32_t count = be32toh(data->byte_count);
		struct piece piece;

		if (count & MLX5_INLINE_SEG) {
			piece = (struct piece){segment + sizeof(count), count & INLINE_MASK};
			unit += ((uint32_t)(sizeof(count) + piece.len) + UNIT - 1) / UNIT;
		} else {
			piece.len = count ? count : 1ull << 31; /* so the device defines 0 */
			piece.at = memory_local(be32toh(data->lkey), qp->pd, be64toh(data->addr),
						piece.len, access);
			unit++;
		}
		if (!piece.at || unit > work->units)
			return false;
		pieces->piece[pieces->n++] = piece;
		pieces->bytes += piece.len;
	}
	return true;
}

/* Counts attempts of a message for which there is no receive. */
static enum result retry_later(struct qp *qp, uint8_t rnr_timer, uint8_t *syndrome)
{
	if (qp->rnr_since_ns == 0)
		qp->rnr_since_ns = model_now_ns();
	if (qp->rnr_retry == 7 || /* without a limit */
	    model_now_ns() - qp->rnr_since_ns < rnr_timer_ns(rnr_timer) * qp->rnr_retry)
		return RESULT_WAIT;
	*syndrome = MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR;
	return RESULT_FAILED;
}

static enum result execute_send(struct qp *qp, struct qp *peer, struct work *work,
				uint8_t *syndrome)
{
	const struct mlx5_wqe_ctrl_seg *ctrl = (const void *)work->bytes;
	bool invalidates = work->opcode == MLX5_OPCODE_SEND_INVAL;
	struct pieces pieces;
	enum result result;

	if (!gather(qp, work, 1, 0, &pieces)) {
		*syndrome = MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
		return RESULT_FAILED;
	}
	if (qp->link)
		result = remote_execute(qp, work, &pieces, syndrome);
	else
		result = receive_message(peer, &pieces,
					 invalidates ? MLX5_CQE_RESP_SEND_INV : MLX5_CQE_RESP_SEND,
					 invalidates ? be32toh(ctrl->imm) : 0, syndrome);
	if (result == RESULT_WAIT)
		return retry_later(qp, qp->link ? qp->remote.rnr_timer : peer->rnr_timer, syndrome);
	if (result != RESULT_SENT)
		qp->rnr_since_ns = 0;
	return result;
}

/* Takes the data of an RDMA READ, to store them later. Returns false if they are stored at once. */
static bool read_late(struct work *work, const struct pieces *to, const uint8_t *from)
{
	work->data = faults.late_reads ? malloc(to->bytes) : NULL;
	if (!work->data)
		return false;
	memcpy(work->data, from, to->bytes);
	work->to = *to;
	work->is_late = true;
	return true;
}

/* Copies the data of an RDMA READ or of an RDMA WRITE. */
static void copy_data(const struct pieces *pieces, uint8_t *at, bool is_read)
{
	for (uint32_t i = 0; i < pieces->n; at += pieces->piece[i++].len) {
		uint8_t *local = pieces->piece[i].at;

		memmove(is_read ? local : at, is_read ? at : local, pieces->piece[i].len);
	}
}

/* Executes an RDMA WRITE or an RDMA READ. 'peer' is NULL if it is in another process. */
static enum result execute_rdma(struct qp *qp, struct qp *peer, struct work *work,
				uint8_t *syndrome)
{
	const struct mlx5_wqe_raddr_seg *remote = (const void *)(work->bytes + UNIT);
	bool is_read = work->opcode == MLX5_OPCODE_RDMA_READ;
	enum result result = RESULT_DONE;
	struct pieces pieces;
	uint8_t *at;

	if (!gather(qp, work, 2, is_read ? IBV_ACCESS_LOCAL_WRITE : 0, &pieces)) {
		*syndrome = MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
		return RESULT_FAILED;
	}
	work->cqe.byte_cnt = htobe32(is_read ? (uint32_t)pieces.bytes : 0);
	if (pieces.bytes == 0)
		return RESULT_DONE; /* the key is not checked */
	if (qp->link) {
		result = remote_execute(qp, work, &pieces, syndrome);
		at = qp->remote.data;
	} else {
		at = receive_rdma(peer, be32toh(remote->rkey), be64toh(remote->raddr), pieces.bytes,
				  is_read, syndrome);
		result = at ? RESULT_DONE : RESULT_FAILED;
	}
	if (result != RESULT_DONE || (qp->link && !is_read))
		return result;
	if (!is_read || !read_late(work, &pieces, at))
		copy_data(&pieces, at, is_read);
	return RESULT_DONE;
}

/* Returns the queue pair of the peer in this process, or NULL if it does not answer. */
static struct qp *find_peer(const struct qp *qp)
{
	struct qp *peer = qp->link ? NULL : object_find(qp->peer, OBJECT_QP);

	if (!peer || peer->peer != qp->object.handle)
		return NULL;
	return qp_can_receive(peer) ? peer : NULL;
}

static enum result execute_umr(const struct qp *qp, struct work *work, uint8_t *syndrome)
{
	work->is_late = faults.late_binds;
	*syndrome = work->is_late ? 0 : umr_execute(qp, work->bytes, work->units);
	return *syndrome ? RESULT_FAILED : RESULT_DONE;
}

static enum result execute(struct qp *qp, struct work *work, uint8_t *syndrome)
{
	struct qp *peer = find_peer(qp);

	switch (work->opcode) {
	case MLX5_OPCODE_NOP:
		return RESULT_DONE;
	case MLX5_OPCODE_UMR:
		return execute_umr(qp, work, syndrome);
	case MLX5_OPCODE_SEND:
	case MLX5_OPCODE_SEND_INVAL:
	case MLX5_OPCODE_RDMA_WRITE:
	case MLX5_OPCODE_RDMA_READ:
		break;
	default:
		model_violation("opcode %#x is not modelled", work->opcode);
		*syndrome = MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
		return RESULT_FAILED;
	}
	if (!peer && !qp->link) {
		*syndrome = MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR;
		return RESULT_FAILED;
	}
	if (work->opcode == MLX5_OPCODE_SEND || work->opcode == MLX5_OPCODE_SEND_INVAL)
		return execute_send(qp, peer, work, syndrome);
	return execute_rdma(qp, peer, work, syndrome);
}

/* Returns whether a test has asked for the failure of this work request. */
static bool has_to_fail(uint8_t *syndrome)
{
	if (!faults.syndrome || faults.fail_after-- > 0)
		return false;
	*syndrome = faults.syndrome;
	faults.syndrome = 0;
	return true;
}

/* Completes failed work after all work before it. Late work can fail as well, and flushes then. */
static void fail_work(struct qp *qp, const struct work *work, uint8_t syndrome)
{
	late_finish_all(qp);
	if (qp->state == IBV_QPS_ERR)
		return;
	qp->sq_head = (uint16_t)(work->block + blocks_of(work->units));
	qp_complete_send_error(qp, syndrome, work->opcode, work->block);
	qp_to_error(qp);
}

enum result send_execute_next(struct qp *qp)
{
	uint8_t syndrome = MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
	struct work work = {0};
	enum result result = RESULT_FAILED;

	if (take_entry(qp, &work)) {
		if (remote_has_to_wait(qp) || late_is_fenced(qp, work.flags))
			return RESULT_WAIT;
		if (remote_is_answered(qp) || !has_to_fail(&syndrome))
			result = execute(qp, &work, &syndrome);
	}
	if (result == RESULT_FAILED) {
		fail_work(qp, &work, syndrome);
	} else if (result == RESULT_DONE) {
		qp->sq_head = (uint16_t)(work.block + blocks_of(work.units));
		late_complete(qp, &work);
	}
	return result;
}
