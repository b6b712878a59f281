/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

/*
 * The internal header of the simulated driver.
 *
 * All that happens later is an event in the heap of the world. Events are ordered by time. Events
 * with the same time are ordered by their creation. Each event concerns one queue pair, which the
 * event names by number. Numbers are not used twice. Therefore an event can exist after its queue
 * pair has been destroyed. Such an event is dropped, and time does not advance for it.
 *
 * Each file calls only functions of files above it:
 *
 *   world.c      random numbers, time, and the heap of events
 *   keys.c       keys
 *   domain.c     keys of one queue pair
 *     memory.c     registrations, memory windows, and checks of accesses
 *   cq.c         completion queues
 *   cm_event.c   messages of the connection manager, and events that wait to be polled
 *     recv.c       finds the receives that messages take
 *   listen.c     listeners, and the connection requests that wait at them
 *     complete.c   completions of work requests, and the error state of a queue pair
 *   srq.c        shared receives
 *   execute.c    executes work requests
 *   post.c       posts work requests
 *   qp.c         creates and frees queue pairs
 *   cm_run.c     handles messages of the connection manager
 *   step.c       runs the next event, or drops it when its queue pair has ended
 *   cm.c         establishes connections
 *   end.c        ends connections
 *   poll.c       polls completions
 *   wake.c       sleeping
 *   teardown.c   frees devices and worlds
 *   dev.c        devices: their options, their death and their operations
 */

#include <sys/queue.h>

#include "backlog.h"
#include "driver.h"
#include "sim.h"

#define SIM_PIECES_MAX	4u
#define SIM_KEY_BUCKETS 256u

enum sim_event_kind {
	SIM_START,     /* the device starts the next work request */
	SIM_LAND,      /* a piece of a WRITE reaches the peer's memory */
	SIM_FETCH,     /* a piece of a READ arrives at the reader */
	SIM_ARRIVE,    /* a Send reaches the peer */
	SIM_ACK,       /* this side gets the acknowledgement of its work request */
	SIM_NAK,       /* this side gets the report that its work request has failed */
	SIM_RECV_DONE, /* the next receive completes */
	SIM_FLUSH,     /* all work requests of a queue pair in SIM_BROKEN complete */
	/* The request reaches the listener. This event and the next two concern the connecting
	 * queue pair. */
	SIM_CM_REQUEST,
	SIM_CM_ANSWER,	/* the answer reaches the connecting side */
	SIM_CM_TIMEOUT, /* the time limit for the answer is over */
	SIM_CM_READY,	/* the accepting side learns that the answer has arrived */
	SIM_CM_LOST,	/* this side notices the end of the connection */
	SIM_NEVENTS
};

/* An event that will happen. */
struct sim_event {
	uint64_t at_ns;
	uint64_t seq;	 /* number of the event in the order of creation */
	uint64_t wr;	 /* position of its work request in the send queue */
	uint32_t qp;	 /* number of its queue pair */
	uint32_t offset; /* LAND, FETCH: offset of the piece in the work request's data */
	uint32_t len;	 /* LAND, FETCH: bytes of the piece; NAK: enum fabric_status */
	enum sim_event_kind kind;
};

TAILQ_HEAD(sim_devs, sim_dev);
TAILQ_HEAD(sim_listeners, fabric_listener);
TAILQ_HEAD(sim_reqs, fabric_conn_req);

struct sim_world {
	struct sim_options options;
	uint32_t id;
	bool runs_itself; /* the default world: a poll that would find nothing runs a step */
	bool is_over;	  /* no memory was available for an event; no event runs any more */
	uint64_t rng[4];
	uint64_t now_ns;
	uint64_t seq;
	uint64_t hash;		  /* of all events so far */
	uint64_t sources_changed; /* sim_sources_changed() */
	uint32_t reads_most;	  /* sim_reads_most() */

	struct sim_event *heap;
	uint32_t nevents;
	uint32_t heap_size;

