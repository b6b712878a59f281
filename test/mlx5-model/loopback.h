/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LOOPBACK_H
#define LOOPBACK_H

/*
 * Connections on the model within one process, without a connection manager, for tests of the
 * model. Work requests are posted by libmlx5, or written to the send queue by the test itself.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "mlx5_model.h"

#define LOOPBACK_BYTES	   4096u
#define LOOPBACK_PAIRS_MAX 2u
#define LOOPBACK_WRS	   16u /* of each send queue and each receive queue */

struct loopback_options {
	uint32_t pairs;
	uint32_t cq_entries;
	uint8_t rnr_retry;
};

struct loopback {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq; /* of all queue pairs */
	uint8_t *memory;
	struct ibv_mr *mr;
	struct ibv_mw *window;			  /* a test may set it; NULL: none */
	struct ibv_qp *qp[LOOPBACK_PAIRS_MAX][2]; /* [i][0] is connected with [i][1] */
};

void loopback_open(struct loopback *loop, const struct loopback_options *options);
/* Closes everything, if it is open, and ends all faults. */
void loopback_close(struct loopback *loop);

/* Posts a work request of up to 8 bytes at 'offset' of the memory, with wr_id 'offset'. */
void loopback_recv(struct loopback *loop, struct ibv_qp *qp, uint32_t offset);
void loopback_send(struct loopback *loop, struct ibv_qp *qp, uint32_t offset, unsigned flags);
/* An RDMA WRITE or an RDMA READ between 'offset' and the memory at 'remote'. */
void loopback_rdma(struct loopback *loop, struct ibv_qp *qp, enum ibv_wr_opcode opcode,
		   uint32_t offset, uint32_t remote, uint32_t rkey);

/* Lets the device work, but nothing late happen. */
void loopback_run(void);
/* Waits for the next completion, which may be late, and checks its wr_id and its status. */
struct ibv_wc loopback_expect(struct loopback *loop, uint64_t wr_id, enum ibv_wc_status status);
/* Returns whether a completion is there. It is not taken if it is not. */
bool loopback_poll(struct loopback *loop, struct ibv_wc *wc);

/* The send queue of a queue pair, for a test that writes entries itself. No work request may be
 * posted by libmlx5 afterwards. */
struct raw_queue {
	struct mlx5dv_qp dv;
	uint32_t qpn;
	uint16_t next; /* the next block */
};

void raw_open(struct raw_queue *raw, struct ibv_qp *qp);
/* Writes an unsignalled entry of one block with inline data of 8 bytes, and no doorbell record.
 * Returns its first 8 bytes. */
uint64_t raw_write_send(struct raw_queue *raw, uint64_t data);
void raw_record(struct raw_queue *raw);
void raw_doorbell(struct raw_queue *raw, uint64_t first);

#endif
