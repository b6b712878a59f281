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
#include "test_counters.h"

#define WSIM_PROG	0x20000077u
#define WSIM_VERS	1u
#define WSIM_ENGINES	5u /* the requesters have the first indexes */
#define WSIM_CONNS	8u /* connections of one requester */
#define WSIM_CALLS	4096u
#define WSIM_CALLS_LAST 64u /* the last of these calls are for the checks at the end */
#define WSIM_ITEMS	8u
#define WSIM_ITEM_BYTES 8000u
#define WSIM_SLOTS	24u /* slots in the memory of an engine; each holds the items of one call */
#define WSIM_SLOT_BYTES (2u * WSIM_ITEMS * 8192u)
#define WSIM_HELD	256u
/* calls for whose arguments the handler can provide memory at a time */
#define WSIM_PLACED    512u
#define WSIM_LEVEL_MAX 3u

#define MS 1000000ull

enum wsim_proc {
	WSIM_NULL,
	WSIM_ITEMS8, /* up to 8 arguments and 8 results are DDP-eligible */
	WSIM_PLAIN,  /* no item is DDP-eligible */
	WSIM_READ,   /* one result is DDP-eligible */
	WSIM_WRITE,  /* one argument is DDP-eligible */
	WSIM_TWO,    /* two arguments and two results are DDP-eligible */
	WSIM_NPROCS
};

enum wsim_answer { ANSWER_OK, ANSWER_GARBAGE, ANSWER_SYSTEM_ERR, ANSWER_DENIED };

struct wsim_item {
	uint32_t len;
	bool is_item; /* true: passed by reference; false: encoded in the message */
};

/*
 * A call: its plan and how it ended. Both sides use this structure, so that it says what each side
 * must receive.
 */
struct wsim_call {
	/* The plan. */
	enum wsim_proc proc;
	uint32_t nargs, nresults, noffers;
	struct wsim_item args[WSIM_ITEMS], results[WSIM_ITEMS];
	/*
	 * Bytes of memory that the call offers for each result item, in order. With 0, the Write
	 * chunk is empty.
	 */
	uint32_t offers[WSIM_ITEMS];
	bool is_short; /* the call offers less memory than the results need */
	enum wsim_answer answer;
	uint64_t delay_ns;   /* time until the handler replies; 0: at once */
	uint64_t timeout_ns; /* 0: the timeout of the profile */
	uint32_t place;	     /* bit i: the handler provides memory for argument i */
	bool has_cred;
	/* The connection reconnects after a loss, so that the call can be retransmitted. */
	bool reconnects;
	bool use_scratch; /* the results are sent from memory that is reused after the Send */
	bool has_ops;	  /* each argument is an operation that can return results (wsim_op_of()) */

	/* The outcome. */
	struct wsim_side *side;
	uint32_t slot;
	uint64_t begun_ns;
	bool is_submitted;
	struct weir_call *call; /* NULL if the call is not active */
	/* index of the latest call that reused the object, or of this call */
	uint32_t latest;
	bool is_cancelled;
	bool had_no_buffer; /* the handler replied SYSTEM_ERR, because it got no buffer */
	uint32_t done;
	int status;
	uint32_t handled;
	uint32_t replied;
	/* the side that carried out the call last, and in which of its lives */
	uint32_t ran_side, ran_life;
};

/* A connection of a requester's application. */
struct wsim_link {
	struct wsim_side *side;
	struct weir_conn *conn; /* NULL if there is no connection */
	bool is_open;
	bool reconnects; /* the connection reconnects after a loss */
	uint32_t responder;
};

/*
 * A slot of an engine's memory. It holds the items of the arguments and then those of the results,
 * at intervals of 8192 bytes.
 */
struct wsim_slot {
	bool is_busy;
	/* bytes of each item to which nobody is allowed to write after the call */
	uint32_t used[2 * WSIM_ITEMS];
};

