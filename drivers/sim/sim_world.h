/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

/*
 * Inside the simulated driver.
 *
 * All that happens later is an event in the world's heap, ordered by time and, at the same time, by
 * when it was made. Every event is about one queue pair, named by its number: numbers are not used
 * twice, so that an event outlives its queue pair without harm, and is then dropped without time
 * passing.
 *
 * Each file calls only those above it:
 *
 *   world.c      chance, time, the heap of events: which event is next
 *   keys.c       keys
 *   domain.c     keys of one queue pair
 *   memory.c     registrations, windows, who may touch what
 *   cq.c         completion queues
 *   cm_event.c   messages of the connection manager, and events that wait to be polled
 *   recv.c       the receives that messages take
 *   srq.c        shared receives
 *   complete.c   completions of work requests, and the break of a queue pair
 *   execute.c    what work requests do
 *   post.c       what is posted
 *   qp.c         start and end of queue pairs
 *   cm.c         set-up and end of connections
 *   step.c       the next event happens, or is dropped if its queue pair has ended
 *   poll.c       what is polled
 *   teardown.c   the end of devices and worlds
 *   dev.c        devices: their options, their death and their operations
 */

#include <sys/queue.h>

#include "backlog.h"
#include "driver.h"
#include "sim.h"

#define SIM_PIECES_MAX	4u
#define SIM_KEY_BUCKETS 256u

enum sim_event_kind {
	SIM_START,	/* the device takes up the next work request */
	SIM_LAND,	/* a piece of a WRITE reaches the peer's memory */
	SIM_FETCH,	/* a piece of a READ comes back */
	SIM_ARRIVE,	/* a Send reaches the peer */
	SIM_ACK,	/* the sender hears that a work request is done */
	SIM_NAK,	/* or that it failed */
	SIM_RECV_DONE,	/* the next receive completes */
	SIM_FLUSH,	/* all that is posted on a broken queue pair completes */
	SIM_CM_REQUEST, /* the request reaches the listener; of the connecting queue pair, as the
			   next two */
	SIM_CM_ANSWER,
	SIM_CM_TIMEOUT,
	SIM_CM_READY, /* the accepting side hears that the other has heard */
	SIM_CM_LOST,  /* this side notices that the connection is over */
	SIM_NEVENTS
};

struct sim_event {
	uint64_t at_ns;
	uint64_t seq;
	uint64_t wr; /* position in the send queue */
	uint32_t qp;
	uint32_t offset; /* LAND, FETCH: of the piece */
	uint32_t len;
	enum sim_event_kind kind;
};

TAILQ_HEAD(sim_devs, sim_dev);
TAILQ_HEAD(sim_listeners, fabric_listener);
TAILQ_HEAD(sim_reqs, fabric_conn_req);

struct sim_world {
	struct sim_options options;
	uint32_t id;
	bool runs_itself; /* the default world: a poll is a step */
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

	struct sim_qp **qps; /* by number; NULL: destroyed */
	uint32_t nqps;
	uint32_t qps_size;

	uint32_t key_count; /* keys made so far */
	uint32_t key_mask;  /* chosen by the seed */
	uint32_t mw_count;
	uint32_t dev_count;
	struct sim_devs devs;
	struct sim_listeners listeners;
	struct sim_reqs reqs;
};

/* Memory that a key opens. */
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
	uint32_t qp; /* of a window, or in a queue pair's own domain: the one that it is for; 0: all
		      */
};

LIST_HEAD(sim_keys, sim_key);

struct sim_mr {
	LIST_ENTRY(sim_mr) entry;
	struct sim_key local;
	struct sim_key remote; /* entered only when there is remote access */
};

struct sim_mw {
	LIST_ENTRY(sim_mw) entry;
	uint32_t number;    /* unique in the world: a posted binding may outlive its window */
	struct sim_key key; /* entered while bound */
	uint32_t latest;    /* the key of the latest binding that was executed; 0: none */
	uint32_t latest_qp;
	bool is_bound;
};

/* A registration in a queue pair's own domain. */
struct sim_own_key {
	LIST_ENTRY(sim_own_key) entry;
	struct sim_key key;
};

