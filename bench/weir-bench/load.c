/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the load of a client: the warm-up, the measured time, and the end of the calls in flight. */
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "compiler.h"
#include "interrupt.h"
#include "poll_timer.h"
#include "steady.h"

#define STEADY_INTERVAL_NS 100000000u
#define PROGRESS_NS	   500000000u
#define DRAIN_NS	   10000000000u
#define TOGETHER_NS	   20000u
#define UNTAKEN_STEPS	   1000000u

/* The poll loop, and the state that it checks between polls. */
struct loop {
	struct client *client;
	bool idles; /* a thread without work does more than to poll again: see weir_engine_idle() */
	struct bench_poll_timer timer;
	uint64_t series_from;  /* client->completed at the beginning of the present interval of the
				  series */
	uint64_t series_ticks; /* time at which the present interval of the series ends; UINT64_MAX:
				  no measurement */
	bool shows_progress;
	uint64_t progress_ticks, progress_from_ticks, progress_from;
};

static double seconds_of(uint64_t ticks)
{
	return (double)ticks / (double)rte_get_tsc_hz();
}

static uint64_t ticks_of(double seconds)
{
	return (uint64_t)(seconds * (double)rte_get_tsc_hz());
}

static void progress(struct loop *loop, uint64_t now)
{
	const struct client *client = loop->client;
	double rate = (double)(client->completed - loop->progress_from) /
		      seconds_of(now - loop->progress_from_ticks);

	fprintf(stderr, "\r%s  %12.0f RPC/s  errors %llu  ",
		client->is_measuring ? "measuring " : "warming up", rate,
		(unsigned long long)client->result.errors);
	fflush(stderr);
	loop->progress_from = client->completed;
	loop->progress_from_ticks = now;
	loop->progress_ticks = now + bench_ns_to_ticks(PROGRESS_NS);
}

/* Adds the intervals of the series that have ended. After a stall, several can have ended. */
static void sample(struct loop *loop, uint64_t now)
{
	struct client *client = loop->client;
	struct series *series = &client->result.series;

	while (now >= loop->series_ticks) {
		series_add(series, client->completed - loop->series_from);
		loop->series_from = client->completed;
		loop->series_ticks += bench_ns_to_ticks(series->interval_ns);
	}
}

/*
 * Ends the previous round of the loop and begins the next one. Returns the time of the latest clock
 * reading.
 */
static inline uint64_t begin_round(struct loop *loop)
{
	if (bench_poll_timer_look(&loop->timer)) {
		bench_poll_timer_at(&loop->timer, rte_rdtsc());
		if (unlikely(loop->timer.now_ticks >= loop->series_ticks))
			sample(loop, loop->timer.now_ticks);
	}
	return loop->timer.now_ticks;
}

/*
 * Returns true if the load must end early, because no call is left, a connection was lost, or a
 * signal has arrived.
 */
static inline bool is_over(const struct client *client)
{
	return client->is_stopping || client->ngone > 0 || bench_interrupted(client->shared);
}

/*
 * Does what the profile's 'idle' says, after a poll at the time 'now_ticks'. A sleep ends when the
 * next call is due, and at the time 'until_ticks'.
 */
static void idle(struct loop *loop, uint64_t now_ticks, uint64_t until_ticks)
{
	struct client *client = loop->client;
	uint64_t due_ticks = pace_next(&client->pace), until_ns = UINT64_MAX;

	if (due_ticks < until_ticks)
		until_ticks = due_ticks;
	if (until_ticks != UINT64_MAX)
		until_ns = bench_clock_at(&client->clock, until_ticks);
	weir_engine_idle_until(client->engine, loop->timer.work,
			       bench_clock_at(&client->clock, now_ticks), until_ns);
}

