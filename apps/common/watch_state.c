/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the state of a process: watch_state.h describes this. */
#include "watch_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <weir/metrics.h>

#include "watch_json.h"

#define COMMAND_BYTES 64u

static enum watch_result bad_answer(struct watch_socket *sock, const char *what)
{
	watch_close(sock);
	return watch_fail(sock, WATCH_MALFORMED, "%s: malformed answer: %s", sock->path, what);
}

/* Returns whether the reading ends: a request has closed the connection. */
static bool is_lost(const struct watch_socket *sock)
{
	return sock->fd < 0;
}

static bool read_bytes(const json_t *value, uint64_t bytes[WATCH_BYTES])
{
	return watch_number(value, "message_bytes_sent", &bytes[WATCH_MESSAGES_SENT]) &&
	       watch_number(value, "message_bytes_received", &bytes[WATCH_MESSAGES_RECEIVED]) &&
	       watch_number(value, "rdma_bytes_sent", &bytes[WATCH_RDMA_SENT]) &&
	       watch_number(value, "rdma_bytes_received", &bytes[WATCH_RDMA_RECEIVED]);
}

/* Reads the answer of /weir/engines,ID. Returns whether it is valid. */
static bool read_counters(const json_t *value, struct watch_engine *engine)
{
	for (uint32_t i = 0; i < weir_counters() && i < WATCH_COUNTERS; i++) {
		struct weir_counter_info info = {.struct_bytes = sizeof(info)};

		if (weir_counter_info(i, &info) != 0 || !json_object_get(value, info.name))
			continue;
		if (!watch_number(value, info.name, &engine->counters[i]))
			return false;
		engine->has_counter[i] = true;
	}
	return watch_text(value, "driver", engine->driver, sizeof(engine->driver)) &&
	       read_bytes(value, engine->bytes);
}

/* Reads the counters of an engine. WATCH_REFUSED: it was destroyed or is not polled. */
static enum watch_result read_engine(struct watch_socket *sock, struct watch_engine *engine)
{
	char command[COMMAND_BYTES];
	enum watch_result result;
	json_t *value;

	snprintf(command, sizeof(command), "/weir/engines,%" PRIu64, engine->id);
	result = watch_ask(sock, command, &value);
	if (result != WATCH_OK)
		return result;
	engine->is_polled = read_counters(value, engine);
	json_decref(value);
	return engine->is_polled ? WATCH_OK : bad_answer(sock, "the counters of an engine");
}

/* Reads the engines. At least one of them is read, even if the time 'until_ms' has passed. */
static enum watch_result read_engines(struct watch_socket *sock, uint64_t until_ms,
				      struct watch_state *state)
{
	enum watch_result result;
	bool has_asked = false;
	json_t *list, *entry;
	const char *id;

	result = watch_ask(sock, "/weir/engines", &list);
	if (result != WATCH_OK)
		return result;
	state->read_ms = watch_clock_ms();
	json_object_foreach(list, id, entry)
	{
		struct watch_engine *engine = &state->engines[state->nengines];
		char text[16];

		if (state->nengines == WATCH_ENGINES)
			break;
		memset(engine, 0, sizeof(*engine));
		if (!watch_decimal(id, &engine->id) ||
		    !watch_text(entry, "state", text, sizeof(text))) {
			result = bad_answer(sock, "the list of engines");
			break;
		}
		if (strcmp(text, "polled") == 0) {
			if (has_asked && watch_clock_ms() >= until_ms) {
				state->is_partial = true;
				continue;
			}
			has_asked = true;
			result = read_engine(sock, engine);
		}
		if (is_lost(sock))
			break;
		state->nengines += result == WATCH_OK;
		result = WATCH_OK;
	}
	json_decref(list);
	return result;
}

static bool read_waiting(const json_t *entry, struct watch_waiting *waiting)
{
	return watch_text(entry, "side", waiting->side, sizeof(waiting->side)) &&
	       watch_text(entry, "state", waiting->state, sizeof(waiting->state)) &&
	       watch_text(entry, "waits_for", waiting->waits_for, sizeof(waiting->waits_for)) &&
	       watch_number_u32(entry, "calls", &waiting->calls) &&
	       watch_number(entry, "oldest_ns", &waiting->oldest_ns);
}

static bool read_call(const json_t *entry, struct watch_call *call)
{
	uint64_t is_stuck = 0;
	bool is_good = watch_text(entry, "xid", call->xid, sizeof(call->xid)) &&
		       watch_text(entry, "side", call->side, sizeof(call->side)) &&
		       watch_text(entry, "state", call->state, sizeof(call->state)) &&
		       watch_text(entry, "waits_for", call->waits_for, sizeof(call->waits_for)) &&
		       watch_number_u32(entry, "prog", &call->prog) &&
		       watch_number_u32(entry, "vers", &call->vers) &&
		       watch_number_u32(entry, "proc", &call->proc) &&
		       watch_number(entry, "engine", &call->engine_id) &&
		       watch_number(entry, "conn", &call->conn_id) &&
		       watch_number(entry, "age_ns", &call->age_ns) &&
		       watch_number(entry, "stuck", &is_stuck);

	call->is_stuck = is_stuck != 0;
	return is_good;
}

