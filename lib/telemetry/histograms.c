/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands /weir/histogram and /weir/buckets. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <weir/latency.h>

#include "histogram.h"
#include "latency.h"
#include "telemetry.h"

/* the size of the longest name */
#define NAME_BYTES sizeof("responder/4294967295/4294967295-4294967295/4294967295")
#define LISTED	   288u /* entries of the list */

/* Each entry has quotation marks and a comma, and the list has the name of the command. */
_Static_assert((NAME_BYTES + 2) * LISTED + 64 <= TELEMETRY_ANSWER_BYTES, "the list is too long");

/*
 * /weir/buckets joins buckets of a histogram: each power of two from BUCKET_LOWEST to
 * BUCKET_HIGHEST is divided into 8 of them, and one bucket each has smaller and larger values.
 * These are at most 242, so that they fit into a dictionary of rte_telemetry, which has up to 256
 * entries.
 */
#define BUCKET_SUB_BITS 3u
#define BUCKET_LOWEST	(1ull << 6)
#define BUCKET_HIGHEST	(1ull << 36) /* 69 s */

/* The procedures that an engine measures. */
struct procedures_inquiry {
	struct inquiry inquiry;
	uint32_t n;
	struct weir_procedure_latency procedures[2 * WEIR_LATENCY_PROCEDURES];
};

/* The times of a procedure. Those of each stage follow those of the whole. */
struct times_inquiry {
	struct inquiry inquiry;
	struct weir_procedure_latency wanted; /* the question */
	bool is_found, has_stages;
	struct weir_histogram times;
	struct weir_histogram stages[LATENCY_STAGES];
};

static void answer_procedures(struct weir_engine *engine, struct inquiry *inquiry)
{
	struct procedures_inquiry *mine = (struct procedures_inquiry *)inquiry;

	mine->procedures[0].struct_bytes = sizeof(mine->procedures[0]);
	mine->n = weir_engine_procedures(engine, mine->procedures, 2 * WEIR_LATENCY_PROCEDURES);
}

static bool is_same(const struct weir_procedure_latency *a, const struct weir_procedure_latency *b)
{
	return a->side == b->side && a->prog == b->prog && a->vers_low == b->vers_low &&
	       a->vers_high == b->vers_high && a->proc == b->proc;
}

/* Writes the name of a procedure, such as "requester/100003/3/1" or "responder/100005/1-3/0". */
static void name_procedure(const struct weir_procedure_latency *procedure, char name[NAME_BYTES])
{
	const char *side = telemetry_side_name(procedure->side);

	if (procedure->vers_low == procedure->vers_high)
		snprintf(name, NAME_BYTES, "%s/%u/%u/%u", side, procedure->prog,
			 procedure->vers_low, procedure->proc);
	else
		snprintf(name, NAME_BYTES, "%s/%u/%u-%u/%u", side, procedure->prog,
			 procedure->vers_low, procedure->vers_high, procedure->proc);
}

/* Parses a name that name_procedure() could have written. Returns whether it is one. */
static bool parse_procedure(const char *name, struct weir_procedure_latency *procedure)
{
	char side[16], again[NAME_BYTES];

	*procedure = (struct weir_procedure_latency){.side = WEIR_RESPONDER};
	if (sscanf(name, "%15[a-z]/%u/%u-%u/%u", side, &procedure->prog, &procedure->vers_low,
		   &procedure->vers_high, &procedure->proc) != 5) {
		if (sscanf(name, "%15[a-z]/%u/%u/%u", side, &procedure->prog, &procedure->vers_low,
			   &procedure->proc) != 4)
			return false;
		procedure->vers_high = procedure->vers_low;
	}
	if (strcmp(side, "requester") == 0)
		procedure->side = WEIR_REQUESTER;
	name_procedure(procedure, again);
	return strcmp(name, again) == 0;
}

/* Returns whether an engine before engine 'i' measures the procedure as well. */
static bool is_listed(const struct telemetry_ask *ask, uint32_t i,
		      const struct weir_procedure_latency *procedure)
{
	while (i-- > 0) {
		const struct procedures_inquiry *answer = telemetry_answer(ask, i);

		for (uint32_t p = 0; answer && p < answer->n; p++)
			if (is_same(&answer->procedures[p], procedure))
				return true;
	}
	return false;
}

static int list_procedures(struct rte_tel_data *reply)
{
	struct telemetry_ask ask;
	uint32_t left = LISTED;

	rte_tel_data_start_array(reply, RTE_TEL_STRING_VAL);
	telemetry_ask_begin(&ask, 0, sizeof(struct procedures_inquiry), answer_procedures);
	if (!telemetry_ask(&ask, reply))
		ask.n = 0;
	for (uint32_t i = 0; i < ask.n; i++) {
		const struct procedures_inquiry *answer = telemetry_answer(&ask, i);

		for (uint32_t p = 0; answer && p < answer->n && left > 0; p++) {
			char name[NAME_BYTES];

			if (is_listed(&ask, i, &answer->procedures[p]))
				continue;
			name_procedure(&answer->procedures[p], name);
			(void)rte_tel_data_add_array_string(reply, name);
			left--;
		}
	}
	telemetry_ask_end(&ask);
	return 0;
}

static void answer_times(struct weir_engine *engine, struct inquiry *inquiry)
{
	struct times_inquiry *mine = (struct times_inquiry *)inquiry;
	const struct latency *latency = engine->latency;
	const struct latency_side *side;

	if (!latency)
		return;
	side = &latency->sides[mine->wanted.side];
	for (uint32_t i = 0; i < side->n; i++) {
		const struct latency_procedure *at = &side->procedures[i];

		if (at->prog != mine->wanted.prog || at->vers_low != mine->wanted.vers_low ||
		    at->vers_high != mine->wanted.vers_high || at->proc != mine->wanted.proc)
			continue;
		mine->is_found = true;
		mine->times = at->times;
		mine->has_stages = at->stages != NULL;
		if (at->stages)
			memcpy(mine->stages, at->stages, sizeof(mine->stages));
		return;
	}
}

