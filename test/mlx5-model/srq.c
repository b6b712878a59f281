/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues. */
#include "srq.h"

#include <errno.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "model.h"

#define ENTRY_MIN 32u /* bytes */

static uint32_t next_power_of_two(uint32_t n)
{
	uint32_t power = 1;

	while (power < n)
		power <<= 1;
	return power;
}

int srq_create(const struct call *call)
{
	uint32_t max_wr = (uint32_t)attr_number(call, UVERBS_ATTR_CREATE_SRQ_MAX_WR);
	uint32_t max_sge = (uint32_t)attr_number(call, UVERBS_ATTR_CREATE_SRQ_MAX_SGE);
	struct pd *pd = object_find(attr_handle(call, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE), OBJECT_PD);
	struct mlx5_ib_create_srq_resp resp = {0};
	struct mlx5_ib_create_srq driver;
	struct srq *srq;
	uint32_t size;

	attr_get(call, UVERBS_ATTR_UHW_IN, &driver, sizeof(driver));
	if (!pd || max_sge > 31 || max_wr > INT16_MAX)
		return EINVAL;
	srq = object_create(OBJECT_SRQ, sizeof(*srq), call->file);
	if (!srq)
		return ENOMEM;
	size = (uint32_t)sizeof(struct mlx5_wqe_srq_next_seg) +
	       max_sge * (uint32_t)sizeof(struct mlx5_wqe_data_seg);
	/* libmlx5 sizes its ring in the same way. */
	srq->entry_size = next_power_of_two(size < ENTRY_MIN ? ENTRY_MIN : size);
	srq->entries = next_power_of_two(max_wr + 1);
	srq->ring = (uint8_t *)(uintptr_t)driver.buf_addr;
	srq->record = (volatile uint32_t *)(uintptr_t)driver.db_addr;
	srq->pd = pd;
	pd->object.users++;
	resp.srqn = srq->object.handle;
	attr_put(call, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, &max_wr, sizeof(max_wr));
	attr_put(call, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, &max_sge, sizeof(max_sge));
	attr_put(call, UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp));
	attr_put_handle(call, UVERBS_ATTR_CREATE_SRQ_HANDLE, srq->object.handle);
	return 0;
}

int srq_destroy(struct object *object, const struct call *call)
{
	const struct ib_uverbs_destroy_srq_resp resp = {.events_reported = 0};

	if (call)
		attr_put(call, UVERBS_ATTR_DESTROY_SRQ_RESP, &resp, sizeof(resp));
	((struct srq *)object)->pd->object.users--;
	object_free(object);
	return 0;
}

bool srq_take(struct srq *srq, uint16_t *index, const struct mlx5_wqe_data_seg **segments,
	      uint32_t *nsegments)
{
	const struct mlx5_wqe_srq_next_seg *entry;
	uint16_t next;

	if (!srq_has_entry(srq))
		return false;
	entry = (const struct mlx5_wqe_srq_next_seg *)(void *)(srq->ring +
							       (size_t)srq->head * srq->entry_size);
	next = be16toh(entry->next_wqe_index);
	if (next >= srq->entries) {
		model_violation("shared receive %u of %u is followed by entry %u", srq->head,
				srq->entries, next);
		return false;
	}
	*index = srq->head;
	*segments = (const struct mlx5_wqe_data_seg *)(const void *)(entry + 1);
	*nsegments = srq->entry_size / (uint32_t)sizeof(**segments) - 1;
	srq->head = next;
	srq->taken++;
	return true;
}
