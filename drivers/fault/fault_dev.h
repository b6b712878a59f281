/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FAULT_DEV_H
#define FAULT_DEV_H

/*
 * The internal header of the driver 'fault'.
 *
 * Each queue pair has a queue pair of the driver below. All work requests are signalled there, and
 * their wr_id is their position. So the driver knows when each work request is done. The driver
 * makes the completions for the user in the order of the posts. The completions wait in the list of
 * the device until they are due. 'doomed' is the position at which a work request fails. No work
 * request is passed on from this position on. When all earlier work requests are done, the doomed
 * work request fails, and the connection below is ended.
 *
 * The files of this driver. Files in which requests or events can fail call fault_fires() of
 * chance.c:
 *
 *   fault.h   the interface for tests
 *   chance.c  selects which occasions fail
 *   dev.c     devices: their options, and the table of operations
 *   memory.c  registrations and memory windows
 *   domain.c  protection domains of queue pairs
 *   qp.c      queue pairs, and room for completions and events
 *   post.c    work requests: passes them on, and completes them in order
 *   poll.c    converts completions of the driver below, and delivers those that are due
 *   cq.c      the list of completions that wait until they are due
 *   srq.c     receives, shared ones too
 *   listen.c  listeners
 *   cm.c      connecting, and the events of the driver below
 *   end.c     the list of events that wait until they are due, and the end of connections
 */

#include <sys/queue.h>

#include "driver.h"
#include "fault.h"

#define FAULT_PLANS_MAX	   64u
#define FAULT_REQUESTS_MAX 128u /* maximum waiting events of listeners */
#define FAULT_BURST	   64u
#define FAULT_DELAY_POLLS  64 /* maximum of a random delay */

struct fault_plan {
	enum fault_kind kind;
	uint64_t at; /* occasion; 0: no fault is planned */
	int how;
};

struct fault_swr {
	uint64_t wr_id;
	enum fabric_op op;
	enum fabric_status status;
	uint32_t byte_len;
	bool is_signalled;
	bool is_done;
};

struct fault_qp {
	struct fabric_qp base;
	LIST_ENTRY(fault_qp) entry;
	struct fault_dev *dev;
	struct fabric_qp *inner;
	bool has_connected; /* this side called connect */
	bool may_send;	    /* ESTABLISHED was polled */
	bool is_up;	    /* the driver below reported ESTABLISHED */
	bool is_broken;	    /* a work request failed; later ones are flushed */
	bool is_rq_broken;  /* a receive failed; later ones are flushed */
	bool is_ended;	    /* the connection below was ended */
	bool is_closed;	    /* the user has disconnected */
	bool has_end;	    /* FAILED, REJECTED or DISCONNECTED was raised */
	uint64_t event_due; /* no event is due before this poll, so that events keep their order */
	uint64_t sq_due, rq_due;
	uint64_t sq_blocked, rq_blocked; /* latest poll that kept a completion back */

	bool is_shared; /* its receives are shared */
	uint32_t sq_size, rq_size, max_sge;
	uint64_t sq_head;      /* oldest position whose entry is in use */
	uint64_t sq_completed; /* first position without a completion */
	uint64_t sq_tail;
	uint64_t rq_head, rq_tail;
	uint64_t doomed; /* first position that is not passed on; UINT64_MAX: none */
	enum fabric_status doomed_status;
	uint64_t late; /* position that has its effect and then fails; UINT64_MAX: none */
	enum fabric_status late_status;
	struct fault_swr *sq;	   /* work requests, by position % sq_size */
	struct fabric_wr *scratch; /* copies of work requests, which are passed on */
};

struct fault_srq {
	struct fabric_srq base;
	struct fabric_srq *inner;
	void *ctx;
	uint32_t size;
	uint32_t nposted;
	struct fabric_recv_wr *posted; /* posted and not polled; 'size' entries */
};

