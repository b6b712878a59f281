/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FAULT_DEV_H
#define FAULT_DEV_H

/*
 * Inside the driver 'fault'.
 *
 * Each queue pair stands before one of the driver underneath. There every work request is signalled
 * and its wr_id is its position, so that it is known of each when it is done; completions for the
 * user are made here, in the order posted, and wait in the device's list until they are due. From
 * the position where a work request is to fail ('doomed') nothing is passed on any more: when all
 * before it is done, it fails, and the connection underneath is ended.
 *
 * chance.c: what fails when. post.c: what is posted. poll.c: what completes. The other files have
 * the parts that each driver has (lib/fabric/driver.h).
 */

#include <sys/queue.h>

#include "driver.h"
#include "fault.h"

#define FAULT_PLANS_MAX	   64u
#define FAULT_REQUESTS_MAX 128u /* events of listeners that are held */
#define FAULT_BURST	   64u
#define FAULT_DELAY_POLLS  64 /* by chance, at most */

struct fault_plan {
	enum fault_kind kind;
	uint64_t at; /* occasion; 0: none planned */
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
	bool has_connected; /* this side did */
	bool may_send;	    /* ESTABLISHED was polled */
	bool is_up;	    /* ESTABLISHED came from underneath */
	bool is_broken;	    /* a work request failed: the rest is flushed */
	bool is_rq_broken;  /* a receive did */
	bool is_ended;	    /* the connection underneath was ended by a fault */
	bool is_closed;	    /* by the user */
	bool has_end;	    /* FAILED, REJECTED or DISCONNECTED was raised */
	uint64_t event_due; /* polls of the device: not before, as events keep their order */
	uint64_t sq_due, rq_due;
	uint64_t sq_blocked,
		rq_blocked; /* the poll in which a completion of the queue was left waiting */

	bool is_shared; /* its receives are */
	uint32_t sq_size, rq_size, max_sge;
	uint64_t sq_head;      /* oldest that still holds a place */
	uint64_t sq_completed; /* first without its completion made */
	uint64_t sq_tail;
	uint64_t rq_head, rq_tail;
	uint64_t doomed; /* position from which nothing is passed on; UINT64_MAX: none */
	enum fabric_status doomed_status;
	uint64_t late; /* the effect is had, and it fails yet; UINT64_MAX: none */
	enum fabric_status late_status;
	struct fault_swr *sq;	   /* of position % sq_size */
	struct fabric_wr *scratch; /* what is passed on */
};

struct fault_srq {
	struct fabric_srq base;
	struct fabric_srq *inner;
	void *ctx;
	uint32_t size;
	uint32_t nposted;
	struct fabric_recv_wr *posted; /* and not polled; up to 'size' */
};

/* A completion that waits to be polled. */
struct fault_cqe {
	struct fabric_wc wc;
	struct fault_qp *qp; /* NULL: of none any more, a shared receive */
	uint64_t position;   /* send queue */
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
	struct fabric_listener *inner; /* NULL: lost */
	struct fault_dev *dev;
	void *ctx;
};

LIST_HEAD(fault_qps, fault_qp);

struct fault_dev {
	struct fabric_dev base;
	struct fabric_dev *inner;
	const struct fabric_ops *ops; /* of the driver underneath */
	uint64_t rng;
	uint64_t polls, cm_polls;
	uint32_t kinds; /* that fail by chance */
	uint32_t one_in;
	struct fault_plan plans[FAULT_PLANS_MAX];
	uint64_t occasions[FAULT_NKINDS];
	uint64_t injected[FAULT_NKINDS];
	struct fault_qps qps;
	LIST_HEAD(, fabric_listener) listeners;
	struct fault_srq *srq;
	/* what waits, in the order in which it came; room for all that may complete */
	struct fault_cqe *cq;
	uint32_t ncq, cq_size, cq_reserved;
	bool was_delivered; /* the latest message that could be: every other one is */
	struct fault_event *events;
	uint32_t nevents, events_size, events_reserved, nrequests;
};

extern const struct fabric_ops fault_ops;

