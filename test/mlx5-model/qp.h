/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef QP_H
#define QP_H

/*
 * Queue pairs. The program's library owns the rings and the doorbell record. Positions in a send
 * queue count blocks of 64 bytes, and positions in a receive queue count entries, modulo 2^16.
 */

#include "cq.h"
#include "link.h"
#include "memory.h"
#include "srq.h"

#define QP_BLOCK 64u

enum { QP_RECORD_RECV, QP_RECORD_SEND }; /* indices of the words of the doorbell record */

/* The work request at the head of a send queue whose peer is in another process (remote.h). */
struct remote {
	enum { REMOTE_NONE, REMOTE_SENT, REMOTE_ANSWERED } state;
	uint32_t sequence; /* of the next request, or of the one that was sent */
	uint64_t again_ns; /* time of the next attempt; UINT64_MAX: when the peer says so */
	bool owes_again;   /* the peer waits until this queue pair has a receive */
	/* the answer */
	uint8_t result, syndrome, rnr_timer;
	uint8_t *data; /* of an RDMA READ; allocated */
};

struct qp {
	struct object object; /* its handle is the number of the queue pair */
	TAILQ_ENTRY(qp) entry;
	struct pd *pd;
	struct cq *send_cq, *recv_cq;
	struct srq *srq; /* NULL: it has a receive queue of its own */
	struct file *async;
	uint64_t user_handle;
	uint32_t reported;   /* asynchronous events that the program has read */
	uint32_t user_index; /* libmlx5's index, which completions have */
	uint32_t page;	     /* of its doorbell registers */
	bool all_signaled;
	bool scatters; /* short messages are stored in the completion (scatter to CQE) */
	uint8_t *sq, *rq;
	volatile uint32_t *record;
	uint32_t sq_blocks;
	uint32_t rq_entries;
	uint32_t rq_entry_size;

	enum ibv_qp_state state;
	uint32_t peer;	   /* number of the peer's queue pair */
	struct link *link; /* to the peer in another process; NULL: the peer is in this process */
	struct remote remote;
	uint32_t access;
	uint8_t rnr_retry;
	uint8_t rnr_timer;
	uint16_t sq_head;  /* the next block that the device executes */
	uint16_t sq_limit; /* end of the blocks that a doorbell has reported */
	uint16_t rq_head;
	TAILQ_HEAD(, late) late; /* late.h */
	bool late_failed;	 /* late work has failed, and later work is flushed */
	uint64_t rnr_since_ns;	 /* the send at sq_head waits for a receive since then; 0: it does
				    not wait */
};

TAILQ_HEAD(qp_list, qp);
extern struct qp_list qp_list;

/* Methods of uverbs. They return 0 or a positive errno. */
int qp_create(const struct call *call);
int qp_modify(const struct call *call);
int qp_destroy(struct object *object, const struct call *call);

static inline uint16_t qp_sends_posted(const struct qp *qp)
{
	return (uint16_t)be32toh(qp->record[QP_RECORD_SEND]);
}

static inline uint16_t qp_recvs_posted(const struct qp *qp)
{
	return (uint16_t)be32toh(qp->record[QP_RECORD_RECV]);
}

static inline const struct mlx5_wqe_ctrl_seg *qp_sq_entry(const struct qp *qp, uint16_t block)
{
	return (const struct mlx5_wqe_ctrl_seg *)(void *)(qp->sq +
							  (block & (qp->sq_blocks - 1)) * QP_BLOCK);
}

/* Writes a completion of the queue pair, with the number and the index of the queue pair. 'opcode'
 * and 'form' are those of cq_complete(). */
void qp_complete(struct qp *qp, struct cq *cq, struct mlx5_cqe64 *cqe, uint8_t wqe_opcode,
		 uint8_t opcode, uint8_t form);
void qp_complete_send_error(struct qp *qp, uint8_t syndrome, uint8_t wqe_opcode, uint16_t block);
void qp_complete_recv_error(struct qp *qp, uint8_t syndrome, uint16_t index);

/* Uses a link to the peer, if there is a queue pair with this number. */
void qp_set_link(uint32_t qpn, struct link *link);
static inline bool qp_can_receive(const struct qp *qp)
{
	return qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS;
}

/* Completes, as flushed, all work requests of a queue pair in the error state. Returns whether
 * there were any. */
bool qp_flush(struct qp *qp);
void qp_to_error(struct qp *qp);
/* Moves a queue pair to the error state, and reports an asynchronous event. */
void qp_fail(struct qp *qp, enum ibv_event_type event);

#endif
