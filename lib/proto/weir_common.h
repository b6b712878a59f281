/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_COMMON_H
#define WEIR_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Marks a function that libweir exports. A style check holds the set of functions so marked, the
 *  set that the shared library exports and the set with the prefix weir_ in public headers equal. */
#define WEIR_API __attribute__((visibility("default")))

#ifdef __cplusplus
#error "libweir's headers are C11; wrap them in extern \"C\" on your side"
#endif

#endif
