/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans the arguments of a call and the expected results. All data are ranges of one table that
 * both sides know.
 */
#include "wsim.h"

#include <string.h>

#define TABLE_BYTES  (1u << 17)
#define POSITIONS    (TABLE_BYTES - WSIM_ITEM_BYTES)
#define INLINE_SMALL 200u

static _Alignas(4096) uint8_t table[TABLE_BYTES];

static const struct weir_ulb_proc procs[] = {
	{.proc = WSIM_ITEMS8, .arg_items_max = WSIM_ITEMS, .result_items_max = WSIM_ITEMS},
	{.proc = WSIM_READ, .result_items_max = 1},
	{.proc = WSIM_WRITE, .arg_items_max = 1},
	{.proc = WSIM_TWO, .arg_items_max = 2, .result_items_max = 2},
};

const bool wsim_non_idempotent[WSIM_NPROCS] = {
	[WSIM_PLAIN] = true, [WSIM_WRITE] = true, [WSIM_TWO] = true};

const struct weir_ulb wsim_ulb = {
	.struct_bytes = sizeof(wsim_ulb),
	.name = "weir-sim",
	.prog = WSIM_PROG,
	.vers_low = WSIM_VERS,
	.vers_high = WSIM_VERS,
	.procs = procs,
	.nprocs = sizeof(procs) / sizeof(procs[0]),
};

void wsim_plan_init(void)
{
	uint32_t x = 0x9e3779b9u;

	for (uint32_t i = 0; i < TABLE_BYTES; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		table[i] = (uint8_t)(x >> 24);
	}
}

uint8_t *wsim_table(size_t *bytes)
{
	*bytes = TABLE_BYTES;
	return table;
}

const uint8_t *wsim_content(uint32_t call, uint32_t item, bool is_result)
{
	uint64_t z = call * 0x9e3779b97f4a7c15ull + item * 2 + is_result;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	return table + (z ^ (z >> 27)) % POSITIONS;
}

static uint32_t length(struct wsim_run *run)
{
	uint32_t inline_bytes = (uint32_t)run->profile.inline_bytes;

	switch (wsim_below(run, 8)) {
	case 0:
		return wsim_below(run, 9);
	case 1:
	case 2:
	case 3:
		return wsim_below(run, INLINE_SMALL);
	case 4: /* a length near the inline threshold */
		return inline_bytes - 120 + wsim_below(run, 120);
	case 5:
	case 6:
		return wsim_below(run, 2500);
	default:
		return wsim_below(run, WSIM_ITEM_BYTES + 1);
	}
}

static uint32_t items(struct wsim_run *run, struct wsim_item *list, uint32_t most)
{
	uint32_t n = wsim_chance(run, 60) ? wsim_below(run, 2 < most + 1 ? 2 : most + 1)
					  : wsim_below(run, most + 1);

	for (uint32_t i = 0; i < n; i++) {
		list[i].is_item = wsim_chance(run, 75);
		list[i].len = length(run);
	}
	return n;
}

/*
 * Plans memory for the results that can be returned by Write chunks: sufficient memory, too much,
 * none, or sometimes too little.
 */
static void offer(struct wsim_run *run, struct wsim_call *call)
{
	const struct weir_ulb_proc *rules = weir_ulb_find(&wsim_ulb, call->proc);
	uint32_t n = 0;

	for (uint32_t i = 0; i < call->nresults && n < rules->result_items_max; i++) {
		uint32_t len = call->results[i].len;

		if (!call->results[i].is_item)
			continue;
		if (wsim_chance(run, 15))
			break; /* this result and the later ones are inline */
		if (wsim_chance(run, 15) || len == 0)
			call->offers[n] = 0;
		else if (wsim_chance(run, 50))
			call->offers[n] = len;
		else
			call->offers[n] = len + wsim_below(run, WSIM_ITEM_BYTES - len + 1);
		if (call->offers[n] > 1 && run->options.level > 0 && wsim_chance(run, 2)) {
			call->offers[n] = 1 + wsim_below(run, len);
			call->is_short |= call->offers[n] < len;
		}
		n++;
	}
	call->noffers = n;
}

void wsim_plan(struct wsim_run *run, struct wsim_call *call)
{
	bool is_rough = run->options.level > 0 && !run->is_calm;

	memset(call, 0, sizeof(*call));
	call->proc = wsim_below(run, WSIM_NPROCS);
	if (call->proc == WSIM_READ && wsim_chance(run, 60)) { /* the usual form of READ */
		call->nresults = 1;
		call->results[0] = (struct wsim_item){length(run), true};
	} else if (call->proc != WSIM_NULL) {
		call->nargs = items(run, call->args, WSIM_ITEMS);
		call->nresults = items(run, call->results, WSIM_ITEMS);
	}
	offer(run, call);
	if (wsim_chance(run, 6) && call->proc != WSIM_NULL)
		call->answer = 1 + wsim_below(run, ANSWER_DENIED);
	if (wsim_chance(run, 35)) {
		call->delay_ns = 1 + wsim_random(run) % (4 * MS);
		if (wsim_chance(run, 80))
			call->delay_ns = 1 + call->delay_ns % (MS / 20);
	}
	if (is_rough && wsim_chance(run, 25))
		call->timeout_ns = MS / 10 + wsim_random(run) % (4 * MS);
	call->place = wsim_chance(run, 50) ? (uint32_t)wsim_random(run) : 0;
	call->has_cred = wsim_chance(run, 20);
	call->use_scratch = wsim_chance(run, 50);
	/*
	 * This value is not drawn from the random numbers of the run, so that the runs of other
	 * seeds do not change.
	 */
	call->has_ops = call->nargs > 0 && (call->args[0].len + call->nresults) % 2 == 0;
}

uint32_t wsim_op_of(const struct wsim_call *call, uint32_t result)
{
	return result < call->nargs ? result : call->nargs - 1;
}

static uint32_t padded(uint32_t len)
{
	return len + weir_xdr_pad(len);
}

uint32_t wsim_op_at(const struct wsim_call *call, uint32_t op)
{
	uint32_t at = 8;

	for (uint32_t i = 0; i < op; i++)
		at += 8 + padded(call->args[i].len);
	return at;
}

bool wsim_is_eligible(const struct wsim_call *call, uint32_t item, bool is_result)
{
	const struct weir_ulb_proc *rules = weir_ulb_find(&wsim_ulb, call->proc);

	return item < (is_result ? rules->result_items_max : rules->arg_items_max);
}

uint32_t wsim_args_bytes(const struct wsim_call *call)
{
	uint32_t bytes = 8;

	for (uint32_t i = 0; i < call->nargs; i++)
		bytes += 8 + (call->args[i].is_item ? 0 : padded(call->args[i].len));
	return bytes;
}

uint32_t wsim_results_bytes(const struct wsim_call *call)
{
	uint32_t bytes = 8, item = 0;

	for (uint32_t i = 0; i < call->nresults; i++) {
		bool by_chunk = false;

		if (call->results[i].is_item) {
			by_chunk = item < call->noffers && call->offers[item] > 0;
			item++;
		}
		bytes += 8 + (by_chunk ? 0 : padded(call->results[i].len));
	}
	return bytes;
}

bool wsim_may_be_err_chunk(const struct wsim_run *run, const struct wsim_call *call)
{
	/*
	 * Without too little memory, the call can fail because it has more chunks than the
	 * responder has buffers.
	 */
	return call->is_short || call->nargs + 1 > run->profile.bulk_buffers;
}