	struct sim_qp **qps; /* queue pairs by number; NULL: destroyed */
	uint32_t nqps;
	uint32_t qps_size;

	uint32_t key_count; /* number of keys that were created */
	/* random number by which keys differ between seeds: sim_key_make() */
	uint32_t key_mask;
	uint32_t mw_count;
	uint32_t dev_count;
	struct sim_devs devs;
	struct sim_listeners listeners;
	struct sim_reqs reqs;
};

/* The kinds of keys, which give access to memory. */
enum sim_key_kind { SIM_LKEY, SIM_RKEY, SIM_WINDOW };

struct sim_key {
	LIST_ENTRY(sim_key) entry;
	uint32_t key;
	enum sim_key_kind kind;
	struct sim_mr *mr;
	uint8_t *base;
	uint64_t len;
	uint64_t raddr; /* address by which peers name 'base' */
	uint32_t access;
	/* number of the only queue pair on which the key is valid; 0: it is valid on all queue
	 * pairs */
	uint32_t qp;
};

LIST_HEAD(sim_keys, sim_key);

struct sim_mr {
	LIST_ENTRY(sim_mr) entry;
	struct sim_key local;
	/* in the table of keys only if there is remote access; otherwise zeros */
	struct sim_key remote;
};

struct sim_mw {
	LIST_ENTRY(sim_mw) entry;
	/* unique in the world, because a bind can be outstanding after its window was freed */
	uint32_t number;
	struct sim_key key; /* in the table of keys while the window is bound */
	uint32_t latest;    /* the key of the latest executed bind; 0: none */
	uint32_t latest_qp; /* number of the queue pair that has executed this bind */
	bool is_bound;
};

/* The key of a registration in a queue pair's own domain. */
struct sim_own_key {
	LIST_ENTRY(sim_own_key) entry;
	struct sim_key key;
};

LIST_HEAD(sim_own_keys, sim_own_key);
LIST_HEAD(sim_mrs, sim_mr);
LIST_HEAD(sim_mws, sim_mw);

/* A completion that waits to be polled. */
struct sim_cqe {
	struct fabric_wc wc;
	uint32_t qp; /* number of its queue pair; 0: a shared receive of a destroyed queue pair */
	uint64_t position; /* position of its work request in the send or receive queue */
};

/* An event that waits to be polled. The entry is a member of the object that the event concerns. */
struct sim_cm_entry {
	TAILQ_ENTRY(sim_cm_entry) entry;
	bool is_queued;
	struct fabric_cm_event event;
	struct fabric_conn_req *req; /* the request, if the event is a REQUEST */
	struct sim_qp *qp;	     /* the queue pair, if the event is another one */
};

TAILQ_HEAD(sim_cm_entries, sim_cm_entry);

struct sim_dev {
	struct fabric_dev base;
	TAILQ_ENTRY(sim_dev) entry;
	struct sim_world *world;
	uint32_t number;
	uint32_t rnr_retry;
	uint32_t nregions, regions_max; /* a maximum of 0 means no limit */
	uint32_t nqps, qps_max;		/* likewise */
	bool is_dead;
	bool own_domains;
	bool was_shown; /* alternates, so that every second deliverable message is delivered */
	struct sim_keys keys[SIM_KEY_BUCKETS];
	struct sim_mrs mrs;
	struct sim_mws mws;
	struct sim_cm_entries cm;
	struct fabric_waker *waker; /* NULL: nobody sleeps */
	struct sim_srq *srq;
	struct sim_cqe *cq; /* a ring with room for all completions that can wait at once */
	uint32_t cq_size;   /* a power of two */
	uint32_t cq_head, cq_count, cq_reserved;
};

struct fabric_listener {
	TAILQ_ENTRY(fabric_listener) entry;
	struct sim_dev *dev;
	void *ctx;
	/* requests that were not polled yet, linked by their member 'waiting' */
	struct backlog backlog;
	char addr[FABRIC_ADDR_MAX];
};

