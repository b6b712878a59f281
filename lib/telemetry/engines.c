/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands /weir/engines and /weir/profile. */
#include <stdio.h>

#include <weir/metrics.h>

#include "conn.h"
#include "engine_counters.h"
#include "profile_keys.h"
#include "telemetry.h"

/* An engine and its counters. */
struct engine_inquiry {
	struct inquiry inquiry;
	char driver[32];
	uint64_t values[ENGINE_VALUES];
	struct engine_bytes bytes; /* of all connections since the creation of the engine */
};

struct profile_inquiry {
	struct inquiry inquiry;
	struct weir_profile profile;
};

static void answer_counters(struct weir_engine *engine, struct inquiry *inquiry)
{
	struct engine_inquiry *mine = (struct engine_inquiry *)inquiry;
	const struct weir_conn *conn = NULL;

	snprintf(mine->driver, sizeof(mine->driver), "%s", engine->ops->name);
	weir_engine_counters(engine, mine->values, ENGINE_VALUES);
	mine->bytes = engine->freed_bytes;
	while ((conn = conn_of_engine(engine, conn)))
		conn_add_bytes(conn, &mine->bytes);
}

static uint64_t value_of(const struct engine_inquiry *engine, const char *name)
{
	int index = weir_counter_find(name);

	return index < 0 ? 0 : engine->values[index];
}

/* Adds the entry of an engine to the list. */
static void add_engine(const struct telemetry_ask *ask, uint32_t i, struct rte_tel_data *reply)
{
	static const char *const names[] = {
		"connections",	"calls_sent",	     "calls_completed",
		"calls_failed", "requests_received", "replies_sent",
	};
	const struct engine_inquiry *engine = telemetry_answer(ask, i);
	struct rte_tel_data *entry = telemetry_add_engine(ask, i, reply);

	if (!entry || !engine)
		return;
	telemetry_add_text(entry, "driver", engine->driver);
	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
		telemetry_add_number(entry, names[n], value_of(engine, names[n]));
}

static int list_engines(struct rte_tel_data *reply)
{
	struct telemetry_ask ask;

	rte_tel_data_start_dict(reply);
	telemetry_ask_begin(&ask, 0, sizeof(struct engine_inquiry), answer_counters);
	if (telemetry_ask(&ask, reply))
		for (uint32_t i = 0; i < ask.n; i++)
			add_engine(&ask, i, reply);
	telemetry_ask_end(&ask);
	return 0;
}

static void show_counters(const struct engine_inquiry *engine, struct rte_tel_data *reply)
{
	rte_tel_data_start_dict(reply);
	telemetry_add_text(reply, "driver", engine->driver);
	for (uint32_t i = 0; i < ENGINE_VALUES; i++) {
		struct weir_counter_info info = {.struct_bytes = sizeof(info)};

		if (weir_counter_info(i, &info) == 0)
			telemetry_add_number(reply, info.name, engine->values[i]);
	}
	telemetry_add_number(reply, "message_bytes_sent", engine->bytes.messages_sent);
	telemetry_add_number(reply, "message_bytes_received", engine->bytes.messages_received);
	telemetry_add_number(reply, "rdma_bytes_sent", engine->bytes.rdma_sent);
	telemetry_add_number(reply, "rdma_bytes_received", engine->bytes.rdma_received);
}

int telemetry_engines(const char *command, const char *params, struct rte_tel_data *reply)
{
	const struct engine_inquiry *engine;
	struct telemetry_ask ask;
	uint64_t id;

	(void)command;
	if (!telemetry_has(params))
		return list_engines(reply);
	if (!telemetry_id(params, &id))
		return telemetry_error(reply, "'%.40s' is not the ID of an engine", params);
	telemetry_ask_begin(&ask, id, sizeof(*engine), answer_counters);
	engine = telemetry_ask_one(&ask, reply);
	if (engine)
		show_counters(engine, reply);
	telemetry_ask_end(&ask);
	return 0;
}

static void answer_profile(struct weir_engine *engine, struct inquiry *inquiry)
{
	((struct profile_inquiry *)inquiry)->profile = engine->profile;
}

static void show_profile(const struct weir_profile *profile, struct rte_tel_data *reply)
{
	rte_tel_data_start_dict(reply);
	for (uint32_t i = 0; i < profile_nkeys; i++) {
		char name[64], text[RTE_TEL_MAX_STRING_LEN];

		snprintf(name, sizeof(name), "%s/%s", profile_keys[i].section,
			 profile_keys[i].name);
		profile_key_format(&profile_keys[i], profile, text, sizeof(text));
		telemetry_add_text(reply, name, text);
	}
}

/* Sets *id to the parameter or, without one, to the only engine of the process. Returns whether
 * that is possible. Otherwise the reply is an error. */
static bool choose_engine(const char *params, uint64_t *id, struct rte_tel_data *reply)
{
	uint64_t ids[MEM_SLOTS_MAX];
	uint32_t n;

	if (telemetry_has(params)) {
		if (!telemetry_id(params, id))
			(void)telemetry_error(reply, "'%.40s' is not the ID of an engine", params);
		return telemetry_id(params, id);
	}
	n = inquiry_engines(ids);
	if (n != 1)
		(void)telemetry_error(reply,
				      "there are %u engines: name one of /weir/engines after a "
				      "comma",
				      n);
	*id = ids[0];
	return n == 1;
}

int telemetry_profile(const char *command, const char *params, struct rte_tel_data *reply)
{
	const struct profile_inquiry *answer;
	struct telemetry_ask ask;
	uint64_t id;

	(void)command;
	if (!choose_engine(params, &id, reply))
		return 0;
	telemetry_ask_begin(&ask, id, sizeof(*answer), answer_profile);
	answer = telemetry_ask_one(&ask, reply);
	if (answer)
		show_profile(&answer->profile, reply);
	telemetry_ask_end(&ask);
	return 0;
}
