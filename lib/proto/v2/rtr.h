/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RTR_H
#define RTR_H

/*
 * The operations of draft-dnoveck-nfsv4-rpcrdma-rtrext-01 (below, "section" is one of it), which
 * RDMA2_OPTIONAL carries: Transmit Request, Transmit Response, Transmit Continue and Report Error.
 * Names are the draft's, without their prefixes.
 *
 * rtr_decode() judges what can be judged of one message by itself: its XDR, and what its own fields
 * say about each other. How transmissions make a group, and whether receive buffers are as the
 * message says, is rtr_group.h's.
 *
 * doc/version-2.rst lists what the draft leaves open, with what is done here.
 */

#include "rdma2.h"

/* Operations, as a distance from the first's rdma_opttype. The draft gives two sets of numbers:
 * Table 4 has 5 to 8, its XDR 1 to 4. Both are taken; requests are sent with the first, replies
 * with what the request had. */
enum rtr_op { RTR_XMTREQ, RTR_XMTRESP, RTR_XMTCONT, RTR_REPTERR };
#define RTR_BASE_TABLE 5u
#define RTR_BASE_XDR   1u

enum rtr_type { /* xmddp_type (section 6.2) */
		RTR_EXRW = 1,
		RTR_TBSN = 2,
		RTR_CHOICE = 3, /* CHOOSE in the enum */
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

#define RTR_SEQ_FIRST	      0u  /* optxc_xnum and xmsi_seq of a group's first transmission */
#define RTR_CONT_INFO	      12u /* bytes of optxmt_cont */
#define RTR_XMTREQ_SIZE	      (RDMA2_OPTIONAL_SIZE + 20u) /* headers without items and directions */
#define RTR_XMTRESP_SIZE      (RDMA2_OPTIONAL_SIZE + 12u)
#define RTR_XMTCONT_SIZE      (RDMA2_OPTIONAL_SIZE + RTR_CONT_INFO)
#define RTR_TRANSMISSIONS_MAX 16u /* of a message, that are ever sent or taken */
#define RTR_POSITION_CALL     40u /* no item lies in the RPC header of a call, */
#define RTR_POSITION_REPLY    24u /* nor in that of a reply */

/* What a receiver is willing to look at. */
struct rtr_limits {
	uint32_t items_max;	  /* xmddp_mitems of a message */
	uint32_t sets_max;	  /* xmddp_rsdsets */
	uint32_t set_items_max;	  /* xmddp_rsditems of a set */
	uint32_t segments_max;	  /* of an item or an rsditem */
	uint64_t read_bytes_max;  /* sum over a request's items */
	uint64_t write_bytes_max; /* sum of the segments of a request's rsditems */
};

extern const struct rtr_limits rtr_limits_default;

/* xms_id */
struct rtr_id {
	uint32_t xid;
	enum rdma1_direction direction;
	uint32_t seq;
};

/* optrept_err. The values are, by the error: expect, current; value, min, max; or none. */
struct rtr_report {
	struct rtr_id bad;
	struct rtr_id lead;
	bool has_lead;
	enum rtr_err err;
	uint32_t values[3];
};

uint32_t rtr_report_nvalues(enum rtr_err err);

/* A decoded operation. Pointers are into the message. */
struct rtr_header {
	enum rtr_op op;
	uint32_t base; /* RTR_BASE_* */
	uint32_t xid;
	enum rdma1_direction direction;
	uint32_t header_bytes; /* the payload starts here */
	uint32_t room;	       /* bytes behind the header */
	uint32_t pslen; /* of the payload in this transmission; not yet compared with 'room' */
	uint32_t count; /* XMTREQ and XMTRESP: transmissions in the group; not yet judged */
	uint32_t rsbuf; /* XMTREQ: transmissions that the reply may have, 1 or more */
	uint32_t xnum;	/* XMTCONT */
	uint32_t itype; /* XMTCONT: opttype of the group's first transmission */
	bool is_whole;	/* XMTREQ: its first item, at displacement 0, is the payload */
	uint32_t nitems;
	uint32_t nsets;
	const uint8_t *items;	  /* optxrq_ddp, optxrs_ddp */
	const uint8_t *sets;	  /* optxrq_rsd */
	uint64_t item_bytes;	  /* sum of the items' lengths, where they are placed */
	uint64_t write_bytes;	  /* sum of the segments of all rsditems */
	struct rtr_report report; /* REPTERR */
};

/* Decode and judge what an accepted RDMA2_OPTIONAL of 'len' bytes carries. An operation that is
 * none of these is RDMA2_V_ERR_INVAL_OPTION. When the verdict is not OK, *rtr has op, base, xid and
 * direction as far as these were known. */
enum rdma2_verdict rtr_decode(const uint8_t *msg, uint32_t len, const struct rdma2_header *hdr,
			      const struct rtr_limits *limits, struct rtr_header *rtr,
			      uint32_t *reason);

/* The payload's bytes in a transmission: pslen, or 0 for what has none. */
static inline const uint8_t *rtr_payload(const struct rtr_header *rtr, const uint8_t *msg)
{
	return msg + rtr->header_bytes;
}

/* Iterate a header that rtr_decode() accepted. */
struct rtr_iter {
	const uint8_t *p;
	uint32_t left;
};

struct rtr_item { /* xmddp_mitem */
	uint32_t disp;
	uint32_t length;
	enum rtr_type type;
	struct rdma1_segment_iter segments; /* RTR_EXRW */
	uint32_t offset;		    /* RTR_TBSN: within the first of them */
	struct rtr_iter tbsns;
};

struct rtr_set { /* xmddp_rsdset: its rsditems are for results of the request's bytes [begin, end)
		  */
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

/* Each segment of the items that are read, as a Read list would have it (RFC 8166 section 3.4.5):
 * an item's displacement is what a chunk's position is. */
struct rtr_read_iter {
	struct rtr_iter items;
	struct rdma1_segment_iter segments;
	uint32_t position;
};

void rtr_reads_begin(const struct rtr_header *rtr, struct rtr_read_iter *it);
bool rtr_reads_next(struct rtr_read_iter *it, struct rdma1_read_segment *seg);

/* Where the handles stand in the header of a Transmit Request that was encoded here, in the order
 * of its segments: items, then directions. How many; at most 'max' are looked for. */
uint32_t rtr_handles(uint8_t *header, uint8_t **handles, uint32_t max);

/* Encoding, into a bounded output: out->failed says that something did not fit. Between begin and
 * end stand
 *
 *   XMTREQ: a count of items, the items; a count of sets, each with its rsditems; rtr_put_request()
 *   XMTRESP: a count of items, the items; rtr_put_response()
 *   XMTCONT: rtr_put_cont()
 *   REPTERR: rtr_put_report()
 *
 * and the payload follows. Counts are put by rtr_put_count(). */
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
/* The same but for its segments, 'nsegments' of which follow by rtr_put_segment(): none of TBSN. */
void rtr_put_rsditem_begin(struct weir_xdr_out *out, uint32_t minlen, enum rtr_type type,
			   uint32_t dsdov, uint32_t nsegments);
void rtr_put_segment(struct weir_xdr_out *out, const struct rdma1_segment *segment);
void rtr_put_request(struct weir_xdr_out *out, uint32_t count, uint32_t rsbuf, uint32_t pslen);
void rtr_put_response(struct weir_xdr_out *out, uint32_t count, uint32_t pslen);
void rtr_put_cont(struct weir_xdr_out *out, uint32_t xnum, uint32_t itype, uint32_t pslen);
void rtr_put_report(struct weir_xdr_out *out, const struct rtr_report *report);
/* Returns the length of the header; not to be used when out->failed. */
uint32_t rtr_put_end(struct weir_xdr_out *out);

#endif
