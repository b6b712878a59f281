/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RTR_H
#define RTR_H

/*
 * The operations of draft-dnoveck-nfsv4-rpcrdma-rtrext-01, which RDMA2_OPTIONAL carries: Transmit
 * Request, Transmit Response, Transmit Continue and Report Error. Below, "section" is a section of
 * that draft. The names are those of the draft, without their prefixes.
 *
 * rtr_decode() checks one message by itself: its XDR, and whether its own fields agree. rtr_group.h
 * checks how transmissions form a group, and rtr_place.h checks whether the receive buffers agree
 * with the message.
 *
 * doc/version-2.rst lists the open questions of the draft, with the choices of weir.
 */

#include "rdma2.h"

/* The operations, relative to the rdma_opttype of the first. The draft has two sets of numbers: 5
 * to 8 in Table 4, and 1 to 4 in its XDR. Both are accepted. Requests are sent with the numbers of
 * Table 4, and replies with the set of the request. */
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

#define RTR_SEQ_FIRST	      0u  /* optxc_xnum and xmsi_seq of the first transmission of a group */
#define RTR_CONT_INFO	      12u /* size of optxmt_cont */
#define RTR_XMTREQ_SIZE	      (RDMA2_OPTIONAL_SIZE + 20u) /* size without items and directions */
#define RTR_XMTRESP_SIZE      (RDMA2_OPTIONAL_SIZE + 12u)
#define RTR_XMTCONT_SIZE      (RDMA2_OPTIONAL_SIZE + RTR_CONT_INFO)
#define RTR_TRANSMISSIONS_MAX 16u /* limit for any message, sent or received */
#define RTR_POSITION_CALL     40u /* An item cannot be in the RPC header of a call, */
#define RTR_POSITION_REPLY    24u /* nor in that of a reply. */

/* The limits that a receiver sets. */
struct rtr_limits {
	uint32_t items_max;	  /* xmddp_mitems of a message */
	uint32_t sets_max;	  /* xmddp_rsdsets */
	uint32_t set_items_max;	  /* xmddp_rsditems of a set */
	uint32_t segments_max;	  /* in an item or an rsditem */
	uint64_t read_bytes_max;  /* sum over the items of a request */
	uint64_t write_bytes_max; /* sum of the segments of all rsditems of a request */
};

extern const struct rtr_limits rtr_limits_default;

/* An xms_id. */
struct rtr_id {
	uint32_t xid;
	enum rdma1_direction direction;
	uint32_t seq;
};

/* An optrept_err. Depending on the error, the values are (expect, current), (value, min, max), or
 * none. */
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
	uint32_t header_bytes; /* the payload starts here */
	uint32_t room;	       /* bytes after the header */
	uint32_t pslen; /* bytes of payload in this transmission, not yet compared with 'room' */
	uint32_t count; /* XMTREQ and XMTRESP: transmissions in the group, not yet checked */
	uint32_t rsbuf; /* XMTREQ: transmissions that the reply may have, 1 or more */
	uint32_t xnum;	/* XMTCONT */
	uint32_t itype; /* XMTCONT: opttype of the group's first transmission */
	bool is_whole;	/* XMTREQ: the first item, at displacement 0, is the whole payload */
	uint32_t nitems;
	uint32_t nsets;
	const uint8_t *items;	  /* optxrq_ddp, optxrs_ddp */
	const uint8_t *sets;	  /* optxrq_rsd */
	uint64_t item_bytes;	  /* sum of the lengths of the items that are placed */
	uint64_t write_bytes;	  /* sum of the segments of all rsditems */
	struct rtr_report report; /* REPTERR */
};

/* Decodes and checks the operation in an accepted RDMA2_OPTIONAL of 'len' bytes. For an unknown
 * operation the verdict is RDMA2_V_ERR_INVAL_OPTION, or RDMA2_V_DROP in a reply. If the verdict is
 * not OK, *rtr holds xid and direction, and also op and base if the operation is known. */
enum rdma2_verdict rtr_decode(const uint8_t *msg, uint32_t len, const struct rdma2_header *hdr,
			      const struct rtr_limits *limits, struct rtr_header *rtr,
			      uint32_t *reason);

