/* SPDX-License-Identifier: BSD-3-Clause */
#include "log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rte_log.h>

#define CATEGORIES (WEIR_LOG_DRIVER + 1)

/* Protects the variables of the callback. Threads hold it for reading while they are in the
 * callback, so that weir_log_set() returns when no thread is in the previous one. Threads that log
 * all the time do not delay weir_log_set(). */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static weir_log_fn callback;
static void *callback_arg;
static enum weir_log_level levels[CATEGORIES];

/* This thread is in the callback. */
static _Thread_local bool in_callback;

/* Handlers of fork(2). No thread is in weir_log_set() during a fork, so that the child's copy of
 * the variables is complete. In the child, the locks of the parent's other threads have to end. */
static void before_fork(void)
{
	if (!in_callback)
		pthread_rwlock_rdlock(&lock);
}

static void after_fork(void)
{
	if (!in_callback)
		pthread_rwlock_unlock(&lock);
}

static void in_child(void)
{
	lock = (pthread_rwlock_t)PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
	if (in_callback)
		pthread_rwlock_rdlock(&lock); /* which pass_on() unlocks */
}

/* Types of DPDK's log. */
static int other_type, memory_type;

static int register_type(const char *name)
{
	int type = rte_log_register_type_and_pick_level(name, RTE_LOG_NOTICE);

	return type < 0 ? RTE_LOGTYPE_USER1 : type;
}

RTE_INIT(weir_log_init)
{
	other_type = register_type("weir");
	memory_type = register_type("weir.mem");
	(void)pthread_atfork(before_fork, after_fork, in_child);
}

static const uint32_t rte_levels[] = {
	[WEIR_LOG_OFF] = RTE_LOG_EMERG,	      [WEIR_LOG_ERROR] = RTE_LOG_ERR,
	[WEIR_LOG_WARNING] = RTE_LOG_WARNING, [WEIR_LOG_NOTICE] = RTE_LOG_NOTICE,
	[WEIR_LOG_INFO] = RTE_LOG_INFO,	      [WEIR_LOG_DEBUG] = RTE_LOG_DEBUG,
};

static bool is_level(enum weir_log_level level)
{
	return (uint32_t)level <= WEIR_LOG_DEBUG;
}

int weir_log_set(weir_log_fn fn, void *arg, enum weir_log_level level)
{
	if (!is_level(level))
		return -EINVAL;
	if (in_callback)
		return -EDEADLK;
	pthread_rwlock_wrlock(&lock);
	callback = fn;
	callback_arg = arg;
	for (uint32_t i = 0; i < CATEGORIES; i++)
		levels[i] = level;
	pthread_rwlock_unlock(&lock);
	return 0;
}

int weir_log_set_level(enum weir_log_category category, enum weir_log_level level)
{
	if ((uint32_t)category >= CATEGORIES || !is_level(level))
		return -EINVAL;
	if (in_callback)
		return -EDEADLK;
	pthread_rwlock_wrlock(&lock);
	levels[category] = level;
	pthread_rwlock_unlock(&lock);
	return 0;
}

const char *weir_log_level_name(enum weir_log_level level)
{
	static const char *const names[] = {
		[WEIR_LOG_OFF] = "off",		[WEIR_LOG_ERROR] = "error",
		[WEIR_LOG_WARNING] = "warning", [WEIR_LOG_NOTICE] = "notice",
		[WEIR_LOG_INFO] = "info",	[WEIR_LOG_DEBUG] = "debug",
	};

	return is_level(level) ? names[level] : "unknown";
}

const char *weir_log_category_name(enum weir_log_category category)
{
	static const char *const names[CATEGORIES] = {
		[WEIR_LOG_ENGINE] = "engine",	      [WEIR_LOG_MEMORY] = "memory",
		[WEIR_LOG_CONNECTION] = "connection", [WEIR_LOG_REQUESTER] = "requester",
		[WEIR_LOG_RESPONDER] = "responder",   [WEIR_LOG_DRIVER] = "driver",
	};

	return (uint32_t)category < CATEGORIES ? names[category] : "unknown";
}

/* Ends a text that was too long for its array in "...", after a whole character. */
static void mark_truncated(char *text)
{
	size_t end = LOG_LINE_BYTES - sizeof("...");

	while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80)
		end--;
	snprintf(text + end, LOG_LINE_BYTES - end, "...");
}

static void format_line(char *text, const char *format, va_list args)
{
	int len = vsnprintf(text, LOG_LINE_BYTES, format, args);

	if (len < 0)
		snprintf(text, LOG_LINE_BYTES, "a line that cannot be formatted");
	else if ((size_t)len >= LOG_LINE_BYTES)
		mark_truncated(text);
	for (char *at = strchr(text, '\n'); at; at = strchr(at, '\n'))
		*at = ' ';
}

/* Passes a line to the callback. Returns false if there is no callback. */
static bool pass_on(enum weir_log_category category, enum weir_log_level level, const char *text)
{
	bool has_callback;

	pthread_rwlock_rdlock(&lock);
	has_callback = callback != NULL;
	if (has_callback && level <= levels[category]) {
		in_callback = true;
		callback(callback_arg, level, category, text);
		in_callback = false;
	}
	pthread_rwlock_unlock(&lock);
	return has_callback;
}

void log_line(enum weir_log_category category, enum weir_log_level level, const char *format, ...)
{
	char text[LOG_LINE_BYTES];
	int error = errno;
	va_list args;

	va_start(args, format);
	format_line(text, format, args);
	va_end(args);
	/* A callback that calls weir against the rules, and so causes a line, must not call itself.
	 */
	if (in_callback || !pass_on(category, level, text)) {
		int type = category == WEIR_LOG_DRIVER	 ? RTE_LOGTYPE_USER1
			   : category == WEIR_LOG_MEMORY ? memory_type
							 : other_type;

		rte_log(rte_levels[level], (uint32_t)type, "%s: %s\n",
			category == WEIR_LOG_MEMORY ? "weir.mem" : "weir", text);
	}
	errno = error;
}
