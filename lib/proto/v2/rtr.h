/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RTR_H
#define RTR_H

/*
 * The operations of draft-dnoveck-nfsv4-rpcrdma-rtrext-01, which RDMA2_OPTIONAL carries: Transmit
 * Request, Transmit Response, Transmit Continue and Report Error. Below, "section" is a section of
 * that draft. The names are those of the draft, without their prefixes.
 *
 * rtr_decode() checks a single message: its XDR, and whether its own fields agree. rtr_group.h
 * checks how transmissions form a group, and rtr_place.h checks whether the receive buffers agree
 * with the message.
 *
 * doc/version-2.rst lists the open questions of the draft, with the choices of weir.
 */

#include "rdma2.h"

/* The operations. The rdma_opttype of an operation is its value here plus RTR_BASE_TABLE or
 * RTR_BASE_XDR, because the draft has two sets of numbers: 5 to 8 in Table 4, and 1 to 4 in its
 * XDR. Both sets are accepted. Requests are sent with the numbers of Table 4, and replies with
 * numbers of the same set as the request. */
enum rtr_op { RTR_XMTREQ, RTR_XMTRESP, RTR_XMTCONT, RTR_REPTERR };
#define RTR_BASE_TABLE 5u
#define RTR_BASE_XDR   1u

enum rtr_type { /* xmddp_type (section 6.2) */
		RTR_EXRW = 1,
		RTR_TBSN = 2,
		RTR_CHOICE = 3, /* CHOOSE in the enum of the draft */
		RTR_BYSIZE = 4,
		RTR_TOOSHORT = 5,
		RTR_NOITEM = 6
};

enum rtr_err { /* optr_err (section 9.5) */
	       RTR_BADHMT = 1,
	       RTR_BADOMT = 2,
	       RTR_BADCONT = 3,
	       RTR_BADSEQ = 4,
	       RTR_BADXID = 5,
	       RTR_BADOFF = 6,
	       RTR_BADTBSN = 7,
	       RTR_BADPL = 8
};

/* number of the first transmission of a group, in optxc_xnum and xmsi_seq */
#define RTR_SEQ_FIRST 0u
#define RTR_CONT_INFO 12u /* size of optxmt_cont */
/* header size without items and directions */
#define RTR_XMTREQ_SIZE	 (RDMA2_OPTIONAL_SIZE + 20u)
#define RTR_XMTRESP_SIZE (RDMA2_OPTIONAL_SIZE + 12u)
#define RTR_XMTCONT_SIZE (RDMA2_OPTIONAL_SIZE + RTR_CONT_INFO)
/* limit for the transmissions of a message that is sent or received */
#define RTR_TRANSMISSIONS_MAX 16u
/* lowest position of an item in a call: after the RPC header */
#define RTR_POSITION_CALL  40u
#define RTR_POSITION_REPLY 24u /* lowest position of an item in a reply */

/* The limits that a receiver sets for the header of one message. */
struct rtr_limits {
	uint32_t items_max;	  /* number of items (xmddp_mitem) */
	uint32_t sets_max;	  /* number of sets (xmddp_rsdset) */
	uint32_t set_items_max;	  /* number of directions (xmddp_rsditem) of a set */
	uint32_t segments_max;	  /* number of segments of an item or a direction */
	uint64_t read_bytes_max;  /* sum of the lengths of all items */
	uint64_t write_bytes_max; /* sum of the lengths of all segments of all directions */
};

extern const struct rtr_limits rtr_limits_default;

/* An xms_id, which identifies one transmission. */
struct rtr_id {
	uint32_t xid;
	enum rdma1_direction direction;
	uint32_t seq;
};

/* An optrept_err, which reports that transmission 'bad' is wrong. 'lead' is the first transmission
 * of its group, if has_lead. Depending on the error, 'values' has two values (expect, current),
 * three values (value, min, max), or none: rtr_report_nvalues(). */
