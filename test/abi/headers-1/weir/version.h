/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_VERSION_H
#define WEIR_VERSION_H

#include <weir/common.h>

WEIR_BEGIN_DECLS

#define WEIR_VERSION_MAJOR 1

#define WEIR_VERSION_MINOR 0

#define WEIR_VERSION_PATCH 0

#define WEIR_VERSION_STRING "1.0.0"

#define WEIR_VERSION_NUMBER(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))

#define WEIR_VERSION WEIR_VERSION_NUMBER(WEIR_VERSION_MAJOR, WEIR_VERSION_MINOR, WEIR_VERSION_PATCH)

#define WEIR_VERSION_AT_LEAST(major, minor, patch)                                                 \
	(WEIR_VERSION >= WEIR_VERSION_NUMBER(major, minor, patch))

WEIR_API int weir_version(void);

WEIR_API const char *weir_version_string(void);

WEIR_END_DECLS

#endif