LIST_HEAD(sim_own_keys, sim_own_key);
LIST_HEAD(sim_mrs, sim_mr);
LIST_HEAD(sim_mws, sim_mw);

struct sim_cqe {
	struct fabric_wc wc;
	uint32_t qp;	   /* 0: of none any more, a shared receive */
	uint64_t position; /* in its queue */
};

/* An event to be polled; part of what it is about. */
struct sim_cm_entry {
	TAILQ_ENTRY(sim_cm_entry) entry;
	bool is_queued;
	struct fabric_cm_event event;
	struct fabric_conn_req *req; /* a REQUEST's */
	struct sim_qp *qp;	     /* of any other */
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
	bool was_shown; /* the latest message that could be: they are shown by turns */
	struct sim_keys keys[SIM_KEY_BUCKETS];
	struct sim_mrs mrs;
	struct sim_mws mws;
	struct sim_cm_entries cm;
	struct sim_srq *srq;
	struct sim_cqe *cq; /* a ring that holds all that its queue pairs may complete */
	uint32_t cq_size;   /* a power of two */
	uint32_t cq_head, cq_count, cq_reserved;
};

struct fabric_listener {
	TAILQ_ENTRY(fabric_listener) entry;
	struct sim_dev *dev;
	void *ctx;
	struct backlog backlog; /* requests that were not polled yet, by 'waiting' */
	char addr[FABRIC_ADDR_MAX];
};

