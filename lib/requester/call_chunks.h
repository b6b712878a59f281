/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALL_CHUNKS_H
#define CALL_CHUNKS_H

/* The number of bytes in the Read chunks of a call. */

#include "compiler.h"
#include "requester.h"

/* Returns the number of bytes in the Read chunks of a call, whose header must be written. */
static inline uint64_t call_read_bytes(const struct weir_call *call)
{
	uint32_t reduced = call->plan.reduced & ~call->placed;
	uint64_t bytes = 0;

	if (unlikely(call->plan.form == REDUCE_LONG))
		bytes = call->plan.stream_bytes;
	for (; unlikely(reduced != 0); reduced &= reduced - 1)
		bytes += call->pieces[__builtin_ctz(reduced)].len;
	return bytes;
}

#endif
