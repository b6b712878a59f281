/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RDMA2_H
#define RDMA2_H

/*
 * The transport header of RPC-over-RDMA version 2 (draft-cel-nfsv4-rpcrdma-version-two-03). Below,
 * "section" is a section of that draft.
 *
 * RDMA2_MSG and RDMA2_NOMSG have the chunk lists of version 1 after two more words. Therefore
 * rdma1.h decodes, iterates and writes these lists. rtr.h decodes the contents of RDMA2_OPTIONAL,
 * and rdma2_prop.h decodes property lists.
 *
 * As in version 1, a header is counted and checked in full before the caller uses any part of it. A
 * decoded header points into the message. Therefore no peer must be able to write to the message.
 * doc/version-2.rst lists the open questions of the draft, with the choices of weir.
 */

#include "rdma1.h"
#include "rdma2_prop.h"

#define RDMA2_VERSION 2u

/* Sizes in bytes. */
#define RDMA2_FIXED_SIZE 16u /* xid, vers, credit and proc, as in version 1 */
/* offset of the chunk lists, after rdma_direction and rdma_inv_handle */
#define RDMA2_LISTS_AT 24u
/* how many more bytes than version 1 a header has before its lists */
#define RDMA2_EXTRA	     8u
#define RDMA2_HEADER_MIN     36u   /* RDMA2_MSG or RDMA2_NOMSG, with three empty lists */
#define RDMA2_OPTIONAL_SIZE  28u   /* with an empty rdma_optinfo */
#define RDMA2_ERROR_SIZE     20u   /* without values */
#define RDMA2_ERROR_SIZE_MAX 28u   /* RDMA2_ERR_VERS, RDMA2_ERR_REPLY_RESOURCE: two values */
#define RDMA2_INLINE_DEFAULT 4096u /* section 2.3 */
/* limit for the first message of a client, because the server might know only version 1 (section 7)
 */
#define RDMA2_FIRST_BYTES_MAX 1024u

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

/* The error codes of section 6.2.4. */
enum rdma2_err {
	RDMA2_ERR_VERS = 1,
	RDMA2_ERR_BAD_XDR = 2,
	RDMA2_ERR_REPLY_RESOURCE = 3,
	RDMA2_ERR_INVAL_PROC = 4,
	RDMA2_ERR_INVAL_OPTION = 5,
	RDMA2_ERR_SYSTEM = 6
};

/* The action that the receiver of a message must take. A message of direction REPLY is never
 * answered by an RDMA2_ERROR, and neither is an RDMA2_ERROR, because only a responder sends
 * RDMA2_ERROR. */
enum rdma2_verdict {
	RDMA2_V_OK,
	RDMA2_V_DROP, /* discard the message without an answer, and count it */
	/* for this and the next four: answer with RDMA2_ERROR and the code of the same name */
	RDMA2_V_ERR_VERS,
	RDMA2_V_ERR_BAD_XDR,
	RDMA2_V_ERR_INVAL_PROC,
	RDMA2_V_ERR_INVAL_OPTION,
	RDMA2_V_ERR_SYSTEM,
	RDMA2_V_REPTERR, /* Answer with the extension's Report Error. rdma2_decode() never returns
			    this verdict. */
};

/* The reason for a verdict: an enum rdma1_reason if one of its values applies, or one of these.
 * rdma2_reason_text() has a text for each value of both enums. */
enum rdma2_reason {
	RDMA2_R_VERSION = RDMA1_R_MAX,
	RDMA2_R_PROC,
	RDMA2_R_BAD_DIRECTION,	    /* The direction is neither CALL nor REPLY. */
	RDMA2_R_DIRECTION_MISMATCH, /* The directions of the transport header and of the RPC message
				       differ. */
	/* Bytes follow a structure that must extend to the end of its message or field. */
	RDMA2_R_TRAILING,
	/* The data of a known property does not have the property's type. */
	RDMA2_R_PROPERTY,
	RDMA2_R_PROPERTY_TWICE, /* A property set has a known property twice. */
	RDMA2_R_OPTION,		/* The rdma_opttype is not known. */
	RDMA2_R_PLACEMENT_TYPE, /* An xmddp_type is unknown, or is not allowed at its position
				   (Table 1). */
	RDMA2_R_ITEMS_ORDER,	/* The items of a message overlap, descend or are unaligned. */
	RDMA2_R_ITEM_LENGTH,	/* The length of an item and the sum of its segments differ. */
	RDMA2_R_RANGES_ORDER,	/* Ranges overlap, descend or end before they begin. */
	RDMA2_R_TOO_MANY_ITEMS,
	RDMA2_R_REPORT, /* A Report Error has an unknown error or identity. */
	RDMA2_R_MAX
};

