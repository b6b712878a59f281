/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERBS_H
#define VERBS_H

/*
 * The verbs driver: any device of libibverbs, connections by librdmacm. Inside the driver; the
 * contract is driver.h.
 *
 *   dev.c       open and close, what the device can do
 *   options.c   what the user chooses
 *   addr.c      addresses
 *   memory.c    registration, windows
 *   domain.c    queue pairs that are protection domains
 *   cq.c        completion queues
 *   qp.c        queue pairs: making, states, end
 *   srq.c       shared receives
 *   post.c      work requests
 *   poll.c      completions
 *   listen.c    listening
 *   cm.c        connecting: what the engine's thread does
 *   cm_event.c  connecting: what the hub's thread does
 *   async.c     asynchronous events of a device
 *   hub.c       the thread that waits for both kinds of events
 *
 * A device object has one protection domain, or one of each queue pair, on one device of
 * libibverbs. librdmacm keeps one context of each device of libibverbs for the process, and so does
 * the hub, with one thread, for all device objects. What that thread and the engines' threads both
 * touch is guarded by the hub's lock, which the data path never takes; cm_poll takes it when there
 * is an event.
 *
 * Who ends an object first takes it out of everything under the lock, then destroys it without:
 * destroying waits for the hub's thread to acknowledge the object's events, and that one may wait
 * for the lock.
 *
 * Work requests go to the device until this side knows that the queue pair is in error. What is
 * posted later never gets there: it completes FLUSHED when all that the device has is back, as
 * devices differ in what they do with it.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <rte_log.h>

#include "backlog.h"
#include "compiler.h"
#include "driver.h"
#include "verbs_options.h"

#define VERBS_WRS_MAX	 16384u
#define VERBS_SRQ_MAX	 65536u
#define VERBS_CHAIN	 64u	/* work requests in one post to the device, at most */
#define VERBS_PORT	 20049u /* of NFS over RDMA, when an address names none */
#define VERBS_RNR_TIMER	 12u	/* in InfiniBand's code: 0.64 ms between tries */
#define VERBS_RETRIES	 7u
#define VERBS_RESOLVE_MS 2000

