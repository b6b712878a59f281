/* SPDX-License-Identifier: BSD-3-Clause */
/* Message continuation: chains of receives, and the Sends of a message in several transmissions
 * (continuation.h). */
#include "continuation.h"

#include <string.h>

#include "reserve.h"

#define HEADER_STRIDE 64u /* bytes per header in the buffer of a group's headers */

_Static_assert(RTR_XMTREQ_SIZE <= HEADER_STRIDE && RTR_XMTRESP_SIZE <= HEADER_STRIDE &&
		       RTR_XMTCONT_SIZE <= HEADER_STRIDE,
	       "HEADER_STRIDE");
_Static_assert(RTR_TRANSMISSIONS_MAX <= CONN_BATCH, "a group is one batch");

/* ---- receiving ---- */

void conn_chain_add(struct mem_buf *chain, struct mem_buf *buf)
{
	while (chain->user[0])
		chain = conn_chain_next(chain);
	chain->user[0] = (uintptr_t)buf;
}

uint32_t conn_chain_parts(const struct mem_buf *chain,
			  struct weir_xdr_part parts[RTR_TRANSMISSIONS_MAX], uint32_t *bytes)
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

uint32_t conn_chain_received(const struct mem_buf *chain,
			     struct rtr_received received[RTR_TRANSMISSIONS_MAX])
{
	uint32_t n = 0;

	for (; chain && n < RTR_TRANSMISSIONS_MAX; chain = conn_chain_next(chain))
		received[n++] =
			(struct rtr_received){chain->msg_bytes, (uint32_t)(chain->user[1] >> 32) +
									(uint32_t)chain->user[1]};
	return n;
}

void conn_group_receive(struct weir_conn *conn, const struct rdma2_header *hdr,
			const struct rtr_header *rtr, uint32_t count_max, uint32_t credit,
			struct rtr_step *step)
{
	struct weir_engine *engine = conn->ep.engine;
	uint32_t base = conn->v2->group.opttype < RTR_BASE_TABLE ? RTR_BASE_XDR : RTR_BASE_TABLE;

	rtr_group_receive(&conn->v2->group, hdr, rtr, count_max, step);
	if (step->action == RTR_ACTION_FIRST)
		conn->v2->group_since_ns = engine->now_ns;
	engine->stats.groups_received += step->action == RTR_ACTION_LAST && rtr->op == RTR_XMTCONT;
	engine->stats.groups_broken += step->drops_group;
	if (step->has_report)
		(void)conn_send_report(conn, &step->report, rtr ? rtr->base : base, credit);
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

	if (timeout_ns == 0 || !conn->v2->group.is_open ||
	    now_ns - conn->v2->group_since_ns < timeout_ns)
		return false;
	conn->ep.engine->stats.group_timeouts++;
	return conn_group_break(conn);
}

uint64_t conn_group_deadline(const struct weir_conn *conn)
{
	uint64_t timeout_ns = conn->ep.engine->profile.group_timeout_ms * 1000000ull;

	if (timeout_ns == 0 || !conn->v2->group.is_open)
		return ENGINE_NEVER_NS;
	return conn->v2->group_since_ns + timeout_ns;
}

/* ---- sending ---- */

uint32_t conn_put_first(const struct conn_group_out *out, uint32_t pslen, uint8_t *buf)
{
	struct weir_xdr_out xdr;

	if (out->direction == RDMA1_CALL) {
		rtr_put_begin(&xdr, buf, RTR_XMTREQ_SIZE, out->xid, out->credit, RDMA1_CALL,
			      out->base, RTR_XMTREQ);
		rtr_put_count(&xdr, 0); /* items */
		rtr_put_count(&xdr, 0); /* directions */
		rtr_put_request(&xdr, out->count, out->rsbuf, pslen);
	} else {
		rtr_put_begin(&xdr, buf, RTR_XMTRESP_SIZE, out->xid, out->credit, RDMA1_REPLY,
			      out->base, RTR_XMTRESP);
		rtr_put_count(&xdr, 0);
		rtr_put_response(&xdr, out->count, pslen);
	}
	return rtr_put_end(&xdr);
}