/* Polls until the time 'until_ticks', or until the load must end early. */
static void run_until(struct loop *loop, uint64_t until_ticks)
{
	struct client *client = loop->client;

	bench_poll_timer_resume(&loop->timer, rte_rdtsc());
	for (;;) {
		uint64_t now = begin_round(loop);

		if (now >= until_ticks || is_over(client))
			return;
		if (client->pace.is_waiting)
			loop->timer.work += pace_start_due(&client->pace, now);
		loop->timer.work +=
			weir_engine_poll(client->engine, 0, bench_clock_at(&client->clock, now));
		if (unlikely(loop->idles))
			idle(loop, now, until_ticks);
		if (loop->shows_progress && now >= loop->progress_ticks)
			progress(loop, now);
	}
}

/* Polls until all calls in flight have completed, for at most DRAIN_NS. No new call starts. */
static void run_out(struct loop *loop)
{
	struct client *client = loop->client;
	uint64_t now = rte_rdtsc(), until = now + bench_ns_to_ticks(DRAIN_NS);

	client->is_stopping = true;
	while (client->in_flight > 0 && now < until) {
		loop->timer.work =
			weir_engine_poll(client->engine, 0, bench_clock_at(&client->clock, now));
		if (unlikely(loop->idles))
			idle(loop, now, until);
		now = begin_round(loop);
	}
	/*
	 * The kernel might have suspended this thread for all that time. Therefore replies are
	 * looked for once more.
	 */
	if (client->in_flight > 0)
		weir_engine_poll(client->engine, 0, bench_clock_at(&client->clock, now));
}

/* Waits until all clients are ready to begin the measured time together. */
static void wait_for_others(struct loop *loop, uint64_t until_ticks)
{
	struct client *client = loop->client;
	uint64_t now = rte_rdtsc();

	atomic_fetch_add(client->nsteady, 1);
	while (atomic_load(client->nsteady) < client->nclients && now < until_ticks &&
	       !is_over(client)) {
		run_until(loop, now + bench_ns_to_ticks(TOGETHER_NS));
		now = rte_rdtsc();
	}
}

/* Polls until the rate is steady, for at most --steady-time. Then waits for the other clients. */
static void wait_until_steady(struct loop *loop)
{
	struct client *client = loop->client;
	const struct bench_options *options = client->options;
	uint64_t begin = rte_rdtsc(), end = begin + ticks_of(options->steady_seconds), now = begin;
	struct steady steady;
	bool is_steady = false;

	steady_init(&steady, options->steady_percent / 100);
	while (!is_steady && now < end && !is_over(client)) {
		uint64_t from = client->completed, from_ticks = now;

		run_until(loop, now + bench_ns_to_ticks(STEADY_INTERVAL_NS));
		now = rte_rdtsc();
		is_steady = steady_add(&steady, (double)(client->completed - from) /
							seconds_of(now - from_ticks));
	}
	client->result.is_steady = is_steady;
	client->result.rate_spread = steady_spread(&steady);
	client->result.steady_after_seconds = seconds_of(now - begin);
	wait_for_others(loop, end);
}

static void start_slots(struct client *client)
{
	for (uint32_t i = 0; i < client->nlinks && !client->is_stopping; i++)
		for (uint32_t j = 0; j < client->links[i].nslots && !client->is_stopping; j++)
			if (client->pace.is_open_loop)
				pace_put(&client->pace, &client->links[i].slots[j]);
			else
				load_slot_next(&client->links[i].slots[j], NULL, rte_rdtsc());
}

/*
 * Counts the arrivals of an open loop that no slot has taken by the end of the measured time. The
 * time that an arrival has waited is a lower bound of its round trip. If there are very many such
 * arrivals, they are added in steps, so that this takes limited time.
 */
static void count_untaken(struct client *client, uint64_t end_ticks)
{
	struct bench_result *r = &client->result;
	uint64_t n = pace_untaken(&client->pace, end_ticks), step = n / UNTAKEN_STEPS + 1;

	for (uint64_t i = 0; i < n; i += step) {
		uint64_t due = pace_due(&client->pace, client->pace.arrivals + i);

		histogram_add_n(&r->rtt, bench_ticks_to_ns(&client->clock, end_ticks - due),
				i + step < n ? step : n - i);
	}
	r->untaken = n;
	r->late = client->pace.late + n;
}

