/* SPDX-License-Identifier: BSD-3-Clause */
#include "group.h"

#include <string.h>

#include "spare.h"

#define HEADER_STRIDE 64u /* in the buffer of a group's headers */

_Static_assert(RTR_XMTREQ_SIZE <= HEADER_STRIDE && RTR_XMTRESP_SIZE <= HEADER_STRIDE &&
		       RTR_XMTCONT_SIZE <= HEADER_STRIDE,
	       "HEADER_STRIDE");
_Static_assert(RTR_TRANSMISSIONS_MAX <= CONN_BATCH, "a group is one batch");

/* ---- coming in ---- */

void conn_chain_add(struct mem_buf *chain, struct mem_buf *buf)
{
	while (chain->user[0])
		chain = conn_chain_next(chain);
	chain->user[0] = (uintptr_t)buf;
}

void conn_chain_done(struct weir_conn *conn, struct mem_buf *chain)
{
	while (chain) {
		struct mem_buf *next = conn_chain_next(chain);

		conn_recv_done(conn, chain);
		chain = next;
	}
}

uint32_t conn_chain_parts(const struct mem_buf *chain, struct weir_xdr_part parts[RTR_TRANSMISSIONS_MAX],
			  uint32_t *bytes)
{
	uint32_t n = 0;

	*bytes = 0;
	for (; chain && n < RTR_TRANSMISSIONS_MAX; chain = conn_chain_next(chain)) {
		uint32_t len = (uint32_t)chain->user[1];

		if (len == 0)
			continue; /* a transmission without payload */
		parts[n++] = (struct weir_xdr_part){chain->data + (chain->user[1] >> 32), len, 0};
		*bytes += len;
	}
	return n;
}

void conn_group_receive(struct weir_conn *conn, const struct rdma2_header *hdr, const struct rtr_header *rtr,
			uint32_t count_max, uint32_t credit, struct rtr_step *step)
{
	struct weir_engine *engine = conn->ep.engine;
	uint32_t base = conn->v2->group.opttype < RTR_BASE_TABLE ? RTR_BASE_XDR : RTR_BASE_TABLE;

	rtr_group_receive(&conn->v2->group, hdr, rtr, count_max, step);
	if (step->take == RTR_TAKE_FIRST)
		conn->v2->group_since_ns = engine->now_ns;
	engine->stats.groups_received += step->take == RTR_TAKE_LAST && rtr->op == RTR_XMTCONT;
	engine->stats.groups_broken += step->drops_group;
	if (step->has_report)
		conn_send_report(conn, &step->report, rtr ? rtr->base : base, credit);
}

bool conn_group_break(struct weir_conn *conn)
{
	if (!rtr_group_abandon(&conn->v2->group))
		return false;
	conn->ep.engine->stats.groups_broken++;
	return true;
}

bool conn_group_is_late(struct weir_conn *conn, uint64_t now_ns)
{
	uint64_t timeout_ns = conn->ep.engine->profile.group_timeout_ms * 1000000ull;

	if (timeout_ns == 0 || !conn->v2->group.is_open || now_ns - conn->v2->group_since_ns < timeout_ns)
		return false;
	conn->ep.engine->stats.group_timeouts++;
	return conn_group_break(conn);
}

/* ---- going out ---- */

uint64_t conn_payload_bytes(const struct piece *pieces, uint32_t npieces)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < npieces; i++)
		bytes += (uint64_t)pieces[i].len +
			 (pieces[i].kind == PIECE_PLAIN ? 0 : weir_xdr_pad(pieces[i].len));
	return bytes;
}

uint32_t conn_put_first(const struct conn_group_out *out, uint32_t pslen, uint8_t *buf)
{
	struct weir_xdr_out xdr;

	if (out->direction == RDMA1_CALL) {
		rtr_put_begin(&xdr, buf, RTR_XMTREQ_SIZE, out->xid, out->credit, RDMA1_CALL, out->base,
			      RTR_XMTREQ);
		rtr_put_count(&xdr, 0); /* items */
		rtr_put_count(&xdr, 0); /* directions */
		rtr_put_request(&xdr, out->count, out->rsbuf, pslen);
	} else {
		rtr_put_begin(&xdr, buf, RTR_XMTRESP_SIZE, out->xid, out->credit, RDMA1_REPLY, out->base,
			      RTR_XMTRESP);
		rtr_put_count(&xdr, 0);
		rtr_put_response(&xdr, out->count, pslen);
	}
	return rtr_put_end(&xdr);
}