/* Encodes the header of transmission 'n', which is not the first one, into 'buf'. Returns the
 * length of the header. */
static uint32_t put_next(const struct conn_group_out *out, uint32_t n, uint32_t pslen, uint8_t *buf)
{
	uint32_t first = out->base + (out->direction == RDMA1_CALL ? RTR_XMTREQ : RTR_XMTRESP);
	struct weir_xdr_out xdr;

	rtr_put_begin(&xdr, buf, RTR_XMTCONT_SIZE, out->xid, out->credit, out->direction, out->base,
		      RTR_XMTCONT);
	rtr_put_cont(&xdr, RTR_SEQ_FIRST + n, first, pslen);
	return rtr_put_end(&xdr);
}

/* The section of a payload that one transmission carries, while it is gathered. The payload
 * consists of runs of contiguous bytes, which add_run() visits in order. */
struct section {
	uint64_t begin, end; /* offsets in the payload */
	uint64_t at;	     /* offset in the payload of the next run of bytes */
	struct fabric_sge *sges;
	uint32_t n; /* elements in 'sges' */
};

/* Visits the next run of bytes of the payload, and gathers the part of it that is in the section.
 */
static void add_run(struct section *s, uint8_t *base, uint32_t len, uint32_t lkey)
{
	uint64_t begin = s->at < s->begin ? s->begin : s->at;
	uint64_t end = s->at + len < s->end ? s->at + len : s->end;

	if (begin < end)
		s->n = conn_gather(s->sges, s->n, base + (begin - s->at), (uint32_t)(end - begin),
				   lkey);
	s->at += len;
}

/* Gathers 'len' bytes of the payload from 'offset' on. 'sges' has 'n' elements before. Returns the
 * new number of elements. */
static uint32_t gather_section(const struct weir_conn *conn, const struct conn_group_out *out,
			       uint32_t offset, uint32_t len, struct fabric_sge *sges, uint32_t n)
{
	const struct mem_buf *zeros = conn->ep.engine->zeros;
	struct section s = {offset, (uint64_t)offset + len, 0, sges, n};

	for (uint32_t i = 0; i < out->npieces; i++) {
		const struct piece *piece = &out->pieces[i];

		if (out->reduced & 1u << i)
			continue;
		add_run(&s, piece->base, piece->len, piece->lkey);
		if (piece->kind != PIECE_XDR)
			add_run(&s, zeros->data, weir_xdr_pad(piece->len), zeros->lkey);
	}
	return s.n;
}

/* The gather elements of one transmission. */
struct gathered {
	struct fabric_sge sges[CONN_BATCH_SGES];
	uint32_t nfront; /* elements of header and payload; element 0 is the header, which
			    conn_send_group() sets */
	uint32_t n;	 /* all elements; those of the placed data follow header and payload */
	uint32_t payload_bytes;
	uint32_t bytes; /* length of header, payload and placed data with the gaps between them */
};

/* Lists the gather elements of transmission 'n' in *g. Returns false if the placed data have more
 * elements than the device gathers, or need more targets than the peer has. */
static bool gather(const struct weir_conn *conn, const struct conn_group_out *out, uint32_t n,
		   struct gathered *g)
{
	const struct conn_placed placed = {out->pieces, out->npieces, out->placed, out->count};
	struct fabric_sge behind[CONN_MSG_SGES] = {{0}}; /* [0] stands for header and payload */
	uint32_t header_bytes = n == 0 ? out->split.header_bytes : RTR_XMTCONT_SIZE, offset,
		 nbehind;

