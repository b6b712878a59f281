/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes what happened between two readings. */
#include "rates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/metrics.h>

/* Returns how much a counter grew per second. A counter that shrank belongs to another object. */
static double growth(uint64_t before, uint64_t now, double seconds)
{
	return now > before && seconds > 0 ? (double)(now - before) / seconds : 0;
}

static uint64_t counter(const struct watch_engine *engine, const char *name)
{
	int index = weir_counter_find(name);

	return index >= 0 && index < (int)WATCH_COUNTERS ? engine->counters[index] : 0;
}

static double counter_growth(const struct watch_engine *before, const struct watch_engine *now,
			     const char *name, double seconds)
{
	return growth(counter(before, name), counter(now, name), seconds);
}

static void engine_rates(const struct watch_engine *before, const struct watch_engine *now,
			 double seconds, struct engine_rates *rates)
{
	double polls = counter_growth(before, now, "polls", seconds);
	double idle = counter_growth(before, now, "idle_polls", seconds);

	rates->is_known = true;
	rates->busy = polls > 0 && idle <= polls ? 1 - idle / polls : 0;
	rates->rpcs = counter_growth(before, now, "calls_completed", seconds) +
		      counter_growth(before, now, "replies_sent", seconds);
	rates->sent = growth(before->bytes[WATCH_MESSAGES_SENT], now->bytes[WATCH_MESSAGES_SENT],
			     seconds) +
		      growth(before->bytes[WATCH_RDMA_SENT], now->bytes[WATCH_RDMA_SENT], seconds);
	rates->received = growth(before->bytes[WATCH_MESSAGES_RECEIVED],
				 now->bytes[WATCH_MESSAGES_RECEIVED], seconds) +
			  growth(before->bytes[WATCH_RDMA_RECEIVED],
				 now->bytes[WATCH_RDMA_RECEIVED], seconds);
}

static void all_engines(const struct watch_state *before, const struct watch_state *now,
			double seconds, struct rates *rates)
{
	memset(rates->engines, 0, sizeof(rates->engines));
	for (uint32_t i = 0; i < now->nengines; i++)
		for (uint32_t b = 0; before && b < before->nengines; b++)
			if (before->engines[b].id == now->engines[i].id &&
			    before->engines[b].is_polled && now->engines[i].is_polled)
				engine_rates(&before->engines[b], &now->engines[i], seconds,
					     &rates->engines[i]);
}

static void all_conns(const struct watch_state *before, const struct watch_state *now,
		      double seconds, struct rates *rates)
{
	memset(rates->conns, 0, sizeof(rates->conns));
	for (uint32_t i = 0; i < now->nconns; i++) {
		const struct watch_conn *conn = &now->conns[i];

		for (uint32_t b = 0; before && b < before->nconns; b++) {
			const struct watch_conn *old = &before->conns[b];

			if (old->id != conn->id)
				continue;
			rates->conns[i].is_known = true;
			rates->conns[i].calls = growth(old->calls, conn->calls, seconds);
			for (uint32_t n = 0; n < WATCH_BYTES; n++)
				rates->conns[i].bytes +=
					growth(old->bytes[n], conn->bytes[n], seconds);
		}
	}
}

static const struct watch_procedure *find_procedure(const struct watch_state *state,
						    const char *name)
{
	for (uint32_t i = 0; state && i < state->procedures.n; i++)
		if (strcmp(state->procedures.procedures[i].name, name) == 0)
			return &state->procedures.procedures[i];
	return NULL;
}

/* Sets the times to those of the interval, unless there are none in it. */
static void set_times(struct rpc_rates *rpc, const struct watch_times *now,
		      const struct watch_times *interval, bool has_before, double seconds)
{
	rpc->times = interval->count > 0 ? *interval : *now;
	rpc->calls = has_before && seconds > 0 ? (double)interval->count / seconds : -1;
}

/* Adds the rates of all procedures of a side, and a row before them for the sum. */
static void side_rpcs(const struct watch_state *before, const struct watch_state *now,
		      double seconds, bool is_requester, struct rates *rates)
{
	static struct watch_times all, all_interval;
	struct rpc_rates *sum = &rates->rpcs[rates->nrpcs];

	memset(&all, 0, sizeof(all));
	memset(&all_interval, 0, sizeof(all_interval));
	for (uint32_t i = 0; i < now->procedures.n; i++) {
		const struct watch_procedure *procedure = &now->procedures.procedures[i];
		const struct watch_procedure *old = find_procedure(before, procedure->name);
		struct watch_times interval = procedure->times;
		struct rpc_rates *rpc = &rates->rpcs[rates->nrpcs + 1];

		if (procedure->is_requester != is_requester)
			continue;
		if (old)
			watch_times_subtract(&interval, &old->times);
		watch_times_add(&all, &procedure->times);
		watch_times_add(&all_interval, &interval);
		snprintf(rpc->name, sizeof(rpc->name), "%u/%.16s/%u", procedure->prog,
			 procedure->versions, procedure->proc);
		rpc->is_requester = is_requester;
		set_times(rpc, &procedure->times, &interval, before != NULL, seconds);
		rates->nrpcs++;
	}
	if (all.count == 0)
		return;
	snprintf(sum->name, sizeof(sum->name), "all");
	sum->is_requester = is_requester;
	set_times(sum, &all, &all_interval, before != NULL, seconds);
	rates->nrpcs++;
}

static int by_rate(const void *a, const void *b)
{
	const struct rpc_rates *x = a, *y = b;
	bool x_is_sum = strcmp(x->name, "all") == 0, y_is_sum = strcmp(y->name, "all") == 0;

	if (x_is_sum != y_is_sum)
		return x_is_sum ? -1 : 1;
	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	if (x->is_requester != y->is_requester)
		return x->is_requester ? -1 : 1;
	return strverscmp(x->name, y->name);
}

void rates_compute(const struct watch_state *before, const struct watch_state *now,
		   struct rates *rates)
{
	double seconds = before ? (double)(now->read_ms - before->read_ms) / 1000 : 0;

	all_engines(before, now, seconds, rates);
	all_conns(before, now, seconds, rates);
	rates->nrpcs = 0;
	side_rpcs(before, now, seconds, true, rates);
	side_rpcs(before, now, seconds, false, rates);
	qsort(rates->rpcs, rates->nrpcs, sizeof(rates->rpcs[0]), by_rate);
}
