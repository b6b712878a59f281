/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of version 2 that belong to no call: properties (draft-cel-nfsv4-rpcrdma-version-two-03
 * section 5.3) and errors. These messages use no credit. Each side has receives for a few of them,
 * in addition to the receives for its credits. Therefore each side sends only a few of them: its
 * properties once, and one answer to each message that requires an answer. At most ENGINE_CONTROLS
 * of these messages are being sent at a time. If a peer sends more messages that require an answer,
 * some of these messages get no answer.
 *
 * These messages are posted at once, without the batch, because the first RDMA2_CONNPROP is sent
 * before the connection is open.
 */
#include <weir/xdr.h>

#include "conn_v2.h"

static struct conn_control *find_free(const struct weir_conn *conn)
{
	for (uint32_t i = 0; i < ENGINE_CONTROLS; i++)
		if (!conn->v2->controls[i].is_busy)
			return &conn->v2->controls[i];
	return NULL;
}

/* Begins a message in a free buffer, to which 'out' is set. Returns NULL, and counts a dropped
 * message, if the message cannot be sent at the moment. */
static struct conn_control *begin(struct weir_conn *conn, struct weir_xdr_out *out)
{
	struct conn_control *control = find_free(conn);

	if (!control || conn->state >= CONN_LOST || conn_tx_room(conn) == 0) {
		conn->ep.engine->stats.dropped++;
		return NULL;
	}
	weir_xdr_out_init(out, control->buf->data, control->buf->size_bytes);
	return control;
}

/* Posts the message that was encoded in the buffer of 'control'. Returns false if it did not fit
 * into the buffer, or if the driver refused the Send, which fails the connection. */
static bool send(struct weir_conn *conn, struct conn_control *control,
		 const struct weir_xdr_out *out)
{
	struct fabric_sge sge = {control->buf->data, (uint32_t)weir_xdr_out_len(out),
				 control->buf->lkey};
	const struct fabric_wr wr = {.wr_id = conn->sq_posted,
				     .op = FABRIC_SEND,
				     .flags = FABRIC_SIGNALED |
					      (sge.len <= conn->max_inline ? FABRIC_INLINE : 0),
				     .sge = &sge,
				     .nsge = 1};

	if (out->failed) { /* an answer to a message with more properties than could exist */
		conn->ep.engine->stats.dropped++;
		return false;
	}
	conn_top_up(conn);
	control->is_busy = true;
	conn->bytes_sent += sge.len;
	conn->sq[conn->sq_posted++ % conn->sq_size] = &control->tx;
	conn->sq_signalled = conn->sq_posted;
	if (conn->ops->post_send(conn->qp, &wr, 1) == 1)
		return true;
	conn_fail(conn, -EIO);
	return false;
}

bool conn_send_connprop(struct weir_conn *conn, uint32_t xid, uint32_t credit)
{
	const struct weir_engine *engine = conn->ep.engine;
	bool extends = conn_has_extension(conn);
	bool continues = engine->profile.extension & WEIR_EXTENSION_CONTINUATION;
	bool has_targets = extends && rtr_buffer_targets(&conn->v2->mine) > 0;
	uint32_t nprops = 2 + (extends ? 3u : 0u) + (has_targets ? 1u : 0u);
	struct weir_xdr_out out;
	struct conn_control *control = begin(conn, &out);

	if (!control)
		return false;
	rdma2_put_fixed(&out, xid, credit, RDMA2_CONNPROP);
	weir_xdr_put_u32(&out, nprops);
	rdma2_put_prop_u32(&out, RDMA2_PROPID_RBSIZ, engine->recv_bytes);
	rdma2_put_prop_u32(&out, RDMA2_PROPID_BRS, RDMA2_BKREQSUP_NONE);
	if (extends) {
		uint32_t requests =
			conn->credits < engine->group_max ? conn->credits : engine->group_max;

		rdma2_put_prop_u32(&out, RDMA2_PROPID_RTRSUPP,
				   RDMA2_RTRS_XREQ | RDMA2_RTRS_XRESP |
					   (continues ? RDMA2_RTRS_XCONT : 0));
		rdma2_put_prop_u32(&out, RDMA2_PROPID_REQRXLIM, requests);
		rdma2_put_prop_u32(&out, RDMA2_PROPID_RESPSXLIM,
				   continues ? engine->profile.transmissions : 1);
	}
	if (has_targets)
		rdma2_put_prop_buffer(&out, &conn->v2->mine);
	rdma2_put_subset_first(&out, nprops); /* none of these properties changes */
	conn->v2->has_sent_properties = send(conn, control, &out);
	return conn->v2->has_sent_properties;
}