/* A completion that waits to be polled. */
struct fault_cqe {
	struct fabric_wc wc;
	struct fault_qp *qp; /* NULL: a shared receive whose queue pair is destroyed */
	uint64_t position;   /* position in the send queue */
	uint64_t due;
};

struct fault_event {
	struct fabric_cm_event event;
	struct fault_qp *qp;
	struct fabric_listener *listener;
	uint64_t due;
};

struct fabric_listener {
	LIST_ENTRY(fabric_listener) entry;
	struct fabric_listener *inner; /* NULL: the listener was lost */
	struct fault_dev *dev;
	void *ctx;
};

LIST_HEAD(fault_qps, fault_qp);

struct fault_dev {
	struct fabric_dev base;
	struct fabric_dev *inner;
	const struct fabric_ops *ops; /* operations of the driver below */
	uint64_t rng;
	uint64_t polls, cm_polls;
	uint32_t kinds; /* kinds that fail at random */
	uint32_t one_in;
	struct fault_plan plans[FAULT_PLANS_MAX];
	uint64_t occasions[FAULT_NKINDS];
	uint64_t injected[FAULT_NKINDS];
	struct fault_qps qps;
	LIST_HEAD(, fabric_listener) listeners;
	struct fault_srq *srq;
	/* waiting completions in their order of arrival, with room for all that may complete */
	struct fault_cqe *cq;
	uint32_t ncq, cq_size, cq_reserved;
	bool was_delivered; /* alternates, so that every second deliverable message is delivered */
	struct fault_event *events;
	uint32_t nevents, events_size, events_reserved, nrequests;
	bool has_listened; /* FAULT_REQUESTS_MAX events of listeners are reserved */
};

extern const struct fabric_ops fault_ops;

/* chance.c */
uint64_t fault_random(struct fault_dev *dev, uint64_t limit); /* returns a number below 'limit' */
/* Counts an occasion. Returns true when it fails, with '*how' as planned, or FAULT_SOME_HOW. */
bool fault_fires(struct fault_dev *dev, enum fault_kind kind, int *how);
int fault_kinds_parse(const char *text, uint32_t *kinds);
int fault_status_parse(const char *text, int *status);
/*
 * List the names of all kinds, or of all statuses, with commas between them. A list longer than
 * 'size' is truncated.
 */
void fault_kinds_list(char *list, size_t size);
void fault_statuses_list(char *list, size_t size);
void fault_list_add(char *list, size_t size, const char *name); /* adds one; NULL: none */
enum fabric_status fault_status(struct fault_dev *dev, enum fabric_op op, int how);

/* Copies the statistics of the device below. */
static inline void fault_sync(struct fault_dev *dev)
{
	dev->base.stats = dev->inner->stats;
}

/* memory.c */
int fault_mr_register(struct fabric_dev *dev, void *addr, size_t len, uint32_t access, int fd,
		      uint64_t fd_offset, struct fabric_mr *mr);
void fault_mr_deregister(struct fabric_dev *dev, struct fabric_mr *mr);
int fault_mw_alloc(struct fabric_dev *dev, struct fabric_mw *mw);
void fault_mw_free(struct fabric_dev *dev, struct fabric_mw *mw);

/* domain.c */
int fault_own_domains(struct fabric_dev *dev);
uint32_t fault_qp_rkey(const struct fabric_qp *qp, uint32_t rkey);

/* listen.c */
int fault_listen(struct fabric_dev *dev, const char *addr, uint32_t backlog, void *ctx,
		 struct fabric_listener **listener);
void fault_unlisten(struct fabric_listener *listener);

/* cm.c */
int fault_connect(struct fabric_dev *dev, const char *addr, const struct fabric_qp_attr *attr,
		  const void *private_data, uint32_t private_len, struct fabric_qp **qp);
int fault_accept(struct fabric_dev *dev, struct fabric_conn_req *req,
		 const struct fabric_qp_attr *attr, const void *private_data, uint32_t private_len,
		 struct fabric_qp **qp);