/* chance.c */
uint64_t fault_random(struct fault_dev *dev, uint64_t limit); /* below it */
/* Whether this occasion is to fail; *how as planned, or FAULT_SOME_HOW. */
bool fault_fires(struct fault_dev *dev, enum fault_kind kind, int *how);
int fault_kinds_parse(const char *text, uint32_t *kinds);
int fault_status_parse(const char *text, int *status);
/* The names of all kinds, and of all statuses, with commas between them: what does not fit 'size'
 * is cut. */
void fault_kinds_list(char *list, size_t size);
void fault_statuses_list(char *list, size_t size);
void fault_list_add(char *list, size_t size, const char *name); /* one more; NULL: nothing */
enum fabric_status fault_status(struct fault_dev *dev, enum fabric_op op, int how);

/* The counters. */
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
/* Room for so many completions and events more. 0 or -ENOMEM. */
int fault_reserve(struct fault_dev *dev, uint32_t ncqes, uint32_t nevents);

/* post.c */
uint32_t fault_post_send(struct fabric_qp *qp, const struct fabric_wr *wrs, uint32_t n);
uint32_t fault_prefix(struct fault_dev *dev, uint32_t n); /* how much of a post is taken */
void fault_sq_advance(struct fault_qp *qp); /* make the completions that can be made */

/* srq.c */
uint32_t fault_post_recv(struct fabric_qp *qp, const struct fabric_recv_wr *wrs, uint32_t n);
int fault_srq_create(struct fabric_dev *dev, const struct fabric_srq_attr *attr,
		     struct fabric_srq **srq);
void fault_srq_destroy(struct fabric_srq *srq);
uint32_t fault_srq_post_recv(struct fabric_srq *srq, const struct fabric_recv_wr *wrs, uint32_t n);
/* One that completes: as it was posted. And post it again, as it is done with. */
struct fabric_recv_wr fault_srq_take(struct fault_srq *srq, uint64_t wr_id);
void fault_srq_put_back(struct fault_srq *srq, const struct fabric_recv_wr *wr);

/* end.c */
void fault_goodbye(struct fabric_qp *qp);
bool fault_has_left(const struct fabric_qp *qp);
void fault_disconnect(struct fabric_qp *qp);
bool fault_is_quiet(struct fabric_qp *qp);
void fault_qp_destroy(struct fabric_qp *qp);
void fault_event_drop(struct fault_dev *dev, uint32_t i); /* the i-th of those that wait */
/* In how many polls something is due that a fault may delay, by 'most' of them. */
uint64_t fault_delay(struct fault_dev *dev, enum fault_kind kind, uint32_t most);
/* An event of a queue pair, or of none, that is due so many polls later. */
void fault_raise(struct fault_dev *dev, const struct fabric_cm_event *event, struct fault_qp *qp,
		 uint64_t late);
/* Its last one, if that did not come yet. */
void fault_raise_end(struct fault_qp *qp, enum fabric_cm_kind kind, int error);
void fault_end_inner(struct fault_qp *qp);
/* The connection breaks here; this side hears of it by an event unless it closed it itself. */
void fault_break(struct fault_qp *qp, int error);
/* The same because a request of this side's failed: it may or may not get the event. */
void fault_fail(struct fault_qp *qp);

/* cq.c */
void fault_cq_push(struct fault_qp *qp, const struct fabric_wc *wc, uint64_t position);
/* What becomes of a shared receive whose queue pair is gone. */
struct fault_cqe fault_taken_back(const struct fault_dev *dev, uint64_t wr_id);
/* Of a queue pair that goes, or with NULL those that are of none any more; its shared receives
 * become such. */
void fault_cq_drop(const struct fault_qp *qp, struct fault_dev *dev);

/* poll.c */
uint32_t fault_poll(struct fabric_dev *dev, struct fabric_wc *wcs, uint32_t max);

static inline struct fault_swr *fault_sq_at(const struct fault_qp *qp, uint64_t position)
{
	return &qp->sq[position % qp->sq_size];
}

#endif
