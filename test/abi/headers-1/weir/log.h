/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_LOG_H
#define WEIR_LOG_H

#include <weir/common.h>

WEIR_BEGIN_DECLS

enum weir_log_level {
	WEIR_LOG_OFF = 0,
	WEIR_LOG_ERROR = 1,
	WEIR_LOG_WARNING = 2,
	WEIR_LOG_NOTICE = 3,
	WEIR_LOG_INFO = 4,
	WEIR_LOG_DEBUG = 5,
};

enum weir_log_category {
	WEIR_LOG_ENGINE = 0,
	WEIR_LOG_MEMORY = 1,
	WEIR_LOG_CONNECTION = 2,
	WEIR_LOG_REQUESTER = 3,
	WEIR_LOG_RESPONDER = 4,
	WEIR_LOG_DRIVER = 5,
};

typedef void (*weir_log_fn)(void *arg, enum weir_log_level level, enum weir_log_category category,
			    const char *text);

WEIR_API int weir_log_set(weir_log_fn callback, void *arg, enum weir_log_level level);

WEIR_API int weir_log_set_level(enum weir_log_category category, enum weir_log_level level);

WEIR_API const char *weir_log_level_name(enum weir_log_level level);

WEIR_API const char *weir_log_category_name(enum weir_log_category category);

WEIR_END_DECLS

#endif
