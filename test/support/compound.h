/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMPOUND_H
#define COMPOUND_H

/*
 * The procedure PAIR_COMPOUND of the test program takes a list of operations. Each operation
 * returns DDP-eligible data, or none.
 */

#include "pair.h"

#define COMPOUND_OPS_MAX 8u
/* bytes of arguments of an operation; the number of operations precedes them */
#define COMPOUND_OP_BYTES  8u
#define COMPOUND_BYTES_MAX 65536u

enum compound_kind {
	COMPOUND_PLAIN, /* returns no data */
	COMPOUND_READ,	/* returns 'count' bytes, each from compound_byte() */
	/*
	 * fails, and returns no data, although operations of this kind have data when they succeed
	 */
	COMPOUND_FAIL,
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
