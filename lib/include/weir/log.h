/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_LOG_H
#define WEIR_LOG_H

/*
 * The log. weir and its drivers write a line when something fails, when a peer is refused, and when
 * an operator should know something. Without a callback, the lines go to the log of DPDK, with the
 * levels that DPDK has (EAL option --log-level). With a callback, they go to the callback only.
 *
 * Lines that a peer can cause are limited in rate, with or without a callback: at most five of each
 * kind per second. The counter log_lines_left_out counts the others.
 */

#include <weir/common.h>

WEIR_BEGIN_DECLS

/** Levels of log lines. A lower number is more important. */
enum weir_log_level {
	WEIR_LOG_OFF = 0,     /**< no line has this level; as a limit: no lines */
	WEIR_LOG_ERROR = 1,   /**< a function fails, or a connection ends */
	WEIR_LOG_WARNING = 2, /**< the configuration can cause problems */
	WEIR_LOG_NOTICE = 3,  /**< what an operator should know, such as a refused peer */
	WEIR_LOG_INFO = 4,    /**< details */
	WEIR_LOG_DEBUG = 5,   /**< details for the development of weir */
};

/** Categories of log lines. A later version can add categories. */
enum weir_log_category {
	WEIR_LOG_ENGINE = 0,	 /**< engines and profiles */
	WEIR_LOG_MEMORY = 1,	 /**< regions, buffers and limits of the process */
	WEIR_LOG_CONNECTION = 2, /**< connections, on both sides */
	WEIR_LOG_REQUESTER = 3,	 /**< calls */
	WEIR_LOG_RESPONDER = 4,	 /**< requests */
	WEIR_LOG_DRIVER = 5,	 /**< the driver and its device */
};

/**
 * Receives a line of the log.
 *
 * Any thread that is inside weir can call the function, also several threads at the same time, and
 * also threads that weir itself has started. The function must not call weir, except
 * weir_log_level_name() and weir_log_category_name(), and should return soon: a polling thread
 * waits for it.
 *
 * @param arg the argument of weir_log_set()
 * @param level the level, never WEIR_LOG_OFF
 * @param category the category
 * @param text the line, in UTF-8, without a newline and shorter than 1024 bytes. A longer line is
 * truncated, and then ends in "...". The text is valid until the function returns.
 */
typedef void (*weir_log_fn)(void *arg, enum weir_log_level level, enum weir_log_category category,
			    const char *text);

/**
 * Sends the log of the process to a function, or again to the log of DPDK.
 *
 * When the function returns, no thread is inside the previous callback, and none will call it. The
 * function waits for callbacks that are running. Thread: any, also while engines are polled.
 *
 * @param callback the function; NULL: the log of DPDK
 * @param arg passed to the callback
 * @param level the limit of each category: lines of this level and of lower numbers are passed on;
 * without a callback, the limits have no effect
 * @retval 0 success
 * @retval -EINVAL there is no such level
 * @retval -EDEADLK the caller is inside a log callback
 */
WEIR_API int weir_log_set(weir_log_fn callback, void *arg, enum weir_log_level level);

/**
 * Sets the limit of one category. weir_log_set() sets all of them. Thread: any.
 *
 * @param category the category
 * @param level the limit: lines of this level and of lower numbers are passed to the callback
 * @retval 0 success
 * @retval -EINVAL there is no such category or no such level
 */
WEIR_API int weir_log_set_level(enum weir_log_category category, enum weir_log_level level);

/**
 * Returns the name of a level. Thread: any.
 *
 * @param level the level
 * @return a constant such as "error"; "unknown" for other values
 */
WEIR_API const char *weir_log_level_name(enum weir_log_level level);

/**
 * Returns the name of a category. Thread: any.
 *
 * @param category the category
 * @return a constant such as "connection"; "unknown" for other values
 */
WEIR_API const char *weir_log_category_name(enum weir_log_category category);

WEIR_END_DECLS

#endif
