/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RTR_BUFFER_H
#define RTR_BUFFER_H

/*
 * The structure of a receive buffer (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 sections 7.2 and 8.3). A
 * buffer consists of segments, and some segments are targets of direct placement. A Send fills the
 * segments in order, so that byte k of the message is byte k of the buffer.
 *
 * Targets have numbers, which are called TBSNs (section 6.2). They count all targets of all
 * transmissions of a group from 0 on, whether they have data or not.
 */

#include <weir/xdr.h>

#define RTR_BUFFER_GROUPS_MAX 16u
#define RTR_SEG_DDP	      1u /* XMRSFLAG_DDP */

/* An xmrbs_group: 'count' consecutive segments of the same kind. */
struct rtr_buffer_group {
	uint32_t count;
	uint32_t length; /* xmrseg_length, bytes */
	uint32_t align;	 /* alignment in bytes; 0 and 1: none; only information for the sender */
	uint32_t flags;	 /* RTR_SEG_*; unknown bits are ignored */
};

/* An xmrbs_buf. */
struct rtr_buffer {
	uint32_t length; /* xmrbuf_length, bytes */
	uint32_t ngroups;
	bool is_consistent; /* The structure meets all conditions: no group was left out or has
			       empty segments, and the sum of the groups is 'length'. */
	/* sum of the lengths of all segments; UINT64_MAX if it is too large for 64 bits */
	uint64_t sum;
	struct rtr_buffer_group groups[RTR_BUFFER_GROUPS_MAX];
};

/* Sets the default structure: one segment of 'length' bytes that is no target (section 8.1, note
 * 1). */
void rtr_buffer_default(struct rtr_buffer *buffer, uint32_t length);

/* Decodes an xmrbs_buf from 'in'. Returns 0, or -EBADMSG if the bytes are not an xmrbs_buf. Groups
 * without segments are skipped. If there are more than RTR_BUFFER_GROUPS_MAX other groups, the
 * structure is inconsistent. For an inconsistent structure the function also returns 0, but
 * buffer->ngroups is 0. */
int rtr_buffer_get(struct weir_xdr_in *in, struct rtr_buffer *buffer);

/* These functions return the encoded size of a structure, and encode it. */
uint32_t rtr_buffer_wire_bytes(const struct rtr_buffer *buffer);
void rtr_buffer_put(struct weir_xdr_out *out, const struct rtr_buffer *buffer);

/* Returns the number of targets of a buffer, which is 0 for an inconsistent structure. */
uint32_t rtr_buffer_targets(const struct rtr_buffer *buffer);

/* rtr_buffer_target() finds the position of the n-th target in a buffer, from 0 on. If there is no
 * such target, it returns false and sets *target to zeros. */
struct rtr_target {
	uint32_t offset; /* in bytes from the start of the buffer */
	uint32_t length;
};
bool rtr_buffer_target(const struct rtr_buffer *buffer, uint32_t n, struct rtr_target *target);

#endif