/* If receives are shared, each connection has at least one credit, and only replies grant more. */
uint32_t conn_first_grant(const struct weir_conn *conn, uint32_t wanted)
{
	if (conn->srq || wanted == 0)
		return 1;
	return wanted < conn->credits ? wanted : conn->credits;
}

/* Answers an RDMA2_REQPROP. The answer refuses all requested changes, because no property of this
 * side changes (section 5.3.3). */
static void send_resprop(struct weir_conn *conn, const struct rdma2_header *hdr)
{
	struct weir_xdr_out out;
	struct conn_control *control = begin(conn, &out);

	if (!control)
		return;
	rdma2_put_fixed(&out, hdr->lists.xid, conn_first_grant(conn, hdr->lists.credit),
			RDMA2_RESPROP);
	rdma2_put_subset_first(&out, 0);
	rdma2_put_subset_first(&out, hdr->set.count);
	weir_xdr_put_u32(&out, 0);
	conn->ep.engine->stats.properties_refused += hdr->set.count;
	send(conn, control, &out);
}

/* Processes the peer's RDMA2_CONNPROP. Sends that of this side if it was not sent before. */
static void on_connprop(struct weir_conn *conn, const struct rdma2_header *hdr)
{
	struct conn_v2 *v2 = conn->v2;

	if (v2->has_peer_properties) {
		conn->ep.engine->stats.dropped++; /* only the first one is valid */
		return;
	}
	v2->has_peer_properties = true;
	v2->has_no_properties = false;
	rdma2_properties_start(&v2->peer, &hdr->set, &hdr->subset);
	if (!v2->has_sent_properties)
		conn_send_connprop(conn, hdr->lists.xid, conn_first_grant(conn, hdr->lists.credit));
}

void conn_on_properties(struct weir_conn *conn, const struct rdma2_header *hdr)
{
	struct engine_counters *stats = &conn->ep.engine->stats;

	switch (hdr->lists.proc) {
	case RDMA2_CONNPROP:
		on_connprop(conn, hdr);
		break;
	case RDMA2_REQPROP:
		send_resprop(conn, hdr);
		break;
	case RDMA2_UPDPROP:
		stats->properties_refused += rdma2_properties_update(&conn->v2->peer, &hdr->set);
		break;
	default:
		stats->dropped++; /* RDMA2_RESPROP: this side requested nothing */
		return;
	}
	if (conn->vers == RDMA2_VERSION)
		conn_set_version(conn, RDMA2_VERSION); /* the thresholds can have changed */
}

void conn_send_error(struct weir_conn *conn, const struct rdma2_header *hdr, enum rdma2_err err)
{
	struct weir_xdr_out out;
	struct conn_control *control = begin(conn, &out);
	uint32_t low, high;
	uint8_t *at;

	if (!control)
		return;
	conn_v2_versions(conn, &low, &high);
	/* The message must grant at least one credit. This side accepts no calls in this direction
	 * and therefore grants no more. */
	at = weir_xdr_reserve(&out, RDMA2_ERROR_SIZE_MAX);
	out.p = at + rdma2_encode_error(at, hdr->lists.xid, hdr->lists.vers, 1, err, low, high);
	conn->ep.engine->stats.errors_sent++;
	send(conn, control, &out);
}

bool conn_send_report(struct weir_conn *conn, const struct rtr_report *report, uint32_t base,
		      uint32_t credit)
{
	struct weir_xdr_out out;
	struct conn_control *control = begin(conn, &out);

	if (!control)
		return false;
	rtr_put_begin(&out, control->buf->data, control->buf->size_bytes, report->bad.xid, credit,
		      rtr_report_direction(report), base, RTR_REPTERR);
	rtr_put_report(&out, report);
	rtr_put_end(&out);
	conn->ep.engine->stats.reports_sent++;
	return send(conn, control, &out);
}
