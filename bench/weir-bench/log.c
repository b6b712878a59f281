/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints each line of weir's log once. */
#include "log.h"

#include <ctype.h>
#include <stdio.h>

#include <weir/log.h>

/* Returns a number, never 0, that is the same for lines that differ only in their numbers. */
static uint64_t mark_of(const char *text)
{
	uint64_t hash = 14695981039346656037u; /* FNV-1a */

	for (; *text; text++)
		if (!isdigit((unsigned char)*text))
			hash = (hash ^ (unsigned char)*text) * 1099511628211u;
	return hash ? hash : 1;
}

/* Returns whether no side has printed such a line. If there is no room to note it, prints it. */
static bool is_new(struct bench_shared *shared, const char *text)
{
	uint64_t mark = mark_of(text);

	for (uint32_t i = 0; i < BENCH_LOG_LINES; i++) {
		uint64_t free = 0;

		if (atomic_compare_exchange_strong(&shared->printed[i], &free, mark))
			return true;
		if (free == mark)
			return false;
	}
	return true;
}

static void print(void *arg, enum weir_log_level level, enum weir_log_category category,
		  const char *text)
{
	bool is_of_start = category == WEIR_LOG_ENGINE || category == WEIR_LOG_MEMORY ||
			   category == WEIR_LOG_DRIVER;

	if (level == WEIR_LOG_ERROR || !is_of_start || is_new(arg, text))
		fprintf(stderr, "weir: %s\n", text);
}

void bench_log_start(struct bench_shared *shared)
{
	weir_log_set(print, shared, WEIR_LOG_INFO);
}

void bench_log_end(void)
{
	weir_log_set(NULL, NULL, WEIR_LOG_INFO);
}
