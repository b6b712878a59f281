/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SRQ_H
#define SRQ_H

/*
 * Shared receive queues. The entries form a linked list. The program's library appends entries and
 * counts them in the doorbell record, and the device takes entries at the head.
 */

#include <endian.h>

#include "attr.h"
#include "memory.h"
#include "object.h"

#include <infiniband/mlx5dv.h>

struct srq {
	struct object object;
	struct pd *pd;
	uint8_t *ring;
	volatile uint32_t *record;
	uint32_t entries;
	uint32_t entry_size;
	uint16_t head;
	uint16_t taken; /* entries that the device has taken, modulo 2^16 */
};

int srq_create(const struct call *call); /* returns 0 or a positive errno */
int srq_destroy(struct object *object, const struct call *call);

static inline bool srq_has_entry(const struct srq *srq)
{
	return (uint16_t)be32toh(srq->record[0]) != srq->taken;
}

/* Takes the entry at the head, and stores its index and its data segments. Returns false if no
 * receive is posted. */
bool srq_take(struct srq *srq, uint16_t *index, const struct mlx5_wqe_data_seg **segments,
	      uint32_t *nsegments);

#endif
