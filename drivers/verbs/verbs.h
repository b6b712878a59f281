/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERBS_H
#define VERBS_H

/*
 * The verbs driver works with any device of libibverbs and makes connections with librdmacm. This
 * header is internal to the driver. The driver contract is in driver.h.
 *
 *   dev.c       opens and closes a device, and queries its limits
 *   options.c   parses the options of the driver
 *   addr.c      parses and prints addresses
 *   memory.c    registers memory, and manages memory windows
 *   domain.c    gives each queue pair a protection domain of its own
 *   cq.c        completion queues
 *   qp.c        creates queue pairs, changes their states and destroys them
 *   srq.c       receives, and the SRQ
 *   post.c      posts work requests
 *   poll.c      polls completions
 *   wake.c      sleeping
 *   listen.c    listens for connections
 *   cm.c        the engine's calls: connects, checks and accepts or rejects a request,
 *               disconnects, takes events
 *   cm_event.c  the hub's thread: handles the events of librdmacm, which are the states of
 *               connections and the resolved address of an outgoing one
 *   async.c     handles the asynchronous events of a device
 *   end.c       ends connections
 *   hub.c       the thread that waits for both kinds of events and reads them
 *
 * A device object works on one device of libibverbs. The device object has one protection domain,
 * or one for each queue pair. librdmacm keeps one context for each device of libibverbs in the
 * process. The hub also exists once in the process, and has one thread for all device objects. The
 * hub's lock guards the data that the hub's thread and the engines' threads share. The data path
 * never takes this lock. cm_poll takes the lock when there is an event.
 *
 * To destroy an object, a thread first removes the object from all lists under the lock, and then
 * destroys it without the lock. Destruction waits until the hub's thread has acknowledged the
 * events of the object, for which that thread might need the lock.
 *
 * Work requests are posted to the device until this side knows that the queue pair is in error.
 * Later work requests are not posted to the device, because devices differ in their handling of
 * them. Such a work request completes as FLUSHED after the device has completed all earlier ones.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "backlog.h"
#include "compiler.h"
#include "driver.h"
#include "log.h"
#include "verbs_options.h"
#include "verbs_path.h"

#define VERBS_WRS_MAX	 16384u
#define VERBS_SRQ_MAX	 65536u
#define VERBS_CHAIN	 64u	/* maximum number of work requests in one post to the device */
#define VERBS_PORT	 20049u /* NFS over RDMA; used for an address without a port */
#define VERBS_RNR_TIMER	 12u	/* InfiniBand's encoding of 0.64 ms between attempts */
#define VERBS_RETRIES	 7u
#define VERBS_RESOLVE_MS 2000 /* time limit for an address and for a route */

#define VERBS_LOG(level, ...) LOG(DRIVER, level, "verbs: " __VA_ARGS__)

struct verbs_dev;
struct verbs_qp;

/*
 * A completion queue that several queue pairs share. It has an entry for each work request that
 * these queue pairs can have outstanding.
 */
struct verbs_cq {
	struct ibv_cq *ibv;
	void *direct;	 /* data of a verbs_path */
	uint32_t size;	 /* number of entries */
	uint32_t used;	 /* entries reserved for queue pairs and shared receives, plus 'stale' */
	uint32_t stale;	 /* entries of destroyed queue pairs, which can still have completions */
	bool has_shared; /* 'used' includes entries for all shared receives */
	bool is_empty;	 /* the last poll found no more completions */
	bool has_early;	 /* 'early' is a completion that verbs_arm() found, for the next poll */
	struct ibv_wc early;
	TAILQ_ENTRY(verbs_cq) entry;
};

/* A posted work request. */
struct verbs_wr {
	uint64_t wr_id;
	uint32_t len; /* length of a READ */
	enum fabric_op op;
};

/*
 * A send queue or a receive queue. Positions count up by one for each work request. The entry of a
 * work request is wrs[position & mask].
 */
struct verbs_queue {
	struct verbs_wr *wrs;
	uint32_t mask;
	uint32_t max;	 /* maximum number outstanding */
	uint32_t posted; /* position of the next work request to post */
	uint32_t
		retired; /* position of the oldest work request without a completion for the user */
	uint32_t kept;	 /* in error: work requests from this position on were not posted to the
			    device */
};

/*
 * verbs_queue_room() returns how many of 'n' work requests fit into a queue. verbs_queue_take()
 * fills the next entry.
 */