struct fabric_conn_req {
	TAILQ_ENTRY(fabric_conn_req) entry;
	struct fabric_listener *listener; /* NULL: the listener was closed */
	uint32_t qp;			  /* number of the connecting queue pair */
	/* entry in the listener's backlog (backlog.h), until the request is polled */
	struct backlog_entry waiting;
	struct sim_cm_entry request; /* the event REQUEST */
};

/* The states of a work request in the send queue: posted; started by the device; executed, but the
 * acknowledgement or refusal has not arrived; ready to complete. */
enum sim_wr_state { SIM_POSTED, SIM_STARTED, SIM_DELIVERED, SIM_DONE };

struct sim_swr {
	struct fabric_wr wr; /* wr.sge points to 'sges' */
	enum sim_wr_state state;
	enum fabric_status status;
	uint32_t len;
	uint32_t pieces_left; /* pieces of a WRITE or READ that have not arrived */
	uint32_t rnr_tries;   /* number of arrivals that found no receive */
	uint32_t bind_key;    /* of a bind: the new key of the window */
	uint32_t bind_mw;     /* of a bind: number of the window */
	uint64_t arrives_ns;  /* earliest time at which a Send arrives */
	uint64_t source_sum;  /* checksum of the source when it was posted */
	bool has_sum;	      /* 'source_sum' is valid */
	uint8_t *inline_data; /* copy of inline data; NULL: the data are not inline */
	struct fabric_sge sges[FABRIC_SGE_MAX];
};

struct sim_rwr {
	struct fabric_recv_wr wr;
	enum fabric_status status;
	uint32_t len;
	uint32_t inv_rkey;
};

/*
 * The send queue. Positions count up by one for each work request. The entry of a work request is
 * wrs[position % size]. 'head' is the oldest position whose entry is in use.
 */
struct sim_sq {
	struct sim_swr *wrs;
	uint8_t *inline_data;
	uint32_t size;
	uint64_t head;
	uint64_t completed; /* first position without a completion */
	uint64_t next;	    /* first position that has not started */
	uint64_t tail;	    /* position of the next post */
};

/*
 * The receive queue of a queue pair, with positions as in struct sim_sq. If the queue pair uses
 * shared receives, a message moves the receive that it takes from struct sim_srq to this queue.
 */
struct sim_rq {
	struct sim_rwr *wrs;
	uint32_t size;
	uint64_t head;
	uint64_t completed;
	uint64_t filled; /* first position that no message has taken */
	uint64_t tail;
};

struct sim_srq {
	struct fabric_srq base;
	struct sim_dev *dev;
	void *ctx;
	struct fabric_recv_wr *wrs; /* receives that no message has taken, by position % size */
	uint32_t size;
	/* number of receives that were posted and whose completions were not polled */
	uint32_t used;
	uint64_t head, tail;
};

enum sim_answer { SIM_ANSWER_ACCEPT, SIM_ANSWER_REJECT, SIM_ANSWER_REFUSE };
enum sim_qp_state { SIM_CONNECTING, SIM_ACCEPTED, SIM_CONNECTED, SIM_BROKEN };

