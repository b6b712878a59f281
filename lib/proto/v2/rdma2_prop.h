/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RDMA2_PROP_H
#define RDMA2_PROP_H

/*
 * Transport properties of version 2 (draft-cel-nfsv4-rpcrdma-version-two-03 section 5), with those
 * of the extension (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 section 8), as they are encoded in a
 * message: sets of values, subsets of such a set, and the four procedures that carry them.
 * rdma2_prop_state.h describes the combined meaning of the values of a peer.
 */

#include <weir/xdr.h>

#include "rtr_buffer.h"

enum rdma2_propid {
	RDMA2_PROPID_RBSIZ = 1,
	RDMA2_PROPID_BRS = 2,
	RDMA2_PROPID_RTRSUPP = 3, /* From here on, the properties are those of the extension:
				     XPROP_RTRSUPP and so on. */
	RDMA2_PROPID_RBSTRUCT = 4,
	RDMA2_PROPID_REQRXLIM = 5,
	RDMA2_PROPID_RESPSXLIM = 6,
	RDMA2_PROPID_KNOWN_MAX = 6
};

enum rdma2_bkreqsup { RDMA2_BKREQSUP_NONE = 0, RDMA2_BKREQSUP_INLINE = 1, RDMA2_BKREQSUP_GENL = 2 };

/* Bits of RDMA2_PROPID_RTRSUPP: this end receives and processes the operation. */
#define RDMA2_RTRS_XREQ	 1u
#define RDMA2_RTRS_XRESP 2u
#define RDMA2_RTRS_XCONT 4u

/* A propset of an accepted message. It is counted and checked: the data of each known property is
 * of its type or empty. */
struct rdma2_propset {
	const uint8_t *p;
	uint32_t count;
};

/* Bits for the entries of a propset. Bits after the last entry mean nothing. */
struct rdma2_propsubset {
	const uint8_t *p;
	uint32_t nwords;
};

struct rdma2_propval {
	uint32_t which; /* enum rdma2_propid, or an unknown number */
	uint32_t len_bytes;
	const uint8_t *data; /* if len_bytes is 0, the value is the default */
};

enum rdma2_propset_result {
	RDMA2_PROPSET_OK,
	RDMA2_PROPSET_TRUNCATED, /* The propset extends past the end of the message. */
	RDMA2_PROPSET_BAD_VALUE, /* A value is not of its property's type, or is too short or too
				    long for it (section 5.1.1). */
	RDMA2_PROPSET_TWICE /* A known property is given twice. A set has no order that would decide
			       between the two values. */
};

/* Decodes a propset from the message. */
enum rdma2_propset_result rdma2_propset_get(struct weir_xdr_in *in, struct rdma2_propset *set);

/* Decodes a propsubset. Returns 0, or -EBADMSG if the subset extends past the end of the message.
 */
int rdma2_propsubset_get(struct weir_xdr_in *in, struct rdma2_propsubset *subset);

/* Returns whether entry 'n' of the propset is in the subset. Missing words are zero (section
 * 5.1.1). */
bool rdma2_propsubset_has(const struct rdma2_propsubset *subset, uint32_t n);

/* Iterates over a set. 'left' is a copy of the set, whose count goes down to 0. Returns false if
 * there are no more entries. */
bool rdma2_propset_next(struct rdma2_propset *left, struct rdma2_propval *value);

/* Returns the value of a property that is one word, or 'otherwise' if its data is empty. */
uint32_t rdma2_propval_u32(const struct rdma2_propval *value, uint32_t otherwise);

/* The result for entry 'n' of the set of an RDMA2_REQPROP (section 5.3.3). */
enum rdma2_disposition { RDMA2_DONE, RDMA2_REJECTED, RDMA2_OTHER };

/* Returns the result for entry 'n' of 'want', which is the requested set. 'done', 'rejected' and
 * 'other' are from the answer. If the result is RDMA2_OTHER, *value is the new value. An entry is
 * rejected if the answer has no result or several results for it. Results for properties that were
 * not requested are ignored. */
enum rdma2_disposition rdma2_disposition(const struct rdma2_propset *want, uint32_t n,
					 const struct rdma2_propsubset *done,
					 const struct rdma2_propsubset *rejected,
					 const struct rdma2_propset *other,
					 struct rdma2_propval *value);

/* These functions encode a message. It consists of its fixed part, and then of the parts of its
 * procedure, in this order:
 *
 * - CONNPROP: set, subset (rdma_nochg)
 * - REQPROP and UPDPROP: set
 * - RESPROP: subset (rdma_done), subset (rdma_rejected), set
 *
 * A set consists of a count and this number of values. Like the functions of weir/xdr.h, all puts
 * set out->failed if they fail. */
void rdma2_put_fixed(struct weir_xdr_out *out, uint32_t xid, uint32_t credit, uint32_t proc);
void rdma2_put_prop_u32(struct weir_xdr_out *out, uint32_t which, uint32_t value);
void rdma2_put_prop_buffer(struct weir_xdr_out *out, const struct rtr_buffer *buffer);
void rdma2_put_prop_default(struct weir_xdr_out *out,
			    uint32_t which); /* without data, which means the default value */
/* Puts the subset that consists of the first n entries. */
void rdma2_put_subset_first(struct weir_xdr_out *out, uint32_t n);

#endif