int fault_reject(struct fabric_dev *dev, struct fabric_conn_req *req, const void *private_data,
		 uint32_t private_len);
uint32_t fault_cm_poll(struct fabric_dev *dev, struct fabric_cm_event *events, uint32_t max);

/* qp.c */
int fault_qp_create(struct fault_dev *dev, const struct fabric_qp_attr *attr, struct fault_qp **qp);
void fault_qp_free(struct fault_qp *qp);
/* Reserves room for more completions and events. Returns 0 or -ENOMEM. */
int fault_reserve(struct fault_dev *dev, uint32_t ncqes, uint32_t nevents);

/* post.c */
uint32_t fault_post_send(struct fabric_qp *qp, const struct fabric_wr *wrs, uint32_t n);
uint32_t fault_prefix(struct fault_dev *dev, uint32_t n); /* returns how many are accepted */
void fault_sq_advance(struct fault_qp *qp);		  /* makes all completions that are due */

/* srq.c */
uint32_t fault_post_recv(struct fabric_qp *qp, const struct fabric_recv_wr *wrs, uint32_t n);
int fault_srq_create(struct fabric_dev *dev, const struct fabric_srq_attr *attr,
		     struct fabric_srq **srq);
void fault_srq_destroy(struct fabric_srq *srq);
uint32_t fault_srq_post_recv(struct fabric_srq *srq, const struct fabric_recv_wr *wrs, uint32_t n);
/*
 * The first function returns a receive that completes, as it was posted. The second posts the
 * receive again after its message was delivered.
 */
struct fabric_recv_wr fault_srq_take(struct fault_srq *srq, uint64_t wr_id);
void fault_srq_put_back(struct fault_srq *srq, const struct fabric_recv_wr *wr);

/* end.c */
void fault_goodbye(struct fabric_qp *qp);
bool fault_has_left(const struct fabric_qp *qp);
void fault_disconnect(struct fabric_qp *qp);
bool fault_writes_have_ended(struct fabric_qp *qp);
void fault_qp_destroy(struct fabric_qp *qp);
void fault_event_drop(struct fault_dev *dev, uint32_t i); /* drops the i-th waiting event */
/*
 * Returns by how many polls a fault delays something: 0 without a fault, and at most 'most' at
 * random.
 */
uint64_t fault_delay(struct fault_dev *dev, enum fault_kind kind, uint32_t most);
/* Queues an event of a queue pair, or of none (NULL), that is due 'late' polls later. */
void fault_raise(struct fault_dev *dev, const struct fabric_cm_event *event, struct fault_qp *qp,
		 uint64_t late);
/* Queues the last event of a queue pair, unless there was one or the user has disconnected. */
void fault_raise_end(struct fault_qp *qp, enum fabric_cm_kind kind, int error);
void fault_end_inner(struct fault_qp *qp);
/* Breaks the connection. This side gets an event unless the user has disconnected. */
void fault_break(struct fault_qp *qp, int error);
/* Breaks the connection because a work request of this side failed. The event is random. */
void fault_fail(struct fault_qp *qp);

/* cq.c */
void fault_cq_push(struct fault_qp *qp, const struct fabric_wc *wc, uint64_t position);
/* Returns the completion of a shared receive whose queue pair is destroyed. */
struct fault_cqe fault_taken_back(const struct fault_dev *dev, uint64_t wr_id);
/*
 * Drops the completions of a queue pair in destruction, or with NULL those without a queue pair.
 * Completions of the queue pair's shared receives become completions without a queue pair.
 */
void fault_cq_drop(const struct fault_qp *qp, struct fault_dev *dev);

/* poll.c */
uint32_t fault_poll(struct fabric_dev *dev, struct fabric_wc *wcs, uint32_t max);

static inline struct fault_swr *fault_sq_at(const struct fault_qp *qp, uint64_t position)
{
	return &qp->sq[position % qp->sq_size];
}

#endif
