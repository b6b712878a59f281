/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets up the measurements of an engine, and lists them for the application. */
#include "latency.h"

#include <errno.h>

#include "alloc.h"
#include "forked.h"
#include "log.h"
#include "owner.h"
#include "sized.h"

int engine_latency_create(struct weir_engine *engine)
{
	if (engine->profile.latency == WEIR_LATENCY_OFF)
		return 0;
	engine->latency = mem_reserve(sizeof(*engine->latency));
	return engine->latency ? 0 : -ENOMEM;
}

void engine_latency_destroy(struct weir_engine *engine)
{
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
static struct latency_procedure *latency_append(struct latency_side *side, uint32_t prog,
						uint32_t vers_low, uint32_t vers_high,
						uint32_t proc)
{
	struct latency_procedure *at = &side->procedures[side->n++];

	at->prog = prog;
	at->vers_low = vers_low;
	at->vers_high = vers_high;
	at->proc = proc;
	at->times.min = UINT64_MAX; /* as by histogram_init(); all else is zero */
	return at;
}

out_of_line struct weir_histogram *engine_latency_find(struct weir_engine *engine, uint32_t prog,
						       uint32_t vers, uint32_t proc)
{
	struct latency *latency = engine->latency;
	struct latency_side *side = &latency->sides[WEIR_REQUESTER];
	uint32_t hash = prog * 31 + vers * 61 + proc;

	for (; latency->slots[hash % LATENCY_SLOTS] != 0; hash++) {
		struct latency_procedure *at =
			&side->procedures[latency->slots[hash % LATENCY_SLOTS] - 1];

		if (likely(at->proc == proc && at->prog == prog && at->vers_low == vers))
			return &at->times;
	}
	if (side->n == WEIR_LATENCY_PROCEDURES) {
		log_left_out(side, "are called");
		return NULL;
	}
	latency->slots[hash % LATENCY_SLOTS] = (uint16_t)(side->n + 1);
	return &latency_append(side, prog, vers, vers, proc)->times;
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
		latency_append(side, prog, vers_low, vers_high, proc);
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
