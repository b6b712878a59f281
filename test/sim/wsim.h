/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WSIM_H
#define WSIM_H

/*
 * weir-sim: requesters and responders with many connections, over fault over sim, in one thread and
 * virtual time.
 *
 * A run is of a seed: it draws the size of everything, then takes steps. A step lets something
 * happen in the simulated world, polls some of the engines, and now and then has an application do
 * something. Then all that must hold at any time is checked. At the end the faults stop, everything
 * has to come to its end within a bound, everyone has to be able to call again, and when all is
 * closed nothing may be left.
 *
 * main.c: options, seeds, what is printed. run.c: the steps. world.c: engines, listeners,
 * connections. plan.c: what a call is to carry, and what must come back: the oracle. call.c: the
 * requesters' application. handle.c: the responders'. check.c: what must hold.
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
#define WSIM_CALLS_LAST 64u /* of these, for what is to be proved at the end */
#define WSIM_ITEMS	8u
#define WSIM_ITEM_BYTES 8000u
#define WSIM_SLOTS	24u /* of an engine's memory, each for the items of one call */
#define WSIM_SLOT_BYTES (2u * WSIM_ITEMS * 8192u)
#define WSIM_HELD	256u
#define WSIM_PLACED	512u /* calls whose arguments the handler places at a time */
#define WSIM_LEVEL_MAX	3u

#define MS 1000000ull

enum wsim_proc {
	WSIM_NULL,
	WSIM_ITEMS8, /* up to 8 arguments and 8 results are DDP-eligible */
	WSIM_PLAIN,  /* none */
	WSIM_READ,   /* one result */
	WSIM_WRITE,  /* one argument */
	WSIM_TWO,    /* two of each */
	WSIM_NPROCS
};

enum wsim_answer { ANSWER_OK, ANSWER_GARBAGE, ANSWER_SYSTEM_ERR, ANSWER_DENIED };

struct wsim_item {
	uint32_t len;
	bool is_item; /* named by reference; else encoded in the message */
};

/* A call: what it carries, and what has become of it. The same for both sides: it is the oracle. */
struct wsim_call {
	/* the plan */
	enum wsim_proc proc;
	uint32_t nargs, nresults, noffers;
	struct wsim_item args[WSIM_ITEMS], results[WSIM_ITEMS];
	uint32_t offers[WSIM_ITEMS]; /* memory for the result items, in order; 0: an empty Write
					chunk */
	bool is_short;		     /* fewer bytes were offered than come back */
	enum wsim_answer answer;
	uint64_t delay_ns;   /* until the handler replies; 0: at once */
	uint64_t timeout_ns; /* 0: the profile's */
	uint32_t place;	     /* bit i: the handler names memory for argument i */
	bool has_cred;
	bool reconnects;  /* its connection is remade when it is lost: it may be sent again */
	bool use_scratch; /* results are sent from memory that is reused when they are sent */
	bool has_ops;	  /* each argument is an operation, which may yield results: wsim_op_of() */

	/* what became of it */
	struct wsim_side *side;
	uint32_t slot;
	uint64_t begun_ns;
	bool is_submitted;
	struct weir_call *call; /* under way; else NULL */
	uint32_t latest; /* where calls were had again, of those that began with this one; or this
			    one */
	bool is_cancelled;
	bool had_no_buffer; /* the handler replied SYSTEM_ERR for want of one */
	uint32_t done;
	int status;
	uint32_t handled;
	uint32_t replied;
	uint32_t ran_side, ran_life; /* who carried it out last */
};

/* A connection as a requester's application has it. */
struct wsim_link {
	struct wsim_side *side;
	struct weir_conn *conn; /* NULL: none */
	bool is_open;
	bool reconnects; /* when it is lost */
	uint32_t responder;
};

/* Memory of one slot: items of arguments, then of results, 8192 apart. */
struct wsim_slot {
	bool is_busy;
	uint32_t used[2 * WSIM_ITEMS]; /* bytes in which nobody may write any more */
};

/* An engine with its application. */
struct wsim_side {
	struct wsim_run *run;
	uint32_t index;
	bool is_requester;
	bool is_dead;	     /* killed, and not made again yet */
	uint32_t life;	     /* how often it was made */
	uint32_t ncancelled; /* calls, in this life */
	struct weir_profile profile;
	struct weir_engine *engine;
	struct weir_region *region; /* of 'mem' */
	struct weir_region *table;  /* where results are read from */
	uint8_t *mem;
	struct wsim_slot slots[WSIM_SLOTS];
	uint32_t nslots_busy;

	/* requester */
	uint32_t nlinks;
	struct wsim_link links[WSIM_CONNS];
	/* responder */
	struct weir_listener *listener;
	uint32_t nconns;
	struct weir_conn *conns[WSIM_ENGINES * WSIM_CONNS * 4];
	uint64_t on_sent_asked, on_sent_done;
};

