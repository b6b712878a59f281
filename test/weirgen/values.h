/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALUES_H
#define VALUES_H

/* The codecs that compare.c compares: those of weirgen's code and those of rpcgen's code for
 * libtirpc. test_codecs.py writes both tables. */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct codec {
	const char *name; /* of the type */
	/* Encodes the value that a seed gives. Returns the number of bytes; 0 is an error. */
	size_t (*encode)(uint64_t seed, uint8_t *to, size_t size);
	/* Decodes a value and encodes it again. */
	size_t (*recode)(const uint8_t *from, uint32_t bytes, uint8_t *to, size_t size);
	/* The type contains a string. libtirpc ends strings at a NUL byte, and weirgen does not. */
	int has_string;
};

extern const struct codec weir_codecs[];
extern const struct codec tirpc_codecs[];

/* Memory for the arrays and lists of one value. */
extern _Alignas(16) uint8_t values_memory[4 << 20];
extern size_t values_used;

#endif
