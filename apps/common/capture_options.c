/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of captures: capture_options.h describes them. */
#include "capture_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "number.h"

#define BYTES_MIN   4096u
#define SECONDS_MAX 31536000u /* a year */

static bool is_started;

int capture_option(int index, const char *value, struct weir_capture_options *capture)
{
	switch (index) {
	case 0:
		if (*value == '\0')
			return option_bad("capture", value, "expected the name of a file");
		capture->path = value;
		return 0;
	case 1:
		return option_u64("capture-bytes", value, BYTES_MIN, UINT64_MAX,
				  &capture->max_bytes);
	case 2:
		return option_u64("capture-seconds", value, 1, SECONDS_MAX, &capture->max_seconds);
	default:
		return option_u64("payload-bytes", value, 1, UINT64_MAX, &capture->payload_bytes);
	}
}

int capture_options_check(const struct weir_capture_options *capture)
{
	const char *option = capture->max_bytes > 0	  ? "capture-bytes"
			     : capture->max_seconds > 0	  ? "capture-seconds"
			     : capture->payload_bytes > 0 ? "payload-bytes"
							  : NULL;

	if (option && !capture->path)
		return option_bad(option, NULL, "it is only for --capture: give both");
	return 0;
}

int capture_options_start(const struct weir_capture_options *capture, enum weir_capture_side side)
{
	struct weir_capture_options own = *capture;
	int rc;

	if (!capture->path || is_started)
		return 0;
	own.struct_bytes = sizeof(own);
	own.side = side;
	rc = weir_capture_start(&own);
	is_started = rc == 0;
	return rc;
}

int capture_options_stop(const char *program, const struct weir_capture_options *capture)
{
	struct weir_capture_status status = {.struct_bytes = sizeof(status)};
	int rc;

	if (!is_started)
		return 0;
	is_started = false;
	rc = weir_capture_stop(&status);
	if (rc == -ENOENT)
		return 0; /* the telemetry command has stopped it */
	fprintf(stderr, "%s: %s: %llu frames of %llu connections, %llu bytes%s", program,
		capture->path, (unsigned long long)status.frames, (unsigned long long)status.conns,
		(unsigned long long)status.bytes,
		status.end == -ETIME	   ? ", until --capture-seconds"
		: status.end == -EOVERFLOW ? ", until --capture-bytes"
					   : "");
	if (status.dropped > 0)
		fprintf(stderr,
			"; %llu messages and operations were dropped: lower "
			"--payload-bytes or the load",
			(unsigned long long)status.dropped);
	fprintf(stderr, "%s%s\n", rc != 0 ? "; the file is not complete: " : "",
		rc != 0 ? strerror(-rc) : "");
	return rc;
}
