/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WSIM_H
#define WSIM_H

/*
 * weir-sim: requesters and responders with many connections, over fault over sim, in one thread and
 * virtual time.
 *
 * A run belongs to a seed. It draws the size of everything, then takes steps. A step:
 * - lets something happen in the simulated world
 * - polls some of the engines
 * - sometimes has an application do something
 * - checks all conditions that must hold at any time
 *
 * At the end the faults stop. Everything must end within a bound, every requester must be able to
 * call again, and after everything is closed nothing may be left.
 *
 * main.c: options, seeds, output. run.c: the steps. world.c: engines, listeners, connections.
 * plan.c: the data of a call and its expected results: the oracle. call.c: the requesters'
 * application. handle.c: the responders'. check.c: the conditions that must hold.
 */

#include <stdio.h>

#include "compiler.h"
#include "conn.h"
#include "requester.h"
#include "responder.h"
#include "sim.h"

#define WSIM_PROG	0x20000077u
#define WSIM_VERS	1u
#define WSIM_ENGINES	5u /* requesters first */
#define WSIM_CONNS	8u /* of one requester */
#define WSIM_CALLS	4096u
#define WSIM_CALLS_LAST 64u /* of these, for the calls that are checked at the end */
#define WSIM_ITEMS	8u
#define WSIM_ITEM_BYTES 8000u
#define WSIM_SLOTS	24u /* of an engine's memory; each holds the items of one call */
#define WSIM_SLOT_BYTES (2u * WSIM_ITEMS * 8192u)
#define WSIM_HELD	256u
#define WSIM_PLACED	512u /* calls whose arguments the handler places, at a time */
#define WSIM_LEVEL_MAX	3u

#define MS 1000000ull

enum wsim_proc {
	WSIM_NULL,
	WSIM_ITEMS8, /* up to 8 arguments and 8 results are DDP-eligible */
	WSIM_PLAIN,  /* no item */
	WSIM_READ,   /* one result */
	WSIM_WRITE,  /* one argument */
	WSIM_TWO,    /* two of each */
	WSIM_NPROCS
};

enum wsim_answer { ANSWER_OK, ANSWER_GARBAGE, ANSWER_SYSTEM_ERR, ANSWER_DENIED };

struct wsim_item {
	uint32_t len;
	bool is_item; /* passed by reference; otherwise encoded in the message */
};

/* A call: its data and its outcome. Both sides use the same structure, which is the oracle. */
struct wsim_call {
	/* The plan. */
	enum wsim_proc proc;
	uint32_t nargs, nresults, noffers;
	struct wsim_item args[WSIM_ITEMS], results[WSIM_ITEMS];
	/* memory for the result items, in order; 0: an empty Write chunk */
	uint32_t offers[WSIM_ITEMS];
	bool is_short; /* fewer bytes were offered than are returned */
	enum wsim_answer answer;
	uint64_t delay_ns;   /* until the handler replies; 0: at once */
	uint64_t timeout_ns; /* 0: the timeout of the profile */
	uint32_t place;	     /* bit i: the handler names memory for argument i */
	bool has_cred;
	/* the connection reconnects when it is lost, so that the call may be retransmitted */
	bool reconnects;
	bool use_scratch; /* results are sent from memory that is reused after the Send */
	bool has_ops;	  /* each argument is an operation that may return results: wsim_op_of() */

	/* The outcome. */
	struct wsim_side *side;
	uint32_t slot;
	uint64_t begun_ns;
	bool is_submitted;
	struct weir_call *call; /* NULL if it is not active */
	uint32_t latest;	/* the latest call that reused this one; or this call itself */
	bool is_cancelled;
	bool had_no_buffer; /* the handler replied SYSTEM_ERR because it had no buffer */
	uint32_t done;
	int status;
	uint32_t handled;
	uint32_t replied;
	uint32_t ran_side, ran_life; /* the side that carried it out last */
};

/* A connection of a requester's application. */
struct wsim_link {
	struct wsim_side *side;
	struct weir_conn *conn; /* NULL: no connection */
	bool is_open;
	bool reconnects; /* if the connection is lost */
	uint32_t responder;
};

/* The memory of one slot: items of arguments, then of results, at intervals of 8192. */
struct wsim_slot {
	bool is_busy;
	uint32_t used[2 * WSIM_ITEMS]; /* bytes to which nobody may write any more */
};

/* An engine and its application. */
struct wsim_side {
	struct wsim_run *run;
	uint32_t index;
	bool is_requester;
	bool is_dead;	     /* killed and not yet created again */
	uint32_t life;	     /* number of times that it was created */
	uint32_t ncancelled; /* cancelled calls in this life */
	struct weir_profile profile;
	struct weir_engine *engine;
	struct weir_region *region; /* of 'mem' */
	struct weir_region *table;  /* the memory that results are read from */
	uint8_t *mem;
	struct wsim_slot slots[WSIM_SLOTS];
	uint32_t nslots_busy;

	/* The requester. */
	uint32_t nlinks;
	struct wsim_link links[WSIM_CONNS];
	/* The responder. */
	struct weir_listener *listener;
	uint32_t nconns;
	struct weir_conn *conns[WSIM_ENGINES * WSIM_CONNS * 4];
	uint64_t on_sent_asked, on_sent_done;
};

/* A request to which its handler has not yet replied. */
struct wsim_held {
	struct weir_request *req;
	struct wsim_side *side;
	uint32_t call;
	uint64_t due_ns;
};