/* Reads the answer of /weir/calls. Returns whether it is valid. */
static bool read_all_calls(const json_t *value, struct watch_state *state)
{
	json_t *waiting = json_object_get(value, "waiting"), *entry;
	json_t *calls = json_object_get(value, "calls");
	const char *name;

	if (!watch_number(value, "total", &state->calls_total) ||
	    !watch_number(value, "stuck", &state->calls_stuck) || !json_is_object(waiting) ||
	    !json_is_object(calls))
		return false;
	json_object_foreach(waiting, name, entry)
	{
		if (state->nwaiting == WATCH_WAITING)
			break;
		if (!read_waiting(entry, &state->waiting[state->nwaiting++]))
			return false;
	}
	json_object_foreach(calls, name, entry)
	{
		if (state->ncalls == WATCH_CALLS)
			break;
		if (!read_call(entry, &state->calls[state->ncalls++]))
			return false;
	}
	return true;
}

static enum watch_result read_calls(struct watch_socket *sock, struct watch_state *state)
{
	enum watch_result result;
	json_t *value;
	bool is_good;

	result = watch_ask(sock, "/weir/calls", &value);
	if (result != WATCH_OK)
		return result;
	is_good = read_all_calls(value, state);
	json_decref(value);
	return is_good ? WATCH_OK : bad_answer(sock, "the calls");
}

static bool read_conn_value(const json_t *value, struct watch_conn *conn)
{
	return watch_number(value, "engine", &conn->engine_id) &&
	       watch_text(value, "side", conn->side, sizeof(conn->side)) &&
	       watch_text(value, "state", conn->state, sizeof(conn->state)) &&
	       watch_text(value, "peer", conn->peer, sizeof(conn->peer)) &&
	       watch_number_u32(value, "version", &conn->version) &&
	       watch_number_u32(value, "credits_granted", &conn->credits_granted) &&
	       watch_number_u32(value, "credits_used", &conn->credits_used) &&
	       watch_number_u32(value, "calls_active", &conn->calls_active) &&
	       watch_number(value, "calls", &conn->calls) &&
	       watch_number(value, "age_ns", &conn->age_ns) && read_bytes(value, conn->bytes);
}

/* Reads one connection. WATCH_REFUSED: it has ended. */
static enum watch_result read_conn(struct watch_socket *sock, struct watch_conn *conn)
{
	char command[COMMAND_BYTES];
	enum watch_result result;
	json_t *value;
	bool is_good;

	snprintf(command, sizeof(command), "/weir/conn,%" PRIu64, conn->id);
	result = watch_ask(sock, command, &value);
	if (result != WATCH_OK)
		return result;
	is_good = read_conn_value(value, conn);
	json_decref(value);
	return is_good ? WATCH_OK : bad_answer(sock, "a connection");
}

static enum watch_result read_conns(struct watch_socket *sock, uint32_t n, uint64_t until_ms,
				    struct watch_state *state)
{
	enum watch_result result;
	json_t *value, *list, *entry;
	const char *id;

	result = watch_ask(sock, "/weir/conns", &value);
	if (result != WATCH_OK)
		return result;
	list = json_object_get(value, "conns");
	if (!watch_number(value, "total", &state->conns_total) || !json_is_object(list))
		result = bad_answer(sock, "the list of connections");
	json_object_foreach(list, id, entry)
	{
		struct watch_conn *conn = &state->conns[state->nconns];

		state->is_partial |= watch_clock_ms() >= until_ms;
		if (is_lost(sock) || state->nconns == n || state->is_partial)
			break;
		memset(conn, 0, sizeof(*conn));
		result = watch_decimal(id, &conn->id) ? read_conn(sock, conn)
						      : bad_answer(sock, "the ID of a connection");
		if (is_lost(sock))
			break;
		state->nconns += result == WATCH_OK;
		result = WATCH_OK;
	}
	json_decref(value);
	return result;
}

/* Empties the state, without writing to the large arrays. */
static void empty(struct watch_state *state)
{
	state->is_partial = false;
	state->nengines = state->nwaiting = state->ncalls = state->nconns = 0;
	state->calls_total = state->calls_stuck = state->conns_total = 0;
	state->procedures.n = state->procedures.left_out = 0;
}

enum watch_result watch_read(struct watch_socket *sock, const struct watch_scope *scope,
			     struct watch_state *state)
{
	uint64_t until_ms = watch_clock_ms() + scope->wait_ms;
	uint32_t nconns = scope->conns < WATCH_CONNS ? scope->conns : WATCH_CONNS;
	enum watch_result result;

	empty(state);
	sock->until_ms = scope->limit_ms > 0 ? watch_clock_ms() + scope->limit_ms : 0;
	result = read_engines(sock, until_ms, state);
	if (result == WATCH_OK)
		result = read_calls(sock, state);
	if (result == WATCH_OK)
		result = read_conns(sock, nconns, until_ms, state);
	if (result == WATCH_OK) {
		result = watch_procedures(sock, scope->stages, until_ms, &state->procedures);
		state->is_partial |= watch_clock_ms() >= until_ms;
	}
	return result;
}
