/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMPOUND_H
#define COMPOUND_H

/* PAIR_COMPOUND: a list of operations, each of which yields eligible data, or none. */

#include "pair.h"

#define COMPOUND_OPS_MAX   8u
#define COMPOUND_OP_BYTES  8u /* of arguments, behind their number */
#define COMPOUND_BYTES_MAX 65536u

enum compound_kind {
	COMPOUND_PLAIN, /* no data */
	COMPOUND_READ,	/* 'count' bytes, compound_byte() of each */
	COMPOUND_FAIL,	/* would have had some */
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