static inline uint32_t verbs_queue_room(const struct verbs_queue *queue, uint32_t n)
{
	uint32_t left = queue->max - (queue->posted - queue->retired);

	return n < left ? n : left;
}

static inline void verbs_queue_take(struct verbs_queue *queue, uint64_t wr_id, enum fabric_op op,
				    uint32_t len)
{
	queue->wrs[queue->posted++ & queue->mask] =
		(struct verbs_wr){.wr_id = wr_id, .op = op, .len = len};
}

/*
 * The shared receive queue. Shared receives complete in any order. Each shared receive has a slot,
 * whose index is in the wr_id of its completion. The completion also has the number of the queue
 * pair that took the receive.
 *
 * A queue pair that used shared receives is destroyed later than the user destroys it ('leaving').
 * The reason is that devices drop the completions of a destroyed queue pair, and the receives of
 * these completions are lost with them. The driver destroys the queue pair when both conditions
 * hold:
 * - The device has reported that it is done with the last receive (IBV_EVENT_QP_LAST_WQE_REACHED).
 * - The completion queue has been empty after that.
 *
 * Some devices never send this event. The driver waits for the first such event for a limited time.
 * If no event arrives, all queue pairs wait only for the empty completion queue from then on.
 */
struct verbs_srq {
	struct fabric_srq fabric;
	struct ibv_srq *ibv;
	void *direct; /* data of a verbs_path */
	void *ctx;
	uint32_t max;	  /* number of slots */
	uint32_t nfree;	  /* number of elements of 'free' */
	uint32_t *free;	  /* stack of free slots */
	uint64_t *wr_ids; /* the user's wr_id of each slot */
	bool *is_posted;  /* for each slot: its receive has no completion yet */
};

enum verbs_qp_state { QP_CONNECTING, QP_READY, QP_ERROR };

struct verbs_mw {
	struct ibv_mw *ibv;
	struct verbs_qp *qp; /* the queue pair that bound it last; NULL: none */
	TAILQ_ENTRY(verbs_mw) entry;
};

TAILQ_HEAD(verbs_windows, verbs_mw);

struct verbs_qp {
	struct fabric_qp fabric;
	struct verbs_dev *dev;
	void *direct; /* data of a verbs_path */
	struct ibv_qp *ibv;
	struct verbs_cq *cq;
	struct ibv_pd *pd;	   /* its own protection domain; NULL: it uses the device's */
	struct ibv_mr **mrs;	   /* registrations in 'pd', by verbs_mr.index */
	bool exposes;		   /* the peer is allowed to access registered memory */
	TAILQ_ENTRY(verbs_qp) own; /* in dev->own, if it has its own domain */
	/* in the wr_id of completions; id & dev->table_mask is its index in dev->table */
	uint32_t id;
	enum verbs_qp_state state; /* as the engine's thread knows the state */
	struct verbs_queue sq, rq;
	struct verbs_windows windows; /* windows that this queue pair bound */
	struct verbs_srq *srq;
	bool is_leaving;	/* the user has destroyed the queue pair */
	uint64_t left_ns;	/* time of is_leaving, CLOCK_MONOTONIC */
	_Atomic bool peer_left; /* the peer has disconnected in order; set by the hub's thread */
	_Atomic bool may_take;	/* it was connected, so that it can have taken shared receives */
	/* the device is done with its last shared receive; set by the hub's thread */
	_Atomic bool has_last;
	bool saw_last; /* leaving: it only waits until its completion queue is empty */
	/* with shared receives: the next queue pair in its bucket of dev->by_num */
	struct verbs_qp *next_num;
	TAILQ_ENTRY(verbs_qp) leaving;
	/* its connection; guarded by the hub's lock; NULL: it is being destroyed */
	struct fabric_conn_req *link;
	TAILQ_ENTRY(verbs_qp) broken; /* in dev->broken, if in state QP_ERROR */
};

enum verbs_link_state {
	LINK_RESOLVING,	 /* resolves the address, then the route */
	LINK_CONNECTING, /* the request was sent; waits for the response */
	/* FABRIC_CM_REQUEST was queued; waits until the engine accepts or rejects it */
	LINK_REQUEST,
	LINK_ACCEPTED, /* accepted, but not established yet */
	LINK_OPEN,
	LINK_DEAD, /* ended by either side; the event of the end, if there is one, was queued */
};