static void show_times(const struct weir_histogram *times, struct rte_tel_data *dict)
{
	static const struct {
		const char *name;
		double fraction;
	} quantiles[] = {
		{"p50_ns", 0.5},
		{"p90_ns", 0.9},
		{"p99_ns", 0.99},
		{"p99_9_ns", 0.999},
	};

	telemetry_add_number(dict, "count", histogram_count(times));
	telemetry_add_number(dict, "min_ns", histogram_min(times));
	telemetry_add_number(dict, "mean_ns", (uint64_t)histogram_mean(times));
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++)
		telemetry_add_number(dict, quantiles[i].name,
				     histogram_quantile(times, quantiles[i].fraction));
	telemetry_add_number(dict, "max_ns", times->max);
	telemetry_add_number(dict, "sum_ns", times->sum);
}

/* Adds the times of all engines to those of the first one that has them. Returns these, or NULL. */
static struct times_inquiry *merge_times(const struct telemetry_ask *ask)
{
	struct times_inquiry *sum = NULL;

	for (uint32_t i = 0; i < ask->n; i++) {
		struct times_inquiry *answer = telemetry_answer(ask, i);

		if (!answer || !answer->is_found)
			continue;
		if (!sum) {
			sum = answer;
			continue;
		}
		histogram_merge(&sum->times, &answer->times);
		for (uint32_t s = 0; answer->has_stages && s < LATENCY_STAGES; s++) {
			if (sum->has_stages)
				histogram_merge(&sum->stages[s], &answer->stages[s]);
			else
				sum->stages[s] = answer->stages[s];
		}
		sum->has_stages |= answer->has_stages;
	}
	return sum;
}

static void show_all_times(const struct times_inquiry *sum, struct rte_tel_data *reply)
{
	/* the order in which a call or request passes its stages */
	static const enum weir_stage order[] = {
		WEIR_STAGE_QUEUED,  WEIR_STAGE_CREDIT, WEIR_STAGE_SENT,	  WEIR_STAGE_PULLED,
		WEIR_STAGE_HANDLED, WEIR_STAGE_PUSHED, WEIR_STAGE_REPLIED};

	show_times(&sum->times, reply);
	for (size_t s = 0; sum->has_stages && s < sizeof(order) / sizeof(order[0]); s++) {
		int index = engine_stage_index(sum->wanted.side, order[s]);
		struct rte_tel_data *stage = index < 0 ? NULL : telemetry_dict();

		if (index < 0)
			continue;
		if (!stage)
			return;
		show_times(&sum->stages[index], stage);
		telemetry_add_dict(reply, weir_stage_name(order[s]), stage);
	}
}

/* Adds the number of values in each bucket that has some. The name is the largest value that
 * belongs to the bucket. */
static void show_buckets(const struct times_inquiry *sum, struct rte_tel_data *reply)
{
	struct rte_tel_data *list = telemetry_dict();
	uint32_t fine = 0;

	telemetry_add_number(reply, "sum_ns", sum->times.sum);
	telemetry_add_number(reply, "max_ns", sum->times.max);
	while (list && fine < HISTOGRAM_BUCKETS) {
		uint32_t end = fine + (1u << (HISTOGRAM_SUB_BITS - BUCKET_SUB_BITS));
		uint64_t count = 0;
		char high[24];

		if (fine < histogram_index(BUCKET_LOWEST))
			end = histogram_index(BUCKET_LOWEST);
		if (fine >= histogram_index(BUCKET_HIGHEST))
			end = HISTOGRAM_BUCKETS;
		while (fine < end)
			count += sum->times.buckets[fine++];
		snprintf(high, sizeof(high), "%" PRIu64, histogram_high(fine - 1));
		if (count > 0)
			telemetry_add_number(list, high, count);
	}
	telemetry_add_dict(reply, "buckets", list);
}

/* Answers with the times of the procedure that 'params' names, which 'show' adds to the reply. */
static int reply_with_times(const char *params, struct rte_tel_data *reply,
			    void (*show)(const struct times_inquiry *sum,
					 struct rte_tel_data *reply))
{
	struct weir_procedure_latency wanted;
	const struct times_inquiry *sum;
	struct telemetry_ask ask;

	if (!parse_procedure(params, &wanted))
		return telemetry_error(reply, "'%.40s' is not of the form SIDE/PROG/VERS/PROC",
				       params);
	telemetry_ask_begin(&ask, 0, sizeof(*sum), answer_times);
	for (uint32_t i = 0; i < ask.n; i++)
		((struct times_inquiry *)ask.entries[i].inquiry)->wanted = wanted;
	rte_tel_data_start_dict(reply);
	if (telemetry_ask(&ask, reply)) {
		sum = merge_times(&ask);
		if (sum) {
			telemetry_add_number(reply, "engines_not_polled", telemetry_silent(&ask));
			show(sum, reply);
		} else {
			(void)telemetry_error(reply,
					      "no engine that answered measures this procedure; "
					      "%u did not answer",
					      telemetry_silent(&ask));
		}
	}
	telemetry_ask_end(&ask);
	return 0;
}

int telemetry_histogram(const char *command, const char *params, struct rte_tel_data *reply)
{
	(void)command;
	if (!telemetry_has(params))
		return list_procedures(reply);
	return reply_with_times(params, reply, show_all_times);
}

int telemetry_buckets(const char *command, const char *params, struct rte_tel_data *reply)
{
	(void)command;
	return reply_with_times(params ? params : "", reply, show_buckets);
}