struct rdma2_header {
	/* These members are set in lists:
	 *
	 * - in any message: xid, vers, credit, proc and header_bytes
	 * - in RDMA2_MSG and RDMA2_NOMSG: the lists
	 * - in RDMA2_ERROR: err, which is an enum rdma2_err, vers_low and vers_high */
	struct rdma1_header lists;
	/* REPLY for RDMA2_ERROR. CALL for headers without a direction, which are those of
	 * properties. */
	enum rdma1_direction direction;
	uint32_t inv_handle; /* rdma_inv_handle as received; 0: none */
	/* The reply is allowed to invalidate inv_handle: the message is a call, and inv_handle is a
	 * handle of the call's own chunks (section 6.2.3). */
	bool may_invalidate;
	/* for RDMA2_ERR_REPLY_RESOURCE: number of the segment, from 1 on; 0: unknown */
	uint32_t segment_index;
	uint32_t length_needed;
	uint32_t opttype; /* for RDMA2_OPTIONAL */
	uint32_t optinfo_bytes;
	const uint8_t *optinfo;
	struct rdma2_propset set; /* rdma_start, rdma_want, rdma_other, rdma_now */
	/* rdma_nochg of RDMA2_CONNPROP, rdma_done of RDMA2_RESPROP */
	struct rdma2_propsubset subset;
	struct rdma2_propsubset rejected; /* rdma_rejected of RDMA2_RESPROP */
};

/*
 * Decodes and checks one received message of 'len' bytes. Returns the verdict. If the verdict is
 * OK, *hdr has the decoded header, and *reason is RDMA1_R_NONE. If the verdict is not OK, *hdr
 * holds:
 *
 * - xid, vers, credit and proc, if 'len' is at least 16
 * - the direction, if it was decoded
 * - zeros in all other members
 *
 * An RDMA2_ERROR with RDMA2_ERR_VERS is accepted with any version, because responders copy the
 * requester's version into it. The extent of rdma_optinfo is found, but its content is not decoded.
 */
enum rdma2_verdict rdma2_decode(const uint8_t *msg, uint32_t len, const struct rdma1_limits *limits,
				struct rdma2_header *hdr, uint32_t *reason);

const char *rdma2_reason_text(uint32_t reason); /* a sentence for a person */
const char *rdma2_reason_name(uint32_t reason); /* snake_case, for counters and JSON */

/* Converts an RDMA_MSG or RDMA_NOMSG header of version 1, which was written RDMA2_EXTRA bytes after
 * 'buf', into a header of version 2 that begins at 'buf'. The lists are not moved. Therefore a
 * message is planned as a message of version 1, with an inline threshold that is RDMA2_EXTRA less.
 * In a call, 'inv_handle' is the handle that the reply is allowed to invalidate (section 6.2.3).
 * Otherwise it is 0. */
void rdma2_write_over(uint8_t *buf, enum rdma1_direction direction, uint32_t inv_handle);

/* Returns a pointer to rdma_inv_handle in the header of a call. The caller stores there the handle
 * that the reply is allowed to invalidate, when the handle is known. */
uint8_t *rdma2_inv_handle(uint8_t *header);

/*
 * Encodes an RDMA2_ERROR (section 6.2.4). 'vers' is copied from the message that failed. 'first'
 * and 'second' are the values of these errors:
 *
 * - RDMA2_ERR_VERS: lowest and highest version
 * - RDMA2_ERR_REPLY_RESOURCE: segment index and length needed
 *
 * For other errors they are not used. Returns the length of the message. buf must have room for
 * RDMA2_ERROR_SIZE_MAX bytes.
 */
uint32_t rdma2_encode_error(uint8_t *buf, uint32_t xid, uint32_t vers, uint32_t credit,
			    enum rdma2_err err, uint32_t first, uint32_t second);

/* Returns the error code of a verdict RDMA2_V_ERR_*, which the answer to the message has. */
enum rdma2_err rdma2_verdict_err(enum rdma2_verdict verdict);

#endif