	g->sges[0] = (struct fabric_sge){0};
	rtr_split_part(&out->split, n, &offset, &g->payload_bytes);
	g->nfront = g->n = gather_section(conn, out, offset, g->payload_bytes, g->sges, 1);
	g->bytes = header_bytes + g->payload_bytes;
	if (!out->placed)
		return true;
	nbehind = conn_gather_placed(conn, behind, 1, conn->max_sge, &placed, n, &g->bytes);
	if (nbehind == CONN_PLACE_NEVER)
		return false;
	for (uint32_t i = 1; i < nbehind; i++)
		g->sges[g->n++] = behind[i];
	return true;
}

/* Returns whether the transmission has more elements than the device gathers. Its header and
 * payload are then copied into one buffer, and become one element. */
static bool is_spilled(const struct weir_conn *conn, const struct gathered *g)
{
	return g->n > conn->max_sge;
}

uint32_t conn_group_sges(const struct weir_conn *conn, const struct conn_group_out *out)
{
	uint32_t sum = 0;
	struct gathered g;

	for (uint32_t i = 0; i < out->count; i++) {
		if (!gather(conn, out, i, &g))
			return CONN_PLACE_NEVER;
		sum += is_spilled(conn, &g) ? 1 + g.n - g.nfront : g.n;
	}
	return sum <= CONN_GROUP_SGES ? sum : CONN_PLACE_NEVER;
}

bool conn_group_take_bufs(struct weir_conn *conn, const struct conn_group_out *out,
			  const struct engine_waiter *waiter, struct mem_buf **bufs)
{
	struct weir_engine *engine = conn->ep.engine;
	bool reserve_given = engine->reserve_given;
	uint32_t wanted = 1;
	struct gathered g;

	for (uint32_t i = 0; i < out->count; i++)
		wanted += gather(conn, out, i, &g) && is_spilled(conn, &g);
	for (; wanted > 0; wanted--) {
		struct mem_buf *buf = engine_reserve_get(engine, waiter);

		if (!buf) {
			conn_group_put_bufs(bufs);
			engine->reserve_given = reserve_given;
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

/* Copies header and payload of a transmission into 'buf', so that they are one element. */
static void coalesce_sges(struct weir_conn *conn, struct mem_buf *buf, struct gathered *g)
{
	uint32_t bytes = 0, n = 1;

	for (uint32_t i = 0; i < g->nfront; i++) {
		memcpy(buf->data + bytes, g->sges[i].addr, g->sges[i].len);
		bytes += g->sges[i].len;
	}
	conn->ep.engine->stats.bulk_copies++;
	g->sges[0] = (struct fabric_sge){buf->data, bytes, buf->lkey};
	for (uint32_t i = g->nfront; i < g->n; i++)
		g->sges[n++] = g->sges[i];
	g->nfront = 1;
	g->n = n;
}

void conn_send_group(struct weir_conn *conn, const struct conn_group_out *out)
{
	const struct mem_buf *headers = out->bufs;
	struct mem_buf *buf = conn_chain_next(headers);

	for (uint32_t i = 0; i < out->count; i++) {
		uint8_t *header = headers->data + (size_t)i * HEADER_STRIDE;
		struct gathered g;

		(void)gather(conn, out, i, &g); /* this succeeded in conn_group_sges() */
		if (i == 0 && out->header)
			g.sges[0] = (struct fabric_sge){out->header, out->split.header_bytes,
							out->header_lkey};
		else if (i == 0)
			g.sges[0] = (struct fabric_sge){
				header, conn_put_first(out, g.payload_bytes, header),
				headers->lkey};
		else
			g.sges[0] = (struct fabric_sge){
				header, put_next(out, i, g.payload_bytes, header), headers->lkey};
		if (is_spilled(conn, &g)) {
			coalesce_sges(conn, buf, &g);
			buf = conn_chain_next(buf);
		}
		conn_send(conn, g.sges, g.n, g.bytes, i + 1 == out->count ? out->tx : NULL, false);
	}
}