struct verbs_event {
	struct fabric_cm_event event;
	bool is_queued;
	struct fabric_conn_req *link; /* NULL: an event of a listener */
	TAILQ_ENTRY(verbs_event) entry;
};

/* A connection, which is one identifier of librdmacm. Guarded by the hub's lock. */
struct fabric_conn_req {
	/* false. This is the first member, as in struct fabric_listener, because the context of an
	 * identifier points to either structure. */
	bool is_listener;
	struct rdma_cm_id *id;
	struct verbs_dev *dev; /* the device object that gets its events */
	/* NULL before the queue pair is created and after it has been destroyed */
	struct verbs_qp *qp;
	struct fabric_listener *listener; /* the listener of a request that was not polled yet */
	struct backlog_entry waiting;	  /* in the backlog (backlog.h) of 'listener', if set */
	enum verbs_link_state state;
	bool breaks;		     /* this side has disconnected after an error */
	uint8_t initiator_depth;     /* maximum number of READs of this side in flight */
	uint8_t responder_resources; /* maximum number of READs of the peer in flight */
	uint8_t private_len;	     /* bytes of private_data, which is sent with the request */
	uint8_t private_data[FABRIC_PRIVATE_DATA_MAX];
	/* at most two events are queued: ESTABLISHED and DISCONNECTED */
	struct verbs_event events[2];
	TAILQ_ENTRY(fabric_conn_req) entry;
};

#define verbs_link fabric_conn_req

struct fabric_listener {
	bool is_listener; /* true; the first member, as in struct fabric_conn_req */
	struct rdma_cm_id *id;
	/* identifier that is bound to the device, if 'id' is not; NULL: none */
	struct rdma_cm_id *watch;
	struct verbs_dev *dev;
	void *ctx;
	bool is_closing;
	struct backlog backlog;	 /* requests that were not polled yet, linked by 'waiting' */
	struct verbs_event lost; /* queued when the device is removed or broken */
	TAILQ_ENTRY(fabric_listener) entry;
};

struct verbs_mr {
	struct ibv_mr *ibv; /* NULL: each queue pair has its own registration */
	TAILQ_ENTRY(verbs_mr) entry;
	uint32_t index; /* index of the registrations in verbs_qp.mrs of each queue pair */
	void *addr;
	size_t len;
	uint32_t access; /* enum fabric_access */
};

TAILQ_HEAD(verbs_links, fabric_conn_req);

struct verbs_dev {
	struct fabric_dev fabric;
	const struct verbs_path *path; /* NULL: the data path of libibverbs */
	void *direct;		       /* data of 'path' */
	struct ibv_context *context;   /* owned by librdmacm */
	const char *name;
	struct ibv_pd *pd;
	/* elements of a chain, with the lkeys of a queue pair's domain. NULL: all queue pairs are
	 * in one domain. */
	struct ibv_sge *own_sges;
	struct verbs_mr **own_mrs; /* registrations, by verbs_mr.index; max_mrs entries */
	uint32_t max_mrs;
	TAILQ_HEAD(, verbs_qp) own;
	struct ibv_device_attr device;
	uint8_t port;
	uint8_t rnr_retry;
	uint8_t responder_resources;
	/* flags by which a device marks a completion with the rkey of a Send with Invalidate */
	uint32_t invalidated_flags;
	uint32_t max_connections;
	TAILQ_HEAD(, verbs_cq) cqs;
	TAILQ_HEAD(, verbs_mr) mrs;
	TAILQ_HEAD(, verbs_qp) broken;
	TAILQ_HEAD(, verbs_qp) leaving;
	bool is_silent; /* the device is known not to send IBV_EVENT_QP_LAST_WQE_REACHED */
	struct verbs_srq *srq;
	/* hash table of queue pairs with shared receives, by number; table_mask + 1 buckets */
	struct verbs_qp **by_num;
	struct verbs_qp **table; /* queue pairs by id; table_mask + 1 elements */
	uint32_t table_mask;
	uint32_t ids; /* the latest id that was assigned; id 0 belongs to the shared receives */
	struct ibv_send_wr wrs[VERBS_CHAIN];
	struct ibv_recv_wr recvs[VERBS_CHAIN];
	struct ibv_sge sges[VERBS_CHAIN];

	/* to which all completion queues report */
	struct ibv_comp_channel *channel;