struct fabric_conn_req {
	TAILQ_ENTRY(fabric_conn_req) entry;
	struct fabric_listener *listener; /* NULL: closed since */
	uint32_t qp;			  /* that connects */
	struct backlog_entry waiting;	  /* in the listener's backlog, until it is polled */
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
	uint32_t bind_mw;    /* its number */
	uint64_t arrives_ns; /* a Send, not before */
	uint64_t source_sum; /* of what is to be sent, at the post */
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

/* Positions count up; place = position % size. head: oldest that still holds a place. */
struct sim_sq {
	struct sim_swr *wrs;
	uint8_t *inline_data;
	uint32_t size;
	uint64_t head;
	uint64_t completed; /* first without its completion made */
	uint64_t next;	    /* first that is not started */
	uint64_t tail;
};

/* With a shared queue, a receive is moved here from there by the message that takes it. */
struct sim_rq {
	struct sim_rwr *wrs;
	uint32_t size;
	uint64_t head;
	uint64_t completed;
	uint64_t filled; /* first that has met no message */
	uint64_t tail;
};

struct sim_srq {
	struct fabric_srq base;
	struct sim_dev *dev;
	void *ctx;
	struct fabric_recv_wr *wrs; /* that wait, of place % size */
	uint32_t size;
	uint32_t used; /* places: waiting, taken, and completions not polled */
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
	bool was_established; /* its event was raised */
	bool may_send;	      /* and polled */
	bool is_closed;	      /* from this side */
	bool says_goodbye;    /* it leaves in order */
	bool peer_left;	      /* and so did its peer */
	bool end_raised;      /* FAILED, REJECTED or DISCONNECTED was */
	struct sim_cm_entry established, end;
	bool is_starting; /* a START is under way */
	bool is_parked;	  /* the Send at 'parked' waits for a receive, for ever */
	struct sim_sq sq;
	struct sim_rq rq;
	struct sim_srq *srq;
	struct sim_own_keys own_keys;
	uint32_t ncqes; /* completions that may wait; those of shared receives are the shared
			   queue's */
	uint64_t parked;
	uint32_t reads;	    /* in flight */
	uint32_t sends;	    /* started, and not with the peer yet */
	uint64_t landed_ns; /* by when all that was started has landed */
	uint64_t recv_ns;   /* of the latest receive completion */
	uint64_t failed;    /* position of the first work request that failed; UINT64_MAX: none */
	char addr[FABRIC_ADDR_MAX];
	/* what goes along with the request, then with the answer */
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
/* Without memory for the event the world is over: nothing happens in it any more. */
void sim_schedule(struct sim_world *world, const struct sim_event *event);
/* Take the first event, heap[0], off the heap. */
void sim_pop(struct sim_world *world);
void sim_note(struct sim_world *world, const char *what, uint32_t qp, uint64_t a, uint64_t b);
/* Free the world itself, when nothing is left in it. */
void sim_world_free(struct sim_world *world);

/* dev.c */
extern const struct fabric_ops sim_ops;

/* teardown.c */
void sim_dev_free(struct sim_dev *dev);

/* cq.c */
/* Make room for 'more' completions that may wait at once. 0 or -ENOMEM. */
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
/* A queue pair's keys of all registrations, of all queue pairs' of one, and their ends. 0 or
 * -ENOMEM. */
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
/* Whether [addr, addr + len) is in the registration of that lkey, with those rights. */
bool sim_local_ok(const struct sim_dev *dev, uint32_t lkey, const void *addr, uint64_t len,
		  uint32_t access);
/* Memory of 'qp's side that its peer names so; NULL when it may not. */
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
/* Free it, and answer the connecting side that nobody accepts. */
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
/* Have the event happen after a delay, or after the time that a message takes. */
void sim_cm_schedule(struct sim_qp *qp, enum sim_event_kind kind, uint64_t delay_ns);
void sim_cm_send(struct sim_qp *qp, enum sim_event_kind kind);
void sim_cm_lose(struct sim_qp *qp); /* it will notice after a while that the connection is over */
/* Add an event to those that are to be polled, or remove it if it is there. */
void sim_cm_add(struct sim_dev *dev, struct sim_cm_entry *entry, enum fabric_cm_kind kind);
void sim_cm_remove(struct sim_dev *dev, struct sim_cm_entry *entry);
struct sim_cm_entry *sim_cm_raise(struct sim_qp *qp, enum fabric_cm_kind kind, int error);
/* A connecting queue pair by number, as long as it waits for an answer. */
struct sim_qp *sim_cm_connecting(struct sim_world *world, uint32_t number);
void sim_cm_answer(struct sim_qp *qp, enum sim_answer kind);
void sim_cm_drop(struct sim_qp *qp); /* the events that were not polled */

/* srq.c */
uint32_t sim_post_recv(struct fabric_qp *qp, const struct fabric_recv_wr *wrs, uint32_t n);
int sim_srq_create(struct fabric_dev *dev, const struct fabric_srq_attr *attr,
		   struct fabric_srq **srq);
void sim_srq_destroy(struct fabric_srq *srq);
uint32_t sim_srq_post_recv(struct fabric_srq *srq, const struct fabric_recv_wr *wrs, uint32_t n);
/* A receive whose message was shown and is done with. It has kept its place. */
void sim_srq_put_back(struct sim_srq *srq, const struct fabric_recv_wr *wr);
void sim_srq_take_back(
	struct sim_qp *qp); /* what it has taken and was not polled; the queue pair goes */

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
void sim_qp_break(struct sim_qp *qp); /* into error: all that is posted will be flushed */
void sim_qp_flush(struct sim_qp *qp);
void sim_sq_complete(struct sim_qp *qp); /* make the completions that can be made */
void sim_rq_complete(struct sim_qp *qp);
/* Have what is posted to a broken queue pair flushed. */
void sim_qp_schedule_flush(struct sim_qp *qp);

/* 'taken' work requests were posted: have the device go on by 'wake', or flush them. */
uint32_t sim_qp_posted(struct sim_qp *qp, uint32_t taken, void (*wake)(struct sim_qp *qp));

/* recv.c */
/* The receive that the next message to 'qp' takes, from the shared queue if it has one; NULL: none
 * is posted. */
struct sim_rwr *sim_next_receive(struct sim_qp *qp);
void sim_rq_wake_peer(struct sim_qp *qp); /* a Send of the peer's may be waiting for a receive that
					     is there now */

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
void sim_start(struct sim_qp *qp); /* have the device take up what can be started */
bool sim_source_sum(const struct sim_qp *qp, const struct sim_swr *swr, uint64_t *sum);

#endif