/* Returns the start of the payload in a transmission. Its length is pslen, or 0 for operations
 * without payload. */
static inline const uint8_t *rtr_payload(const struct rtr_header *rtr, const uint8_t *msg)
{
	return msg + rtr->header_bytes;
}

/* An iterator over a header that rtr_decode() accepted. */
struct rtr_iter {
	const uint8_t *p;
	uint32_t left;
};

struct rtr_item { /* xmddp_mitem */
	uint32_t disp;
	uint32_t length;
	enum rtr_type type;
	struct rdma1_segment_iter segments; /* RTR_EXRW */
	uint32_t offset;		    /* RTR_TBSN: offset in the first target */
	struct rtr_iter tbsns;
};

/* An xmddp_rsdset. Its rsditems are for results of the bytes [begin, end) of the request. */
struct rtr_set {
	uint32_t begin;
	uint32_t end;
	struct rtr_iter items;
};

struct rtr_rsditem { /* xmddp_rsditem */
	uint32_t minlen;
	enum rtr_type type;
	uint32_t dsdov; /* RTR_BYSIZE */
	struct rdma1_segment_iter segments;
};

void rtr_items_begin(const struct rtr_header *rtr, struct rtr_iter *it);
bool rtr_items_next(struct rtr_iter *it, struct rtr_item *item);
bool rtr_tbsns_next(struct rtr_iter *it, uint32_t *tbsn);
void rtr_sets_begin(const struct rtr_header *rtr, struct rtr_iter *it);
bool rtr_sets_next(struct rtr_iter *it, struct rtr_set *set);
bool rtr_rsditems_next(struct rtr_iter *it, struct rtr_rsditem *item);

/* These functions iterate over the segments of the items that are read, in the form of a Read list
 * (RFC 8166 section 3.4.5). The displacement of an item is the position of its chunk. */
struct rtr_read_iter {
	struct rtr_iter items;
	struct rdma1_segment_iter segments;
	uint32_t position;
};

void rtr_reads_begin(const struct rtr_header *rtr, struct rtr_read_iter *it);
bool rtr_reads_next(struct rtr_read_iter *it, struct rdma1_read_segment *seg);

/* Finds the handles in the header of a Transmit Request that the functions below encoded. The
 * handles are in the order of their segments: items, then directions. Stores pointers to the first
 * 'max' handles, and returns how many it stored. */
uint32_t rtr_handles(uint8_t *header, uint8_t **handles, uint32_t max);

/* These functions encode an operation into a bounded output. If something did not fit, out->failed
 * is set. Between rtr_put_begin() and rtr_put_end() these parts are put:
 *
 *   XMTREQ: a count of items, the items; a count of sets, each with its rsditems; rtr_put_request()
 *   XMTRESP: a count of items, the items; rtr_put_response()
 *   XMTCONT: rtr_put_cont()
 *   REPTERR: rtr_put_report()
 *
 * The payload follows the header. rtr_put_count() puts the counts. */
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
/* Puts an rsditem without its segments. 'nsegments' segments follow by rtr_put_segment(), but none
 * if the type is RTR_TBSN. */
void rtr_put_rsditem_begin(struct weir_xdr_out *out, uint32_t minlen, enum rtr_type type,
			   uint32_t dsdov, uint32_t nsegments);
void rtr_put_segment(struct weir_xdr_out *out, const struct rdma1_segment *segment);
void rtr_put_request(struct weir_xdr_out *out, uint32_t count, uint32_t rsbuf, uint32_t pslen);
void rtr_put_response(struct weir_xdr_out *out, uint32_t count, uint32_t pslen);
void rtr_put_cont(struct weir_xdr_out *out, uint32_t xnum, uint32_t itype, uint32_t pslen);
void rtr_put_report(struct weir_xdr_out *out, const struct rtr_report *report);
/* Returns the length of the header. If out->failed is set, the header must not be used. */
uint32_t rtr_put_end(struct weir_xdr_out *out);

#endif
