/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RDMA2_H
#define RDMA2_H

/*
 * The transport header of RPC-over-RDMA version 2 (draft-cel-nfsv4-rpcrdma-version-two-03; below,
 * "section" is one of it).
 *
 * RDMA2_MSG and RDMA2_NOMSG have the chunk lists of version 1 behind two more words, so that their
 * lists are decoded, iterated and written by rdma1.h. What RDMA2_OPTIONAL carries is decoded by
 * rtr.h; property lists by rdma2_prop.h.
 *
 * As in version 1: a header is counted and checked in full before the caller takes anything for it,
 * and points into the message, which no peer can write to. doc/version-2.rst lists what the draft
 * leaves open, with what is done here.
 */

#include "rdma1.h"
#include "rdma2_prop.h"

#define RDMA2_VERSION 2u

/* Sizes in bytes. */
#define RDMA2_FIXED_SIZE     16u   /* xid, vers, credit, proc: where version 1 has them */
#define RDMA2_LISTS_AT	     24u   /* behind rdma_direction and rdma_inv_handle */
#define RDMA2_EXTRA	     8u	   /* what stands in front of the lists, and not in version 1 */
#define RDMA2_HEADER_MIN     36u   /* RDMA2_MSG and RDMA2_NOMSG: with three empty lists */
#define RDMA2_OPTIONAL_SIZE  28u   /* with an empty rdma_optinfo */
#define RDMA2_ERROR_SIZE     20u   /* without values */
#define RDMA2_ERROR_SIZE_MAX 28u   /* RDMA2_ERR_VERS and RDMA2_ERR_REPLY_RESOURCE: with two */
#define RDMA2_INLINE_DEFAULT 4096u /* section 2.3 */
#define RDMA2_FIRST_BYTES_MAX                                                                      \
	1024u /* a client's first message: the server may know version 1 only (section 7) */

enum rdma2_proc {
	RDMA2_MSG = 0,
	RDMA2_NOMSG = 1,
	RDMA2_ERROR = 4,
	RDMA2_OPTIONAL = 5,
	RDMA2_CONNPROP = 6,
	RDMA2_REQPROP = 7,
	RDMA2_RESPROP = 8,
	RDMA2_UPDPROP = 9
};

/* Section 6.2.4. */
enum rdma2_err {
	RDMA2_ERR_VERS = 1,
	RDMA2_ERR_BAD_XDR = 2,
	RDMA2_ERR_REPLY_RESOURCE = 3,
	RDMA2_ERR_INVAL_PROC = 4,
	RDMA2_ERR_INVAL_OPTION = 5,
	RDMA2_ERR_SYSTEM = 6
};

/* What the receiver of a message must do. What comes in direction REPLY, and any RDMA2_ERROR, is
 * never answered by an RDMA2_ERROR: these flow from responder to requester. */
enum rdma2_verdict {
	RDMA2_V_OK,
	RDMA2_V_DROP,	  /* discard silently, count */
	RDMA2_V_ERR_VERS, /* answer RDMA2_ERROR with that code; and so on */
	RDMA2_V_ERR_BAD_XDR,
	RDMA2_V_ERR_INVAL_PROC,
	RDMA2_V_ERR_INVAL_OPTION,
	RDMA2_V_ERR_SYSTEM,
	RDMA2_V_REPTERR, /* answer by the extension's Report Error: never of rdma2_decode() */
};

