/* SPDX-License-Identifier: BSD-3-Clause */
/* Logs what peers cause. Each kind of line has a limited rate (log_rate.h). */
#include <stdarg.h>
#include <stdio.h>

#include "engine.h"
#include "log.h"
#include "terminal.h"

void engine_log_peer(struct weir_engine *engine, struct log_rate *rate, const char *format, ...)
{
	uint32_t left_out;
	char text[256];
	va_list args;

	if (!log_rate_take(rate, engine->now_ns, &left_out)) {
		engine->stats.log_lines_left_out++;
		return;
	}
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	terminal_text(text, text, sizeof(text));
	if (left_out > 0)
		LOG(CONNECTION, NOTICE, "%s (and %u similar events without a line)", text,
		    left_out);
	else
		LOG(CONNECTION, NOTICE, "%s", text);
}
