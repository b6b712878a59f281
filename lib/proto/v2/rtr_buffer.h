/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RTR_BUFFER_H
#define RTR_BUFFER_H

/*
 * The structure of a receive buffer (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 sections 7.2 and 8.3):
 * segments, some of them targets of direct placement. A Send fills them in order, so that byte k of
 * the message is byte k of the buffer.
 *
 * Targets are numbered: a TBSN (section 6.2) counts those of all transmissions of a group, used or
 * not, from zero.
 */

#include <weir/xdr.h>

#define RTR_BUFFER_GROUPS_MAX 16u
#define RTR_SEG_DDP	      1u /* XMRSFLAG_DDP */

/* An xmrbs_group: 'count' segments of the same kind, one behind the other. */
struct rtr_buffer_group {
	uint32_t count;
	uint32_t length; /* xmrseg_length, bytes */
	uint32_t align;	 /* bytes; 0 and 1: none. For the sender's information */
	uint32_t flags;	 /* RTR_SEG_*; unknown bits mean nothing */
};

/* An xmrbs_buf. */
struct rtr_buffer {
	uint32_t length; /* xmrbuf_length, bytes */
	uint32_t ngroups;
	bool is_consistent; /* decoded: groups kept in full, none of empty segments, and their sum
			       is 'length' */
	uint64_t sum;	    /* of all segments; UINT64_MAX: too large for 64 bits */
	struct rtr_buffer_group groups[RTR_BUFFER_GROUPS_MAX];
};

/* Section 8.1, note 1: one segment of 'length' bytes that is no target. */
void rtr_buffer_default(struct rtr_buffer *buffer, uint32_t length);

/* Take one from 'in': 0, or -EBADMSG when that is no xmrbs_buf. Groups of no segments are skipped,
 * and of more than RTR_BUFFER_GROUPS_MAX none is kept: the structure is then inconsistent, though
 * well formed. */
int rtr_buffer_get(struct weir_xdr_in *in, struct rtr_buffer *buffer);

/* Bytes of it on the wire, and putting it there. */
uint32_t rtr_buffer_wire_bytes(const struct rtr_buffer *buffer);
void rtr_buffer_put(struct weir_xdr_out *out, const struct rtr_buffer *buffer);

/* How many targets a buffer has: 0 for an inconsistent one. */
uint32_t rtr_buffer_targets(const struct rtr_buffer *buffer);

/* The n-th target, from 0 on: where it lies in the buffer. False: there are not that many, and it
 * is of zeros. */
struct rtr_target {
	uint32_t offset; /* bytes from the start of the buffer */
	uint32_t length;
};
bool rtr_buffer_target(const struct rtr_buffer *buffer, uint32_t n, struct rtr_target *target);

#endif
