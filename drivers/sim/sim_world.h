/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

/*
 * The internal header of the simulated driver.
 *
 * All that happens later is an event in the heap of the world. Events are ordered by time. Events
 * with the same time are ordered by their creation. Each event concerns one queue pair, which the
 * event names by number. Numbers are not used twice, so an event may outlive its queue pair. Such
 * an event is dropped, and time does not advance for it.
 *
 * Each file calls only functions of files above it:
 *
 *   world.c      random numbers, time, and the heap of events
 *   keys.c       keys
 *   domain.c     keys of one queue pair
 *   memory.c     registrations, windows, and access checks
 *   cq.c         completion queues
 *   cm_event.c   messages of the connection manager, and events that wait to be polled
 *   recv.c       the receives that messages take
 *   listen.c     listeners, and the connection requests that wait at them
 *   complete.c   completions of work requests, and the break of a queue pair
 *   srq.c        shared receives
 *   execute.c    executes work requests
 *   post.c       posts work requests
 *   qp.c         creates and frees queue pairs
 *   cm_run.c     handles messages of the connection manager
 *   step.c       runs the next event, or drops it when its queue pair has ended
 *   cm.c         establishes connections
 *   end.c        ends connections
 *   poll.c       polls completions
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
	SIM_START,	/* the device starts the next work request */
	SIM_LAND,	/* a piece of a WRITE reaches the peer's memory */
	SIM_FETCH,	/* a piece of a READ comes back */
	SIM_ARRIVE,	/* a Send reaches the peer */
	SIM_ACK,	/* the sender gets the acknowledgement of a work request */
	SIM_NAK,	/* the sender gets the report that a work request failed */
	SIM_RECV_DONE,	/* the next receive completes */
	SIM_FLUSH,	/* all work requests of a broken queue pair complete */
	SIM_CM_REQUEST, /* the request reaches the listener. This event and the next two concern the
			   connecting queue pair. */
	SIM_CM_ANSWER,
	SIM_CM_TIMEOUT,
	SIM_CM_READY, /* the accepting side learns that the answer arrived */
	SIM_CM_LOST,  /* this side notices the end of the connection */
	SIM_NEVENTS
};

struct sim_event {
	uint64_t at_ns;
	uint64_t seq;
	uint64_t wr; /* position in the send queue */
	uint32_t qp;
	uint32_t offset; /* LAND, FETCH: offset of the piece */
	uint32_t len;
	enum sim_event_kind kind;
};

TAILQ_HEAD(sim_devs, sim_dev);
TAILQ_HEAD(sim_listeners, fabric_listener);
TAILQ_HEAD(sim_reqs, fabric_conn_req);

struct sim_world {
	struct sim_options options;
	uint32_t id;
	bool runs_itself; /* the default world: a poll that finds nothing runs a step */
	bool is_over;
	uint64_t rng[4];
	uint64_t now_ns;
	uint64_t seq;
	uint64_t hash;
	uint64_t sources_changed;
	uint32_t reads_most;

	struct sim_event *heap;
	uint32_t nevents;
	uint32_t heap_size;

	struct sim_qp **qps; /* queue pairs by number; NULL: destroyed */
	uint32_t nqps;
	uint32_t qps_size;

	uint32_t key_count; /* number of keys created */
	uint32_t key_mask;  /* chosen by the seed */
	uint32_t mw_count;
	uint32_t dev_count;
	struct sim_devs devs;
	struct sim_listeners listeners;
	struct sim_reqs reqs;
};

/* A key gives access to memory. */
enum sim_key_kind { SIM_LKEY, SIM_RKEY, SIM_WINDOW };

struct sim_key {
	LIST_ENTRY(sim_key) entry;
	uint32_t key;
	enum sim_key_kind kind;
	struct sim_mr *mr;
	uint8_t *base;
	uint64_t len;
	uint64_t raddr; /* of 'base' */
	uint32_t access;
	uint32_t qp; /* the only queue pair that may use a window or the key of an own domain; 0:
			all */
};

