/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RDMA2_PROP_H
#define RDMA2_PROP_H

/*
 * Transport properties of version 2 (draft-cel-nfsv4-rpcrdma-version-two-03 section 5), with those
 * of the extension (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 section 8), as they are encoded in a
 * message: sets of values, subsets of such a set, and the four procedures that have them in their
 * messages. Below, "section" is a section of the first draft. rdma2_prop_state.h describes the
 * combined meaning of the values of a peer.
 */

#include <weir/xdr.h>

#include "rtr_buffer.h"

enum rdma2_propid {
	RDMA2_PROPID_RBSIZ = 1,
	RDMA2_PROPID_BRS = 2,
	/* This and the next three are properties of the extension: XPROP_RTRSUPP and so on. */
	RDMA2_PROPID_RTRSUPP = 3,
	RDMA2_PROPID_RBSTRUCT = 4,
	RDMA2_PROPID_REQRXLIM = 5,
	RDMA2_PROPID_RESPSXLIM = 6,
	RDMA2_PROPID_KNOWN_MAX = 6
};

enum rdma2_bkreqsup { RDMA2_BKREQSUP_NONE = 0, RDMA2_BKREQSUP_INLINE = 1, RDMA2_BKREQSUP_GENL = 2 };

/* Bits of the value of RDMA2_PROPID_RTRSUPP: the end that sends the property accepts the operation.
 */
#define RDMA2_RTRS_XREQ	 1u
#define RDMA2_RTRS_XRESP 2u
#define RDMA2_RTRS_XCONT 4u

/* A propset in an accepted message: 'count' values, which begin at 'p'. The values were checked:
 * the data of each known property is empty, or has the property's type. */
struct rdma2_propset {
	const uint8_t *p;
	uint32_t count;
};

/* A propsubset in a message: 'nwords' words at 'p'. The words have one bit for each entry of a
 * propset, in the order of the entries from the lowest bit on. Bits after the last entry have no
 * meaning. */
struct rdma2_propsubset {
	const uint8_t *p;
	uint32_t nwords;
};

struct rdma2_propval {
	uint32_t which; /* enum rdma2_propid, or an unknown number */
	uint32_t len_bytes;
	const uint8_t *data; /* len_bytes bytes; if this is 0, the value is the default */
};

enum rdma2_propset_result {
	RDMA2_PROPSET_OK,
	RDMA2_PROPSET_TRUNCATED, /* The propset extends past the end of the message. */
	/* A value does not have its property's type, or is too short or too long for this type
	 * (section 5.1.1). */
	RDMA2_PROPSET_BAD_VALUE,
	/* The set has a known property twice. A set has no order that would decide between the two
	 * values. */
	RDMA2_PROPSET_TWICE
};

/* Decodes and checks a propset at the position of 'in', and moves 'in' after it. If the result is
 * RDMA2_PROPSET_OK, *set points into the message. */
enum rdma2_propset_result rdma2_propset_get(struct weir_xdr_in *in, struct rdma2_propset *set);

/* Decodes a propsubset at the position of 'in', and moves 'in' after it. Returns 0, or -EBADMSG if
 * the subset extends past the end of the message. */
int rdma2_propsubset_get(struct weir_xdr_in *in, struct rdma2_propsubset *subset);

/* Returns whether entry 'n' of the propset, from 0 on, is in the subset. Missing words of a subset
 * count as zero (section 5.1.1). */
bool rdma2_propsubset_has(const struct rdma2_propsubset *subset, uint32_t n);

/* Stores the next value of a set in *value, and removes it from *left, which is a copy of the set
 * at first. Returns false if there are no more values. */
bool rdma2_propset_next(struct rdma2_propset *left, struct rdma2_propval *value);

/* Returns the value of a property whose type is one word, or 'otherwise' if its data is empty. */
uint32_t rdma2_propval_u32(const struct rdma2_propval *value, uint32_t otherwise);

/* The result for one entry of the set that an RDMA2_REQPROP requests (section 5.3.3): the peer has
 * set the requested value, has rejected it, or has set another value. */
enum rdma2_disposition { RDMA2_DONE, RDMA2_REJECTED, RDMA2_OTHER };

/* Returns the result for entry 'n' of 'want', the set that was requested by RDMA2_REQPROP. 'done',
 * 'rejected' and 'other' are from the answer, an RDMA2_RESPROP. If the result is RDMA2_OTHER,
 * *value is the new value. If the answer has no result or several results for the entry, the entry
 * counts as rejected. Results for properties that were not requested are ignored. */
enum rdma2_disposition rdma2_disposition(const struct rdma2_propset *want, uint32_t n,
					 const struct rdma2_propsubset *done,
					 const struct rdma2_propsubset *rejected,
					 const struct rdma2_propset *other,
					 struct rdma2_propval *value);

/*
 * These functions encode a message. It consists of its fixed part, and then of the parts of its
 * procedure, in this order:
 *
 * - CONNPROP: set, subset (rdma_nochg)
 * - REQPROP and UPDPROP: set
 * - RESPROP: subset (rdma_done), subset (rdma_rejected), set
 *
 * A set consists of a count, which weir_xdr_put_u32() encodes, and this number of values. Like the
 * functions of weir/xdr.h, these functions set out->failed if they fail.
 */
void rdma2_put_fixed(struct weir_xdr_out *out, uint32_t xid, uint32_t credit, uint32_t proc);
void rdma2_put_prop_u32(struct weir_xdr_out *out, uint32_t which, uint32_t value);
void rdma2_put_prop_buffer(struct weir_xdr_out *out, const struct rtr_buffer *buffer);
void rdma2_put_prop_default(struct weir_xdr_out *out,
			    uint32_t which); /* a value without data, which is the default */
/* Encodes the subset that consists of the first n entries. */
void rdma2_put_subset_first(struct weir_xdr_out *out, uint32_t n);

#endif