#define VERBS_LOG(level, ...)                                                                      \
	rte_log(RTE_LOG_##level, RTE_LOGTYPE_USER1, "weir: verbs: " __VA_ARGS__)

struct verbs_dev;
struct verbs_qp;

/* A completion queue of several queue pairs: all of their places fit. */
struct verbs_cq {
	struct ibv_cq *ibv;
	uint32_t size;
	uint32_t used;	 /* places of queue pairs, of the shared receives, and 'stale' */
	uint32_t stale;	 /* places of destroyed queue pairs, whose completions may still be in it */
	bool has_shared; /* all shared receives may complete in it */
	bool is_empty;	 /* when it was last polled */
	TAILQ_ENTRY(verbs_cq) entry;
};

/* One posted work request. */
struct verbs_place {
	uint64_t wr_id;
	uint32_t len; /* of a READ */
	enum fabric_op op;
};

/* Positions count up, one a work request; its place is position & mask. */
struct verbs_queue {
	struct verbs_place *places;
	uint32_t mask;
	uint32_t max; /* that may be outstanding */
	uint32_t posted;
	uint32_t retired;
	uint32_t kept; /* in error: from this position on the device has none */
};

/* How many of 'n' fit a queue, and the next slot of it for one. */
static inline uint32_t verbs_queue_room(const struct verbs_queue *queue, uint32_t n)
{
	uint32_t left = queue->max - (queue->posted - queue->retired);

	return n < left ? n : left;
}

static inline void verbs_queue_take(struct verbs_queue *queue, uint64_t wr_id, enum fabric_op op,
				    uint32_t len)
{
	queue->places[queue->posted++ & queue->mask] =
		(struct verbs_place){.wr_id = wr_id, .op = op, .len = len};
}

/*
 * Shared receives complete in any order: each has a slot, which its completion carries, and the
 * queue pair is found by its number. A queue pair that used them is destroyed later than the user
 * destroys it ('leaving'), since devices drop the completions that it still has, and with them the
 * receives: when the device has said that it is done with the last one
 * (IBV_EVENT_QP_LAST_WQE_REACHED), and the completion queue has been empty since. Some devices
 * never say so; of such a one the first queue pairs wait for a while, and the others for the empty
 * completion queue alone.
 */
struct verbs_srq {
	struct fabric_srq fabric;
	struct ibv_srq *ibv;
	void *ctx;
	uint32_t max;
	uint32_t nfree;
	uint32_t *free;	  /* stack of slots */
	uint64_t *wr_ids; /* by slot */
	bool *is_posted;  /* by slot */
};

enum verbs_qp_state { QP_CONNECTING, QP_READY, QP_ERROR };

struct verbs_mw {
	struct ibv_mw *ibv;
	struct verbs_qp *qp; /* it was bound by, or NULL */
	TAILQ_ENTRY(verbs_mw) entry;
};

TAILQ_HEAD(verbs_windows, verbs_mw);

struct verbs_qp {
	struct fabric_qp fabric;
	struct verbs_dev *dev;
	struct ibv_qp *ibv;
	struct verbs_cq *cq;
	struct ibv_pd *pd;	   /* of its own; NULL: the device's */
	struct ibv_mr **mrs;	   /* what is registered there, by place */
	bool exposes;		   /* its peer may have rights to registered memory */
	TAILQ_ENTRY(verbs_qp) own; /* of those with domains */
	uint32_t id; /* its completions carry; id & dev->table_mask is its place in the table */
	enum verbs_qp_state state; /* as the engine's thread knows it */
	struct verbs_queue sq, rq;
	struct verbs_windows windows; /* bound by it */
	struct verbs_srq *srq;
	bool is_leaving;	/* the user has destroyed it */
	uint64_t left_ns;	/* and when that was, by CLOCK_MONOTONIC */
	_Atomic bool peer_left; /* in order; set by the hub's thread */
	_Atomic bool may_take;	/* it has been connected: it may have taken shared receives */
	_Atomic bool
		has_last; /* the device is done with the last of them; set by the hub's thread */
	bool saw_last;	  /* and the completion queue was looked at after that */
	/* of those with shared receives, in the same bucket of dev->by_num */
	struct verbs_qp *next_num;
	TAILQ_ENTRY(verbs_qp) leaving;
	struct fabric_conn_req *link; /* the lock's; NULL: being destroyed */
	TAILQ_ENTRY(verbs_qp) broken; /* in dev->broken, when in error */
};

enum verbs_link_state {
	LINK_RESOLVING, /* the address, then the route */
	LINK_CONNECTING,
	LINK_REQUEST,  /* of a peer's: a FABRIC_CM_REQUEST, which waits for accept or reject */
	LINK_ACCEPTED, /* and not established yet */
	LINK_OPEN,
	LINK_DEAD, /* ended by either side, with its event made if there is one */
};

struct verbs_event {
	struct fabric_cm_event event;
	bool is_queued;
	struct fabric_conn_req *link; /* NULL: a listener's */
	TAILQ_ENTRY(verbs_event) entry;
};

/* An identifier of librdmacm's: one connection. Guarded by the hub's lock. */
struct fabric_conn_req {
	bool is_listener; /* false; first, as in a listener: an identifier's context is either */
	struct rdma_cm_id *id;
	struct verbs_dev *dev; /* that gets its events */
	struct verbs_qp *qp;   /* NULL until there is one, and again when it is destroyed */
	struct fabric_listener *listener; /* of a request that was not polled yet */
	struct backlog_entry waiting;	  /* in that listener's backlog, then */
	enum verbs_link_state state;
	bool breaks;		 /* this side ends it, for an error */
	uint8_t initiator_depth; /* READs in flight that we start, and that the peer may */
	uint8_t responder_resources;
	uint8_t private_len; /* to be sent with the request */
	uint8_t private_data[FABRIC_PRIVATE_DATA_MAX];
	struct verbs_event events[2]; /* as many can be queued: ESTABLISHED and DISCONNECTED */
	TAILQ_ENTRY(fabric_conn_req) entry;
};

#define verbs_link fabric_conn_req

struct fabric_listener {
	bool is_listener; /* true */
	struct rdma_cm_id *id;
	struct rdma_cm_id *watch; /* of the device, when 'id' is at all addresses; NULL: none */
	struct verbs_dev *dev;
	void *ctx;
	bool is_closing;
	struct backlog backlog;	 /* requests that were not polled yet, by 'waiting' */
	struct verbs_event lost; /* the device is gone */
	TAILQ_ENTRY(fabric_listener) entry;
};

struct verbs_mr {
	struct ibv_mr *ibv; /* NULL: its registrations are the queue pairs' */
	TAILQ_ENTRY(verbs_mr) entry;
	uint32_t place; /* these are all at */
	void *addr;
	size_t len;
	uint32_t access; /* enum fabric_access */
};

TAILQ_HEAD(verbs_links, fabric_conn_req);

struct verbs_dev {
	struct fabric_dev fabric;
	struct ibv_context *context; /* librdmacm's */
	const char *name;
	struct ibv_pd *pd;
	struct ibv_sge *own_sges;     /* with keys of a queue pair's domain, as a chain takes them;
					 NULL: one domain */
	struct verbs_mr **own_places; /* of max_places */
	uint32_t max_places;
	TAILQ_HEAD(, verbs_qp) own;
	struct ibv_device_attr device;
	uint8_t port;
	uint8_t rnr_retry;
	uint8_t responder_resources;
	uint32_t invalidated_flags; /* of a completion that says which key came with Send with
				       Invalidate */
	uint32_t max_connections;
	TAILQ_HEAD(, verbs_cq) cqs;
	TAILQ_HEAD(, verbs_mr) mrs;
	TAILQ_HEAD(, verbs_qp) broken;
	TAILQ_HEAD(, verbs_qp) leaving;
	bool is_silent; /* it does not say when it is done with the last shared receive of a queue
			   pair */
	struct verbs_srq *srq;
	/* those with shared receives, by their number; table_mask + 1 buckets */
	struct verbs_qp **by_num;
	struct verbs_qp **table; /* by id */
	uint32_t table_mask;
	uint32_t ids; /* given out; 0 is that of the shared receives */
	struct ibv_send_wr wrs[VERBS_CHAIN];
	struct ibv_recv_wr recvs[VERBS_CHAIN];
	struct ibv_sge sges[VERBS_CHAIN];

	/* shared with the hub's thread */
	_Atomic uint32_t nevents;    /* in 'events'; read without the lock */
	_Atomic uint32_t nerrors;    /* of remote access, that the statistics do not show yet */
	_Atomic uint32_t ndisplaced; /* requests for connections that were not let wait, likewise */
	_Atomic bool is_dead;	     /* the device is gone or broken for good */
	TAILQ_HEAD(, verbs_event) events;
	struct verbs_links links;
	TAILQ_HEAD(, fabric_listener) listeners;
	TAILQ_ENTRY(verbs_dev) entry; /* in the hub */
};

/* addr.c: ADDR, ADDR:PORT, [ADDR6] or [ADDR6]:PORT, in numbers. 0 or -EINVAL, logged. */
int verbs_addr_parse(const char *text, struct sockaddr_storage *addr);
void verbs_addr_print(const struct sockaddr *addr, char *text, size_t size);
/*
 * Who a peer is, whatever port it uses. An IPv4 address and the IPv6 address that it is mapped to
 * are the same peer.
 */
struct backlog_peer verbs_addr_peer(const struct sockaddr *addr);

/* memory.c */
int verbs_mr_register(struct fabric_dev *dev, void *addr, size_t len, uint32_t access, int fd,
		      uint64_t fd_offset, struct fabric_mr *mr);
void verbs_mr_deregister(struct fabric_dev *dev, struct fabric_mr *mr);
int verbs_mw_alloc(struct fabric_dev *dev, struct fabric_mw *mw);
void verbs_mw_free(struct fabric_dev *dev, struct fabric_mw *mw);
/* Whether a window can be bound by this queue pair now; a window whose fate with another is unknown
 * is made anew. */
bool verbs_mw_prepare(struct verbs_qp *qp, struct verbs_mw *mw);
/* The queue pair ends, and what it bound with it. */
void verbs_mw_drop(struct verbs_qp *qp);
struct ibv_mr *verbs_mr_find(struct verbs_dev *dev, uint32_t lkey);
unsigned verbs_access_flags(const struct verbs_dev *dev, uint32_t access);
/* Of a registration that failed, for the log. */
void verbs_mr_explain(const struct verbs_dev *dev, size_t len, int rc);

/* domain.c: a registration has a place there, and lkey and rkey for the user are place + 1 */
int verbs_own_domains(struct fabric_dev *dev);
uint32_t verbs_qp_rkey(const struct fabric_qp *qp, uint32_t rkey);
/* In the domain of each queue pair. 0 or -errno, logged. */
int verbs_domain_register(struct verbs_dev *dev, struct verbs_mr *m);
void verbs_domain_deregister(struct verbs_dev *dev, const struct verbs_mr *m);
/* The domain of a queue pair that is being made, and its end, when there is no queue pair any more.
 */
int verbs_domain_create(struct verbs_qp *qp);
void verbs_domain_destroy(struct verbs_qp *qp);
/* What the device knows memory by, over this queue pair. */
static inline uint32_t verbs_local_key(const struct verbs_qp *qp, uint32_t lkey)
{
	if (likely(!qp->mrs))
		return lkey;
	return lkey - 1 < qp->dev->max_places && qp->mrs[lkey - 1] ? qp->mrs[lkey - 1]->lkey : 0;
}

/* The elements of a work request, the i-th of a chain, with such keys. */
struct ibv_sge *verbs_domain_sges(const struct verbs_qp *qp, const struct fabric_wr *wr,
				  uint32_t i);

/* cq.c */
/* 'shared': and for all shared receives. */
int verbs_cq_get(struct verbs_dev *dev, uint32_t places, uint32_t shared, struct verbs_cq **cq);
void verbs_cq_put(struct verbs_cq *cq, uint32_t places);
void verbs_cq_destroy_all(struct verbs_dev *dev);

/* qp.c */
int verbs_qp_create(struct verbs_dev *dev, const struct fabric_qp_attr *attr, struct verbs_qp **qp);
void verbs_qp_free(struct verbs_qp *qp);
/* On the engine's thread: it is in error from now on. */
void verbs_qp_fail(struct verbs_qp *qp);
/* To error, on any thread: what the device has comes back. */
void verbs_qp_to_error(struct verbs_qp *qp);
/* To what the connection's identifier says now. 0 or -errno. */
int verbs_qp_to_init(struct verbs_qp *qp, struct rdma_cm_id *id);
int verbs_qp_to_ready(struct verbs_qp *qp, struct verbs_link *link);

/* srq.c */
uint32_t verbs_post_recv(struct fabric_qp *qp, const struct fabric_recv_wr *wrs, uint32_t n);
int verbs_srq_create(struct fabric_dev *dev, const struct fabric_srq_attr *attr,
		     struct fabric_srq **srq);
void verbs_srq_destroy(struct fabric_srq *srq);
uint32_t verbs_srq_post_recv(struct fabric_srq *srq, const struct fabric_recv_wr *wrs, uint32_t n);
/* Completions find it by its number, from here to there. */
void verbs_srq_join(struct verbs_qp *qp);
void verbs_srq_part(struct verbs_qp *qp);
/* The user is done with it: out of everything but what its receives need. */
void verbs_srq_leave(struct verbs_qp *qp);
/* Destroy those whose receives are back, or with 'all' every one that leaves. After a poll, as it
 * goes by what was seen there. */
void verbs_srq_reap(struct verbs_dev *dev, bool all);
/* The slot of a completion: its queue pair, or NULL when that is gone; false: nothing was posted
 * there. */
bool verbs_srq_take(struct verbs_dev *dev, const struct ibv_wc *raw, uint64_t *wr_id,
		    struct verbs_qp **qp);

/* post.c */
uint32_t verbs_post_send(struct fabric_qp *qp, const struct fabric_wr *wrs, uint32_t n);

/* poll.c */
uint32_t verbs_poll(struct fabric_dev *dev, struct fabric_wc *wcs, uint32_t max);

/* What a completion is known by. */
#define VERBS_WR_RECV	  (1ull << 31)
#define VERBS_WR_POSITION 0x7fffffffu

static inline uint64_t verbs_wr_id(const struct verbs_qp *qp, uint64_t kind, uint32_t position)
{
	return (uint64_t)qp->id << 32 | kind | (position & VERBS_WR_POSITION);
}

/* listen.c */
int verbs_listen(struct fabric_dev *dev, const char *addr, uint32_t backlog, void *ctx,
		 struct fabric_listener **listener);
void verbs_unlisten(struct fabric_listener *listener);

/* cm.c */
int verbs_connect(struct fabric_dev *dev, const char *addr, const struct fabric_qp_attr *attr,
		  const void *private_data, uint32_t private_len, struct fabric_qp **qp);
int verbs_accept(struct fabric_dev *dev, struct fabric_conn_req *req,
		 const struct fabric_qp_attr *attr, const void *private_data, uint32_t private_len,
		 struct fabric_qp **qp);
int verbs_reject(struct fabric_dev *dev, struct fabric_conn_req *req, const void *private_data,
		 uint32_t private_len);
uint32_t verbs_cm_poll(struct fabric_dev *dev, struct fabric_cm_event *events, uint32_t max);
struct rdma_conn_param verbs_conn_param(const struct verbs_link *link, const struct verbs_qp *qp,
					const void *private_data, uint32_t private_len);

/* end.c */
bool verbs_has_left(const struct fabric_qp *qp);
void verbs_disconnect(struct fabric_qp *qp);
void verbs_qp_destroy(struct fabric_qp *qp);
/* The connection broke, as a completion says: the peer is told. */
void verbs_link_break(struct verbs_qp *qp);
void verbs_link_free(struct verbs_link *link); /* out of everything already; without the lock */
/* Take it out of everything that the hub's thread looks at. */
void verbs_link_remove(struct verbs_link *link);

/* cm_event.c; the lock is held */
void verbs_event_push(struct verbs_link *link, enum fabric_cm_kind kind, int error,
		      const void *private_data, uint32_t private_len);
void verbs_event_drop_all(struct verbs_link *link);
/* It ended from the peer's or the device's side: the engine hears of it, once. */
void verbs_link_ended(struct verbs_link *link, int error);
/* It is gone or broken for good: no more connections by it, and those that listen hear of it, once.
 */
void verbs_dev_lost(struct verbs_dev *dev, int error);
/* Without the lock: handle and acknowledge one event. */
void verbs_cm_event(struct rdma_cm_event *event);

/* async.c; without the lock: handle and acknowledge one event. */
void verbs_async_event(struct ibv_context *context, struct ibv_async_event *event);

/* hub.c */
int verbs_hub_join(struct verbs_dev *dev); /* the contexts can be had then */
void verbs_hub_leave(struct verbs_dev *dev);
struct ibv_context *verbs_hub_context(uint32_t index); /* NULL past the last */
struct rdma_event_channel *verbs_hub_channel(void);
/* Run 'fn' for each device object on a context; the lock is held. */
void verbs_hub_each(const struct ibv_context *context, void (*fn)(struct verbs_dev *dev));
void verbs_lock(void);
void verbs_unlock(void);

#endif
