/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets up the measurements of an engine, and lists them for the application. */
#include "latency.h"

#include <errno.h>
#include <stdio.h>

#include "alloc.h"
#include "forked.h"
#include "log.h"
#include "owner.h"
#include "sized.h"

/* the size of latency.stages */
#define STAGES_BYTES (2 * sizeof(struct weir_histogram[WEIR_LATENCY_PROCEDURES][LATENCY_STAGES]))

int engine_latency_create(struct weir_engine *engine)
{
	if (engine->profile.latency == WEIR_LATENCY_OFF)
		return 0;
	engine->latency = mem_reserve(sizeof(*engine->latency));
	if (!engine->latency)
		return -ENOMEM;
	engine_clock_start(engine->latency);
	if (engine->profile.latency != WEIR_LATENCY_STAGES)
		return 0;
	engine->latency->stages = mem_reserve(STAGES_BYTES);
	if (engine->latency->stages)
		return 0;
	engine_latency_destroy(engine);
	return -ENOMEM;
}

void engine_latency_destroy(struct weir_engine *engine)
{
	if (engine->latency)
		mem_unreserve(engine->latency->stages, STAGES_BYTES);
	mem_unreserve(engine->latency, sizeof(*engine->latency));
	engine->latency = NULL;
}

/* Writes one line per side of an engine. */
static void log_left_out(struct latency_side *side, const char *what)
{
	if (!side->has_logged)
		LOG(ENGINE, WARNING,
		    "latency: more than %u procedures %s: the others are not "
		    "measured",
		    WEIR_LATENCY_PROCEDURES, what);
	side->has_logged = true;
}

/* Appends a procedure. There must be room. */
static struct latency_procedure *latency_append(struct latency *latency, enum weir_side which,
						uint32_t prog, uint32_t vers_low,
						uint32_t vers_high, uint32_t proc)
{
	struct latency_side *side = &latency->sides[which];
	struct latency_procedure *at = &side->procedures[side->n];

	at->prog = prog;
	at->vers_low = vers_low;
	at->vers_high = vers_high;
	at->proc = proc;
	at->times.min = UINT64_MAX; /* as by histogram_init(); all else is zero */
	if (latency->stages)
		at->stages = latency->stages[which][side->n];
	for (uint32_t i = 0; at->stages && i < LATENCY_STAGES; i++)
		at->stages[i].min = UINT64_MAX;
	side->n++;
	return at;
}

out_of_line struct latency_procedure *engine_latency_find(struct weir_engine *engine, uint32_t prog,
							  uint32_t vers, uint32_t proc)
{
	struct latency *latency = engine->latency;
	struct latency_side *side = &latency->sides[WEIR_REQUESTER];
	uint32_t hash = prog * 31 + vers * 61 + proc;

	for (; latency->slots[hash % LATENCY_SLOTS] != 0; hash++) {
		struct latency_procedure *at =
			&side->procedures[latency->slots[hash % LATENCY_SLOTS] - 1];

		if (likely(at->proc == proc && at->prog == prog && at->vers_low == vers))
			return at;
	}
	if (side->n == WEIR_LATENCY_PROCEDURES) {
		log_left_out(side, "are called");
		return NULL;
	}
	latency->slots[hash % LATENCY_SLOTS] = (uint16_t)(side->n + 1);
	return latency_append(latency, WEIR_REQUESTER, prog, vers, vers, proc);
}

struct latency_procedure *engine_latency_program(struct weir_engine *engine, uint32_t prog,
						 uint32_t vers_low, uint32_t vers_high,
						 uint32_t nprocs)
{
	struct latency_side *side;
	uint32_t first;

	if (!engine->latency)
		return NULL;
	side = &engine->latency->sides[WEIR_RESPONDER];
	for (uint32_t i = 0; i < side->n; i++) {
		const struct latency_procedure *at = &side->procedures[i];

		/* A program with more procedures of the same number can be on another listener. */
		if (at->proc == 0 && at->prog == prog && at->vers_low == vers_low &&
		    at->vers_high == vers_high && i + nprocs <= side->n &&
		    (nprocs == 0 || side->procedures[i + nprocs - 1].proc == nprocs - 1))
			return &side->procedures[i];
	}
	if (nprocs > WEIR_LATENCY_PROCEDURES - side->n) {
		log_left_out(side, "are served");
		return NULL;
	}
	first = side->n;
	for (uint32_t proc = 0; proc < nprocs; proc++)
		latency_append(engine->latency, WEIR_RESPONDER, prog, vers_low, vers_high, proc);
	return &side->procedures[first];
}