	/* The members below are shared with the hub's thread. */
	_Atomic(struct fabric_waker *) waker; /* NULL: the engine's thread does not sleep */
	_Atomic uint32_t nevents;    /* number of events in 'events'; read without the lock */
	_Atomic uint32_t nerrors;    /* remote access errors that are not in the statistics yet */
	_Atomic uint32_t ndisplaced; /* displaced requests that are not in the statistics yet */
	_Atomic bool is_dead;	     /* the device is removed or permanently broken */
	TAILQ_HEAD(, verbs_event) events;
	struct verbs_links links;
	TAILQ_HEAD(, fabric_listener) listeners;
	TAILQ_ENTRY(verbs_dev) entry; /* in the hub's list */
};

/*
 * dev.c. Opens a device object. It has the data path 'path', and the operations of that path. NULL:
 * the option 'direct' decides.
 */
int verbs_dev_open(const struct fabric_dev_config *config, const struct verbs_path *path,
		   struct fabric_dev **out);
void verbs_dev_close(struct fabric_dev *dev);
int verbs_options_check(const char *text);

/*
 * addr.c. Parses a numeric address: ADDR, ADDR:PORT, [ADDR6] or [ADDR6]:PORT. Returns 0, or logs an
 * error and returns -EINVAL.
 */
int verbs_addr_parse(const char *text, struct sockaddr_storage *addr);
void verbs_addr_print(const struct sockaddr *addr, char *text, size_t size);
/*
 * Returns the identity of a peer, which does not depend on the port. An IPv4 address and the
 * IPv4-mapped IPv6 address of the same host give the same peer.
 */
struct backlog_peer verbs_addr_peer(const struct sockaddr *addr);

/* memory.c */
int verbs_mr_register(struct fabric_dev *dev, void *addr, size_t len, uint32_t access, int fd,
		      uint64_t fd_offset, struct fabric_mr *mr);
void verbs_mr_deregister(struct fabric_dev *dev, struct fabric_mr *mr);
int verbs_mw_alloc(struct fabric_dev *dev, struct fabric_mw *mw);
void verbs_mw_free(struct fabric_dev *dev, struct fabric_mw *mw);
/*
 * Prepares a window for a bind by this queue pair. Returns false if a window cannot be allocated.
 * If another queue pair that bound the window is in error, the latest key of the window is unknown.
 * The function then replaces the window by a new one.
 */
bool verbs_mw_prepare(struct verbs_qp *qp, struct verbs_mw *mw);
/* Deallocates all windows that the queue pair bound, because the queue pair ends.
 * verbs_mw_prepare() allocates new ones. */
void verbs_mw_drop(struct verbs_qp *qp);
struct ibv_mr *verbs_mr_find(struct verbs_dev *dev, uint32_t lkey);
unsigned verbs_access_flags(const struct verbs_dev *dev, uint32_t access);
/* Logs why a registration failed. */
void verbs_mr_explain(const struct verbs_dev *dev, size_t len, int rc);

/*
 * domain.c. If each queue pair has its own domain, a registration has one index for all
 * domains. The lkey and the rkey that the user gets are index + 1.
 */
int verbs_own_domains(struct fabric_dev *dev);
uint32_t verbs_qp_rkey(const struct fabric_qp *qp, uint32_t rkey);
/* Registers memory in the domain of each queue pair. Returns 0 or -errno. */
int verbs_domain_register(struct verbs_dev *dev, struct verbs_mr *m);
void verbs_domain_deregister(struct verbs_dev *dev, const struct verbs_mr *m);
/*
 * Create the domain of a queue pair that is being created, and destroy it after the ibv_qp is
 * destroyed.
 */
int verbs_domain_create(struct verbs_qp *qp);
void verbs_domain_destroy(struct verbs_qp *qp);
/* Returns the device's lkey for this queue pair of the registration with the user's lkey 'lkey'.
 * Returns 0 if there is no such registration. */
static inline uint32_t verbs_local_key(const struct verbs_qp *qp, uint32_t lkey)
{
	if (likely(!qp->mrs))
		return lkey;
	return lkey - 1 < qp->dev->max_mrs && qp->mrs[lkey - 1] ? qp->mrs[lkey - 1]->lkey : 0;
}

/* Returns the elements of a work request, the i-th of a chain, with the lkeys of verbs_local_key().
 */
struct ibv_sge *verbs_domain_sges(const struct verbs_qp *qp, const struct fabric_wr *wr,
				  uint32_t i);