struct wsim_options {
	uint64_t seed;
	uint32_t steps;
	uint32_t level;
	uint32_t plant; /* seeded bug; 0: none */
	enum weir_protocol protocol;
	enum weir_extension extension;
	/* each engine speaks its own versions: each requester speaks that of its responder, or
	 * either version */
	bool mixes;
	FILE *trace; /* NULL: no trace */
};

struct wsim_counts {
	uint64_t calls, ok, refused, timed_out, lost, err_chunk, rpc_errors, handled, orphans,
		opened, kills, faults, reconnected, resent, given_up, replays, continued, directed,
		placed, fallbacks, cancelled, proven;
};

struct wsim_run {
	struct wsim_options options;
	uint64_t rng;
	uint64_t cancel_rng; /* separate, so that the runs of other seeds do not change */
	uint64_t again_rng;  /* separate as well */
	uint64_t hash;
	uint32_t step;
	struct sim_world *world;
	struct weir_profile profile;
	bool is_calm;	    /* the faults have stopped, and the applications cause no more ends */
	bool hands_over;    /* one responder listens for all */
	bool has_now;	    /* the driver has direct operations */
	bool keeps_replies; /* some procedures are not idempotent */
	bool cancels;	    /* applications cancel calls */
	bool calls_again;   /* in 'done', sometimes */
	/* there are few buffers: a reply may find none, which ends its connection */
	bool is_tight;
	uint32_t nrequesters, nresponders;
	uint32_t one_in; /* rate of faults */
	uint32_t kinds;
	struct wsim_side sides[WSIM_ENGINES];
	uint32_t ncalls;
	uint32_t nactive; /* calls that were submitted and have not ended */
	struct wsim_call calls[WSIM_CALLS];
	uint32_t nheld;
	struct wsim_held held[WSIM_HELD];
	struct wsim_counts counts;
	bool is_violated;
	char violation[256];
};

/* run.c */
/* Returns 0 if all conditions held, or 1 if run->violation names one that did not. */
int wsim_run(struct wsim_run *run, const struct wsim_options *options);
uint64_t wsim_random(struct wsim_run *run);
uint32_t wsim_below(struct wsim_run *run, uint32_t limit);
uint64_t wsim_random_of(uint64_t *state);
/* Returns true with a chance of 'percent' in 100. */
bool wsim_chance(struct wsim_run *run, uint32_t percent);
/* Records the first condition that does not hold, and ends the run. */
printf_like(2, 3) void wsim_violation(struct wsim_run *run, const char *format, ...);
/* Adds an event that the applications see to the trace and its hash. */
void wsim_note(struct wsim_run *run, const char *what, uint32_t side, uint64_t a, uint64_t b);
uint64_t wsim_now(const struct wsim_run *run);

/* world.c */
int wsim_world_create(struct wsim_run *run);
int wsim_side_create(struct wsim_run *run, uint32_t index);
void wsim_side_destroy(struct wsim_side *side);
void wsim_side_kill(struct wsim_side *side);
void wsim_link_connect(struct wsim_link *link);
/* Adds the engine's counters before the engine is destroyed. */
void wsim_count_side(struct wsim_side *side);
void wsim_faults_set(struct wsim_run *run, uint32_t one_in);
/* Returns the device of the driver sim, below the other drivers. */
struct fabric_dev *wsim_device(const struct wsim_side *side);
uint32_t wsim_nsides(const struct wsim_run *run);
/* Takes a slot. Returns -1 if all slots are taken. */
int wsim_slot_get(struct wsim_side *side);
void wsim_slot_put(struct wsim_side *side, uint32_t slot);
uint8_t *wsim_slot_item(const struct wsim_side *side, uint32_t slot, uint32_t item);
bool wsim_slot_is_calm(const struct wsim_side *side, uint32_t slot);

/* plan.c */
extern const struct weir_ulb wsim_ulb;
extern const bool wsim_non_idempotent[WSIM_NPROCS];
void wsim_plan_init(void);
void wsim_plan(struct wsim_run *run, struct wsim_call *call);
uint8_t *wsim_table(size_t *bytes);
/* Returns the content of argument or result 'item' of a call: an address in the table. */
const uint8_t *wsim_content(uint32_t call, uint32_t item, bool is_result);
/* Return, for a call with operations, the operation that yields a result, and the place in the
 * arguments where an operation begins. */
uint32_t wsim_op_of(const struct wsim_call *call, uint32_t result);
uint32_t wsim_op_at(const struct wsim_call *call, uint32_t op);
bool wsim_is_eligible(const struct wsim_call *call, uint32_t item, bool is_result);
/* Return bounds of the XDR, without items that are passed by reference or chunk. */
uint32_t wsim_args_bytes(const struct wsim_call *call);
uint32_t wsim_results_bytes(const struct wsim_call *call);
bool wsim_may_be_err_chunk(const struct wsim_run *run, const struct wsim_call *call);

/* call.c */
void wsim_call_make(struct wsim_link *link, bool must_work);
/* Cancels one of the active calls, with that chance. */
void wsim_call_cancel_some(struct wsim_run *run, uint32_t percent);
uint32_t wsim_marker(uint32_t call, uint32_t item);

/* handle.c */
void wsim_handle(struct weir_request *req, void *arg);
int wsim_place(struct weir_request *req, uint32_t item, uint32_t len, struct weir_arg_sink *sink,
	       void *arg);
/* Replies to the requests that are due by then. */
void wsim_reply_due(struct wsim_run *run, uint64_t now_ns);
void wsim_reply_all_of(struct wsim_side *side);

/* check.c */
void wsim_check_step(struct wsim_run *run);
/* Checks that no call is active on any engine, and that no connection is left. */
void wsim_check_rest(struct wsim_run *run);

#endif