/* Why: an enum rdma1_reason where that says it, or one of these. rdma2_reason_text() knows all. */
enum rdma2_reason {
	RDMA2_R_VERSION = RDMA1_R_MAX,
	RDMA2_R_PROC,
	RDMA2_R_BAD_DIRECTION,	    /* a direction that is neither CALL nor REPLY */
	RDMA2_R_DIRECTION_MISMATCH, /* of transport header and RPC message */
	RDMA2_R_TRAILING,	    /* bytes behind a structure that has to fill its place */
	RDMA2_R_PROPERTY,	    /* a known property whose data is not of its type */
	RDMA2_R_PROPERTY_TWICE,
	RDMA2_R_OPTION,		/* an rdma_opttype that is not known */
	RDMA2_R_PLACEMENT_TYPE, /* an xmddp_type that is unknown or has no place here (Table 1) */
	RDMA2_R_ITEMS_ORDER,	/* entries that overlap, descend or are unaligned */
	RDMA2_R_ITEM_LENGTH,	/* an item's length and the sum of its segments differ */
	RDMA2_R_RANGES_ORDER,	/* ranges that overlap, descend or end before they begin */
	RDMA2_R_TOO_MANY_ITEMS,
	RDMA2_R_REPORT, /* a Report Error with an error or an identity that is unknown */
	RDMA2_R_MAX
};

struct rdma2_header {
	/* xid, vers, credit, proc and header_bytes of any message; the lists of RDMA2_MSG and
	 * RDMA2_NOMSG; err, vers_low and vers_high of RDMA2_ERROR, err being an enum rdma2_err. */
	struct rdma1_header lists;
	enum rdma1_direction
		direction;   /* RDMA2_ERROR: REPLY; CALL where the header has none (properties) */
	uint32_t inv_handle; /* as sent; 0: none */
	bool may_invalidate; /* a call's inv_handle that is one of its own handles (section 6.2.3)
			      */
	uint32_t segment_index; /* RDMA2_ERR_REPLY_RESOURCE: from 1 on; 0: unknown */
	uint32_t length_needed;
	uint32_t opttype; /* RDMA2_OPTIONAL */
	uint32_t optinfo_bytes;
	const uint8_t *optinfo;
	struct rdma2_propset set;	/* rdma_start, rdma_want, rdma_other, rdma_now */
	struct rdma2_propsubset subset; /* rdma_nochg, rdma_done */
	struct rdma2_propsubset rejected;
};

/* Decode and judge one received message of 'len' bytes. *reason is RDMA1_R_NONE when the verdict is
 * OK. When it isn't, *hdr holds xid, vers, credit and proc (when len >= 16), direction where that
 * was told, and zeros otherwise.
 *
 * RDMA2_ERR_VERS is accepted with any version, which responders echo. rdma_optinfo is delimited,
 * not decoded. */
enum rdma2_verdict rdma2_decode(const uint8_t *msg, uint32_t len, const struct rdma1_limits *limits,
				struct rdma2_header *hdr, uint32_t *reason);

const char *rdma2_reason_text(uint32_t reason); /* a sentence, for people */
const char *rdma2_reason_name(uint32_t reason); /* snake_case, for counters and JSON */

/* A header of RDMA_MSG or RDMA_NOMSG of version 1, which was written RDMA2_EXTRA bytes behind
 * 'buf', becomes one of version 2 that begins at 'buf': its lists stay where they are. So that who
 * plans a message plans it as one of version 1, for a threshold that is RDMA2_EXTRA less.
 * 'inv_handle' is a call's that may be invalidated remotely (section 6.2.3); else 0. */
void rdma2_write_over(uint8_t *buf, enum rdma1_direction direction, uint32_t inv_handle);

/* The handle that a reply to the call may invalidate, once it is known. */
void rdma2_set_inv_handle(uint8_t *header, uint32_t inv_handle);

/* RDMA2_ERROR (section 6.2.4). 'vers' is copied from the message that failed; 'first' and 'second'
 * are the values that RDMA2_ERR_VERS (lowest, highest version) and RDMA2_ERR_REPLY_RESOURCE
 * (segment index, length needed) have. Return the length; buf has room for RDMA2_ERROR_SIZE_MAX. */
uint32_t rdma2_encode_error(uint8_t *buf, uint32_t xid, uint32_t vers, uint32_t credit,
			    enum rdma2_err err, uint32_t first, uint32_t second);

/* The error code of a verdict RDMA2_V_ERR_*. */
enum rdma2_err rdma2_verdict_err(enum rdma2_verdict verdict);

#endif
