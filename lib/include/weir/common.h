/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_COMMON_H
#define WEIR_COMMON_H

/* Definitions for all public headers: the mark of exported functions, and the rule for structures
 * to which later versions append members. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Marks a function that libweir exports.
 *
 * A style check keeps three sets equal: the functions with this mark, the functions that the shared
 * library exports, and the functions of the public headers whose names begin with weir_.
 */
#define WEIR_API __attribute__((visibility("default")))

/*
 * Structures that can grow. A later version of weir can append members to a structure that weir
 * fills in for the application. Such a structure begins with 'struct_bytes'. The application sets
 * this member to the size of the structure before it calls weir:
 *
 *     struct weir_counter_info info = {.struct_bytes = sizeof(info)};
 *     weir_counter_info(index, &info);
 *
 * weir writes at most 'struct_bytes' bytes, whichever version the application was compiled with. It
 * sets members that the library does not know to 0. If 'struct_bytes' is 0, weir writes nothing. If
 * the application does not set 'struct_bytes', weir can write past the end of the structure.
 */

/** Surrounds the declarations of each public header. In C++ they have C linkage. */
#ifdef __cplusplus
#define WEIR_BEGIN_DECLS extern "C" {
#define WEIR_END_DECLS	 }
#else
#define WEIR_BEGIN_DECLS
#define WEIR_END_DECLS
#endif

#endif