/* An engine and its application. */
struct wsim_side {
	struct wsim_run *run;
	uint32_t index;
	bool is_requester;
	bool is_dead;	     /* was killed and has not been created again */
	uint32_t life;	     /* number of times that the engine was created */
	uint32_t ncancelled; /* number of calls that were cancelled since the engine was created */
	struct weir_profile profile;
	struct weir_engine *engine;
	struct weir_region *region; /* the region of 'mem' */
	struct weir_region *table;  /* the region of the table from which results are sent */
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
	uint32_t plant; /* number of the seeded bug, or 0 for none */
	enum weir_protocol protocol;
	enum weir_extension extension;
	/*
	 * Each engine chooses its versions: a responder speaks one or both, and each requester
	 * both.
	 */
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
	/* has random numbers of its own, so that the runs of other seeds do not change */
	uint64_t cancel_rng;
	uint64_t again_rng; /* has random numbers of its own as well */
	uint64_t hash;
	uint32_t step;
	struct sim_world *world;
	struct weir_profile profile;
	/* the faults have stopped, and the applications end no more connections */
	bool is_calm;
	bool hands_over;    /* one responder listens and hands connections to all responders */
	bool has_now;	    /* the driver has direct operations */
	bool keeps_replies; /* some procedures are not idempotent */
	bool cancels;	    /* applications cancel calls in this run */
	bool calls_again;   /* applications sometimes reuse calls in 'done' */
	/* There are few buffers. A reply can find none, which ends its connection. */
	bool is_tight;
	uint32_t nrequesters, nresponders;
	uint32_t one_in; /* one in this number of occasions is a fault */
	uint32_t kinds;
	struct wsim_side sides[WSIM_ENGINES];
	uint32_t ncalls;
	uint32_t nactive; /* number of calls that were submitted and have not ended */
	struct wsim_call calls[WSIM_CALLS];
	uint32_t nheld;
	struct wsim_held held[WSIM_HELD];
	struct wsim_counts counts;
	bool is_violated;
	char violation[256];
};

/* run.c */
/*
 * Carries out a run. Returns 0 if all conditions held. Returns 1 if one did not, which
 * run->violation names.
 */
int wsim_run(struct wsim_run *run, const struct wsim_options *options);
uint64_t wsim_random(struct wsim_run *run);
uint32_t wsim_below(struct wsim_run *run, uint32_t limit);
uint64_t wsim_random_of(uint64_t *state);
/* Returns true with a chance of 'percent' in 100. */
bool wsim_chance(struct wsim_run *run, uint32_t percent);
/* Records a violation if it is the first one, and ends the run. */
printf_like(2, 3) void wsim_violation(struct wsim_run *run, const char *format, ...);
/* Adds an event that an application sees to the trace and to the hash of the trace. */
void wsim_note(struct wsim_run *run, const char *what, uint32_t side, uint64_t a, uint64_t b);
uint64_t wsim_now(const struct wsim_run *run);

/* world.c */
int wsim_world_create(struct wsim_run *run);
int wsim_side_create(struct wsim_run *run, uint32_t index);
void wsim_side_destroy(struct wsim_side *side);
void wsim_side_kill(struct wsim_side *side);
void wsim_link_connect(struct wsim_link *link);
/*
 * Adds the counters of the engine to those of the run. It is called before the engine is destroyed.
 */
void wsim_count_side(struct wsim_side *side);
void wsim_faults_set(struct wsim_run *run, uint32_t one_in);
/* Returns the device of the driver sim, which is below the other drivers. */
struct fabric_dev *wsim_device(const struct wsim_side *side);
uint32_t wsim_nsides(const struct wsim_run *run);
/* Reserves a free slot. Returns its index, or -1 if no slot is free. */
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
/*
 * Returns the content of argument or result number 'item' of a call, which is an address in the
 * table.
 */
const uint8_t *wsim_content(uint32_t call, uint32_t item, bool is_result);
/*
 * For a call with operations, wsim_op_of() returns the operation that returns a result.
 * wsim_op_at() returns the position in the arguments where an operation begins.
 */
uint32_t wsim_op_of(const struct wsim_call *call, uint32_t result);
uint32_t wsim_op_at(const struct wsim_call *call, uint32_t op);
bool wsim_is_eligible(const struct wsim_call *call, uint32_t item, bool is_result);
/*
 * Return bounds for the encoded arguments and results, without items that are passed by reference
 * or by chunk.
 */
uint32_t wsim_args_bytes(const struct wsim_call *call);
uint32_t wsim_results_bytes(const struct wsim_call *call);
bool wsim_may_be_err_chunk(const struct wsim_run *run, const struct wsim_call *call);

/* call.c */
void wsim_call_make(struct wsim_link *link, bool must_work);
/* Cancels one of the latest calls, with a chance of 'percent' in 100. */
void wsim_call_cancel_some(struct wsim_run *run, uint32_t percent);
uint32_t wsim_marker(uint32_t call, uint32_t item);

/* handle.c */
void wsim_handle(struct weir_request *req, void *arg);
int wsim_place(struct weir_request *req, uint32_t item, uint32_t len, struct weir_arg_sink *sink,
	       void *arg);
/* Replies to the held requests whose time has come. */
void wsim_reply_due(struct wsim_run *run, uint64_t now_ns);
void wsim_reply_all_of(struct wsim_side *side);

/* check.c */
void wsim_check_step(struct wsim_run *run);
/*
 * Checks, at the end of a run, that no call is active in any engine and that no connection is left.
 */
void wsim_check_rest(struct wsim_run *run);

#endif
