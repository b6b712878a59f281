/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues: their rings, and reports to completion channels. */
#include "cq.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "faults.h"
#include "model.h"

#define INDEX_MASK     0xffffffu
#define SOLICITED_ONLY (1u << 24)

enum { RECORD_CONSUMED, RECORD_ARM }; /* indices of the words of the doorbell record */

/* A completion that is late. */
struct held {
	TAILQ_ENTRY(held) entry;
	struct mlx5_cqe64 cqe;
	uint8_t opcode, form;
};

static TAILQ_HEAD(, cq) cqs = TAILQ_HEAD_INITIALIZER(cqs);

int cq_create(const struct call *call)
{
	uint32_t wanted = (uint32_t)attr_number(call, UVERBS_ATTR_CREATE_CQ_CQE);
	struct mlx5_ib_create_cq_resp resp = {0};
	struct mlx5_ib_create_cq driver;
	struct cq *cq;

	attr_get(call, UVERBS_ATTR_UHW_IN, &driver, sizeof(driver));
	/* libmlx5 asks for one entry less than its ring has. */
	if ((wanted & (wanted + 1)) != 0 || (driver.cqe_size != 64 && driver.cqe_size != 128))
		return EINVAL;
	if (driver.cqe_comp_en)
		return EOPNOTSUPP;
	cq = object_create(OBJECT_CQ, sizeof(*cq), call->file);
	if (!cq)
		return ENOMEM;
	cq->ring = (uint8_t *)(uintptr_t)driver.buf_addr;
	cq->record = (volatile uint32_t *)(uintptr_t)driver.db_addr;
	cq->entries = wanted + 1;
	cq->entry_size = driver.cqe_size;
	cq->user_handle = attr_number(call, UVERBS_ATTR_CREATE_CQ_USER_HANDLE);
	cq->async = file_ref(attr_file(call, UVERBS_ATTR_CREATE_CQ_EVENT_FD, FILE_ASYNC));
	cq->channel =
		file_ref(attr_file(call, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, FILE_COMPLETIONS));
	cq->last_request = NO_REQUEST;
	TAILQ_INIT(&cq->held);
	TAILQ_INSERT_TAIL(&cqs, cq, entry);
	resp.cqn = cq->object.handle;
	attr_put(call, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &wanted, sizeof(wanted));
	attr_put(call, UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp));
	attr_put_handle(call, UVERBS_ATTR_CREATE_CQ_HANDLE, cq->object.handle);
	return 0;
}

int cq_destroy(struct object *object, const struct call *call)
{
	struct cq *cq = (struct cq *)object;
	struct ib_uverbs_destroy_cq_resp resp;

	file_drop_events(cq->async, cq);
	file_drop_events(cq->channel, cq);
	resp = (struct ib_uverbs_destroy_cq_resp){
		.comp_events_reported = cq->channel_reported,
		.async_events_reported = cq->async_reported,
	};
	if (call)
		attr_put(call, UVERBS_ATTR_DESTROY_CQ_RESP, &resp, sizeof(resp));
	TAILQ_REMOVE(&cqs, cq, entry);
	file_unref(cq->async);
	file_unref(cq->channel);
	object_free(object);
	return 0;
}

static void report_completion(struct cq *cq)
{
	const struct ib_uverbs_comp_event_desc desc = {.cq_handle = cq->user_handle};

	cq->is_armed = false;
	file_push(cq->channel, cq, &cq->channel_reported, &desc, sizeof(desc));
}

/* The ring is full. The device writes no more completions, and reports the error once. */
static void overrun(struct cq *cq)
{
	const struct ib_uverbs_async_event_desc desc = {.element = cq->user_handle,
							.event_type = IBV_EVENT_CQ_ERR};

	if (cq->has_overrun)
		return;
	cq->has_overrun = true;
	model_violation("completion queue %#x of %u entries overruns", cq->object.handle,
			cq->entries);
	file_push(cq->async, cq, &cq->async_reported, &desc, sizeof(desc));
}

