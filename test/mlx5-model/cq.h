/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CQ_H
#define CQ_H

/* Completion queues. The program's library owns the ring and its doorbell record. */

#include "attr.h"
#include "object.h"

#include <infiniband/mlx5dv.h>

#define NO_REQUEST UINT32_MAX

struct cq {
	struct object object;
	TAILQ_ENTRY(cq) entry;
	uint8_t *ring;
	volatile uint32_t *record; /* the consumer index, and the latest request for a report */
	uint32_t entries;	   /* a power of two */
	uint32_t entry_size;	   /* 64, or 128 with the entry in the second half */
	TAILQ_HEAD(, held) held;   /* late completions, in their order */
	uint32_t produced;	   /* completions that were written */
	bool has_overrun;	   /* no more completions are written */
	bool is_armed;		   /* the next completion is reported to 'channel' */
	uint32_t last_request;	   /* the latest one that was handled; NO_REQUEST: none */
	uint64_t user_handle;
	struct file *async, *channel;
	uint32_t async_reported, channel_reported;
};

int cq_create(const struct call *call); /* returns 0 or a positive errno */
/* Destroys a completion queue. 'call' is NULL when its device file is closed. */
int cq_destroy(struct object *object, const struct call *call);

/* Writes a completion. 'form' is the format of the entry, such as MLX5_INLINE_SCATTER_32. */
void cq_complete(struct cq *cq, const struct mlx5_cqe64 *cqe, uint8_t opcode, uint8_t form);
/* Writes the late completions of a queue pair. */
void cq_write_held(struct cq *cq, uint32_t qpn);
/* Writes one late completion of any queue, of the youngest queue pair that has one. Returns whether
 * there was one. */
bool cq_write_one_held(void);
/* Handles the doorbell by which a program requests a report of the next completion. */
void cq_arm(uint64_t value);

#endif