struct rtr_report {
	struct rtr_id bad;
	struct rtr_id lead;
	bool has_lead;
	enum rtr_err err;
	uint32_t values[3];
};

uint32_t rtr_report_nvalues(enum rtr_err err);

/* A decoded operation. Its pointers point into the message. */
struct rtr_header {
	enum rtr_op op;
	uint32_t base; /* RTR_BASE_* */
	uint32_t xid;
	enum rdma1_direction direction;
	uint32_t header_bytes; /* length of the header; the payload follows the header */
	uint32_t room;	       /* bytes of the transmission after the header */
	/* bytes of payload in this transmission; rtr_decode() does not compare it with 'room' */
	uint32_t pslen;
	/* XMTREQ and XMTRESP: transmissions of the group; rtr_decode() does not check it */
	uint32_t count;
	uint32_t rsbuf; /* XMTREQ: limit of transmissions of the reply, 1 or more */
	uint32_t xnum;	/* XMTCONT: number of this transmission in the group */
	uint32_t itype; /* XMTCONT: opttype of the group's first transmission */
	bool is_whole;	/* XMTREQ: the first item, at displacement 0, is the whole payload */
	uint32_t nitems;
	uint32_t nsets;
	const uint8_t *items;	  /* the 'nitems' items of optxrq_ddp or optxrs_ddp */
	const uint8_t *sets;	  /* the 'nsets' sets of optxrq_rsd */
	uint64_t item_bytes;	  /* sum of the lengths of the items that are placed */
	uint64_t write_bytes;	  /* sum of the lengths of all segments of all directions */
	struct rtr_report report; /* REPTERR: the decoded report */
};

/* Decodes and checks the operation in an accepted RDMA2_OPTIONAL message of 'len' bytes, whose
 * decoded header is 'hdr'. Returns the verdict. For an unknown operation the verdict is
 * RDMA2_V_ERR_INVAL_OPTION, or RDMA2_V_DROP if the direction is REPLY. If the verdict is not OK,
 * *reason says why, and *rtr has xid and direction, and also op and base if the operation is known.
 */
enum rdma2_verdict rtr_decode(const uint8_t *msg, uint32_t len, const struct rdma2_header *hdr,
			      const struct rtr_limits *limits, struct rtr_header *rtr,
			      uint32_t *reason);

/* Returns the start of the payload in a transmission. Its length is pslen, or 0 for operations
 * without payload. */
static inline const uint8_t *rtr_payload(const struct rtr_header *rtr, const uint8_t *msg)
{
	return msg + rtr->header_bytes;
}

/* An iterator over a counted array in a header that rtr_decode() accepted: the next element, and
 * the number of elements from it on. */
struct rtr_iter {
	const uint8_t *p;
	uint32_t left;
};

struct rtr_item {      /* a decoded xmddp_mitem: an item of a message */
	uint32_t disp; /* offset of the item in the whole message */
	uint32_t length;
	enum rtr_type type;
	struct rdma1_segment_iter segments; /* RTR_EXRW: its segments */
	/* RTR_TBSN: offset of the item in its first target */
	uint32_t offset;
	struct rtr_iter tbsns; /* RTR_TBSN: the numbers of its targets */
};

/* An xmddp_rsdset. Its directions are for the results of the operation that the request has at the
 * bytes [begin, end). */
struct rtr_set {
	uint32_t begin;
	uint32_t end;
	struct rtr_iter items;
};

struct rtr_rsditem {	 /* a decoded xmddp_rsditem: the direction for one result */
	uint32_t minlen; /* shorter results are sent inline */
	enum rtr_type type;
	uint32_t dsdov; /* RTR_BYSIZE: longer results are sent by explicit RDMA */
	struct rdma1_segment_iter segments;
};