static void write_completion(struct cq *cq, const struct mlx5_cqe64 *cqe, uint8_t opcode,
			     uint8_t form)
{
	uint32_t consumed = be32toh(cq->record[RECORD_CONSUMED]);
	uint8_t owner = (cq->produced & cq->entries) != 0; /* alternates with each lap */
	uint8_t *at = cq->ring + (size_t)(cq->produced & (cq->entries - 1)) * cq->entry_size +
		      cq->entry_size - sizeof(*cqe);
	struct mlx5_cqe64 *entry = (struct mlx5_cqe64 *)(void *)at;

	if (((cq->produced - consumed) & INDEX_MASK) >= cq->entries) {
		overrun(cq);
		return;
	}
	memcpy(entry, cqe, offsetof(struct mlx5_cqe64, op_own));
	/* The owner is written last. It gives the entry to the program. */
	__atomic_store_n(&entry->op_own, (uint8_t)(opcode << 4 | form | owner), __ATOMIC_RELEASE);
	cq->produced++;
	if (cq->is_armed)
		report_completion(cq);
}

void cq_complete(struct cq *cq, const struct mlx5_cqe64 *cqe, uint8_t opcode, uint8_t form)
{
	struct held *held = faults.late_completions ? calloc(1, sizeof(*held)) : NULL;

	if (!held) {
		write_completion(cq, cqe, opcode, form);
		return;
	}
	held->cqe = *cqe;
	held->opcode = opcode;
	held->form = form;
	TAILQ_INSERT_TAIL(&cq->held, held, entry);
}

static uint32_t held_qpn(const struct held *held)
{
	return be32toh(held->cqe.sop_drop_qpn) & INDEX_MASK;
}

static void write_held(struct cq *cq, struct held *held)
{
	TAILQ_REMOVE(&cq->held, held, entry);
	write_completion(cq, &held->cqe, held->opcode, held->form);
	free(held);
}

void cq_write_held(struct cq *cq, uint32_t qpn)
{
	struct held *held, *next;

	for (held = TAILQ_FIRST(&cq->held); held; held = next) {
		next = TAILQ_NEXT(held, entry);
		if (held_qpn(held) == qpn)
			write_held(cq, held);
	}
}

bool cq_write_one_held(void)
{
	struct cq *cq, *from = NULL;
	struct held *held, *youngest = NULL;

	TAILQ_FOREACH(cq, &cqs, entry)
	TAILQ_FOREACH(held, &cq->held, entry)
	{
		if (youngest && held_qpn(held) <= held_qpn(youngest))
			continue;
		youngest = held;
		from = cq;
	}
	if (youngest)
		write_held(from, youngest);
	return youngest != NULL;
}

/* Handles the request for a report in the doorbell record. */
static void handle_request(struct cq *cq)
{
	uint32_t request = be32toh(cq->record[RECORD_ARM]);

	cq->last_request = request;
	if (request & SOLICITED_ONLY)
		model_violation("reports of solicited completions only are not modelled");
	/* The request has the consumer index. Later completions are reported at once. */
	if ((request & INDEX_MASK) != (cq->produced & INDEX_MASK))
		report_completion(cq);
	else
		cq->is_armed = true;
}

/*
 * All completion queues of a program share one register, and a second doorbell can replace the
 * first one before the model looks, which the real device does not lose. Therefore the function
 * looks for new requests in all records. The record of a queue without a request is 0, as is that
 * of a first request. A report that no program has requested is allowed.
 */
void cq_arm(uint64_t value)
{
	struct cq *rung = object_find((uint32_t)be64toh(value) & INDEX_MASK, OBJECT_CQ), *cq;

	TAILQ_FOREACH(cq, &cqs, entry)
	if (cq == rung || be32toh(cq->record[RECORD_ARM]) != cq->last_request)
		handle_request(cq);
}
