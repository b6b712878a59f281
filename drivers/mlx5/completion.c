/* SPDX-License-Identifier: BSD-3-Clause */
#include "completion.h"

#include <endian.h>

#include "compiler.h"

#define OPCODE_SHIFT	  4u
#define FORMAT_MASK	  0xcu /* in the last byte of an entry */
#define FORMAT_COMPRESSED 0xcu

/* Returns the status of an entry with an error. The device has a code for each kind of error. */
static enum ibv_wc_status status_of_syndrome(uint8_t syndrome)
{
	switch (syndrome) {
	case MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR:
		return IBV_WC_LOC_LEN_ERR;
	case MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR:
		return IBV_WC_LOC_QP_OP_ERR;
	case MLX5_CQE_SYNDROME_LOCAL_PROT_ERR:
		return IBV_WC_LOC_PROT_ERR;
	case MLX5_CQE_SYNDROME_WR_FLUSH_ERR:
		return IBV_WC_WR_FLUSH_ERR;
	case MLX5_CQE_SYNDROME_MW_BIND_ERR:
		return IBV_WC_MW_BIND_ERR;
	case MLX5_CQE_SYNDROME_BAD_RESP_ERR:
		return IBV_WC_BAD_RESP_ERR;
	case MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR:
		return IBV_WC_LOC_ACCESS_ERR;
	case MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR:
		return IBV_WC_REM_INV_REQ_ERR;
	case MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR:
		return IBV_WC_REM_ACCESS_ERR;
	case MLX5_CQE_SYNDROME_REMOTE_OP_ERR:
		return IBV_WC_REM_OP_ERR;
	case MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR:
		return IBV_WC_RETRY_EXC_ERR;
	case MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR:
		return IBV_WC_RNR_RETRY_EXC_ERR;
	case MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR:
		return IBV_WC_REM_ABORT_ERR;
	default:
		return IBV_WC_GENERAL_ERR;
	}
}

/*
 * Fills in the part of a completion that its opcode determines. Returns false if the opcode is one
 * that no work request of this driver can have.
 */
static hot_inline bool parse_opcode(const struct mlx5_cqe64 *cqe, uint8_t opcode,
				    struct mlx5_completion *out)
{
	switch (opcode) {
	case MLX5_CQE_REQ:
		return true;
	case MLX5_CQE_RESP_SEND_INV:
		out->has_inv = true;
		out->inv_rkey = be32toh(cqe->imm_inval_pkey);
		break;
	case MLX5_CQE_RESP_SEND:
	case MLX5_CQE_RESP_SEND_IMM: /* the immediate data of a Send have no meaning here */
		break;
	case MLX5_CQE_REQ_ERR:
	case MLX5_CQE_RESP_ERR:
		out->is_recv = opcode == MLX5_CQE_RESP_ERR;
		out->status = status_of_syndrome(((const struct mlx5_err_cqe *)cqe)->syndrome);
		return true;
	case MLX5_CQE_RESP_WR_IMM:
		/* The peer may not do this: the receive is used, but has no message. */
		out->is_recv = true;
		out->is_write = true;
		out->status = IBV_WC_GENERAL_ERR;
		return true;
	default:
		return false;
	}
	out->is_recv = true;
	out->byte_len = be32toh(cqe->byte_cnt);
	return true;
}

/* Frees the entry of the work request, and fills in out->position. Returns false if the counter of
 * the completion is not that of an outstanding work request. */
static hot_inline bool complete(struct mlx5_srq_ring *srq, uint16_t counter,
				struct mlx5_completion *out)
{
	if (!out->is_recv)
		return mlx5_send_ring_complete(&out->qp->send, counter, &out->position);
	if (!out->qp->has_srq)
		return mlx5_recv_ring_complete(&out->qp->recv, counter);
	out->position = counter;
	return mlx5_srq_ring_complete(srq, counter);
}

static enum mlx5_poll broken(struct mlx5_cq_ring *cq)
{
	cq->is_broken = true;
	return MLX5_POLL_BAD_DEVICE;
}

/* Handles a completion of a destroyed queue pair (mlx5_cq_ring_forget()). */
static enum mlx5_poll complete_destroyed(struct mlx5_cq_ring *cq, struct mlx5_srq_ring *srq,
					 uint16_t counter, struct mlx5_completion *out)
{
	if (!out->is_recv)
		return MLX5_POLL_STALE;
	out->position = counter;
	return mlx5_srq_ring_complete(srq, counter) ? MLX5_POLL_DONE : broken(cq);
}

enum mlx5_poll mlx5_poll_one(struct mlx5_cq_ring *cq, const struct mlx5_qp_table *table,
			     struct mlx5_srq_ring *srq, struct mlx5_completion *out)
{
	const struct mlx5_cqe64 *cqe;
	uint16_t counter;
	uint32_t num;
	bool is_known;

	*out = (struct mlx5_completion){.status = IBV_WC_SUCCESS};
	if (unlikely(cq->is_broken))
		return MLX5_POLL_BAD_DEVICE;
	cqe = mlx5_cq_ring_at(cq, cq->next);
	if (!cqe)
		return MLX5_POLL_EMPTY;
	/*
	 * An entry in the format of compression stands for several ones, which lie where this
	 * driver does not look for them. It did not ask for compression.
	 */
	if (unlikely((cqe->op_own & FORMAT_MASK) == FORMAT_COMPRESSED))
		return broken(cq);
	cq->next++;
	counter = be16toh(cqe->wqe_counter);
	num = mlx5_cqe_num(cqe);
	is_known = parse_opcode(cqe, cqe->op_own >> OPCODE_SHIFT, out);
	out->qp = mlx5_qp_table_find(table, num);
	if (unlikely(!out->qp))
		return num == MLX5_NUM_DESTROYED && is_known
			       ? complete_destroyed(cq, srq, counter, out)
			       : broken(cq);
	/* Entries with other formats have the data of a message, which are then not in its receive.
	 * The queue pairs are created without this feature. */
	if (unlikely(!is_known || (cqe->op_own & FORMAT_MASK) != 0 || !complete(srq, counter, out)))
		return MLX5_POLL_BAD_QP;
	return MLX5_POLL_DONE;
}
