/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs: their states, and what ends them. */
#include "qp.h"

#include <endian.h>
#include <errno.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "faults.h"
#include "late.h"
#include "model.h"
#include "remote.h"

#define VENDOR_SYNDROME 0x51

struct qp_list qp_list = TAILQ_HEAD_INITIALIZER(qp_list);

/* Fills the members that come from libmlx5. */
static void take_rings(struct qp *qp, const struct mlx5_ib_create_qp *driver)
{
	qp->user_index = driver->uidx & 0xffffff;
	qp->page = driver->bfreg_index;
	qp->scatters = driver->flags & MLX5_QP_FLAG_SCATTER_CQE;
	qp->sq_blocks = driver->sq_wqe_count;
	qp->rq_entries = driver->rq_wqe_count;
	qp->rq_entry_size = 1u << driver->rq_wqe_shift;
	/* The send queue follows the receive queue in one buffer. */
	qp->rq = (uint8_t *)(uintptr_t)driver->buf_addr;
	qp->sq = qp->rq + (size_t)qp->rq_entries * qp->rq_entry_size;
	qp->record = (volatile uint32_t *)(uintptr_t)driver->db_addr;
}

static void use_objects(const struct qp *qp, int change)
{
	qp->pd->object.users += (uint32_t)change;
	qp->send_cq->object.users += (uint32_t)change;
	qp->recv_cq->object.users += (uint32_t)change;
	if (qp->srq)
		qp->srq->object.users += (uint32_t)change;
}

int qp_create(const struct call *call)
{
	uint32_t srq_handle = attr_handle(call, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE);
	const struct mlx5_ib_create_qp_resp resp = {0};
	struct mlx5_ib_create_qp driver;
	struct ib_uverbs_qp_cap cap;
	struct qp *qp, found = {0};

	attr_get(call, UVERBS_ATTR_UHW_IN, &driver, sizeof(driver));
	attr_get(call, UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap));
	found.pd = object_find(attr_handle(call, UVERBS_ATTR_CREATE_QP_PD_HANDLE), OBJECT_PD);
	found.send_cq =
		object_find(attr_handle(call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE), OBJECT_CQ);
	found.recv_cq =
		object_find(attr_handle(call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE), OBJECT_CQ);
	found.srq = object_find(srq_handle, OBJECT_SRQ);
	if (!found.pd || !found.send_cq || !found.recv_cq || (srq_handle && !found.srq) ||
	    attr_number(call, UVERBS_ATTR_CREATE_QP_TYPE) != IBV_QPT_RC ||
	    !(driver.flags & MLX5_QP_FLAG_UAR_PAGE_INDEX) || driver.rq_wqe_shift > 16)
		return EINVAL;
	qp = object_create(OBJECT_QP, sizeof(*qp), call->file);
	if (!qp)
		return ENOMEM;
	found.object = qp->object;
	*qp = found;
	take_rings(qp, &driver);
	qp->user_handle = attr_number(call, UVERBS_ATTR_CREATE_QP_USER_HANDLE);
	qp->all_signaled =
		attr_number(call, UVERBS_ATTR_CREATE_QP_FLAGS) & IB_UVERBS_QP_CREATE_SQ_SIG_ALL;
	qp->async = file_ref(attr_file(call, UVERBS_ATTR_CREATE_QP_EVENT_FD, FILE_ASYNC));
	use_objects(qp, 1);
	TAILQ_INIT(&qp->late);
	TAILQ_INSERT_TAIL(&qp_list, qp, entry);
	attr_put(call, UVERBS_ATTR_CREATE_QP_RESP_CAP, &cap, sizeof(cap));
	attr_put(call, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &qp->object.handle, sizeof(uint32_t));
	attr_put(call, UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp));
	attr_put_handle(call, UVERBS_ATTR_CREATE_QP_HANDLE, qp->object.handle);
	return 0;
}

/* Writes all late completions of the queue pair. */
static void write_all_held(struct qp *qp)
{
	cq_write_held(qp->send_cq, qp->object.handle);
	cq_write_held(qp->recv_cq, qp->object.handle);
}

/* Writes a completion for the work request that would have been next. */
static void write_stale(struct qp *qp)
{
	struct mlx5_cqe64 cqe = {.wqe_counter = htobe16(qp->sq_head)};

	qp_complete(qp, qp->send_cq, &cqe, MLX5_OPCODE_SEND, MLX5_CQE_REQ, 0);
}

void qp_set_link(uint32_t qpn, struct link *link)
{
	struct qp *qp = object_find(qpn, OBJECT_QP);

	if (!qp)
		return;
	link_unref(qp->link);
	qp->link = link_ref(link);
	link->qpn = qpn;
}

int qp_destroy(struct object *object, const struct call *call)
{
	struct qp *qp = (struct qp *)object;
	struct ib_uverbs_destroy_qp_resp resp;

	late_drop_all(qp);
	remote_forget(qp);
	link_unref(qp->link);
	write_all_held(qp);
	if (faults.stale_completions)
		write_stale(qp);
	file_drop_events(qp->async, qp);
	resp = (struct ib_uverbs_destroy_qp_resp){.events_reported = qp->reported};
	if (call)
		attr_put(call, UVERBS_ATTR_DESTROY_QP_RESP, &resp, sizeof(resp));
	TAILQ_REMOVE(&qp_list, qp, entry);
	use_objects(qp, -1);
	file_unref(qp->async);
	object_free(object);
	return 0;
}

