/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands /weir/conns and /weir/conn. */
#include <inttypes.h>
#include <stdio.h>

#include <weir/inspect.h>

#include "conn.h"
#include "telemetry.h"

#define CONNS_MAX 96u /* entries of /weir/conns, of at most 160 bytes each */

struct conns_inquiry {
	struct inquiry inquiry;
	uint64_t after; /* the question: connections with higher IDs */
	uint32_t total; /* connections of the engine, with those up to 'after' */
	uint32_t n;
	struct weir_conn_info conns[CONNS_MAX]; /* by ascending ID */
};

struct conn_inquiry {
	struct inquiry inquiry;
	uint64_t id; /* the question */
	bool is_found;
	struct weir_conn_info info;
};

static void answer_conns(struct weir_engine *engine, struct inquiry *inquiry)
{
	struct conns_inquiry *mine = (struct conns_inquiry *)inquiry;
	struct weir_conn *conn = NULL;

	mine->total = engine->nconnections;
	/* The list of the engine has its connections in the order of their IDs. */
	while (mine->n < CONNS_MAX && (conn = conn_of_engine(engine, conn)))
		if (conn->id > mine->after)
			conn_describe(conn, &mine->conns[mine->n++]);
}

static void add_conn(uint64_t engine_id, const struct weir_conn_info *info,
		     struct rte_tel_data *dict)
{
	char id[24], text[RTE_TEL_MAX_STRING_LEN + 64];

	snprintf(id, sizeof(id), "%" PRIu64, info->id);
	snprintf(text, sizeof(text), "engine %" PRIu64 ", %s, %s, %s", engine_id,
		 telemetry_side_name(info->side), weir_conn_state_name(info->state), info->peer);
	text[RTE_TEL_MAX_STRING_LEN - 1] = '\0';
	telemetry_add_text(dict, id, text);
}

/* Adds the connections with the lowest IDs of all engines. */
static void merge_conns(const struct telemetry_ask *ask, struct rte_tel_data *dict)
{
	uint32_t next[MEM_SLOTS_MAX] = {0};

	for (uint32_t left = CONNS_MAX; left > 0; left--) {
		const struct weir_conn_info *lowest = NULL;
		uint32_t at = 0;

		for (uint32_t i = 0; i < ask->n; i++) {
			const struct conns_inquiry *answer = telemetry_answer(ask, i);

			if (!answer || next[i] == answer->n)
				continue;
			if (!lowest || answer->conns[next[i]].id < lowest->id) {
				lowest = &answer->conns[next[i]];
				at = i;
			}
		}
		if (!lowest)
			return;
		next[at]++;
		add_conn(ask->ids[at], lowest, dict);
	}
}

int telemetry_conns(const char *command, const char *params, struct rte_tel_data *reply)
{
	struct rte_tel_data *list;
	struct telemetry_ask ask;
	uint64_t after = 0, total = 0;

	(void)command;
	if (telemetry_has(params) && !telemetry_conn_id(params, &after, reply))
		return 0;
	telemetry_ask_begin(&ask, 0, sizeof(struct conns_inquiry), answer_conns);
	for (uint32_t i = 0; i < ask.n; i++)
		((struct conns_inquiry *)ask.entries[i].inquiry)->after = after;
	rte_tel_data_start_dict(reply);
	list = telemetry_dict();
	if (telemetry_ask(&ask, reply) && list) {
		for (uint32_t i = 0; i < ask.n; i++) {
			const struct conns_inquiry *answer = telemetry_answer(&ask, i);

			total += answer ? answer->total : 0;
		}
		merge_conns(&ask, list);
		telemetry_add_number(reply, "total", total);
		telemetry_add_number(reply, "engines_not_polled", telemetry_silent(&ask));
		telemetry_add_dict(reply, "conns", list);
	} else {
		rte_tel_data_free(list);
	}
	telemetry_ask_end(&ask);
	return 0;
}

static void answer_conn(struct weir_engine *engine, struct inquiry *inquiry)
{
	struct conn_inquiry *mine = (struct conn_inquiry *)inquiry;
	struct weir_conn *conn = conn_with_id(engine, mine->id);

	if (!conn)
		return;
	conn_describe(conn, &mine->info);
	mine->is_found = true;
}

static void show_conn(uint64_t engine_id, const struct weir_conn_info *info,
		      struct rte_tel_data *reply)
{
	telemetry_add_number(reply, "engine", engine_id);
	telemetry_add_text(reply, "side", telemetry_side_name(info->side));
	telemetry_add_text(reply, "state", weir_conn_state_name(info->state));
	telemetry_add_text(reply, "peer", info->peer);
	telemetry_add_number(reply, "version", info->version);
	telemetry_add_number(reply, "send_inline_bytes", info->send_inline_bytes);
	telemetry_add_number(reply, "recv_inline_bytes", info->recv_inline_bytes);
	telemetry_add_number(reply, "credits_granted", info->credits_granted);
	telemetry_add_number(reply, "credits_used", info->credits_used);
	telemetry_add_number(reply, "calls_active", info->calls_active);
	telemetry_add_number(reply, "calls", info->calls);
	telemetry_add_number(reply, "age_ns", info->age_ns);
	telemetry_add_number(reply, "message_bytes_sent", info->message_bytes_sent);
	telemetry_add_number(reply, "message_bytes_received", info->message_bytes_received);
	telemetry_add_number(reply, "rdma_bytes_sent", info->rdma_bytes_sent);
	telemetry_add_number(reply, "rdma_bytes_received", info->rdma_bytes_received);
}

int telemetry_no_conn(const struct telemetry_ask *ask, uint64_t id, struct rte_tel_data *reply)
{
	uint32_t silent = telemetry_silent(ask);

	if (silent == 0)
		return telemetry_error(reply, "there is no connection %" PRIu64, id);
	return telemetry_error(reply,
			       "there is no connection %" PRIu64 " in the engines that answered; "
			       "%u did not within %u ms",
			       id, silent, TELEMETRY_WAIT_MS);
}

int telemetry_conn(const char *command, const char *params, struct rte_tel_data *reply)
{
	bool is_found = false;
	struct telemetry_ask ask;
	uint64_t id;

	(void)command;
	if (!telemetry_conn_id(params, &id, reply))
		return 0;
	telemetry_ask_begin(&ask, 0, sizeof(struct conn_inquiry), answer_conn);
	for (uint32_t i = 0; i < ask.n; i++)
		((struct conn_inquiry *)ask.entries[i].inquiry)->id = id;
	rte_tel_data_start_dict(reply);
	if (telemetry_ask(&ask, reply)) {
		for (uint32_t i = 0; i < ask.n && !is_found; i++) {
			const struct conn_inquiry *answer = telemetry_answer(&ask, i);

			is_found = answer && answer->is_found;
			if (is_found)
				show_conn(ask.ids[i], &answer->info, reply);
		}
		if (!is_found)
			(void)telemetry_no_conn(&ask, id, reply);
	}
	telemetry_ask_end(&ask);
	return 0;
}
