/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_COMMON_H
#define WEIR_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Marks a function that libweir exports. A style check holds the set of functions so marked, the
 * set that the shared library exports and the set with the prefix weir_ in public headers equal.
 */
#define WEIR_API __attribute__((visibility("default")))

/*
 * Structures that may grow. A later version of weir may append members to a structure that weir
 * fills in for the application. Such a structure begins with 'struct_bytes', which the application
 * sets to the size of the structure before the call:
 *
 *     struct weir_engine_stats stats = {.struct_bytes = sizeof(stats)};
 *     weir_engine_stats(engine, &stats);
 *
 * weir writes no more than 'struct_bytes' bytes, whichever version the application was built with.
 * Members that the library does not know become 0. If 'struct_bytes' is 0, nothing is written. If
 * the application does not set it, weir writes past the structure.
 */

/** Around the declarations of each public header: in C++ they are C's. */
#ifdef __cplusplus
#define WEIR_BEGIN_DECLS extern "C" {
#define WEIR_END_DECLS	 }
#else
#define WEIR_BEGIN_DECLS
#define WEIR_END_DECLS
#endif

#endif