struct sim_qp {
	struct fabric_qp base;
	struct sim_dev *dev;
	struct fabric_qp_attr attr;
	uint32_t number;
	uint32_t peer; /* number of the peer's queue pair; 0: none yet */
	enum sim_qp_state state;
	bool was_established;		      /* ESTABLISHED was queued */
	bool may_send;			      /* ESTABLISHED was polled */
	bool is_closed;			      /* this side has disconnected */
	bool says_goodbye;		      /* this side disconnects in order */
	bool peer_left;			      /* the peer has disconnected in order */
	bool end_raised;		      /* FAILED, REJECTED or DISCONNECTED was queued */
	struct sim_cm_entry established, end; /* ESTABLISHED, and the event of the end */
	bool is_starting;		      /* a START event is scheduled */
	/* the Send at position 'parked' waits for a receive of the peer, without a time limit */
	bool is_parked;
	struct sim_sq sq;
	struct sim_rq rq;
	struct sim_srq *srq;
	struct sim_own_keys own_keys;
	/* maximum number of its waiting completions, without those of shared receives */
	uint32_t ncqes;
	uint64_t parked;
	uint32_t reads;	    /* READs in flight */
	uint32_t sends;	    /* number of Sends that were started and have not arrived */
	uint64_t landed_ns; /* latest time at which a WRITE or Send that was started arrives */
	uint64_t recv_ns;   /* time of the latest completion of a receive that is scheduled */
	uint64_t failed;    /* position of the first failed work request; UINT64_MAX: none */
	char addr[FABRIC_ADDR_MAX];
	/* the answer of the peer, and the private data of the request and then of the answer */
	enum sim_answer answer;
	uint32_t private_len;
	uint8_t private_data[FABRIC_PRIVATE_DATA_MAX];
};

/* world.c */
/* Return a random number of 64 bits, a random number below 'limit', and a random latency. */
uint64_t sim_random(struct sim_world *world);
uint64_t sim_random_below(struct sim_world *world, uint64_t limit);
uint64_t sim_draw(struct sim_world *world, const struct sim_latency *latency);
struct sim_world *sim_world_find(uint32_t id);
struct sim_world *sim_world_default(uint64_t seed);
struct sim_qp *sim_world_qp(const struct sim_world *world, uint32_t number);
/* returns the number; 0: no memory */
uint32_t sim_world_add_qp(struct sim_world *world, struct sim_qp *qp);
/* Adds an event. If there is no memory for the event, the world ends and no more events run. */
void sim_schedule(struct sim_world *world, const struct sim_event *event);
/* Removes the first event, heap[0], from the heap. */
void sim_pop(struct sim_world *world);
/* Adds an occurrence to the world's hash and trace. 'a' and 'b' are values that describe it. */
void sim_note(struct sim_world *world, const char *what, uint32_t qp, uint64_t a, uint64_t b);
/* Frees the world itself, in which no objects must be left. */
void sim_world_free(struct sim_world *world);

/* dev.c */
extern const struct fabric_ops sim_ops;

/* teardown.c */
void sim_dev_free(struct sim_dev *dev);

/* cq.c */
/* Reserves room for 'more' further completions that can wait at once. Returns 0 or -ENOMEM. */
int sim_cq_reserve(struct sim_dev *dev, uint32_t more);
void sim_cq_push(struct sim_qp *qp, const struct fabric_wc *wc, uint64_t position);
void sim_cq_drop(struct sim_dev *dev, uint32_t qp);

/* poll.c */
uint32_t sim_poll(struct fabric_dev *dev, struct fabric_wc *wcs, uint32_t max);

/* wake.c */
int sim_wake_attach(struct fabric_dev *dev, struct fabric_waker *waker);
int sim_arm(struct fabric_dev *dev, uint64_t *timeout_ns);
void sim_disarm(struct fabric_dev *dev);
/* Wakes the device's engine if it is armed. */
static inline void sim_wake(struct sim_dev *dev)
{
	if (dev->waker)
		fabric_wake(dev->waker);
}

/* keys.c */
uint32_t sim_key_make(struct sim_world *world);
void sim_key_enter(struct sim_dev *dev, struct sim_key *key);
struct sim_key *sim_key_find(const struct sim_dev *dev, uint32_t value); /* NULL: none */

/* domain.c */
int sim_own_domains(struct fabric_dev *dev);
uint32_t sim_qp_rkey(const struct fabric_qp *qp, uint32_t rkey);
/*
 * sim_domain_create() creates the keys of one queue pair for all registrations, and
 * sim_domain_add() the keys of all queue pairs for one registration. They return 0 or -ENOMEM. The
 * other two functions remove these keys.
 */