LIST_HEAD(sim_keys, sim_key);

struct sim_mr {
	LIST_ENTRY(sim_mr) entry;
	struct sim_key local;
	struct sim_key remote; /* in the table only when there is remote access */
};

struct sim_mw {
	LIST_ENTRY(sim_mw) entry;
	uint32_t number;    /* unique in the world, because a posted bind may outlive its window */
	struct sim_key key; /* in the table while bound */
	uint32_t latest;    /* the key of the latest executed bind; 0: none */
	uint32_t latest_qp;
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

struct sim_cqe {
	struct fabric_wc wc;
	uint32_t qp;	   /* 0: a shared receive whose queue pair is destroyed */
	uint64_t position; /* position in its queue */
};

/* An event that waits to be polled. The entry is a member of the object that the event concerns. */
struct sim_cm_entry {
	TAILQ_ENTRY(sim_cm_entry) entry;
	bool is_queued;
	struct fabric_cm_event event;
	struct fabric_conn_req *req; /* the request of a REQUEST */
	struct sim_qp *qp;	     /* the queue pair of any other event */
};

TAILQ_HEAD(sim_cm_entries, sim_cm_entry);

struct sim_dev {
	struct fabric_dev base;
	TAILQ_ENTRY(sim_dev) entry;
	struct sim_world *world;
	uint32_t number;
	uint32_t rnr_retry;
	uint32_t nregions, regions_max; /* 0: no limit */
	uint32_t nqps, qps_max;
	bool is_dead;
	bool own_domains;
	bool was_shown; /* alternates, so that every second deliverable message is delivered */
	struct sim_keys keys[SIM_KEY_BUCKETS];
	struct sim_mrs mrs;
	struct sim_mws mws;
	struct sim_cm_entries cm;
	struct sim_srq *srq;
	struct sim_cqe *cq; /* a ring with room for all completions of its queue pairs */
	uint32_t cq_size;   /* a power of two */
	uint32_t cq_head, cq_count, cq_reserved;
};

struct fabric_listener {
	TAILQ_ENTRY(fabric_listener) entry;
	struct sim_dev *dev;
	void *ctx;
	struct backlog backlog; /* requests that were not polled yet, linked by 'waiting' */
	char addr[FABRIC_ADDR_MAX];
};

struct fabric_conn_req {
	TAILQ_ENTRY(fabric_conn_req) entry;
	struct fabric_listener *listener; /* NULL: the listener was closed */
	uint32_t qp;			  /* the connecting queue pair */
	struct backlog_entry waiting;	  /* entry in the listener's backlog, until polled */
	struct sim_cm_entry request;
};

/* States of a work request in the send queue. */
enum sim_wr_state { SIM_POSTED, SIM_STARTED, SIM_DELIVERED, SIM_DONE };

struct sim_swr {
	struct fabric_wr wr; /* wr.sge points to 'sges' */
	enum sim_wr_state state;
	enum fabric_status status;
	uint32_t len;
	uint32_t pieces_left;
	uint32_t rnr_tries;
	uint32_t bind_key;
	uint32_t bind_mw;    /* number of the window */
	uint64_t arrives_ns; /* a Send does not arrive earlier */
	uint64_t source_sum; /* checksum of the source at the post */
	bool has_sum;
	uint8_t *inline_data;
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
	uint64_t completed; /* first without a completion */
	uint64_t next;	    /* first that has not started */
	uint64_t tail;
};

/*
 * The receive queue. With a shared receive queue, a message moves the receive that it takes from
 * there to here.
 */
struct sim_rq {
	struct sim_rwr *wrs;
	uint32_t size;
	uint64_t head;
	uint64_t completed;
	uint64_t filled; /* first that no message has taken */
	uint64_t tail;
};

struct sim_srq {
	struct fabric_srq base;
	struct sim_dev *dev;
	void *ctx;
	struct fabric_recv_wr *wrs; /* waiting receives, by position % size */
	uint32_t size;
	uint32_t used; /* receives that wait, are taken, or completed and were not polled */
	uint64_t head, tail;
};

enum sim_answer { SIM_ANSWER_ACCEPT, SIM_ANSWER_REJECT, SIM_ANSWER_REFUSE };
enum sim_qp_state { SIM_CONNECTING, SIM_ACCEPTED, SIM_CONNECTED, SIM_BROKEN };

struct sim_qp {
	struct fabric_qp base;
	struct sim_dev *dev;
	struct fabric_qp_attr attr;
	uint32_t number;
	uint32_t peer; /* 0: none yet */
	enum sim_qp_state state;
	bool was_established; /* ESTABLISHED was raised */
	bool may_send;	      /* ESTABLISHED was polled */
	bool is_closed;	      /* this side has disconnected */
	bool says_goodbye;    /* this side disconnects in order */
	bool peer_left;	      /* the peer has disconnected in order */
	bool end_raised;      /* FAILED, REJECTED or DISCONNECTED was raised */
	struct sim_cm_entry established, end;
	bool is_starting; /* a START event is scheduled */
	bool is_parked;	  /* the Send at position 'parked' waits for a receive without limit */
	struct sim_sq sq;
	struct sim_rq rq;
	struct sim_srq *srq;
	struct sim_own_keys own_keys;
	uint32_t ncqes; /* maximum completions that may wait, without those of shared receives */
	uint64_t parked;
	uint32_t reads;	    /* READs in flight */
	uint32_t sends;	    /* Sends that started and have not arrived */
	uint64_t landed_ns; /* time at which the latest started WRITE or Send arrives */
	uint64_t recv_ns;   /* time of the latest receive completion */
	uint64_t failed;    /* position of the first failed work request; UINT64_MAX: none */
	char addr[FABRIC_ADDR_MAX];
	/* content of the request, and then of the answer */
	enum sim_answer answer;
	uint32_t private_len;
	uint8_t private_data[FABRIC_PRIVATE_DATA_MAX];
};

/* world.c */
uint64_t sim_random(struct sim_world *world);
uint64_t sim_random_below(struct sim_world *world, uint64_t limit);
uint64_t sim_draw(struct sim_world *world, const struct sim_latency *latency);
struct sim_world *sim_world_find(uint32_t id);
struct sim_world *sim_world_default(uint64_t seed);
struct sim_qp *sim_world_qp(const struct sim_world *world, uint32_t number);
uint32_t sim_world_add_qp(struct sim_world *world, struct sim_qp *qp); /* 0: no memory */
/* Adds an event. If there is no memory for the event, the world ends and no more events run. */
void sim_schedule(struct sim_world *world, const struct sim_event *event);
/* Removes the first event, heap[0], from the heap. */
void sim_pop(struct sim_world *world);
void sim_note(struct sim_world *world, const char *what, uint32_t qp, uint64_t a, uint64_t b);
/* Frees the world itself. It has no objects left. */
void sim_world_free(struct sim_world *world);

/* dev.c */
extern const struct fabric_ops sim_ops;

/* teardown.c */
void sim_dev_free(struct sim_dev *dev);

/* cq.c */
/* Reserves room for 'more' completions that may wait at once. Returns 0 or -ENOMEM. */
int sim_cq_reserve(struct sim_dev *dev, uint32_t more);
void sim_cq_push(struct sim_qp *qp, const struct fabric_wc *wc, uint64_t position);
void sim_cq_drop(struct sim_dev *dev, uint32_t qp);

/* poll.c */
uint32_t sim_poll(struct fabric_dev *dev, struct fabric_wc *wcs, uint32_t max);

/* keys.c */
uint32_t sim_key_make(struct sim_world *world);
void sim_key_enter(struct sim_dev *dev, struct sim_key *key);
struct sim_key *sim_key_find(const struct sim_dev *dev, uint32_t value); /* NULL: none */

/* domain.c */
int sim_own_domains(struct fabric_dev *dev);
uint32_t sim_qp_rkey(const struct fabric_qp *qp, uint32_t rkey);
/*
 * Create the keys of a queue pair for all registrations, or the keys of all queue pairs for one
 * registration, and remove them. Return 0 or -ENOMEM.
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
/* Returns true when [addr, addr + len) is in the registration of 'lkey' and 'access' is allowed. */
bool sim_local_ok(const struct sim_dev *dev, uint32_t lkey, const void *addr, uint64_t len,
		  uint32_t access);
/*
 * Returns the memory of the side of 'qp' that its peer addresses, or NULL when the peer has no
 * access.
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
/* Frees the request and sends the answer REFUSE to the connecting side. */
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
/* Schedules an event after 'delay_ns', or after the latency of a message. */
void sim_cm_schedule(struct sim_qp *qp, enum sim_event_kind kind, uint64_t delay_ns);
void sim_cm_send(struct sim_qp *qp, enum sim_event_kind kind);
void sim_cm_lose(struct sim_qp *qp); /* schedules the notice of the end of the connection */
/* Adds an event to those that wait to be polled. The second function removes it if it is queued. */
void sim_cm_add(struct sim_dev *dev, struct sim_cm_entry *entry, enum fabric_cm_kind kind);
void sim_cm_remove(struct sim_dev *dev, struct sim_cm_entry *entry);
struct sim_cm_entry *sim_cm_raise(struct sim_qp *qp, enum fabric_cm_kind kind, int error);
/* Returns a connecting queue pair by number, or NULL when it no longer waits for an answer. */
struct sim_qp *sim_cm_connecting(struct sim_world *world, uint32_t number);
void sim_cm_answer(struct sim_qp *qp, enum sim_answer kind);
void sim_cm_drop(struct sim_qp *qp); /* removes the events that were not polled */

/* srq.c */
uint32_t sim_post_recv(struct fabric_qp *qp, const struct fabric_recv_wr *wrs, uint32_t n);
int sim_srq_create(struct fabric_dev *dev, const struct fabric_srq_attr *attr,
		   struct fabric_srq **srq);
void sim_srq_destroy(struct fabric_srq *srq);
uint32_t sim_srq_post_recv(struct fabric_srq *srq, const struct fabric_recv_wr *wrs, uint32_t n);
/*
 * Posts a receive again after its message was delivered. The receive has kept its entry in 'used'.
 */
void sim_srq_put_back(struct sim_srq *srq, const struct fabric_recv_wr *wr);
void sim_srq_take_back(
	struct sim_qp *qp); /* flushes taken receives of a queue pair in destruction */

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
void sim_qp_break(struct sim_qp *qp); /* enters error; all work requests will be flushed */
void sim_qp_flush(struct sim_qp *qp);
void sim_sq_complete(struct sim_qp *qp); /* makes all completions that are due */
void sim_rq_complete(struct sim_qp *qp);
/* Schedules a flush of all work requests of a broken queue pair. */
void sim_qp_schedule_flush(struct sim_qp *qp);

/*
 * Handles the post of 'taken' work requests: calls 'wake', or schedules a flush when the queue pair
 * is broken. Returns 'taken'.
 */
uint32_t sim_qp_posted(struct sim_qp *qp, uint32_t taken, void (*wake)(struct sim_qp *qp));

/* recv.c */
/*
 * Returns the receive that the next message to 'qp' takes, if necessary from the shared queue.
 * Returns NULL when none is posted.
 */
struct sim_rwr *sim_next_receive(struct sim_qp *qp);
void sim_rq_wake_peer(struct sim_qp *qp); /* starts a Send of the peer that waits for a receive */

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
void sim_start(struct sim_qp *qp); /* starts the next work request that can start */
bool sim_source_sum(const struct sim_qp *qp, const struct sim_swr *swr, uint64_t *sum);

#endif
