/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RECEIVE_H
#define RECEIVE_H

/* Delivers messages to receives. */

#include "qp.h"

#define PIECES_MAX 63u /* the most 16-byte units of an entry */

struct piece {
	uint8_t *at;
	uint64_t len;
};

/* Memory that the data segments of a work request name, in order. */
struct pieces {
	struct piece piece[PIECES_MAX];
	uint32_t n;
	uint64_t bytes;
};

enum result {
	RESULT_DONE,
	RESULT_WAIT, /* nothing was done; it is tried again later */
	RESULT_FAILED,
	RESULT_SENT, /* another process will answer */
};

/* Returns whether the queue pair has a receive for the next message. */
bool receive_is_posted(const struct qp *qp);
/*
 * Delivers a message to the next receive of the queue pair 'to'. 'opcode' is that of the
 * completion, such as MLX5_CQE_RESP_SEND, and 'key' is the key to invalidate. Returns RESULT_WAIT
 * if no receive is posted. After RESULT_FAILED, *syndrome is the error of the sender.
 */
enum result receive_message(struct qp *to, const struct pieces *message, uint8_t opcode,
			    uint32_t key, uint8_t *syndrome);
/*
 * Returns the memory that an RDMA READ or an RDMA WRITE on the queue pair 'to' names. If the access
 * is not allowed, the function fails the queue pair, stores the error of the sender in *syndrome,
 * and returns NULL.
 */
uint8_t *receive_rdma(struct qp *to, uint32_t rkey, uint64_t addr, uint64_t bytes, bool is_read,
		      uint8_t *syndrome);

#endif
