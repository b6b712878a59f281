/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that both protocols use. They write messages, end I/Os, and make profiles. */
#include "target.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "session_profile.h"

#define DEPTH_MAX 1024u /* the most credits of a connection; further I/Os wait */

int target_say(void (*log)(const char *line), int error, const char *format, ...)
{
	char line[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	log(line);
	return error;
}

void target_io_end(struct target *target, struct target_io *io, int error, const char *why)
{
	static const char *const names[] = {
		[TARGET_READ] = "read",
		[TARGET_WRITE] = "write",
		[TARGET_FLUSH] = "sync",
		[TARGET_TRIM] = "trim",
	};

	if (error == EINTR)
		why = "fio stopped the job, and the server did not answer";
	if (error != 0 && !target->has_said) {
		target->has_said = true;
		target_say(target->log, error, "%s at offset %llu: %s", names[io->op],
			   (unsigned long long)io->offset, why);
	}
	io->error = error;
	io->done(io);
}

int target_add_region(struct target *target, struct weir_engine *engine, struct weir_region *region)
{
	int rc = -weir_engine_add_region(engine, region);

	target->region = region;
	return rc == 0 ? 0
		       : target_say(target->log, rc, "can't register the buffers: %s",
				    strerror(rc));
}

static int copy(const struct target_options *options, const char *option, const char *value,
		char *to, size_t bytes)
{
	if (!value)
		return 0;
	if (strlen(value) >= bytes)
		return target_say(options->log, EINVAL, "%s is longer than %zu bytes", option,
				  bytes - 1);
	snprintf(to, bytes, "%s", value);
	return 0;
}

int target_profile(const struct target_options *options, struct weir_profile *profile)
{
	uint32_t depth = options->depth < DEPTH_MAX ? options->depth : DEPTH_MAX;
	char why[512];
	int rc;

	weir_profile_defaults(profile);
	if (options->profile) {
		rc = weir_profile_load(options->profile, profile, why, sizeof(why));
		if (rc != 0)
			return target_say(options->log, -rc, "weir_profile: %s", why);
	}
	rc = copy(options, "weir_driver", options->driver, profile->driver,
		  sizeof(profile->driver));
	if (rc == 0)
		rc = copy(options, "weir_driver_options", options->driver_options,
			  profile->driver_options, sizeof(profile->driver_options));
	if (rc != 0)
		return rc;
	session_profile_size(profile, options->profile != NULL, depth, options->retries);
	if (options->timeout_ms > 0)
		profile->call_timeout_ms = options->timeout_ms;
	rc = weir_profile_check(profile, why, sizeof(why));
	return rc == 0 ? 0 : target_say(options->log, -rc, "the profile is not valid: %s", why);
}
