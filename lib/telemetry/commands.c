/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of commands, which is registered with rte_telemetry once in a process. */
#include <pthread.h>

#include "log.h"
#include "telemetry.h"

/* rte_telemetry accepts texts of up to 63 characters. */
static const struct {
	const char *name;
	telemetry_cb run;
	const char *help;
} commands[] = {
	{"/weir/engines", telemetry_engines,
	 "Engines, or the counters of one. Parameters: [ENGINE]"},
	{"/weir/conns", telemetry_conns, "Connections, or those with higher IDs. Parameters: [ID]"},
	{"/weir/conn", telemetry_conn, "A connection. Parameters: ID"},
	{"/weir/calls", telemetry_calls,
	 "Oldest calls, of all connections or of one. Parameters: [ID]"},
	{"/weir/histogram", telemetry_histogram,
	 "Procedures, or the times of one. Parameters: [PROC]"},
	{"/weir/buckets", telemetry_buckets, "Times of a procedure, by buckets. Parameters: PROC"},
	{"/weir/memory", telemetry_memory,
	 "Memory of engines, or the pools of one. Parameters: [ENGINE]"},
	{"/weir/capture", telemetry_capture,
	 "A capture of messages. Parameters: [start,FILE[,KEY=VALUE...] | stop]"},
	{"/weir/profile", telemetry_profile, "The profile of an engine. Parameters: [ENGINE]"},
};

static void register_all(void)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		int rc = rte_telemetry_register_cmd(commands[i].name, commands[i].run,
						    commands[i].help);

		if (rc != 0)
			LOG(ENGINE, WARNING, "telemetry: %s can't be registered: error %d",
			    commands[i].name, rc);
	}
}

void telemetry_register(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_all);
}
