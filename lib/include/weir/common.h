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

/** Around the declarations of each public header: in C++ they are C's. */
#ifdef __cplusplus
#define WEIR_BEGIN_DECLS extern "C" {
#define WEIR_END_DECLS	 }
#else
#define WEIR_BEGIN_DECLS
#define WEIR_END_DECLS
#endif

#endif
