/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run of weir-sim: steps with faults. Then the faults stop, and all calls and connections must
 * end.
 */
#include "wsim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include <rte_random.h>

#include "fault.h"

/* The time of a run after the faults have stopped, which is longer than each deadline. */
#define CALM_NS	   (100 * MS)
#define CALM_STEPS 400000u
#define TRIES	   3u

uint64_t wsim_random_of(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

uint64_t wsim_random(struct wsim_run *run)
{
	return wsim_random_of(&run->rng);
}

uint32_t wsim_below(struct wsim_run *run, uint32_t limit)
{
	return limit ? (uint32_t)(wsim_random(run) % limit) : 0;
}

bool wsim_chance(struct wsim_run *run, uint32_t percent)
{
	return wsim_below(run, 100) < percent;
}

uint64_t wsim_now(const struct wsim_run *run)
{
	return sim_now(run->world) + 1; /* 1 is added because an engine treats 0 as no time */
}

void wsim_violation(struct wsim_run *run, const char *format, ...)
{
	va_list args;

	if (run->is_violated)
		return;
	run->is_violated = true;
	va_start(args, format);
	vsnprintf(run->violation, sizeof(run->violation), format, args);
	va_end(args);
}

void wsim_note(struct wsim_run *run, const char *what, uint32_t side, uint64_t a, uint64_t b)
{
	uint64_t words[5] = {sim_now(run->world), side, a, b,
			     (uint64_t)what[0] << 8 | (uint64_t)what[1]};

	for (uint32_t i = 0; i < 5; i++)
		run->hash = (run->hash ^ words[i]) * 0x9e3779b97f4a7c15ull + (run->hash >> 29);
	if (run->options.trace)
		fprintf(run->options.trace,
			"%12" PRIu64 " engine %u %-12s %" PRIu64 " %" PRIu64 "\n",
			sim_now(run->world), side, what, a, b);
}

static void poll_side(struct wsim_run *run, struct wsim_side *side, uint32_t budget)
{
	if (!side->is_dead && !run->is_violated)
		weir_engine_poll(side->engine, budget, wsim_now(run));
}

/* Polls some of the engines in random order. Some polls have only a small budget. */
static void poll_some(struct wsim_run *run)
{
	uint32_t n = wsim_nsides(run), first = wsim_below(run, n);

	for (uint32_t i = 0; i < n; i++)
		if (wsim_chance(run, 60))
			poll_side(run, &run->sides[(first + i) % n],
				  wsim_chance(run, 70) ? 0 : 1 + wsim_below(run, 3));
}

static void pass_time(struct wsim_run *run)
{
	uint32_t what = wsim_below(run, 100);

	/*
	 * A long step is a fault as well: engines that are not polled meanwhile can exceed the time
	 * limits of each other.
	 */
	if (what < 2)
		sim_run_until(run->world,
			      sim_now(run->world) +
				      wsim_random(run) % (run->is_calm ? MS / 2 : 2 * MS));
	else if (what < 20)
		sim_run_until(run->world, sim_now(run->world) + wsim_below(run, 20000));
	else if (sim_next(run->world) - sim_now(run->world) > MS / 5 || !sim_step(run->world))
		sim_run_until(run->world,
			      /* the step must not pass a time limit at once */
			      sim_now(run->world) + MS / 10);
}

static struct wsim_side *any_requester(struct wsim_run *run)
{
	return &run->sides[wsim_below(run, run->nrequesters)];
}

static void close_one(struct wsim_run *run)
{
	struct wsim_side *side = &run->sides[wsim_below(run, wsim_nsides(run))];
	struct weir_conn *conn;

	if (side->is_dead)
		return;
	if (side->is_requester)
		conn = side->links[wsim_below(run, side->nlinks)].conn;
	else
		conn = side->nconns ? side->conns[wsim_below(run, side->nconns)] : NULL;
	if (!conn)
		return;
	wsim_note(run, "close", side->index, 0, 0);
	if (wsim_chance(run, 50))
		weir_conn_reset(conn);
	else if (wsim_chance(run, 50))
		weir_conn_close(conn);
	else
		weir_conn_shutdown(conn);
}

/* Kills a process, or starts one that died. */
static void kill_or_start(struct wsim_run *run)
{
	struct wsim_side *side = &run->sides[wsim_below(run, wsim_nsides(run))];

	if (!side->is_dead) {
		wsim_side_kill(side);
		return;
	}
	if (wsim_side_create(run, side->index) != 0)
		wsim_violation(run, "engine %u can't be made again", side->index);
	else
		fault_rate(side->engine->dev, run->kinds, run->is_calm ? 0 : run->one_in);
}

static void connect_or_call(struct wsim_run *run, struct wsim_link *link)
{
	uint32_t burst = wsim_chance(run, 10) ? 1 + wsim_below(run, 12) : 1;

	if (!link->conn) {
		wsim_link_connect(link);
		return;
	}
	/* Calls on a connection that is reconnecting wait for it. */
	while (link->conn && (link->is_open || conn_accepts_calls(link->conn)) && burst-- > 0)
		wsim_call_make(link, false);
}

/* Makes applications connect, call, close and so on, as they do outside of callbacks. */
static void act(struct wsim_run *run)
{
	struct wsim_side *side = any_requester(run);
	uint32_t level = run->options.level;

	if (!side->is_dead && wsim_chance(run, 20))
		connect_or_call(run, &side->links[wsim_below(run, side->nlinks)]);
	if (level > 0 && wsim_below(run, 400) == 0)
		close_one(run);
	if (level > 2 && wsim_below(run, 1500) == 0)
		kill_or_start(run);
	wsim_call_cancel_some(run, 4);
	wsim_reply_due(run, sim_now(run->world));
}

static bool step(struct wsim_run *run)
{
	run->step++;
	pass_time(run);
	poll_some(run);
	if (!run->is_calm)
		act(run);
	else
		wsim_reply_due(run, sim_now(run->world));
	if (!run->is_violated)
		wsim_check_step(run);
	return !run->is_violated;
}

static bool is_done(const struct wsim_run *run)
{
	return run->nactive == 0 && run->nheld == 0;
}

static bool all_open(const struct wsim_run *run)
{
	for (uint32_t i = 0; i < run->nrequesters; i++)
		for (uint32_t j = 0; j < run->sides[i].nlinks; j++)
			if (!run->sides[i].links[j].is_open)
				return false;
	return true;
}

static bool all_closed(const struct wsim_run *run)
{
	for (uint32_t i = 0; i < wsim_nsides(run); i++)
		if (run->sides[i].engine->nconnections > 0)
			return false;
	return true;
}

/*
 * Advances the simulation until the condition is true. Records a violation if that takes too long
 * in virtual time.
 */
static bool until(struct wsim_run *run, bool (*is_so)(const struct wsim_run *), const char *what)
{
	uint64_t end_ns = sim_now(run->world) + CALM_NS;
	uint32_t steps = 0;

	while (!is_so(run) && !run->is_violated) {
		if (sim_now(run->world) > end_ns || steps++ == CALM_STEPS) {
			wsim_violation(run, "no progress after the faults stopped: %s", what);
			return false;
		}
		step(run);
	}
	return !run->is_violated;
}

/* Stops the faults and waits until all active calls have ended. */
static void calm_down(struct wsim_run *run)
{
	run->is_calm = true;
	for (uint32_t i = 0; i < wsim_nsides(run); i++)
		while (run->sides[i].is_dead && !run->is_violated)
			if (wsim_side_create(run, i) != 0)
				wsim_violation(run, "engine %u can't be made again", i);
	wsim_faults_set(run, 0);
	wsim_note(run, "calm", 0, run->nactive, run->nheld);
	until(run, is_done, "a call or a reply is under way yet");
}

/*
 * Returns true if the driver 'fault' still delays something. It delays for a number of polls,
 * however long these polls take.
 */
static bool is_held_back(const struct wsim_run *run)
{
	for (uint32_t i = 0; i < wsim_nsides(run); i++)
		if (fault_held(run->sides[i].engine->dev) > 0)
			return true;
	return false;
}

static void reopen(struct wsim_run *run)
{
	uint64_t end_ns = sim_now(run->world) + 20 * MS;
	uint32_t steps = 0;

	/*
	 * Waits until the engines have noticed all ends of connections and have returned the
	 * buffers.
	 */
	while ((sim_now(run->world) < end_ns || is_held_back(run)) && !run->is_violated) {
		if (steps++ == CALM_STEPS)
			wsim_violation(
				run,
				"no progress after the faults stopped: an event does not come");
		step(run);
	}
	for (uint32_t i = 0; i < run->nrequesters; i++)
		for (uint32_t j = 0; j < run->sides[i].nlinks; j++)
			if (!run->sides[i].links[j].conn)
				wsim_link_connect(&run->sides[i].links[j]);
	until(run, all_open, "a connection does not open");
}

/* Checks that each open connection can make a call and gets a reply. */
static void prove(struct wsim_run *run)
{
	for (uint32_t n = 0; n < TRIES && !run->is_violated; n++) {
		uint32_t first = run->ncalls;

		for (uint32_t i = 0; i < run->nrequesters; i++)
			for (uint32_t j = 0; j < run->sides[i].nlinks; j++)
				wsim_call_make(&run->sides[i].links[j], false);
		until(run, is_done, "a new call does not end");
		for (uint32_t i = first; i < run->ncalls; i++) {
			run->counts.proven +=
				run->calls[i].is_submitted && run->calls[i].status == 0;
			if (run->calls[i].is_submitted && run->calls[i].status != 0 &&
			    run->calls[i].status != -EREMOTEIO &&
			    !(run->is_tight && (run->calls[i].status == -ECONNRESET ||
						run->calls[i].status == -ESHUTDOWN ||
						run->calls[i].status == -ENOTRECOVERABLE)))
				wsim_violation(run,
					       "call %u: ended with %d, long after the last fault",
					       i, run->calls[i].status);
		}
	}
}

static void close_all(struct wsim_run *run)
{
	for (uint32_t i = 0; i < run->nrequesters; i++)
		for (uint32_t j = 0; j < run->sides[i].nlinks; j++)
			if (run->sides[i].links[j].conn)
				weir_conn_shutdown(run->sides[i].links[j].conn);
	until(run, all_closed, "a connection does not close");
	if (!run->is_violated)
		wsim_check_rest(run);
}

static void count_faults(struct wsim_run *run, const struct wsim_side *side)
{
	for (uint32_t kind = 0; kind < FAULT_NKINDS; kind++)
		run->counts.faults += fault_injected(side->engine->dev, kind);
}

static void end(struct wsim_run *run)
{
	/* After a violation, the state can be anything. The process ends without a cleanup. */
	if (run->is_violated)
		return;
	for (uint32_t i = run->nrequesters; i < wsim_nsides(run); i++) {
		weir_listener_close(run->sides[i].listener);
		poll_side(run, &run->sides[i], 0);
	}
	for (uint32_t i = 0; i < wsim_nsides(run); i++) {
		count_faults(run, &run->sides[i]);
		wsim_count_side(&run->sides[i]);
		wsim_side_destroy(&run->sides[i]);
	}
	if (sim_world_objects(run->world) != 0)
		wsim_violation(run, "%u objects of the driver are left",
			       sim_world_objects(run->world));
	run->hash ^= sim_trace_hash(run->world);
	sim_world_destroy(run->world);
}

int wsim_run(struct wsim_run *run, const struct wsim_options *options)
{
	memset(run, 0, sizeof(*run));
	run->options = *options;
	run->rng = options->seed;
	run->cancel_rng = ~options->seed;
	run->again_rng = ~options->seed ^ 1;
	rte_srand(options->seed); /* the XIDs depend on this seed */
	if (wsim_world_create(run) != 0) {
		wsim_violation(run, "the engines can't be made");
		return 1;
	}
	while (run->step < options->steps && step(run))
		;
	if (!run->is_violated)
		calm_down(run);
	if (!run->is_violated)
		reopen(run);
	if (!run->is_violated)
		prove(run);
	if (!run->is_violated)
		close_all(run);
	end(run);
	return run->is_violated;
}
