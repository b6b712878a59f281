/* SPDX-License-Identifier: BSD-3-Clause */
/* The sizes of structures that the data path uses for each message, so that growth is a decision.
 * The check is that this file compiles. */
#include <weir/xdr.h>

#include "fabric.h"
#include "mem.h"
#include "rdma1.h"

#define CACHE_LINE 64

#define AT_MOST(type, bytes)                                                                       \
	_Static_assert(sizeof(type) <= (bytes), #type " has grown: see test/style/sizes.c")

/* At most one cache line each: a buffer's descriptor, a decoder on the stack, a work request. */
AT_MOST(struct mem_buf, CACHE_LINE);
AT_MOST(struct weir_xdr_in, CACHE_LINE);
AT_MOST(struct fabric_wr, CACHE_LINE);

/* Arrays of these are traversed. The divisor is the number in each cache line. */
AT_MOST(struct weir_xdr_part, CACHE_LINE / 4);
AT_MOST(struct fabric_sge, CACHE_LINE / 4);
AT_MOST(struct rdma1_segment, CACHE_LINE / 4);
AT_MOST(struct fabric_recv_wr, CACHE_LINE / 2);
AT_MOST(struct fabric_wc, CACHE_LINE / 2);

/* A decoded header, one for each message. */
AT_MOST(struct rdma1_header, 2 * CACHE_LINE);

/* One for each engine in each region. */
AT_MOST(struct mem_keys, CACHE_LINE / 2);