uint32_t weir_engine_procedures(const struct weir_engine *engine,
				struct weir_procedure_latency *infos, uint32_t n)
{
	const size_t bytes = n > 0 ? infos->struct_bytes : 0;
	const struct latency *latency = engine->latency;
	uint32_t found = 0;

	if (OTHER_THREAD(engine) || engine_fork_refuses(engine))
		return 0;
	for (uint32_t s = 0; latency && s < 2; s++) {
		const struct latency_side *side = &latency->sides[s];

		for (uint32_t i = 0; i < side->n; i++, found++) {
			const struct latency_procedure *at = &side->procedures[i];
			const struct weir_procedure_latency own = {
				.side = (enum weir_side)s,
				.prog = at->prog,
				.vers_low = at->vers_low,
				.vers_high = at->vers_high,
				.proc = at->proc,
				.histogram = &at->times,
			};

			if (found < n)
				sized_fill_element(infos, bytes, found, &own, sizeof(own));
		}
	}
	return found;
}

/* The stages of each side, and their names. */
static const struct {
	enum weir_side side;
	int index; /* of the histogram in the stages of a procedure */
	const char *name;
} stage_list[] = {
	[WEIR_STAGE_QUEUED] = {WEIR_REQUESTER, LATENCY_QUEUED, "queued"},
	[WEIR_STAGE_SENT] = {WEIR_REQUESTER, LATENCY_SENT, "sent"},
	[WEIR_STAGE_PULLED] = {WEIR_RESPONDER, 0, "pulled"},
	[WEIR_STAGE_HANDLED] = {WEIR_RESPONDER, 1, "handled"},
	[WEIR_STAGE_PUSHED] = {WEIR_RESPONDER, 2, "pushed"},
	[WEIR_STAGE_REPLIED] = {WEIR_RESPONDER, 3, "replied"},
	[WEIR_STAGE_CREDIT] = {WEIR_REQUESTER, LATENCY_CREDIT, "credit"},
};

#define NSTAGES (sizeof(stage_list) / sizeof(stage_list[0]))

int engine_stage_index(enum weir_side side, enum weir_stage stage)
{
	if ((uint32_t)stage >= NSTAGES || stage_list[stage].side != side)
		return -1;
	return stage_list[stage].index;
}

const struct weir_histogram *weir_engine_stage(const struct weir_engine *engine,
					       const struct weir_procedure_latency *procedure,
					       enum weir_stage stage)
{
	const struct latency_side *side;
	int index = engine_stage_index(procedure->side, stage);

	if (OTHER_THREAD(engine) || engine_fork_refuses(engine))
		return NULL;
	if (!engine_measures_stages(engine) || index < 0)
		return NULL;
	side = &engine->latency->sides[procedure->side];
	for (uint32_t i = 0; i < side->n; i++)
		if (&side->procedures[i].times == procedure->histogram)
			return &side->procedures[i].stages[index];
	return NULL;
}

const char *weir_stage_name(enum weir_stage stage)
{
	return (uint32_t)stage < NSTAGES ? stage_list[stage].name : "unknown";
}

void engine_stage_text(const struct weir_engine *engine, char text[ENGINE_STAGE_TEXT_BYTES],
		       enum weir_stage stage, uint64_t age_ns)
{
	text[0] = '\0';
	if (engine_measures_stages(engine))
		snprintf(text, ENGINE_STAGE_TEXT_BYTES, "; in stage '%s' for %llu ms",
			 weir_stage_name(stage), (unsigned long long)age_ns / 1000000);
}
