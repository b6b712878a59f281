/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the tables. Each of them fits into 80 columns, except for the end of long names. */
#include "sections.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/metrics.h>

#include "compiler.h"
#include "units.h"

static const char *const sort_names[SORTS] = {"id", "calls", "bytes", "credits"};

const char *sort_name(enum sort sort)
{
	return sort_names[sort];
}

int sort_find(const char *name)
{
	for (int i = 0; i < SORTS; i++)
		if (strcmp(name, sort_names[i]) == 0)
			return i;
	return -1;
}

static void section_begin(struct section *section, const char *head)
{
	snprintf(section->head, sizeof(section->head), "%s", head);
	section->n = section->total = 0;
}

void section_empty(const struct section *section, char head[SECTION_COLUMNS])
{
	const char *end = strstr(section->head, "  ");

	snprintf(head, SECTION_COLUMNS, "%.*s (none)",
		 end ? (int)(end - section->head) : (int)strcspn(section->head, " "),
		 section->head);
}

printf_like(2, 3) static void add_row(struct section *section, const char *format, ...)
{
	va_list args;

	section->total++;
	if (section->n == SECTION_ROWS)
		return;
	va_start(args, format);
	(void)vsnprintf(section->rows[section->n++], SECTION_COLUMNS, format, args);
	va_end(args);
}

/* Writes a number, or "-" if it is not known. */
static const char *rate(bool is_known, double number, char text[UNIT_BYTES])
{
	return is_known ? unit_number(number, text) : "-";
}

static uint64_t value_of(const struct watch_engine *engine, const char *name)
{
	int index = weir_counter_find(name);

	return index >= 0 && index < (int)WATCH_COUNTERS ? engine->counters[index] : 0;
}

static void fill_engines(const struct watch_state *state, const struct rates *rates,
			 struct section *section)
{
	section_begin(section, "ENGINE DRIVER   BUSY   RPC/s  SENT/s  RECV/s CONNECTIONS "
			       "BUFFER-WAITS  STUCK");
	for (uint32_t i = 0; i < state->nengines; i++) {
		const struct watch_engine *engine = &state->engines[i];
		const struct engine_rates *at = &rates->engines[i];
		char rpcs[UNIT_BYTES], sent[UNIT_BYTES], received[UNIT_BYTES], busy[UNIT_BYTES];

		if (!engine->is_polled) {
			add_row(section, "%6" PRIu64 " not polled", engine->id);
			continue;
		}
		snprintf(busy, sizeof(busy), "%.1f%%", 100 * at->busy);
		add_row(section,
			"%6" PRIu64 " %-7.7s %6s %7s %7s %7s %11" PRIu64 " %12" PRIu64 " %6" PRIu64,
			engine->id, engine->driver, at->is_known ? busy : "-",
			rate(at->is_known, at->rpcs, rpcs), rate(at->is_known, at->sent, sent),
			rate(at->is_known, at->received, received), value_of(engine, "connections"),
			value_of(engine, "buffer_waiters"), value_of(engine, "stuck_calls"));
	}
}

static void fill_times(const struct rates *rates, struct section *section)
{
	section_begin(section, "TIMES OF   PROCEDURE                 CALLS/s     P50     P99   "
			       "P99.9     MAX");
	for (uint32_t i = 0; i < rates->nrpcs; i++) {
		const struct rpc_rates *rpc = &rates->rpcs[i];
		char calls[UNIT_BYTES], p50[UNIT_BYTES], p99[UNIT_BYTES], p999[UNIT_BYTES],
			max[UNIT_BYTES];

		add_row(section, "%-10s %-25.25s %7s %7s %7s %7s %7s",
			rpc->is_requester ? "calls" : "requests", rpc->name,
			rate(rpc->calls >= 0, rpc->calls, calls),
			unit_time(watch_times_quantile(&rpc->times, 0.5), p50),
			unit_time(watch_times_quantile(&rpc->times, 0.99), p99),
			unit_time(watch_times_quantile(&rpc->times, 0.999), p999),
			unit_time(rpc->times.max_ns, max));
	}
}

