/* SPDX-License-Identifier: BSD-3-Clause */
/* Asks the threads of engines, and waits for a bounded time. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "telemetry.h"

void telemetry_ask_begin(struct telemetry_ask *ask, uint64_t engine_id, size_t bytes,
			 void (*answer)(struct weir_engine *engine, struct inquiry *inquiry))
{
	uint32_t n = 1;

	ask->n = 0;
	ask->lacks_memory = false;
	ask->ids[0] = engine_id;
	if (engine_id == 0)
		n = inquiry_engines(ask->ids);
	for (; ask->n < n; ask->n++) {
		ask->entries[ask->n].inquiry = inquiry_new(bytes, ask->ids[ask->n], answer);
		ask->lacks_memory = !ask->entries[ask->n].inquiry;
		if (ask->lacks_memory)
			return;
	}
}

bool telemetry_ask(struct telemetry_ask *ask, struct rte_tel_data *reply)
{
	if (ask->lacks_memory) {
		(void)telemetry_error(reply, "there is no memory for the answer");
		return false;
	}
	inquiry_ask(ask->entries, ask->n, TELEMETRY_WAIT_MS);
	return true;
}

void telemetry_ask_end(struct telemetry_ask *ask)
{
	for (uint32_t i = 0; i < ask->n; i++)
		free(ask->entries[i].inquiry);
}

struct rte_tel_data *telemetry_add_engine(const struct telemetry_ask *ask, uint32_t i,
					  struct rte_tel_data *reply)
{
	struct rte_tel_data *entry;
	char id[24];

	if (ask->entries[i].result == INQUIRY_NO_ENGINE)
		return NULL;
	snprintf(id, sizeof(id), "%" PRIu64, ask->ids[i]);
	entry = telemetry_add_dict(reply, id, telemetry_dict());
	if (entry)
		telemetry_add_text(entry, "state",
				   telemetry_answer(ask, i) ? "polled" : "not polled");
	return entry;
}

uint32_t telemetry_silent(const struct telemetry_ask *ask)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < ask->n; i++)
		n += ask->entries[i].result == INQUIRY_SILENT;
	return n;
}

void *telemetry_ask_one(struct telemetry_ask *ask, struct rte_tel_data *reply)
{
	if (!telemetry_ask(ask, reply))
		return NULL;
	switch (ask->entries[0].result) {
	case INQUIRY_ANSWERED:
		return ask->entries[0].inquiry;
	case INQUIRY_SILENT:
		(void)telemetry_error(reply,
				      "engine %" PRIu64 " did not answer within %u ms: its thread "
				      "does not poll",
				      ask->ids[0], TELEMETRY_WAIT_MS);
		return NULL;
	default:
		(void)telemetry_error(reply, "there is no engine %" PRIu64, ask->ids[0]);
		return NULL;
	}
}