int sim_domain_create(struct sim_qp *qp);
void sim_domain_destroy(struct sim_qp *qp);
int sim_domain_add(struct sim_dev *dev, struct sim_mr *mr);
void sim_domain_remove(struct sim_dev *dev, const struct sim_mr *mr);

/* memory.c */
int sim_mr_register(struct fabric_dev *dev, void *addr, size_t len, uint32_t access, int fd,
		    uint64_t fd_offset, struct fabric_mr *mr);
void sim_mr_deregister(struct fabric_dev *dev, struct fabric_mr *mr);
int sim_mw_alloc(struct fabric_dev *dev, struct fabric_mw *mw);
void sim_mw_free(struct fabric_dev *dev, struct fabric_mw *mw);
/* Returns whether [addr, addr + len) is in the registration of 'lkey', and the registration permits
 * 'access'. */
bool sim_local_ok(const struct sim_dev *dev, uint32_t lkey, const void *addr, uint64_t len,
		  uint32_t access);
/*
 * Returns the memory of this side that the peer of 'qp' names by 'rkey' and 'raddr', or NULL if the
 * peer is not allowed to access it in the way 'access'.
 */
uint8_t *sim_remote(const struct sim_qp *qp, uint32_t rkey, uint64_t raddr, uint64_t len,
		    uint32_t access);
bool sim_window_bind(struct sim_qp *qp, const struct sim_swr *swr);
bool sim_window_invalidate(struct sim_qp *qp, uint32_t rkey, bool by_peer);
void sim_windows_of_qp_end(struct sim_qp *qp);

/* listen.c */
int sim_listen(struct fabric_dev *dev, const char *addr, uint32_t backlog, void *ctx,
	       struct fabric_listener **listener);
void sim_unlisten(struct fabric_listener *listener);
bool sim_addr_ok(const char *addr);
struct fabric_listener *sim_listener_find(struct sim_world *world, const char *addr);
void sim_req_free(struct sim_world *world, struct fabric_conn_req *req);
/* Frees the request, and sends the answer REFUSE to the connecting side if it still waits. */
void sim_cm_refuse(struct sim_world *world, struct fabric_conn_req *req);

/* cm.c */
int sim_connect(struct fabric_dev *dev, const char *addr, const struct fabric_qp_attr *attr,
		const void *private_data, uint32_t private_len, struct fabric_qp **qp);
int sim_accept(struct fabric_dev *dev, struct fabric_conn_req *req,
	       const struct fabric_qp_attr *attr, const void *private_data, uint32_t private_len,
	       struct fabric_qp **qp);
int sim_reject(struct fabric_dev *dev, struct fabric_conn_req *req, const void *private_data,
	       uint32_t private_len);
uint32_t sim_cm_poll(struct fabric_dev *dev, struct fabric_cm_event *events, uint32_t max);

/* cm_run.c */
void sim_cm_run(struct sim_qp *qp, enum sim_event_kind kind);

/* cm_event.c */
/* Schedule an event for a queue pair: after 'delay_ns', or after the random latency of a message.
 */
void sim_cm_schedule(struct sim_qp *qp, enum sim_event_kind kind, uint64_t delay_ns);
void sim_cm_send(struct sim_qp *qp, enum sim_event_kind kind);
void sim_cm_lose(struct sim_qp *qp); /* schedules SIM_CM_LOST */
/* sim_cm_add() adds an event to those that wait to be polled. sim_cm_remove() removes an event from
 * them, if it waits. sim_cm_raise() fills in and adds an event of a queue pair, and returns its
 * entry. */
void sim_cm_add(struct sim_dev *dev, struct sim_cm_entry *entry, enum fabric_cm_kind kind);
void sim_cm_remove(struct sim_dev *dev, struct sim_cm_entry *entry);
struct sim_cm_entry *sim_cm_raise(struct sim_qp *qp, enum fabric_cm_kind kind, int error);
/* Returns the connecting queue pair with this number, or NULL if it does not wait for an answer any
 * more. */