static void fill_waiting(const struct watch_state *state, struct section *section)
{
	section_begin(section, "WAITING    STAGE            FOR                                  "
			       "CALLS  OLDEST");
	for (uint32_t i = 0; i < state->nwaiting; i++) {
		const struct watch_waiting *waiting = &state->waiting[i];
		char oldest[UNIT_BYTES];

		add_row(section, "%-10.10s %-16.16s %-34.34s %7u %7s", waiting->side,
			waiting->state, waiting->waits_for, waiting->calls,
			unit_time(waiting->oldest_ns, oldest));
	}
}

/* The argument of by_key(), because qsort() passes none. */
static struct {
	const struct watch_state *state;
	const struct rates *rates;
	enum sort sort;
} sorting;

static double sort_key(uint32_t i)
{
	switch (sorting.sort) {
	case SORT_CALLS:
		return sorting.rates->conns[i].calls;
	case SORT_BYTES:
		return sorting.rates->conns[i].bytes;
	case SORT_CREDITS:
		return sorting.state->conns[i].credits_used;
	default:
		return 0;
	}
}

static int by_key(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (sort_key(x) != sort_key(y))
		return sort_key(x) < sort_key(y) ? 1 : -1;
	return (x > y) - (x < y);
}

static void fill_conns(const struct watch_state *state, const struct rates *rates, enum sort sort,
		       struct section *section)
{
	uint32_t order[WATCH_CONNS];

	section_begin(section, "CONN   ENG SIDE      STATE         CREDITS ACTIVE CALLS/s "
			       "BYTES/s PEER");
	for (uint32_t i = 0; i < state->nconns; i++)
		order[i] = i;
	sorting.state = state;
	sorting.rates = rates;
	sorting.sort = sort;
	qsort(order, state->nconns, sizeof(order[0]), by_key);
	for (uint32_t i = 0; i < state->nconns; i++) {
		const struct watch_conn *conn = &state->conns[order[i]];
		const struct conn_rates *at = &rates->conns[order[i]];
		char calls[UNIT_BYTES], bytes[UNIT_BYTES], credits[32];

		snprintf(credits, sizeof(credits), "%u/%u", conn->credits_used,
			 conn->credits_granted);
		add_row(section, "%-6" PRIu64 " %3" PRIu64 " %-9.9s %-12.12s %8.11s %6u %7s %7s %s",
			conn->id, conn->engine_id, conn->side, conn->state, credits,
			conn->calls_active, rate(at->is_known, at->calls, calls),
			rate(at->is_known, at->bytes, bytes), conn->peer);
	}
	if (state->conns_total > section->total)
		section->total = (uint32_t)state->conns_total;
}

static void fill_calls(const struct watch_state *state, struct section *section)
{
	section_begin(section,
		      "OLDEST CALL SIDE      CONNECTION PROCEDURE                AGE STUCK "
		      "WAITS FOR");
	for (uint32_t i = 0; i < state->ncalls; i++) {
		const struct watch_call *call = &state->calls[i];
		char age[UNIT_BYTES], procedure[48];

		snprintf(procedure, sizeof(procedure), "%u/%u/%u", call->prog, call->vers,
			 call->proc);
		add_row(section, "%-11s %-9.9s %10" PRIu64 " %-20.20s %7s %-5s %s", call->xid,
			call->side, call->conn_id, procedure, unit_time(call->age_ns, age),
			call->is_stuck ? "stuck" : "", call->waits_for);
	}
	if (state->calls_total > section->total)
		section->total = (uint32_t)state->calls_total;
}

void sections_fill(const struct watch_state *state, const struct rates *rates, enum sort sort,
		   struct section sections[SECTIONS])
{
	fill_engines(state, rates, &sections[SECTION_ENGINES]);
	fill_times(rates, &sections[SECTION_TIMES]);
	fill_waiting(state, &sections[SECTION_WAITING]);
	fill_conns(state, rates, sort, &sections[SECTION_CONNS]);
	fill_calls(state, &sections[SECTION_CALLS]);
}