/* cq.c */
/* Finds or creates a completion queue, and reserves 'entries' entries for a queue pair, and
 * 'shared' entries for all shared receives unless they are reserved already. Returns 0 or -errno.
 */
int verbs_cq_get(struct verbs_dev *dev, uint32_t entries, uint32_t shared, struct verbs_cq **cq);
void verbs_cq_put(struct verbs_cq *cq, uint32_t entries);
void verbs_cq_destroy_all(struct verbs_dev *dev);
/* Called after each poll of a completion queue. 'is_empty': the poll has found all completions. */
static inline void verbs_cq_polled(struct verbs_cq *cq, bool is_empty)
{
	cq->is_empty = is_empty;
	if (unlikely(cq->stale > 0) && is_empty) {
		cq->used -= cq->stale;
		cq->stale = 0;
	}
}

/* qp.c */
int verbs_qp_create(struct verbs_dev *dev, const struct fabric_qp_attr *attr, struct verbs_qp **qp);
void verbs_qp_free(struct verbs_qp *qp);
/* Enters QP_ERROR, and moves the ibv_qp to the error state. Called on the engine's thread. */
void verbs_qp_fail(struct verbs_qp *qp);
/*
 * Moves the ibv_qp to the error state, so that the device flushes its work requests. It can be
 * called on any thread.
 */
void verbs_qp_to_error(struct verbs_qp *qp);
/*
 * Move the ibv_qp to INIT, or to RTR and then RTS, with the attributes of the connection's
 * identifier. Return 0 or -errno.
 */
int verbs_qp_to_init(struct verbs_qp *qp, struct rdma_cm_id *id);
int verbs_qp_to_ready(struct verbs_qp *qp, struct verbs_link *link);

/* srq.c */
uint32_t verbs_post_recv(struct fabric_qp *qp, const struct fabric_recv_wr *wrs, uint32_t n);
int verbs_srq_create(struct fabric_dev *dev, const struct fabric_srq_attr *attr,
		     struct fabric_srq **srq);
void verbs_srq_destroy(struct fabric_srq *srq);
uint32_t verbs_srq_post_recv(struct fabric_srq *srq, const struct fabric_recv_wr *wrs, uint32_t n);
/* Add the queue pair to dev->by_num, and remove it. verbs_srq_take() finds it there. */
void verbs_srq_join(struct verbs_qp *qp);
void verbs_srq_part(struct verbs_qp *qp);
/*
 * Removes a queue pair that the user has destroyed from all lists, except dev->by_num, and adds it
 * to dev->leaving.
 */
void verbs_srq_leave(struct verbs_qp *qp);
/*
 * Destroys the leaving queue pairs whose shared receives have all completed, or all leaving queue
 * pairs with 'all'. It is called after a poll, because it uses is_empty of completion queues.
 */
void verbs_srq_reap(struct verbs_dev *dev, bool all);
/*
 * Frees the slot of a completed shared receive. Sets '*wr_id' to the user's wr_id, and '*qp' to the
 * queue pair that took the receive, or to NULL if the user has destroyed the queue pair. Returns
 * false if no receive was posted in the slot.
 */
bool verbs_srq_take(struct verbs_dev *dev, const struct ibv_wc *raw, uint64_t *wr_id,
		    struct verbs_qp **qp);

/* post.c */
/* Posts work requests to a queue pair that is not in the state QP_READY. In the state QP_ERROR,
 * they are flushed later. Returns how many were posted. */
uint32_t verbs_post_unready(struct verbs_qp *qp, const struct fabric_wr *wrs, uint32_t n);
static inline uint64_t verbs_wr_bytes(const struct fabric_wr *wr)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < wr->nsge; i++)
		bytes += wr->sge[i].len;
	return bytes;
}

/* Counts a posted work request in the statistics. */
static inline void verbs_count_post(struct fabric_stats *stats, enum fabric_op op)
{
	stats->sends += op == FABRIC_SEND || op == FABRIC_SEND_INV;
	stats->writes += op == FABRIC_WRITE;
	stats->reads += op == FABRIC_READ;
}

uint32_t verbs_post_send(struct fabric_qp *qp, const struct fabric_wr *wrs, uint32_t n);