struct sim_qp *sim_cm_connecting(struct sim_world *world, uint32_t number);
void sim_cm_answer(struct sim_qp *qp, enum sim_answer kind);
void sim_cm_drop(struct sim_qp *qp); /* removes its events that were not polled */

/* srq.c */
uint32_t sim_post_recv(struct fabric_qp *qp, const struct fabric_recv_wr *wrs, uint32_t n);
int sim_srq_create(struct fabric_dev *dev, const struct fabric_srq_attr *attr,
		   struct fabric_srq **srq);
void sim_srq_destroy(struct fabric_srq *srq);
uint32_t sim_srq_post_recv(struct fabric_srq *srq, const struct fabric_recv_wr *wrs, uint32_t n);
/*
 * Posts a receive again after its message was delivered. srq->used still counts the receive.
 */
void sim_srq_put_back(struct sim_srq *srq, const struct fabric_recv_wr *wr);
void sim_srq_take_back(
	/* flushes the shared receives that a queue pair has taken, when it is destroyed */
	struct sim_qp *qp);

/* qp.c */
int sim_qp_create(struct sim_dev *dev, const struct fabric_qp_attr *attr, struct sim_qp **qp);
void sim_qp_free(struct sim_qp *qp);

/* end.c */
void sim_goodbye(struct fabric_qp *qp);
bool sim_has_left(const struct fabric_qp *qp);
void sim_disconnect(struct fabric_qp *qp);
void sim_qp_destroy(struct fabric_qp *qp);

/* post.c */
uint32_t sim_post_send(struct fabric_qp *qp, const struct fabric_wr *wrs, uint32_t n);

/* complete.c */
void sim_qp_break(struct sim_qp *qp); /* enters SIM_BROKEN, and schedules a flush */
void sim_qp_flush(struct sim_qp *qp);
void sim_sq_complete(struct sim_qp *qp); /* makes all completions that are due */
void sim_rq_complete(struct sim_qp *qp); /* makes the completion of the next receive */
/* Schedules a flush of all work requests of a queue pair in SIM_BROKEN. */
void sim_qp_schedule_flush(struct sim_qp *qp);

/*
 * Called after 'taken' work requests were posted. If there are any, calls 'wake', or schedules a
 * flush if the queue pair is in SIM_BROKEN. Returns 'taken'.
 */
uint32_t sim_qp_posted(struct sim_qp *qp, uint32_t taken, void (*wake)(struct sim_qp *qp));

/* recv.c */
/*
 * Returns the receive that the next message to 'qp' takes. If receives are shared, the function
 * first moves one from the shared queue to the queue of 'qp'. Returns NULL if no receive is posted.
 */
struct sim_rwr *sim_next_receive(struct sim_qp *qp);
/* schedules the Send of the peer that waits for a receive */
void sim_rq_wake_peer(struct sim_qp *qp);

static inline struct sim_swr *sim_sq_at(const struct sim_qp *qp, uint64_t position)
{
	return &qp->sq.wrs[position % qp->sq.size];
}

static inline struct sim_rwr *sim_rq_at(const struct sim_qp *qp, uint64_t position)
{
	return &qp->rq.wrs[position % qp->rq.size];
}

/* execute.c */
void sim_execute(struct sim_qp *qp, const struct sim_event *event);
/* schedules the start of the next work request, if it can start */
void sim_start(struct sim_qp *qp);
/* Computes a checksum of the source of a Send or WRITE. Returns false if there is no such source.
 */
bool sim_source_sum(const struct sim_qp *qp, const struct sim_swr *swr, uint64_t *sum);
/* Checks the sources of all work requests that have not ended. Their queue pair is about to end
 * them. */
void sim_sources_check(const struct sim_qp *qp);

#endif
