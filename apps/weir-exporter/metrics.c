/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the metrics of processes, of their engines and of their calls. */
#include "metrics.h"

#include <stdio.h>
#include <string.h>

#include <weir/metrics.h>

#include "metrics_conns.h"
#include "metrics_times.h"

/* Writes the sample of a process up to its value. */
static void begin_process(const struct family_out *out, const struct family *family,
			  const struct process *process)
{
	family_name(out, family, NULL);
	family_label(out, '{', "process", process->name);
}

static void print_up(const struct family_out *out, struct process *const *processes, uint32_t n)
{
	static const struct family up = {
		.name = "weir_up",
		.help = "Whether the process answered.",
		.type = FAMILY_GAUGE,
	};
	static const struct family info = {
		.name = "weir_process",
		.help = "The process that serves the socket.",
		.type = FAMILY_INFO,
	};
	static const struct family partial = {
		.name = "weir_read_partial",
		.help = "Whether the process answered too slowly to read all of its metrics.",
		.type = FAMILY_GAUGE,
	};

	family_begin(out, &up);
	for (uint32_t i = 0; i < n; i++) {
		begin_process(out, &up, processes[i]);
		family_value(out, processes[i]->is_up);
	}
	family_begin(out, &info);
	for (uint32_t i = 0; i < n; i++) {
		if (!processes[i]->is_up)
			continue;
		begin_process(out, &info, processes[i]);
		family_label_number(out, ',', "pid", (uint64_t)processes[i]->pid);
		family_label(out, ',', "dpdk_version", processes[i]->version);
		family_value(out, 1);
	}
	family_begin(out, &partial);
	for (uint32_t i = 0; i < n; i++) {
		if (!processes[i]->is_up)
			continue;
		begin_process(out, &partial, processes[i]);
		family_value(out, processes[i]->state.is_partial);
	}
}

/* Writes the labels of an engine. */
static void begin_engine(const struct family_out *out, const struct family *family,
			 const struct process *process, const struct watch_engine *engine)
{
	begin_process(out, family, process);
	family_label_number(out, ',', "engine", engine->id);
}

static void print_polled(const struct family_out *out, struct process *const *processes, uint32_t n)
{
	static const struct family polled = {
		.name = "weir_engine_polled",
		.help = "Whether the thread of the engine polls it.",
		.type = FAMILY_GAUGE,
	};

	family_begin(out, &polled);
	for (uint32_t i = 0; i < n; i++) {
		const struct watch_state *state = &processes[i]->state;

		for (uint32_t e = 0; processes[i]->is_up && e < state->nengines; e++) {
			begin_engine(out, &polled, processes[i], &state->engines[e]);
			family_value(out, state->engines[e].is_polled);
		}
	}
}

/* Writes a counter or a gauge of the library, under the name that the example metrics.c has. */
static void print_counter(const struct family_out *out, struct process *const *processes,
			  uint32_t n, uint32_t index)
{
	struct weir_counter_info info = {.struct_bytes = sizeof(info)};
	struct family family = {0};
	size_t len;
	char name[96];

	if (weir_counter_info(index, &info) != 0)
		return;
	len = (size_t)snprintf(name, sizeof(name), "weir_%s", info.name);
	family.name = name;
	family.help = info.help;
	family.type = info.kind == WEIR_GAUGE ? FAMILY_GAUGE : FAMILY_COUNTER;
	if (len > 6 && strcmp(name + len - 6, "_bytes") == 0)
		family.unit = "bytes";
	family_begin(out, &family);
	for (uint32_t i = 0; i < n; i++) {
		const struct watch_state *state = &processes[i]->state;

		for (uint32_t e = 0; processes[i]->is_up && e < state->nengines; e++) {
			const struct watch_engine *engine = &state->engines[e];

			if (!engine->is_polled || !engine->has_counter[index])
				continue;
			begin_engine(out, &family, processes[i], engine);
			family_value(out, engine->counters[index]);
		}
	}
}

static void print_bytes(const struct family_out *out, struct process *const *processes, uint32_t n)
{
	static const struct family families[WATCH_BYTES] = {
		{"weir_message_sent_bytes", "bytes", "Messages sent, with their transport headers.",
		 FAMILY_COUNTER},
		{"weir_message_received_bytes", "bytes",
		 "Messages received, with their transport headers.", FAMILY_COUNTER},
		{"weir_rdma_sent_bytes", "bytes",
		 "Chunks sent: those of the Read chunks of calls, or of the Write chunks of "
		 "replies.",
		 FAMILY_COUNTER},
		{"weir_rdma_received_bytes", "bytes",
		 "Chunks received: those of the Write chunks of replies, or of the Read chunks of "
		 "calls.",
		 FAMILY_COUNTER},
	};

	for (uint32_t b = 0; b < WATCH_BYTES; b++) {
		family_begin(out, &families[b]);
		for (uint32_t i = 0; i < n; i++) {
			const struct watch_state *state = &processes[i]->state;

			for (uint32_t e = 0; processes[i]->is_up && e < state->nengines; e++) {
				const struct watch_engine *engine = &state->engines[e];

				if (!engine->is_polled)
					continue;
				begin_engine(out, &families[b], processes[i], engine);
				family_value(out, engine->bytes[b]);
			}
		}
	}
}

static void print_waiting(const struct family_out *out, struct process *const *processes,
			  uint32_t n, const struct family *family)
{
	family_begin(out, family);
	for (uint32_t i = 0; i < n; i++) {
		const struct watch_state *state = &processes[i]->state;

		for (uint32_t w = 0; processes[i]->is_up && w < state->nwaiting; w++) {
			const struct watch_waiting *waiting = &state->waiting[w];

			begin_process(out, family, processes[i]);
			family_label(out, ',', "side", waiting->side);
			family_label(out, ',', "state", waiting->state);
			family_label(out, ',', "waits_for", waiting->waits_for);
			if (family->unit)
				family_seconds(out, waiting->oldest_ns);
			else
				family_value(out, waiting->calls);
		}
	}
}

static void print_calls(const struct family_out *out, struct process *const *processes, uint32_t n)
{
	static const struct family waiting = {
		.name = "weir_waiting_calls",
		.help = "Calls and requests at present, by what they wait for.",
		.type = FAMILY_GAUGE,
	};
	static const struct family oldest = {
		.name = "weir_waiting_oldest_seconds",
		.unit = "seconds",
		.help = "Age of the oldest of these calls and requests.",
		.type = FAMILY_GAUGE,
	};
	static const struct family overdue = {
		.name = "weir_overdue_calls",
		.help = "Calls and requests at present that are older than stuck_call_ms.",
		.type = FAMILY_GAUGE,
	};

	print_waiting(out, processes, n, &waiting);
	print_waiting(out, processes, n, &oldest);
	family_begin(out, &overdue);
	for (uint32_t i = 0; i < n; i++) {
		if (!processes[i]->is_up)
			continue;
		begin_process(out, &overdue, processes[i]);
		family_value(out, processes[i]->state.calls_stuck);
	}
}

void metrics_print(const struct family_out *out, struct process *const *processes, uint32_t n)
{
	print_up(out, processes, n);
	print_polled(out, processes, n);
	for (uint32_t index = 0; index < weir_counters() && index < WATCH_COUNTERS; index++)
		print_counter(out, processes, n, index);
	print_bytes(out, processes, n);
	print_calls(out, processes, n);
	metrics_conns(out, processes, n);
	metrics_times(out, processes, n);
}