void rtr_items_begin(const struct rtr_header *rtr, struct rtr_iter *it);
bool rtr_items_next(struct rtr_iter *it, struct rtr_item *item);
bool rtr_tbsns_next(struct rtr_iter *it, uint32_t *tbsn);
void rtr_sets_begin(const struct rtr_header *rtr, struct rtr_iter *it);
bool rtr_sets_next(struct rtr_iter *it, struct rtr_set *set);
bool rtr_rsditems_next(struct rtr_iter *it, struct rtr_rsditem *item);

/* An iterator over the segments of the items that are read, in the form of a Read list (RFC 8166
 * section 3.4.5). Each item is a Read chunk, and the displacement of the item is the position of
 * the chunk. */
struct rtr_read_iter {
	struct rtr_iter items;
	struct rdma1_segment_iter segments;
	uint32_t position;
};

void rtr_reads_begin(const struct rtr_header *rtr, struct rtr_read_iter *it);
bool rtr_reads_next(struct rtr_read_iter *it, struct rdma1_read_segment *seg);

/* Finds the handles in the header of a Transmit Request that the functions below have encoded,
 * first those in items and then those in directions, in the order of their segments. Stores
 * pointers to at most 'max' handles, and returns how many it has stored. */
uint32_t rtr_handles(uint8_t *header, uint8_t **handles, uint32_t max);

/*
 * These functions encode the header of an operation into a bounded output. If something does not
 * fit, they set out->failed. Between rtr_put_begin() and rtr_put_end(), the caller encodes these
 * parts in this order:
 *
 *   XMTREQ: a count of items, the items; a count of sets, each with its rsditems; rtr_put_request()
 *   XMTRESP: a count of items, the items; rtr_put_response()
 *   XMTCONT: rtr_put_cont()
 *   REPTERR: rtr_put_report()
 *
 * The payload follows the header. rtr_put_count() encodes the counts.
 */
void rtr_put_begin(struct weir_xdr_out *out, uint8_t *buf, uint32_t size, uint32_t xid,
		   uint32_t credit, enum rdma1_direction direction, uint32_t base, enum rtr_op op);
void rtr_put_count(struct weir_xdr_out *out, uint32_t n);
void rtr_put_item_exrw(struct weir_xdr_out *out, uint32_t disp, uint32_t length,
		       const struct rdma1_segment *segments, uint32_t nsegments);
void rtr_put_item_tbsn(struct weir_xdr_out *out, uint32_t disp, uint32_t length, uint32_t offset,
		       uint32_t first, uint32_t ntbsns); /* consecutive TBSNs from 'first' on */
void rtr_put_item_inline(struct weir_xdr_out *out, enum rtr_type type, uint32_t disp,
			 uint32_t length);
void rtr_put_set(struct weir_xdr_out *out, uint32_t begin, uint32_t end, uint32_t nitems);
void rtr_put_rsditem(struct weir_xdr_out *out, uint32_t minlen, enum rtr_type type, uint32_t dsdov,
		     const struct rdma1_segment *segments, uint32_t nsegments);
/* Encodes an rsditem without its segments. Unless the type is RTR_TBSN, the caller then encodes
 * 'nsegments' segments by rtr_put_segment(). */
void rtr_put_rsditem_begin(struct weir_xdr_out *out, uint32_t minlen, enum rtr_type type,
			   uint32_t dsdov, uint32_t nsegments);
void rtr_put_segment(struct weir_xdr_out *out, const struct rdma1_segment *segment);
void rtr_put_request(struct weir_xdr_out *out, uint32_t count, uint32_t rsbuf, uint32_t pslen);
void rtr_put_response(struct weir_xdr_out *out, uint32_t count, uint32_t pslen);
void rtr_put_cont(struct weir_xdr_out *out, uint32_t xnum, uint32_t itype, uint32_t pslen);
void rtr_put_report(struct weir_xdr_out *out, const struct rtr_report *report);
/* Completes the header, and returns its length. If out->failed is set, the header must not be used.
 */
uint32_t rtr_put_end(struct weir_xdr_out *out);

#endif
