/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMPOUND_H
#define COMPOUND_H

/* PAIR_COMPOUND takes a list of operations. Each operation returns DDP-eligible data, or none. */

#include "pair.h"

#define COMPOUND_OPS_MAX   8u
#define COMPOUND_OP_BYTES  8u /* of arguments, after the number of operations */
#define COMPOUND_BYTES_MAX 65536u

enum compound_kind {
	COMPOUND_PLAIN, /* returns no data */
	COMPOUND_READ,	/* returns 'count' bytes, each from compound_byte() */
	COMPOUND_FAIL,	/* fails, and returns no data, although its type has data */
};

struct compound_op {
	uint32_t kind;
	uint32_t count;
};

static inline uint8_t compound_byte(uint32_t op, uint32_t i)
{
	return pair_byte(i + 77 * op);
}

void compound_handle(struct weir_request *req, struct pair *pair);

#endif
