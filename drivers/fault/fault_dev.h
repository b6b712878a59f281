/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FAULT_DEV_H
#define FAULT_DEV_H

/*
 * The internal header of the driver 'fault'.
 *
 * The driver that 'fault' works on is called the driver below. Each queue pair has a queue pair of
 * the driver below. All work requests are posted there as signalled ones, and their wr_id is their
 * position in the send queue. Therefore 'fault' knows when each work request is done. It makes the
 * completions for the user in the order of the posts. The completions wait in the list of the
 * device until they are due. 'doomed' is the position of a work request that fails. The doomed work
 * request and later ones are not passed on to the driver below. When all earlier work requests are
 * done, the doomed work request fails, and the connection of the queue pair below is ended.
 *
 * These are the files of this driver. Files in which operations or events can fail call
 * fault_fires() of chance.c:
 *
 *   fault.h   the interface for tests
 *     chance.c  selects the occasions at which a fault occurs
 *   dev.c     devices: their options, and the table of operations
 *   memory.c  registrations and memory windows
 *   domain.c  protection domains of queue pairs
 *     qp.c      queue pairs, and memory for their completions and events
 *   post.c    work requests: passes them on, and completes them in order
 *   poll.c    converts completions of the driver below, and delivers those that are due
 *   cq.c      the list of completions that wait until they are due
 *     srq.c     receives of queue pairs, and shared receives
 *   listen.c  listeners
 *   cm.c      connecting, and the events of the driver below
 *   end.c     the list of events that wait until they are due, and the end of connections
 *   wake.c    sleeping
 */

#include <sys/queue.h>

#include "driver.h"
#include "fault.h"

#define FAULT_PLANS_MAX	   64u
#define FAULT_REQUESTS_MAX 128u /* maximum waiting events of listeners */
#define FAULT_BURST	   64u
#define FAULT_DELAY_POLLS  64 /* maximum of a random delay, in polls */

/* A planned fault: fault_at(). */
struct fault_plan {
	enum fault_kind kind;
	uint64_t at; /* number of the occasion that fails, from 1 on; 0: no fault is planned */
	int how;
};

/* A work request in the send queue. */
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
	bool is_broken;	    /* a work request has failed; later work requests are flushed */
	bool is_rq_broken;  /* a receive has failed; later receives are flushed */
	bool is_ended;	    /* the queue pair below was disconnected */
	bool is_closed;	    /* the user has disconnected */
	bool has_end;	    /* FAILED, REJECTED or DISCONNECTED was raised */
	/* number of the cm_poll before which no new event is due, so that events keep their order
	 */
	uint64_t event_due;
	uint64_t sq_due, rq_due; /* likewise for new completions of each queue, in polls */
	uint64_t sq_blocked,
		rq_blocked; /* latest poll in which a completion of the queue had to wait */

	bool is_shared; /* it uses the shared receive queue */
	uint32_t sq_size, rq_size, max_sge;
	uint64_t sq_head;      /* oldest position whose entry is in use */
	uint64_t sq_completed; /* first position without a completion */
	uint64_t sq_tail;      /* position of the next work request to post */
	uint64_t rq_head, rq_tail;
	uint64_t doomed; /* position of the doomed work request; UINT64_MAX: none */
	enum fabric_status doomed_status;
	/* position of a work request that has its effect and then fails; UINT64_MAX: none */
	uint64_t late;
	enum fabric_status late_status;
	struct fault_swr *sq; /* work requests, by position % sq_size */
	/* copies of the work requests of one post, for the driver below */
	struct fabric_wr *scratch;
};

struct fault_srq {
	struct fabric_srq base;
	struct fabric_srq *inner;
	void *ctx;
	uint32_t size;
	uint32_t nposted;
	/* receives that were posted and whose completions were not polled; room for 'size' */
	struct fabric_recv_wr *posted;
};

/* A completion that waits to be polled. */
struct fault_cqe {
	struct fabric_wc wc;
	struct fault_qp *qp; /* NULL: a shared receive whose queue pair has been destroyed */
	uint64_t position;   /* position in the send queue */
	uint64_t due;	     /* number of the poll from which on it can be polled */
};

/* An event that waits to be polled. */
struct fault_event {
	struct fabric_cm_event event;
	struct fault_qp *qp;		  /* NULL: an event of a listener */
	struct fabric_listener *listener; /* NULL: an event of a queue pair */
	uint64_t due;			  /* number of the cm_poll from which on it can be polled */
};

struct fabric_listener {
	LIST_ENTRY(fabric_listener) entry;
	/* listener of the driver below; NULL: a fault has ended it */
	struct fabric_listener *inner;
	struct fault_dev *dev;
	void *ctx;
};

LIST_HEAD(fault_qps, fault_qp);

struct fault_dev {
	struct fabric_dev base;
	struct fabric_dev *inner;
	const struct fabric_ops *ops; /* operations of the driver below */
	uint64_t rng;
	uint64_t polls, cm_polls; /* numbers of calls so far */
	uint32_t kinds;		  /* mask of the kinds that fail at random */
	uint32_t one_in;	  /* about one of this number of occasions fails; 0: none */
	struct fault_plan plans[FAULT_PLANS_MAX];
	uint64_t occasions[FAULT_NKINDS]; /* numbers of occasions so far, by kind */
	uint64_t injected[FAULT_NKINDS];  /* numbers of faults so far, by kind */
	struct fault_qps qps;
	LIST_HEAD(, fabric_listener) listeners;
	struct fault_srq *srq;
	/* waiting completions in their order of arrival, with room for all that can wait at once */
	struct fault_cqe *cq;
	uint32_t ncq, cq_size, cq_reserved;
	bool was_delivered; /* alternates, so that every second deliverable message is delivered */
	struct fault_event *events;
	uint32_t nevents, events_size, events_reserved, nrequests;
	bool has_listened; /* FAULT_REQUESTS_MAX events of listeners are reserved */
};