/* wake.c */
/* Creates the completion channel of a device object. Returns 0 or -errno. */
int verbs_channel_create(struct verbs_dev *dev);
int verbs_wake_attach(struct fabric_dev *dev, struct fabric_waker *waker);
int verbs_arm(struct fabric_dev *dev, uint64_t *timeout_ns);
void verbs_disarm(struct fabric_dev *dev);
/* Wakes the engine's thread if it sleeps. Called on the hub's thread, after an event was queued. */
void verbs_wake(struct verbs_dev *dev);

/* Returns whether a queue of a broken queue pair has work requests that were not posted to the
 * device, and all earlier ones are complete. */
static inline bool verbs_can_flush(const struct verbs_queue *queue)
{
	return (int32_t)(queue->retired - queue->kept) >= 0 && queue->retired != queue->posted;
}

/* poll.c */
enum fabric_status verbs_status_of(enum ibv_wc_status status, enum fabric_op op);
/* Counts a failed completion in the statistics. After the first failure, the queue pair enters
 * ERROR and disconnects. */
void verbs_failed(struct verbs_qp *qp, enum fabric_status status);
/*
 * Completes the part of a poll that follows the completions of the device: destroys leaving queue
 * pairs, and flushes work requests that were not posted to the device. Returns the number of
 * completions in 'wcs'.
 */
uint32_t verbs_poll_rest(struct verbs_dev *dev, struct fabric_wc *wcs, uint32_t max);
uint32_t verbs_poll(struct fabric_dev *dev, struct fabric_wc *wcs, uint32_t max);

/* The wr_id that the device gets has the id of the queue pair, the kind of the work request (0 or
 * VERBS_WR_RECV), and its position in the queue. */
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
bool verbs_can_accept(const struct fabric_dev *dev, const struct fabric_conn_req *req);
int verbs_reject(struct fabric_dev *dev, struct fabric_conn_req *req, const void *private_data,
		 uint32_t private_len);
uint32_t verbs_cm_poll(struct fabric_dev *dev, struct fabric_cm_event *events, uint32_t max);
struct rdma_conn_param verbs_conn_param(const struct verbs_link *link, const struct verbs_qp *qp,
					const void *private_data, uint32_t private_len);

/* end.c */
bool verbs_has_left(const struct fabric_qp *qp);
void verbs_disconnect(struct fabric_qp *qp);
void verbs_qp_destroy(struct fabric_qp *qp);
/* Disconnects from the peer after a completion with an error. */
void verbs_link_break(struct verbs_qp *qp);
/* the link is in no list; the caller does not hold the hub's lock */
void verbs_link_free(struct verbs_link *link);
/* Removes the link from all lists that the hub's thread uses, and separates it from its queue pair.
 * The hub's lock is not held. */
void verbs_link_remove(struct verbs_link *link);

/* cm_event.c. The caller holds the hub's lock, unless a comment says otherwise. */
void verbs_event_push(struct verbs_link *link, enum fabric_cm_kind kind, int error,
		      const void *private_data, uint32_t private_len);
void verbs_event_drop_all(struct verbs_link *link);
/* Ends a link because of its peer or its device. The engine gets one event with 'error', unless it
 * already knows the end, or has not accepted the connection yet. */
void verbs_link_ended(struct verbs_link *link, int error);
/*
 * Marks the device as removed or permanently broken. The device object makes no more connections,
 * and each of its listeners gets one event.
 */
void verbs_dev_lost(struct verbs_dev *dev, int error);
/* Handles and acknowledges one event of librdmacm. The hub's lock is not held. */
void verbs_cm_event(struct rdma_cm_event *event);

/* async.c */
/* Ends all connections of a device object. The caller holds the hub's lock. */
void verbs_dev_died(struct verbs_dev *dev);
/* Handles and acknowledges one event of a device. The hub's lock is not held. */
void verbs_async_event(struct ibv_context *context, struct ibv_async_event *event);

/* hub.c */
int verbs_hub_join(struct verbs_dev *dev); /* returns 0 or -errno */
void verbs_hub_leave(struct verbs_dev *dev);
struct ibv_context *verbs_hub_context(uint32_t index); /* NULL after the last context */
struct rdma_event_channel *verbs_hub_channel(void);
/* Calls 'fn' for each device object that uses a context. The caller holds the hub's lock. */
void verbs_hub_each(const struct ibv_context *context, void (*fn)(struct verbs_dev *dev));
void verbs_lock(void);
void verbs_unlock(void);

#endif
