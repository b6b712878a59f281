/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the metrics of connections. */
#include "metrics_conns.h"

#include <string.h>

static uint64_t is_open(const struct watch_conn *conn)
{
	return strcmp(conn->state, "open") == 0;
}

static uint64_t granted(const struct watch_conn *conn)
{
	return conn->credits_granted;
}

static uint64_t used(const struct watch_conn *conn)
{
	return conn->credits_used;
}

static uint64_t calls(const struct watch_conn *conn)
{
	return conn->calls;
}

static uint64_t messages_sent(const struct watch_conn *conn)
{
	return conn->bytes[WATCH_MESSAGES_SENT];
}

static uint64_t messages_received(const struct watch_conn *conn)
{
	return conn->bytes[WATCH_MESSAGES_RECEIVED];
}

static uint64_t rdma_sent(const struct watch_conn *conn)
{
	return conn->bytes[WATCH_RDMA_SENT];
}

static uint64_t rdma_received(const struct watch_conn *conn)
{
	return conn->bytes[WATCH_RDMA_RECEIVED];
}

static const struct {
	struct family family;
	uint64_t (*value)(const struct watch_conn *conn);
} conn_metrics[] = {
	{{"weir_connection_open", NULL, "Whether the connection is open.", FAMILY_GAUGE}, is_open},
	{{"weir_connection_credits_granted", NULL, "The latest grant of the responder.",
	  FAMILY_GAUGE},
	 granted},
	{{"weir_connection_credits_used", NULL,
	  "Requester: credits that calls hold. Responder: requests that exist.", FAMILY_GAUGE},
	 used},
	{{"weir_connection_calls", NULL, "Calls submitted, or accepted.", FAMILY_COUNTER}, calls},
	{{"weir_connection_message_sent_bytes", "bytes",
	  "Messages sent, with their transport headers.", FAMILY_COUNTER},
	 messages_sent},
	{{"weir_connection_message_received_bytes", "bytes",
	  "Messages received, with their transport headers.", FAMILY_COUNTER},
	 messages_received},
	{{"weir_connection_rdma_sent_bytes", "bytes", "Chunks sent.", FAMILY_COUNTER}, rdma_sent},
	{{"weir_connection_rdma_received_bytes", "bytes", "Chunks received.", FAMILY_COUNTER},
	 rdma_received},
};

static void print_conn(const struct family_out *out, const struct family *family,
		       const struct process *process, const struct watch_conn *conn, uint64_t value)
{
	family_name(out, family, NULL);
	family_label(out, '{', "process", process->name);
	family_label_number(out, ',', "engine", conn->engine_id);
	family_label_number(out, ',', "conn", conn->id);
	family_label(out, ',', "side", conn->side);
	family_label(out, ',', "peer", conn->peer);
	family_value(out, value);
}

void metrics_conns(const struct family_out *out, struct process *const *processes, uint32_t n)
{
	static const struct family unlisted = {
		.name = "weir_connections_unlisted",
		.help = "Connections without metrics of their own.",
		.type = FAMILY_GAUGE,
	};

	for (size_t m = 0; m < sizeof(conn_metrics) / sizeof(conn_metrics[0]); m++) {
		family_begin(out, &conn_metrics[m].family);
		for (uint32_t i = 0; i < n; i++) {
			const struct watch_state *state = &processes[i]->state;

			for (uint32_t c = 0; processes[i]->is_up && c < state->nconns; c++)
				print_conn(out, &conn_metrics[m].family, processes[i],
					   &state->conns[c],
					   conn_metrics[m].value(&state->conns[c]));
		}
	}
	family_begin(out, &unlisted);
	for (uint32_t i = 0; i < n; i++) {
		const struct watch_state *state = &processes[i]->state;

		if (!processes[i]->is_up)
			continue;
		family_name(out, &unlisted, NULL);
		family_label(out, '{', "process", processes[i]->name);
		family_value(out, state->conns_total > state->nconns
					  ? state->conns_total - state->nconns
					  : 0);
	}
}