static uint32_t put_next(const struct conn_group_out *out, uint32_t n, uint32_t pslen, uint8_t *buf)
{
	uint32_t first = out->base + (out->direction == RDMA1_CALL ? RTR_XMTREQ : RTR_XMTRESP);
	struct weir_xdr_out xdr;

	rtr_put_begin(&xdr, buf, RTR_XMTCONT_SIZE, out->xid, out->credit, out->direction, out->base,
		      RTR_XMTCONT);
	rtr_put_cont(&xdr, RTR_SEQ_FIRST + n, first, pslen);
	return rtr_put_end(&xdr);
}

/* A section of a payload, as the runs of bytes that make up the payload go by. */
struct section {
	uint64_t begin, end; /* of the payload */
	uint64_t at;	     /* where the next run of bytes begins in it */
	struct fabric_sge *sges;
	uint32_t n;
};

static void add_run(struct section *s, uint8_t *base, uint32_t len, uint32_t lkey)
{
	uint64_t begin = s->at < s->begin ? s->begin : s->at;
	uint64_t end = s->at + len < s->end ? s->at + len : s->end;

	if (begin < end)
		s->n = conn_gather(s->sges, s->n, base + (begin - s->at), (uint32_t)(end - begin), lkey);
	s->at += len;
}

static uint32_t gather_section(const struct weir_conn *conn, const struct conn_group_out *out,
			       uint32_t offset, uint32_t len, struct fabric_sge *sges, uint32_t n)
{
	const struct mem_buf *zeros = conn->ep.engine->zeros;
	struct section s = {offset, (uint64_t)offset + len, 0, sges, n};

	for (uint32_t i = 0; i < out->npieces; i++) {
		const struct piece *piece = &out->pieces[i];

		add_run(&s, piece->base, piece->len, piece->lkey);
		if (piece->kind != PIECE_PLAIN)
			add_run(&s, zeros->data, weir_xdr_pad(piece->len), zeros->lkey);
	}
	return s.n;
}

/* Elements of a transmission, its header's first, which is not made yet. */
static uint32_t gather_one(const struct weir_conn *conn, const struct conn_group_out *out, uint32_t n,
			   struct fabric_sge *sges, uint32_t *bytes)
{
	uint32_t offset;

	sges[0] = (struct fabric_sge){0};
	rtr_split_part(&out->split, n, &offset, bytes);
	return gather_section(conn, out, offset, *bytes, sges, 1);
}

bool conn_group_take_bufs(struct weir_conn *conn, const struct conn_group_out *out,
			  const struct engine_waiter *waiter, struct mem_buf **bufs)
{
	struct weir_engine *engine = conn->ep.engine;
	bool spare_given = engine->spare_given;
	struct fabric_sge sges[CONN_BATCH_SGES];
	uint32_t wanted = 1, bytes;

	for (uint32_t i = 0; i < out->count; i++)
		wanted += gather_one(conn, out, i, sges, &bytes) > conn->max_sge;
	for (; wanted > 0; wanted--) {
		struct mem_buf *buf = engine_spare_get(engine, waiter);

		if (!buf) {
			conn_group_put_bufs(bufs);
			engine->spare_given = spare_given;
			return false;
		}
		buf->user[0] = (uintptr_t)*bufs;
		*bufs = buf;
	}
	return true;
}

void conn_group_put_bufs(struct mem_buf **bufs)
{
	while (*bufs) {
		struct mem_buf *next = conn_chain_next(*bufs);

		mem_pool_put(*bufs);
		*bufs = next;
	}
}

/* One element of several. */
static void linearise(struct weir_conn *conn, struct mem_buf *buf, struct fabric_sge *sges, uint32_t nsges)
{
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < nsges; i++) {
		memcpy(buf->data + bytes, sges[i].addr, sges[i].len);
		bytes += sges[i].len;
	}
	conn->ep.engine->stats.bulk_copies++;
	sges[0] = (struct fabric_sge){buf->data, bytes, buf->lkey};
}

void conn_send_group(struct weir_conn *conn, const struct conn_group_out *out)
{
	const struct mem_buf *headers = out->bufs;
	struct mem_buf *buf = conn_chain_next(headers);

	for (uint32_t i = 0; i < out->count; i++) {
		uint8_t *header = headers->data + (size_t)i * HEADER_STRIDE;
		struct fabric_sge sges[CONN_BATCH_SGES];
		uint32_t len, bytes, n = gather_one(conn, out, i, sges, &len);

		bytes = i == 0 ? conn_put_first(out, len, header) : put_next(out, i, len, header);
		sges[0] = (struct fabric_sge){header, bytes, headers->lkey};
		if (n > conn->max_sge) {
			linearise(conn, buf, sges, n);
			buf = conn_chain_next(buf);
			n = 1;
		}
		conn_send(conn, sges, n, bytes + len, i + 1 == out->count ? out->tx : NULL, false);
	}
}
