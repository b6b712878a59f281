/* SPDX-License-Identifier: BSD-3-Clause */
/* The command /weir/calls. */
#include <stdio.h>
#include <stdlib.h>

#include "call_answer.h"
#include "call_inspect.h"
#include "conn.h"
#include "request_inspect.h"
#include "telemetry.h"

#define LOOKED_AT 1024u /* calls of a connection among which the oldest are found */
#define SHOWN	  48u	/* entries of the reply, of at most 320 bytes each */

struct calls_inquiry {
	struct inquiry inquiry;
	uint64_t id; /* the question: the ID of the connection */
	bool is_found;
	uint32_t total, n;
	struct call_answer calls[LOOKED_AT];
	/* The array that the requester or the responder fills in. */
	union {
		struct weir_call_info calls[LOOKED_AT];
		struct weir_request_info requests[LOOKED_AT];
	} infos;
};

static void answer_calls_of(struct calls_inquiry *mine, const struct weir_conn *conn)
{
	struct weir_call_info *infos = mine->infos.calls;

	infos->struct_bytes = sizeof(*infos);
	mine->total = calls_describe(conn, infos, LOOKED_AT, 0);
	for (; mine->n < mine->total && mine->n < LOOKED_AT; mine->n++) {
		const struct weir_call_info *info = &infos[mine->n];

		mine->calls[mine->n] = CALL_ANSWER(info, weir_call_state_name);
	}
}

static void answer_requests_of(struct calls_inquiry *mine, const struct weir_conn *conn)
{
	struct weir_request_info *infos = mine->infos.requests;

	infos->struct_bytes = sizeof(*infos);
	mine->total = requests_describe(conn, infos, LOOKED_AT);
	for (; mine->n < mine->total && mine->n < LOOKED_AT; mine->n++) {
		const struct weir_request_info *info = &infos[mine->n];

		mine->calls[mine->n] = CALL_ANSWER(info, weir_request_state_name);
	}
}

static void answer_calls(struct weir_engine *engine, struct inquiry *inquiry)
{
	struct calls_inquiry *mine = (struct calls_inquiry *)inquiry;
	const struct weir_conn *conn = conn_with_id(engine, mine->id);

	if (!conn)
		return;
	mine->is_found = true;
	if (conn->role->side == WEIR_REQUESTER)
		answer_calls_of(mine, conn);
	else
		answer_requests_of(mine, conn);
}

static int oldest_first(const void *a, const void *b)
{
	return call_answer_compare(a, b);
}

static void show_calls(struct calls_inquiry *answer, struct rte_tel_data *reply)
{
	struct rte_tel_data *list = telemetry_dict();

	qsort(answer->calls, answer->n, sizeof(answer->calls[0]), oldest_first);
	telemetry_add_number(reply, "total", answer->total);
	for (uint32_t i = 0; list && i < answer->n && i < SHOWN; i++)
		(void)call_answer_show(&answer->calls[i], i, list);
	telemetry_add_dict(reply, "calls", list);
}

int telemetry_calls(const char *command, const char *params, struct rte_tel_data *reply)
{
	struct calls_inquiry *answer = NULL;
	struct telemetry_ask ask;
	uint64_t id;

	(void)command;
	if (!telemetry_has(params))
		return telemetry_all_calls(reply);
	if (!telemetry_conn_id(params, &id, reply))
		return 0;
	telemetry_ask_begin(&ask, 0, sizeof(*answer), answer_calls);
	for (uint32_t i = 0; i < ask.n; i++)
		((struct calls_inquiry *)ask.entries[i].inquiry)->id = id;
	rte_tel_data_start_dict(reply);
	if (telemetry_ask(&ask, reply)) {
		for (uint32_t i = 0; i < ask.n && !(answer && answer->is_found); i++)
			answer = telemetry_answer(&ask, i);
		if (answer && answer->is_found)
			show_calls(answer, reply);
		else
			(void)telemetry_no_conn(&ask, id, reply);
	}
	telemetry_ask_end(&ask);
	return 0;
}