static void measure(struct loop *loop)
{
	struct client *client = loop->client;
	const struct bench_options *options = client->options;
	struct bench_result *r = &client->result;
	int counter = bench_cpu_open();
	struct bench_counts before;
	struct bench_counts after;
	struct disturbance_begin undisturbed;
	uint64_t begin, end, until, instructions;

	bench_counts_read(client->engine, &before);
	disturbance_begin(&undisturbed);
	client->is_measuring = true;
	instructions = bench_cpu_read(counter);
	begin = rte_rdtsc();
	until = options->calls_max ? UINT64_MAX : begin + ticks_of(options->seconds);
	loop->timer.busy_ticks = 0;
	loop->timer.gap_ticks = 0;
	loop->series_from = client->completed;
	loop->series_ticks = begin + bench_ns_to_ticks(r->series.interval_ns);
	pace_restart(&client->pace, begin);
	if (options->calls_max)
		start_slots(client);
	run_until(loop, until);
	if (options->calls_max)
		run_out(loop); /* the last calls are measured, too */
	end = rte_rdtsc();
	r->is_cut_short = bench_interrupted(client->shared) &&
			  (options->calls_max ? client->calls_left > 0 : end < until);
	r->cpu = (struct bench_cpu){.busy_ticks = loop->timer.busy_ticks,
				    .total_ticks = end - begin,
				    .instructions = bench_cpu_read(counter) - instructions,
				    .threads = 1,
				    .counted = counter >= 0};
	bench_cpu_close(counter);
	loop->series_ticks = UINT64_MAX;
	r->seconds = seconds_of(end - begin);
	r->disturbance = disturbance_end(&undisturbed, r->seconds,
					 bench_ticks_to_ns(&client->clock, loop->timer.gap_ticks),
					 loop->idles);
	if (!options->calls_max)
		count_untaken(client, end < until ? end : until);
	else
		r->late = client->pace.late;
	bench_counts_read(client->engine, &after);
	bench_counts_add_difference(&r->stats, &after, &before);
	bench_stages_add_engine(&r->stages, client->engine);
	r->exposure = weir_engine_exposure(client->engine);
}

/* Counts every call that is still in flight as failed. */
static void check_complete(struct client *client)
{
	if (client->in_flight == 0)
		return;
	fprintf(stderr, "weir-bench: %u calls did not complete\n", client->in_flight);
	client->result.errors += client->in_flight;
	if (client->result.first_error == 0)
		client->result.first_error = -ETIMEDOUT;
}

void client_load(struct client *client, bool shows_progress)
{
	const struct bench_options *options = client->options;
	struct loop loop = {
		.client = client, .series_ticks = UINT64_MAX, .shows_progress = shows_progress};

	loop.idles = client->idles;
	bench_poll_timer_init(&loop.timer, loop.idles || client->pace.is_waiting);
	if (options->calls_max == 0) {
		pace_restart(&client->pace, rte_rdtsc());
		start_slots(client);
		run_until(&loop, rte_rdtsc() + ticks_of(options->warmup_seconds));
		if (options->steady_percent > 0)
			wait_until_steady(&loop);
		client->shared->warm = 1;
	} else {
		wait_for_others(&loop, UINT64_MAX);
	}
	if (bench_interrupted(client->shared))
		client->result.is_cut_short = true;
	else
		measure(&loop);
	client->is_measuring = false;
	if (client->ngone > 0)
		fprintf(stderr, "\nweir-bench: a connection was lost: %s\n",
			strerror(-client->result.first_error));
	if (options->calls_max == 0)
		run_out(&loop);
	check_complete(client);
}
