/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits the sizes of structures that the data path uses for each message, so that such a structure
 * does not grow unnoticed. Checks that public structures to which members can be appended do not
 * end with padding. The checks are done when this file is compiled.
 */
#include <weir/weir.h>

#include "fabric.h"
#include "mem.h"
#include "rdma1.h"

#define CACHE_LINE 64

#define AT_MOST(type, bytes)                                                                       \
	_Static_assert(sizeof(type) <= (bytes), #type " has grown: see test/style/sizes.c")

/*
 * A buffer's descriptor, a decoder on the stack and a work request have at most one cache line
 * each.
 */
AT_MOST(struct mem_buf, CACHE_LINE);
AT_MOST(struct weir_xdr_in, CACHE_LINE);
AT_MOST(struct fabric_wr, CACHE_LINE);

/*
 * The data path traverses arrays of these. The divisor is the number of elements in each cache
 * line.
 */
AT_MOST(struct weir_xdr_part, CACHE_LINE / 4);
AT_MOST(struct fabric_sge, CACHE_LINE / 4);
AT_MOST(struct rdma1_segment, CACHE_LINE / 4);
AT_MOST(struct fabric_recv_wr, CACHE_LINE / 2);
AT_MOST(struct fabric_wc, CACHE_LINE / 2);

/* A decoded header exists once for each message. */
AT_MOST(struct rdma1_header, 2 * CACHE_LINE);

/* Each region has one of these for each engine. */
AT_MOST(struct mem_keys, CACHE_LINE / 2);

/*
 * The size that an older program passes would include a member that is later put in place of the
 * padding, although the program does not set that member.
 */
#define NO_PADDING_AFTER(tag, last)                                                                \
	_Static_assert(offsetof(struct tag, last) + sizeof(((struct tag *)0)->last) ==             \
			       sizeof(struct tag),                                                 \
		       #tag " ends with padding: see test/style/sizes.c")

NO_PADDING_AFTER(weir_profile, engines);
NO_PADDING_AFTER(weir_region_options, numa_node);
NO_PADDING_AFTER(weir_connect_options, reconnect);
NO_PADDING_AFTER(weir_capture_options, reserved);
NO_PADDING_AFTER(weir_listen_options, accept);
NO_PADDING_AFTER(weir_program, non_idempotent);
NO_PADDING_AFTER(weir_call_params, arg);
NO_PADDING_AFTER(weir_ulb, procs);
