/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_VERSION_H
#define WEIR_VERSION_H

/*
 * The version of weir: the macros have that of the headers with which the application is compiled,
 * and the functions return that of the library with which it runs. doc/abi.rst says which versions
 * work together.
 *
 * Thread of all functions: any.
 */

#include <weir/common.h>

WEIR_BEGIN_DECLS

/** Part of the version that increases when applications must be changed or compiled again. */
#define WEIR_VERSION_MAJOR 1
/** Part of the version that increases when functions or members are added. */
#define WEIR_VERSION_MINOR 0
/** Part of the version that increases when errors are corrected. */
#define WEIR_VERSION_PATCH 0
/** Version of the headers as text. */
#define WEIR_VERSION_STRING "1.0.0"

/** A version as one number. A later version has a larger number. */
#define WEIR_VERSION_NUMBER(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))

/** Version of the headers as one number. */
#define WEIR_VERSION WEIR_VERSION_NUMBER(WEIR_VERSION_MAJOR, WEIR_VERSION_MINOR, WEIR_VERSION_PATCH)

/** True if the headers have this version or a later one. It can stand after #if. */
#define WEIR_VERSION_AT_LEAST(major, minor, patch)                                                 \
	(WEIR_VERSION >= WEIR_VERSION_NUMBER(major, minor, patch))

/**
 * Returns the version of the library.
 *
 * @return the version as one number; compare it with WEIR_VERSION_NUMBER()
 */
WEIR_API int weir_version(void);

/**
 * Returns the version of the library as text.
 *
 * @return the version, such as "1.0.0"
 * @owner weir
 */
WEIR_API const char *weir_version_string(void);

WEIR_END_DECLS

#endif