extern const struct fabric_ops fault_ops;

/* chance.c */
/* returns a random number below 'limit' */
uint64_t fault_random(struct fault_dev *dev, uint64_t limit);
/* Counts an occasion. Returns whether a fault occurs. *how is the value that was planned with the
 * fault, or FAULT_SOME_HOW. */
bool fault_fires(struct fault_dev *dev, enum fault_kind kind, int *how);
int fault_kinds_parse(const char *text, uint32_t *kinds);
int fault_status_parse(const char *text, int *status);
/*
 * Write the names of all kinds, or of all statuses, to 'list', with commas between them. A list
 * longer than 'size' is truncated.
 */
void fault_kinds_list(char *list, size_t size);
void fault_statuses_list(char *list, size_t size);
void fault_list_add(char *list, size_t size, const char *name); /* adds 'name' unless NULL */
enum fabric_status fault_status(struct fault_dev *dev, enum fabric_op op, int how);

/* Updates the statistics of the device from those of the device below. */
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
bool fault_can_accept(const struct fabric_dev *dev, const struct fabric_conn_req *req);
int fault_reject(struct fabric_dev *dev, struct fabric_conn_req *req, const void *private_data,
		 uint32_t private_len);
uint32_t fault_cm_poll(struct fabric_dev *dev, struct fabric_cm_event *events, uint32_t max);

/* qp.c */
int fault_qp_create(struct fault_dev *dev, const struct fabric_qp_attr *attr, struct fault_qp **qp);
void fault_qp_free(struct fault_qp *qp);
/* Reserves memory for 'ncqes' more waiting completions and 'nevents' more waiting events. Returns 0
 * or -ENOMEM. */
int fault_reserve(struct fault_dev *dev, uint32_t ncqes, uint32_t nevents);

/* post.c */
uint32_t fault_post_send(struct fabric_qp *qp, const struct fabric_wr *wrs, uint32_t n);
uint32_t fault_prefix(struct fault_dev *dev, uint32_t n); /* how many of 'n' are accepted */
void fault_sq_advance(struct fault_qp *qp);		  /* makes all completions that are due */

/* srq.c */
uint32_t fault_post_recv(struct fabric_qp *qp, const struct fabric_recv_wr *wrs, uint32_t n);
int fault_srq_create(struct fabric_dev *dev, const struct fabric_srq_attr *attr,
		     struct fabric_srq **srq);
void fault_srq_destroy(struct fabric_srq *srq);
uint32_t fault_srq_post_recv(struct fabric_srq *srq, const struct fabric_recv_wr *wrs, uint32_t n);
/*
 * fault_srq_take() is called for a shared receive that completes. It removes the receive from
 * 'posted', and returns it as it was posted. fault_srq_put_back() posts the receive again after its
 * message was delivered.
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
 * Returns the number of polls by which a fault of this kind delays an event: 0 without a fault, the
 * planned value, or a random number from 1 to 'most'.
 */
uint64_t fault_delay(struct fault_dev *dev, enum fault_kind kind, uint32_t most);
/* Queues an event, which is due 'late' polls later. 'qp' is the queue pair of the event, or NULL
 * for an event of a listener. */
void fault_raise(struct fault_dev *dev, const struct fabric_cm_event *event, struct fault_qp *qp,
		 uint64_t late);
/* Queues the last event of a queue pair, unless it was queued already or the user has disconnected.
 */
void fault_raise_end(struct fault_qp *qp, enum fabric_cm_kind kind, int error);
void fault_end_inner(struct fault_qp *qp);
/* Ends the connection. The user gets an event, unless the user has disconnected. 'error' is a
 * positive errno, which FAILED reports. */
void fault_break(struct fault_qp *qp, int error);
/* Ends the connection because a work request of this side has failed. The user gets an event at
 * once only in a random half of the cases. */
void fault_fail(struct fault_qp *qp);

/* cq.c */
void fault_cq_push(struct fault_qp *qp, const struct fabric_wc *wc, uint64_t position);
/* Returns a flushed completion for a shared receive whose queue pair has been destroyed. */
struct fault_cqe fault_taken_back(const struct fault_dev *dev, uint64_t wr_id);
/*
 * Drops the completions of a queue pair that is being destroyed. Completions of its shared receives
 * become completions without a queue pair. If 'qp' is NULL, drops the completions without a queue
 * pair.
 */
void fault_cq_drop(const struct fault_qp *qp, struct fault_dev *dev);

/* poll.c */
uint32_t fault_poll(struct fabric_dev *dev, struct fabric_wc *wcs, uint32_t max);

/* wake.c */
int fault_wake_attach(struct fabric_dev *dev, struct fabric_waker *waker);
int fault_arm(struct fabric_dev *dev, uint64_t *timeout_ns);
void fault_disarm(struct fabric_dev *dev);

static inline struct fault_swr *fault_sq_at(const struct fault_qp *qp, uint64_t position)
{
	return &qp->sq[position % qp->sq_size];
}

#endif
