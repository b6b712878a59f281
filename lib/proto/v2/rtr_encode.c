/* SPDX-License-Identifier: BSD-3-Clause */
/* Encodes the operations of the extension (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 section 9). */
#include "rtr.h"

#include "wire.h"

static void put(struct weir_xdr_out *out, uint32_t word)
{
	(void)weir_xdr_put_u32(out, word); /* out->failed keeps the error */
}

void rtr_put_begin(struct weir_xdr_out *out, uint8_t *buf, uint32_t size, uint32_t xid,
		   uint32_t credit, enum rdma1_direction direction, uint32_t base, enum rtr_op op)
{
	weir_xdr_out_init(out, buf, size);
	rdma2_put_fixed(out, xid, credit, RDMA2_OPTIONAL);
	put(out, (uint32_t)direction);
	put(out, base + (uint32_t)op);
	put(out, 0); /* length of rdma_optinfo; rtr_put_end() overwrites it */
}

uint32_t rtr_put_end(struct weir_xdr_out *out)
{
	uint32_t len = (uint32_t)weir_xdr_out_len(out);

	if (len >= RDMA2_OPTIONAL_SIZE)
		wire_put_u32(out->start + RDMA2_OPTIONAL_SIZE - 4, len - RDMA2_OPTIONAL_SIZE);
	return len;
}

void rtr_put_count(struct weir_xdr_out *out, uint32_t n)
{
	put(out, n);
}

void rtr_put_segment(struct weir_xdr_out *out, const struct rdma1_segment *segment)
{
	put(out, segment->handle);
	put(out, segment->length);
	(void)weir_xdr_put_u64(out, segment->offset);
}

static void put_segments(struct weir_xdr_out *out, const struct rdma1_segment *segments,
			 uint32_t nsegments)
{
	put(out, nsegments);
	for (uint32_t i = 0; i < nsegments; i++)
		rtr_put_segment(out, &segments[i]);
}

void rtr_put_item_inline(struct weir_xdr_out *out, enum rtr_type type, uint32_t disp,
			 uint32_t length)
{
	put(out, disp);
	put(out, length);
	put(out, (uint32_t)type);
}

void rtr_put_item_exrw(struct weir_xdr_out *out, uint32_t disp, uint32_t length,
		       const struct rdma1_segment *segments, uint32_t nsegments)
{
	rtr_put_item_inline(out, RTR_EXRW, disp, length);
	put_segments(out, segments, nsegments);
}

void rtr_put_item_tbsn(struct weir_xdr_out *out, uint32_t disp, uint32_t length, uint32_t offset,
		       uint32_t first, uint32_t ntbsns)
{
	rtr_put_item_inline(out, RTR_TBSN, disp, length);
	put(out, offset);
	put(out, ntbsns);
	for (uint32_t i = 0; i < ntbsns; i++)
		put(out, first + i);
}

void rtr_put_set(struct weir_xdr_out *out, uint32_t begin, uint32_t end, uint32_t nitems)
{
	put(out, begin);
	put(out, end);
	put(out, nitems);
}

void rtr_put_rsditem_begin(struct weir_xdr_out *out, uint32_t minlen, enum rtr_type type,
			   uint32_t dsdov, uint32_t nsegments)
{
	put(out, minlen);
	put(out, (uint32_t)type);
	if (type == RTR_BYSIZE)
		put(out, dsdov);
	if (type != RTR_TBSN)
		put(out, nsegments);
}

void rtr_put_rsditem(struct weir_xdr_out *out, uint32_t minlen, enum rtr_type type, uint32_t dsdov,
		     const struct rdma1_segment *segments, uint32_t nsegments)
{
	rtr_put_rsditem_begin(out, minlen, type, dsdov, nsegments);
	for (uint32_t i = 0; type != RTR_TBSN && i < nsegments; i++)
		rtr_put_segment(out, &segments[i]);
}

void rtr_put_request(struct weir_xdr_out *out, uint32_t count, uint32_t rsbuf, uint32_t pslen)
{
	put(out, count);
	put(out, rsbuf);
	put(out, pslen);
}

void rtr_put_response(struct weir_xdr_out *out, uint32_t count, uint32_t pslen)
{
	put(out, count);
	put(out, pslen);
}

void rtr_put_cont(struct weir_xdr_out *out, uint32_t xnum, uint32_t itype, uint32_t pslen)
{
	put(out, xnum);
	put(out, itype);
	put(out, pslen);
}

static void put_id(struct weir_xdr_out *out, const struct rtr_id *id)
{
	put(out, id->xid);
	put(out, (uint32_t)id->direction);
	put(out, id->seq);
}

void rtr_put_report(struct weir_xdr_out *out, const struct rtr_report *report)
{
	put_id(out, &report->bad);
	put(out, report->has_lead);
	if (report->has_lead)
		put_id(out, &report->lead);
	put(out, (uint32_t)report->err);
	for (uint32_t i = 0; i < rtr_report_nvalues(report->err); i++)
		put(out, report->values[i]);
}