/* Moves a queue pair to a state that a program has asked for. Returns 0 or EINVAL. */
static int to_state(struct qp *qp, enum ibv_qp_state state)
{
	switch (state) {
	case IBV_QPS_RESET:
		late_drop_all(qp);
		remote_forget(qp);
		qp->sq_head = qp->sq_limit = qp->rq_head = 0;
		qp->rnr_since_ns = 0;
		break;
	case IBV_QPS_INIT:
		if (qp->state != IBV_QPS_RESET && qp->state != IBV_QPS_INIT)
			return EINVAL;
		break;
	case IBV_QPS_RTR:
		if (qp->state != IBV_QPS_INIT)
			return EINVAL;
		break;
	case IBV_QPS_RTS:
		if (qp->state != IBV_QPS_RTR && qp->state != IBV_QPS_RTS)
			return EINVAL;
		break;
	case IBV_QPS_ERR:
		qp_to_error(qp);
		return 0;
	default:
		return EINVAL;
	}
	qp->state = state;
	return 0;
}

int qp_modify(const struct call *call)
{
	struct ib_uverbs_modify_qp request;
	struct qp *qp;

	attr_get(call, UVERBS_ATTR_CORE_IN, &request, sizeof(request));
	qp = object_find(request.qp_handle, OBJECT_QP);
	if (!qp)
		return EINVAL;
	if (request.attr_mask & IBV_QP_DEST_QPN)
		qp->peer = request.dest_qp_num;
	if (request.attr_mask & IBV_QP_ACCESS_FLAGS)
		qp->access = request.qp_access_flags;
	if (request.attr_mask & IBV_QP_RNR_RETRY)
		qp->rnr_retry = request.rnr_retry;
	if (request.attr_mask & IBV_QP_MIN_RNR_TIMER)
		qp->rnr_timer = request.min_rnr_timer;
	return request.attr_mask & IBV_QP_STATE ? to_state(qp, (enum ibv_qp_state)request.qp_state)
						: 0;
}

void qp_complete(struct qp *qp, struct cq *cq, struct mlx5_cqe64 *cqe, uint8_t wqe_opcode,
		 uint8_t opcode, uint8_t form)
{
	cqe->srqn_uidx = htobe32(qp->user_index);
	cqe->sop_drop_qpn = htobe32((uint32_t)wqe_opcode << 24 | qp->object.handle);
	cq_complete(cq, cqe, opcode, form);
}

static void complete_error(struct qp *qp, struct cq *cq, uint8_t syndrome, uint8_t wqe_opcode,
			   uint16_t counter, uint8_t opcode)
{
	struct mlx5_cqe64 cqe = {.wqe_counter = htobe16(counter)};
	struct mlx5_err_cqe *error = (struct mlx5_err_cqe *)(void *)&cqe;

	error->syndrome = syndrome;
	error->vendor_err_synd = VENDOR_SYNDROME;
	qp_complete(qp, cq, &cqe, wqe_opcode, opcode, 0);
}

void qp_complete_send_error(struct qp *qp, uint8_t syndrome, uint8_t wqe_opcode, uint16_t block)
{
	complete_error(qp, qp->send_cq, syndrome, wqe_opcode, block, MLX5_CQE_REQ_ERR);
}

void qp_complete_recv_error(struct qp *qp, uint8_t syndrome, uint16_t index)
{
	complete_error(qp, qp->recv_cq, syndrome, 0, index, MLX5_CQE_RESP_ERR);
}

bool qp_flush(struct qp *qp)
{
	bool any = false;

	while (qp->sq_blocks && qp->sq_head != qp_sends_posted(qp)) {
		const struct mlx5_wqe_ctrl_seg *ctrl = qp_sq_entry(qp, qp->sq_head);
		uint32_t units = be32toh(ctrl->qpn_ds) & 0x3f;

		qp_complete_send_error(qp, MLX5_CQE_SYNDROME_WR_FLUSH_ERR,
				       (uint8_t)be32toh(ctrl->opmod_idx_opcode), qp->sq_head);
		qp->sq_head = (uint16_t)(qp->sq_head + (units ? (units + 3) / 4 : 1));
		any = true;
	}
	while (qp->rq_entries && !qp->srq && qp->rq_head != qp_recvs_posted(qp)) {
		qp_complete_recv_error(qp, MLX5_CQE_SYNDROME_WR_FLUSH_ERR, qp->rq_head++);
		any = true;
	}
	return any;
}

static void report_event(struct qp *qp, enum ibv_event_type event)
{
	const struct ib_uverbs_async_event_desc desc = {.element = qp->user_handle,
							.event_type = (uint32_t)event};

	file_push(qp->async, qp, &qp->reported, &desc, sizeof(desc));
}

void qp_to_error(struct qp *qp)
{
	enum ibv_qp_state before = qp->state;

	qp->state = IBV_QPS_ERR;
	if (before == IBV_QPS_RESET)
		return;
	late_finish_all(qp);
	remote_forget(qp);
	qp_flush(qp);
	if (qp->srq && before != IBV_QPS_ERR) {
		/* After the event, no completion of a shared receive is written. */
		write_all_held(qp);
		report_event(qp, IBV_EVENT_QP_LAST_WQE_REACHED);
	}
}

void qp_fail(struct qp *qp, enum ibv_event_type event)
{
	qp_to_error(qp);
	report_event(qp, event);
}
