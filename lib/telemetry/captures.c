/* SPDX-License-Identifier: BSD-3-Clause */
/* The command /weir/capture: starts and stops a capture, and shows what it has done. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/capture.h>

#include "capture.h"
#include "telemetry.h"

#define PARAMS_BYTES 1024u

struct capture_inquiry {
	struct inquiry inquiry;
	int result; /* of capture_tap_engine() */
};

static void answer_capture(struct weir_engine *engine, struct inquiry *inquiry)
{
	((struct capture_inquiry *)inquiry)->result = capture_tap_engine(engine);
}

static const char *end_name(const struct weir_capture_status *status)
{
	if (status->is_running)
		return "running";
	switch (status->end) {
	case 0:
		return "stopped";
	case -ETIME:
		return "ended at its time limit";
	case -EOVERFLOW:
		return "ended at the largest length of its file";
	default:
		return "ended because the file could not be written";
	}
}

static void show(const struct weir_capture_status *status, struct rte_tel_data *reply)
{
	rte_tel_data_start_dict(reply);
	telemetry_add_text(reply, "state", end_name(status));
	telemetry_add_number(reply, "frames", status->frames);
	telemetry_add_number(reply, "bytes", status->bytes);
	telemetry_add_number(reply, "connections", status->conns);
	telemetry_add_number(reply, "dropped", status->dropped);
	if (!status->is_running && status->end != 0 && status->end != -ETIME &&
	    status->end != -EOVERFLOW)
		telemetry_add_text(reply, "reason", strerror(-status->end));
}

static int show_status(struct rte_tel_data *reply)
{
	struct weir_capture_status status = {.struct_bytes = sizeof(status)};

	if (weir_capture_status(&status) != 0)
		return telemetry_error(reply, "there is no capture");
	show(&status, reply);
	return 0;
}

static int stop(struct rte_tel_data *reply)
{
	struct weir_capture_status status = {.struct_bytes = sizeof(status)};

	if (weir_capture_stop(&status) == -ENOENT)
		return telemetry_error(reply, "there is no capture");
	show(&status, reply);
	return 0;
}

/* Applies one parameter KEY=VALUE. Returns whether it is valid. */
static bool apply(const char *text, struct weir_capture_options *options)
{
	const struct {
		const char *key;
		uint64_t *value;
	} numbers[] = {
		{"bytes=", &options->max_bytes},
		{"seconds=", &options->max_seconds},
		{"payload=", &options->payload_bytes},
		{"conn=", &options->conn_id},
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		size_t len = strlen(numbers[i].key);

		if (strncmp(text, numbers[i].key, len) == 0)
			return telemetry_id(text + len, numbers[i].value);
	}
	if (strcmp(text, "side=requester") == 0)
		options->side = WEIR_CAPTURE_REQUESTERS;
	else if (strcmp(text, "side=responder") == 0)
		options->side = WEIR_CAPTURE_RESPONDERS;
	else
		return false;
	return true;
}

/* Says why a capture did not start. */
static int refuse(int rc, const char *path, struct rte_tel_data *reply)
{
	switch (rc) {
	case -EBUSY:
		return telemetry_error(reply, "there is a capture already: stop it first");
	case -EEXIST:
		return telemetry_error(reply, "the file %.60s exists: choose another name", path);
	case -ENOENT:
		return telemetry_error(reply, "the folder of %.60s does not exist", path);
	default:
		return telemetry_error(reply, "can't capture to %.50s: %s", path, strerror(-rc));
	}
}

/* Adds the connections that exist to the capture. */
static void add_engines(struct rte_tel_data *reply)
{
	struct telemetry_ask ask;
	uint32_t nfailed = 0;

	telemetry_ask_begin(&ask, 0, sizeof(struct capture_inquiry), answer_capture);
	if (telemetry_ask(&ask, reply)) {
		for (uint32_t i = 0; i < ask.n; i++) {
			const struct capture_inquiry *mine = telemetry_answer(&ask, i);

			nfailed += mine && mine->result == -ENOMEM;
		}
		rte_tel_data_start_dict(reply);
		telemetry_add_text(reply, "state", "running");
		telemetry_add_number(reply, "engines_not_polled", telemetry_silent(&ask));
		telemetry_add_number(reply, "engines_without_memory", nfailed);
	}
	telemetry_ask_end(&ask);
}

/* 'text' is "FILE[,KEY=VALUE...]". */
static int start(char *text, struct rte_tel_data *reply)
{
	struct weir_capture_options options = {.struct_bytes = sizeof(options)};
	char *next, *param = strtok_r(text, ",", &next);
	int rc;

	if (!param || param[0] != '/')
		return telemetry_error(reply, "name a file by its absolute path: "
					      "/weir/capture,start,/PATH");
	options.path = param;
	while ((param = strtok_r(NULL, ",", &next)))
		if (!apply(param, &options))
			return telemetry_error(reply,
					       "'%.40s' is not a parameter: use bytes=, seconds=, "
					       "payload=, conn= or side=",
					       param);
	rc = weir_capture_start(&options);
	if (rc != 0)
		return refuse(rc, options.path, reply);
	add_engines(reply);
	return 0;
}

int telemetry_capture(const char *command, const char *params, struct rte_tel_data *reply)
{
	char text[PARAMS_BYTES];

	(void)command;
	if (!telemetry_has(params))
		return show_status(reply);
	if (strcmp(params, "stop") == 0)
		return stop(reply);
	if (strncmp(params, "start,", 6) != 0 || strlen(params) >= sizeof(text))
		return telemetry_error(reply, "'%.40s' is not a parameter: use start,/PATH or stop",
				       params);
	snprintf(text, sizeof(text), "%s", params + 6);
	return start(text, reply);
}