/* A request whose handler has not replied yet. */
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
	uint32_t plant; /* 0: none */
	enum weir_protocol protocol;
	enum weir_extension extension;
	bool mixes;  /* each engine speaks a version of its own: requesters what their responder
			does, or either */
	FILE *trace; /* NULL: none */
};

struct wsim_counts {
	uint64_t calls, ok, refused, timed_out, lost, err_chunk, rpc_errors, handled, orphans,
		opened, kills, faults, reconnected, resent, given_up, replays, continued, directed,
		placed, fallbacks, cancelled, proven;
};

struct wsim_run {
	struct wsim_options options;
	uint64_t rng;
	uint64_t cancel_rng; /* of its own: other runs are to stay what they were */
	uint64_t again_rng;  /* likewise */
	uint64_t hash;
	uint32_t step;
	struct sim_world *world;
	struct weir_profile profile;
	bool is_calm;	    /* the faults have stopped, and nobody does harm any more */
	bool hands_over;    /* one responder listens for all */
	bool has_now;	    /* the driver has the short cuts that need no post */
	bool keeps_replies; /* some procedures are not idempotent */
	bool cancels;	    /* applications give up calls of their own accord */
	bool calls_again;   /* in 'done', at times */
	bool is_tight;	    /* few buffers: a reply may not find one, which ends its connection */
	uint32_t nrequesters, nresponders;
	uint32_t one_in; /* rate of faults */
	uint32_t kinds;
	struct wsim_side sides[WSIM_ENGINES];
	uint32_t ncalls;
	uint32_t nactive; /* submitted, and not done */
	struct wsim_call calls[WSIM_CALLS];
	uint32_t nheld;
	struct wsim_held held[WSIM_HELD];
	struct wsim_counts counts;
	bool is_violated;
	char violation[256];
};

/* run.c */
/* 0: all held. 1: run->violation says what did not. */
int wsim_run(struct wsim_run *run, const struct wsim_options *options);
uint64_t wsim_random(struct wsim_run *run);
uint32_t wsim_below(struct wsim_run *run, uint32_t limit);
uint64_t wsim_random_of(uint64_t *state);
/* A chance of 'percent' in 100. */
bool wsim_chance(struct wsim_run *run, uint32_t percent);
/* One that must hold does not: the first is kept, and ends the run. */
printf_like(2, 3) void wsim_violation(struct wsim_run *run, const char *format, ...);
/* What the applications see goes into the trace and its hash. */
void wsim_note(struct wsim_run *run, const char *what, uint32_t side, uint64_t a, uint64_t b);
uint64_t wsim_now(const struct wsim_run *run);

/* world.c */
int wsim_world_create(struct wsim_run *run);
int wsim_side_create(struct wsim_run *run, uint32_t index);
void wsim_side_destroy(struct wsim_side *side);
void wsim_side_kill(struct wsim_side *side);
void wsim_link_connect(struct wsim_link *link);
/* What the engine counted, before it goes. */
void wsim_count_side(struct wsim_side *side);
void wsim_faults_set(struct wsim_run *run, uint32_t one_in);
/* Of the driver sim, underneath. */
struct fabric_dev *wsim_device(const struct wsim_side *side);
uint32_t wsim_nsides(const struct wsim_run *run);
/* Memory of a slot; -1: all are taken. */
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
/* What argument or result 'item' of a call holds: a place in the table. */
const uint8_t *wsim_content(uint32_t call, uint32_t item, bool is_result);
/* Of a call with operations: which of them yields a result, and where in the arguments it begins.
 */
uint32_t wsim_op_of(const struct wsim_call *call, uint32_t result);
uint32_t wsim_op_at(const struct wsim_call *call, uint32_t op);
bool wsim_is_eligible(const struct wsim_call *call, uint32_t item, bool is_result);
/* Bounds of the XDR, items that travel by reference or chunk left out. */
uint32_t wsim_args_bytes(const struct wsim_call *call);
uint32_t wsim_results_bytes(const struct wsim_call *call);
bool wsim_may_be_err_chunk(const struct wsim_run *run, const struct wsim_call *call);

/* call.c */
void wsim_call_make(struct wsim_link *link, bool must_work);
/* Now and then, one of those that are under way. */
void wsim_call_cancel_some(struct wsim_run *run, uint32_t percent);
uint32_t wsim_marker(uint32_t call, uint32_t item);

/* handle.c */
void wsim_handle(struct weir_request *req, void *arg);
int wsim_place(struct weir_request *req, uint32_t item, uint32_t len, struct weir_arg_sink *place,
	       void *arg);
/* Reply to what is due by then. */
void wsim_reply_due(struct wsim_run *run, uint64_t now_ns);
void wsim_reply_all_of(struct wsim_side *side);

/* check.c */
void wsim_check_step(struct wsim_run *run);
/* Nothing is under way any more on any engine, and no connection is left. */
void wsim_check_rest(struct wsim_run *run);

#endif
