/* SPDX-License-Identifier: BSD-3-Clause */
/* Logs what peers can cause. Each kind of line has a limited rate (log_rate.h). */
#include <stdarg.h>
#include <stdio.h>

#include "engine.h"
#include "log.h"
#include "terminal.h"

#define TEXT_BYTES 512u

static void log_limited(struct weir_engine *engine, struct log_rate *rate,
			enum weir_log_category category, enum weir_log_level level,
			const char *format, va_list args)
{
	uint32_t left_out;
	char text[TEXT_BYTES];

	if (!log_rate_take(rate, engine->now_ns, &left_out)) {
		engine->stats.log_lines_left_out++;
		return;
	}
	vsnprintf(text, sizeof(text), format, args);
	terminal_text(text, text, sizeof(text));
	if (left_out > 0)
		log_line(category, level, "%s (and %u similar events without a line)", text,
			 left_out);
	else
		log_line(category, level, "%s", text);
}

void engine_log_peer(struct weir_engine *engine, struct log_rate *rate, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_limited(engine, rate, WEIR_LOG_CONNECTION, WEIR_LOG_NOTICE, format, args);
	va_end(args);
}

void engine_log_stuck(struct weir_engine *engine, enum weir_log_category category,
		      const char *format, ...)
{
	va_list args;

	engine->stats.stuck_calls++;
	va_start(args, format);
	log_limited(engine, &engine->stuck_lines, category, WEIR_LOG_WARNING, format, args);
	va_end(args);
}
