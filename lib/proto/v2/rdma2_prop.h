/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RDMA2_PROP_H
#define RDMA2_PROP_H

/*
 * Transport properties of version 2 (draft-cel-nfsv4-rpcrdma-version-two-03 section 5), those of
 * the extension among them (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 section 8), as they stand in a
 * message: sets of values, subsets of such a set, and the four procedures that carry them. What a
 * peer's values mean together is rdma2_prop_state.h's.
 */

#include <weir/xdr.h>

#include "rtr_buffer.h"

enum rdma2_propid {
	RDMA2_PROPID_RBSIZ = 1,
	RDMA2_PROPID_BRS = 2,
	RDMA2_PROPID_RTRSUPP = 3, /* the extension's: XPROP_RTRSUPP, and so on */
	RDMA2_PROPID_RBSTRUCT = 4,
	RDMA2_PROPID_REQRXLIM = 5,
	RDMA2_PROPID_RESPSXLIM = 6,
	RDMA2_PROPID_KNOWN_MAX = 6
};

enum rdma2_bkreqsup { RDMA2_BKREQSUP_NONE = 0, RDMA2_BKREQSUP_INLINE = 1, RDMA2_BKREQSUP_GENL = 2 };

/* Bits of RDMA2_PROPID_RTRSUPP: the operation is received and processed. */
#define RDMA2_RTRS_XREQ	 1u
#define RDMA2_RTRS_XRESP 2u
#define RDMA2_RTRS_XCONT 4u

/* A propset of an accepted message: counted and checked, each known property's data of its type or
 * empty. */
struct rdma2_propset {
	const uint8_t *p;
	uint32_t count;
};

/* Bits for entries of a propset; those beyond it mean nothing. */
struct rdma2_propsubset {
	const uint8_t *p;
	uint32_t nwords;
};

struct rdma2_propval {
	uint32_t which; /* enum rdma2_propid, or unknown */
	uint32_t len_bytes;
	const uint8_t *data; /* len_bytes 0: the default */
};

enum rdma2_propset_result {
	RDMA2_PROPSET_OK,
	RDMA2_PROPSET_TRUNCATED, /* runs past the end of the message */
	RDMA2_PROPSET_BAD_VALUE, /* section 5.1.1: not of the property's type, too short or too long
				    for it */
	RDMA2_PROPSET_TWICE /* a known property given twice: a set has no order that would decide
			       between them */
};

/* Take a propset from the message. */
enum rdma2_propset_result rdma2_propset_get(struct weir_xdr_in *in, struct rdma2_propset *set);

/* Take a propsubset: 0, or -EBADMSG: it runs past the end of the message. */
int rdma2_propsubset_get(struct weir_xdr_in *in, struct rdma2_propsubset *subset);

/* Is entry 'n' of the propset in the subset? Words that are missing are zero (section 5.1.1). */
bool rdma2_propsubset_has(const struct rdma2_propsubset *subset, uint32_t n);

/* Iterate: a copy of the set, whose count goes down to 0. False: no more. */
bool rdma2_propset_next(struct rdma2_propset *left, struct rdma2_propval *value);

/* The value of a property that is one word; 'otherwise' when its data is empty. */
uint32_t rdma2_propval_u32(const struct rdma2_propval *value, uint32_t otherwise);

/* What became of entry 'n' of an RDMA2_REQPROP's set (section 5.3.3). */
enum rdma2_disposition { RDMA2_DONE, RDMA2_REJECTED, RDMA2_OTHER };

/* 'want' is what was asked for; done, rejected and other are the answer's. RDMA2_OTHER: *value is
 * the new one. What the answer says nothing or two things about has been rejected, and what it says
 * of properties not asked for is ignored. */
enum rdma2_disposition rdma2_disposition(const struct rdma2_propset *want, uint32_t n,
					 const struct rdma2_propsubset *done,
					 const struct rdma2_propsubset *rejected,
					 const struct rdma2_propset *other,
					 struct rdma2_propval *value);

/* Encoding. A message is its fixed part, then what its procedure has, in that order:
 * CONNPROP: set, subset (rdma_nochg). REQPROP, UPDPROP: set. RESPROP: subset (rdma_done), subset
 * (rdma_rejected), set. A set is its count and so many values; all puts fail as those of weir/xdr.h
 * do, with out->failed set. */
void rdma2_put_fixed(struct weir_xdr_out *out, uint32_t xid, uint32_t credit, uint32_t proc);
void rdma2_put_prop_u32(struct weir_xdr_out *out, uint32_t which, uint32_t value);
void rdma2_put_prop_buffer(struct weir_xdr_out *out, const struct rtr_buffer *buffer);
void rdma2_put_prop_default(struct weir_xdr_out *out,
			    uint32_t which); /* no data: the default value */
/* The subset with the first n entries in it. */
void rdma2_put_subset_first(struct weir_xdr_out *out, uint32_t n);

#endif
