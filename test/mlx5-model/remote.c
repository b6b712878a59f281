/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends work requests to the device of another process, and answers those of that device. */
#include "remote.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

#define AGAIN_NS 100000u /* between two attempts of a message for which there is no receive */

bool remote_has_to_wait(const struct qp *qp)
{
	if (!qp->link || qp->link->is_lost)
		return false;
	return qp->remote.state == REMOTE_SENT ||
	       (qp->remote.state == REMOTE_NONE && qp->remote.again_ns > model_now_ns());
}

bool remote_is_answered(const struct qp *qp)
{
	return qp->remote.state == REMOTE_ANSWERED;
}

static void send_again(const struct qp *qp)
{
	const struct link_message again = {.kind = LINK_AGAIN};

	link_append(qp->link, &again);
	link_flush(qp->link);
}

void remote_forget(struct qp *qp)
{
	if (qp->remote.owes_again)
		send_again(qp); /* the next attempt fails */
	free(qp->remote.data);
	qp->remote = (struct remote){.sequence = qp->remote.sequence + 1};
}

static enum result send_request(struct qp *qp, const struct work *work, const struct pieces *pieces)
{
	const struct mlx5_wqe_ctrl_seg *ctrl = (const void *)work->bytes;
	const struct mlx5_wqe_raddr_seg *memory = (const void *)(ctrl + 1);
	bool has_data = work->opcode != MLX5_OPCODE_RDMA_READ;
	struct link_message request = {
		.kind = LINK_REQUEST,
		.len = has_data ? (uint32_t)pieces->bytes : 0,
		.qpn = qp->object.handle,
		.sequence = qp->remote.sequence,
		.bytes = pieces->bytes,
		.opcode = work->opcode,
	};
	uint8_t *to;

	if (work->opcode == MLX5_OPCODE_SEND_INVAL) {
		request.key = be32toh(ctrl->imm);
	} else if (work->opcode != MLX5_OPCODE_SEND) {
		request.key = be32toh(memory->rkey);
		request.addr = be64toh(memory->raddr);
	}
	to = link_append(qp->link, &request);
	for (uint32_t i = 0; has_data && i < pieces->n; to += pieces->piece[i++].len)
		memcpy(to, pieces->piece[i].at, pieces->piece[i].len);
	link_flush(qp->link);
	qp->remote.state = REMOTE_SENT;
	return RESULT_SENT;
}

/* Attempts without a limit of time wait until the peer has a receive. */
static uint64_t next_attempt(const struct qp *qp)
{
	return qp->rnr_retry == 7 ? UINT64_MAX : model_now_ns() + AGAIN_NS;
}

enum result remote_execute(struct qp *qp, const struct work *work, const struct pieces *pieces,
			   uint8_t *syndrome)
{
	enum result result = qp->remote.result;

	if (!remote_is_answered(qp)) {
		if (!qp->link->is_lost)
			return send_request(qp, work, pieces);
		*syndrome = MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR;
		return RESULT_FAILED;
	}
	*syndrome = qp->remote.syndrome;
	qp->remote.state = REMOTE_NONE;
	qp->remote.sequence++;
	return result;
}

/* Returns the queue pair of a link in this process, or NULL. */
static struct qp *find_qp(const struct link *link)
{
	struct qp *qp = object_find(link->qpn, OBJECT_QP);

	return qp && qp->link == link ? qp : NULL;
}

/* Executes a request of another process. Stores the bytes of an RDMA READ in *from. */
static enum result execute_request(struct qp *qp, const struct link_message *request, uint8_t *data,
				   const uint8_t **from, uint8_t *syndrome)
{
	bool is_read = request->opcode == MLX5_OPCODE_RDMA_READ;
	bool invalidates = request->opcode == MLX5_OPCODE_SEND_INVAL;
	const struct pieces message = {
		.piece = {{data, request->len}}, .n = 1, .bytes = request->len};
	uint8_t *at;

	if (invalidates || request->opcode == MLX5_OPCODE_SEND)
		return receive_message(qp, &message,
				       invalidates ? MLX5_CQE_RESP_SEND_INV : MLX5_CQE_RESP_SEND,
				       request->key, syndrome);
	at = receive_rdma(qp, request->key, request->addr, request->bytes, is_read, syndrome);
	if (!at)
		return RESULT_FAILED;
	if (is_read)
		*from = at;
	else
		memcpy(at, data, request->len);
	return RESULT_DONE;
}

void remote_on_request(struct link *link, const struct link_message *request, const uint8_t *data)
{
	struct link_message answer = {.kind = LINK_ANSWER, .sequence = request->sequence};
	uint8_t syndrome = MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR;
	enum result result = RESULT_FAILED;
	struct qp *qp = find_qp(link);
	const uint8_t *from = NULL;
	uint8_t *to;

	if (qp && qp->peer == request->qpn && qp_can_receive(qp)) {
		result = execute_request(qp, request, (uint8_t *)(uintptr_t)data, &from, &syndrome);
		answer.rnr_timer = qp->rnr_timer;
		qp->remote.owes_again = result == RESULT_WAIT;
	}
	answer.result = (uint8_t)result;
	answer.syndrome = syndrome;
	answer.len = from ? (uint32_t)request->bytes : 0;
	to = link_append(link, &answer);
	if (from)
		memcpy(to, from, answer.len);
	link_flush(link);
}

bool remote_offer_receive(struct qp *qp)
{
	if (!qp->remote.owes_again || !receive_is_posted(qp))
		return false;
	qp->remote.owes_again = false;
	send_again(qp);
	return true;
}

void remote_on_again(const struct link *link)
{
	struct qp *qp = find_qp(link);

	if (qp)
		qp->remote.again_ns = 0;
}

void remote_on_answer(const struct link *link, const struct link_message *answer,
		      const uint8_t *data)
{
	struct qp *qp = find_qp(link);

	if (!qp || qp->remote.state != REMOTE_SENT || qp->remote.sequence != answer->sequence)
		return;
	if (answer->len > 0) {
		free(qp->remote.data);
		qp->remote.data = malloc(answer->len);
		if (!qp->remote.data)
			abort();
		memcpy(qp->remote.data, data, answer->len);
	}
	qp->remote.state = REMOTE_ANSWERED;
	qp->remote.result = answer->result;
	qp->remote.syndrome = answer->syndrome;
	qp->remote.rnr_timer = answer->rnr_timer;
	/* LINK_AGAIN can follow before the device looks at the answer. */
	qp->remote.again_ns = answer->result == RESULT_WAIT ? next_attempt(qp) : 0;
}
