/* SPDX-License-Identifier: BSD-3-Clause */
/* The command /weir/calls without an ID: what the calls and requests of a process wait for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call_answer.h"
#include "conn.h"
#include "profile_keys.h"

#define LOOKED_AT 1024u /* calls, and requests as well, of an engine at which the command looks */
#define WAITS_MAX 24u	/* entries of "waiting", of at most 190 bytes each */
#define SHOWN	  24u	/* entries of "calls", of at most 410 bytes each */

/* A call or a request, and where it is. */
struct placed_call {
	struct call_answer call;
	enum weir_side side;
	uint64_t engine_id, conn_id; /* conn_id is 0 if the connection has ended */
	bool is_stuck;		     /* it is older than the profile's stuck_call_ms */
};

struct all_calls_inquiry {
	struct inquiry inquiry;
	uint32_t total, n;
	struct placed_call calls[2 * LOOKED_AT];
	/* The array that the requester or the responder fills in. */
	union {
		struct weir_call_info calls[LOOKED_AT];
		struct weir_request_info requests[LOOKED_AT];
	} infos;
};

/* The key 'telemetry' of profiles names this size: that of the inquiry and of its copy. */
_Static_assert(sizeof(struct all_calls_inquiry) + 2 * LOOKED_AT * sizeof(struct placed_call) <=
		       512 * KIB,
	       "memory of an answer");

/* Calls that are in one state, and wait for the same. */
struct waiting {
	enum weir_side side;
	const char *state, *waits_for; /* constants, of which there may be copies */
	uint32_t n;
	uint64_t oldest_ns;
};

static void place_call(struct all_calls_inquiry *mine, const struct weir_engine *engine,
		       const struct weir_conn *conn, enum weir_side side, struct call_answer call)
{
	mine->calls[mine->n++] = (struct placed_call){
		.call = call,
		.side = side,
		.conn_id = conn ? conn->id : 0,
		.is_stuck = engine->stuck_ns > 0 && call.age_ns >= engine->stuck_ns,
	};
}

static void answer_all_calls(struct weir_engine *engine, struct inquiry *inquiry)
{
	struct all_calls_inquiry *mine = (struct all_calls_inquiry *)inquiry;
	uint32_t n;

	mine->infos.calls[0].struct_bytes = sizeof(mine->infos.calls[0]);
	n = weir_engine_calls(engine, mine->infos.calls, LOOKED_AT);
	mine->total = n;
	for (uint32_t i = 0; i < n && i < LOOKED_AT; i++) {
		const struct weir_call_info *info = &mine->infos.calls[i];

		place_call(mine, engine, info->conn, WEIR_REQUESTER,
			   CALL_ANSWER(info, weir_call_state_name));
	}
	mine->infos.requests[0].struct_bytes = sizeof(mine->infos.requests[0]);
	n = weir_engine_requests(engine, mine->infos.requests, LOOKED_AT);
	mine->total += n;
	for (uint32_t i = 0; i < n && i < LOOKED_AT; i++) {
		const struct weir_request_info *info = &mine->infos.requests[i];

		place_call(mine, engine, info->conn, WEIR_RESPONDER,
			   CALL_ANSWER(info, weir_request_state_name));
	}
}

static int oldest_placed_first(const void *a, const void *b)
{
	const struct placed_call *x = a, *y = b;

	return call_answer_compare(&x->call, &y->call);
}

static int most_first(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;

	return (x->n < y->n) - (x->n > y->n);
}

static void count_waiting(const struct placed_call *placed, struct waiting *waits, uint32_t *nwaits)
{
	struct waiting *at = waits;

	while (at < waits + *nwaits &&
	       (at->side != placed->side || strcmp(at->state, placed->call.state) != 0 ||
		strcmp(at->waits_for, placed->call.waits_for) != 0))
		at++;
	if (at == waits + WAITS_MAX)
		return;
	if (at == waits + *nwaits) {
		*at = (struct waiting){.side = placed->side,
				       .state = placed->call.state,
				       .waits_for = placed->call.waits_for};
		++*nwaits;
	}
	at->n++;
	if (placed->call.age_ns > at->oldest_ns)
		at->oldest_ns = placed->call.age_ns;
}

static void show_waiting(const struct placed_call *calls, uint32_t n, struct rte_tel_data *reply)
{
	struct rte_tel_data *list = telemetry_dict();
	struct waiting waits[WAITS_MAX];
	uint32_t nwaits = 0;

	for (uint32_t i = 0; i < n; i++)
		count_waiting(&calls[i], waits, &nwaits);
	qsort(waits, nwaits, sizeof(waits[0]), most_first);
	for (uint32_t i = 0; list && i < nwaits; i++) {
		struct rte_tel_data *entry = telemetry_dict();
		char name[12];

		if (!entry)
			break;
		snprintf(name, sizeof(name), "%u", i);
		telemetry_add_text(entry, "side", telemetry_side_name(waits[i].side));
		telemetry_add_text(entry, "state", waits[i].state);
		telemetry_add_text(entry, "waits_for", waits[i].waits_for);
		telemetry_add_number(entry, "calls", waits[i].n);
		telemetry_add_number(entry, "oldest_ns", waits[i].oldest_ns);
		telemetry_add_dict(list, name, entry);
	}
	telemetry_add_dict(reply, "waiting", list);
}

static void show_oldest(struct placed_call *calls, uint32_t n, struct rte_tel_data *reply)
{
	struct rte_tel_data *list = telemetry_dict();

	qsort(calls, n, sizeof(calls[0]), oldest_placed_first);
	for (uint32_t i = 0; list && i < n && i < SHOWN; i++) {
		struct rte_tel_data *entry = call_answer_show(&calls[i].call, i, list);

		if (!entry)
			break;
		telemetry_add_text(entry, "side", telemetry_side_name(calls[i].side));
		telemetry_add_number(entry, "engine", calls[i].engine_id);
		telemetry_add_number(entry, "conn", calls[i].conn_id);
		telemetry_add_number(entry, "stuck", calls[i].is_stuck);
	}
	telemetry_add_dict(reply, "calls", list);
}

static void show_all(const struct telemetry_ask *ask, struct rte_tel_data *reply)
{
	struct placed_call *calls = calloc((size_t)ask->n * 2 * LOOKED_AT + 1, sizeof(calls[0]));
	uint32_t total = 0, n = 0, stuck = 0;

	if (!calls) {
		(void)telemetry_error(reply, "there is no memory for the answer");
		return;
	}
	for (uint32_t i = 0; i < ask->n; i++) {
		const struct all_calls_inquiry *answer = telemetry_answer(ask, i);

		total += answer ? answer->total : 0;
		for (uint32_t c = 0; answer && c < answer->n; c++) {
			calls[n] = answer->calls[c];
			calls[n].engine_id = ask->ids[i];
			stuck += calls[n++].is_stuck;
		}
	}
	telemetry_add_number(reply, "total", total);
	telemetry_add_number(reply, "looked_at", n);
	telemetry_add_number(reply, "stuck", stuck);
	telemetry_add_number(reply, "engines_not_polled", telemetry_silent(ask));
	show_waiting(calls, n, reply);
	show_oldest(calls, n, reply);
	free(calls);
}

int telemetry_all_calls(struct rte_tel_data *reply)
{
	struct telemetry_ask ask;

	telemetry_ask_begin(&ask, 0, sizeof(struct all_calls_inquiry), answer_all_calls);
	rte_tel_data_start_dict(reply);
	if (telemetry_ask(&ask, reply))
		show_all(&ask, reply);
	telemetry_ask_end(&ask);
	return 0;
}
