/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Negotiation of the protocol version (draft-cel-nfsv4-rpcrdma-version-two-03 section 7).
 *
 * A requester that may speak version 2 first asks the peer for it: it sends an RDMA2_CONNPROP,
 * which is shorter than any inline threshold. The requester makes no call until the answer arrives.
 * If the peer disconnects because of the RDMA2_CONNPROP, no call is lost.
 *
 *   NEGOTIATING -> OPEN, version 2   The answer is RDMA2_CONNPROP, which grants the first credits,
 *                                    or an RDMA2_ERROR of version 2 from a peer without properties.
 *               -> OPEN, version 1   The answer is RDMA2_ERR_VERS, or there is no answer within a
 *                                    quarter of the profile's connect_timeout_ms.
 *               -> LOST or CLOSED    The peer speaks no version that the profile allows, or the
 *                                    profile has protocol = v2 and the peer does not answer. With
 *                                    protocol = v2, the requester waits for the whole time of
 *                                    connect_timeout_ms, because a slow responder is better than
 *                                    none.
 *
 * When a lost connection is established again, the requester does not ask in these cases, unless
 * the profile has protocol = v2:
 *
 * - The connection was lost while the requester waited for an answer.
 * - The peer refused version 2 (section 7.2), or did not answer in time.
 *
 * A responder accepts each call in any version that its profile allows.
 */
#include "conn_v2.h"

#include <errno.h>

#include <rte_random.h>

#include "alloc.h"
#include "log.h"

static void control_done(struct conn_tx *tx, int error)
{
	(void)error;
	((struct conn_control *)tx)->is_busy = false;
}

_Static_assert(ENGINE_TRANSMISSIONS_MAX == RTR_TRANSMISSIONS_MAX, "transmissions of a message");
_Static_assert(ENGINE_LONGER_MSG_BYTES == RDMA2_INLINE_DEFAULT, "what any receiver takes");

/* Sets the structure of this side's receives. If Sends place data, a receive has lead_bytes for
 * header and payload, then the targets, then the rest up to the length of a receive. Otherwise it
 * has no targets. */
static void conn_structure_receives(const struct weir_engine *engine, struct rtr_buffer *buffer)
{
	const struct weir_profile *p = &engine->profile;
	uint32_t bytes = p->lead_bytes + p->targets * p->target_bytes;

	rtr_buffer_default(buffer, engine->recv_bytes);
	if (!engine_places(p, &engine->dev->attr))
		return;
	buffer->ngroups = 2;
	buffer->groups[0] = (struct rtr_buffer_group){.count = 1, .length = p->lead_bytes};
	buffer->groups[1] = (struct rtr_buffer_group){.count = p->targets,
						      .length = p->target_bytes,
						      .align = engine_target_align(p),
						      .flags = RTR_SEG_DDP};
	if (bytes < engine->recv_bytes)
		buffer->groups[buffer->ngroups++] =
			(struct rtr_buffer_group){.count = 1, .length = engine->recv_bytes - bytes};
}

int conn_v2_create(struct weir_conn *conn)
{
	struct conn_v2 *v2 = mem_zalloc(sizeof(*v2));

	if (!v2)
		return -ENOMEM;
	conn->v2 = v2;
	conn_structure_receives(conn->ep.engine, &v2->mine);
	rdma2_properties_init(&v2->peer);
	v2->rtr_base = RTR_BASE_TABLE;
	for (uint32_t i = 0; i < ENGINE_CONTROLS; i++) {
		v2->controls[i].tx.done = control_done;
		v2->controls[i].buf = mem_pool_get(conn->ep.engine->control_pool);
		if (!v2->controls[i].buf)
			return -ENOBUFS;
	}
	conn_set_version(conn, RDMA1_VERSION);
	return 0;
}

void conn_v2_destroy(struct weir_conn *conn)
{
	struct conn_v2 *v2 = conn->v2;

	if (!v2)
		return;
	for (uint32_t i = 0; i < ENGINE_CONTROLS; i++)
		if (v2->controls[i].buf)
			mem_pool_put(v2->controls[i].buf);
	mem_free(v2);
}

void conn_v2_reset(struct weir_conn *conn)
{
	struct conn_v2 *v2 = conn->v2;

	rdma2_properties_init(&v2->peer);
	v2->granted = 0;
	v2->has_sent_properties = v2->has_peer_properties = v2->has_no_properties = v2->is_late =
		false;
	v2->is_extension_refused = false;
	v2->rtr_base = RTR_BASE_TABLE;
	rtr_group_init(&v2->group);
	v2->group_chain = NULL;
	conn_set_version(conn, RDMA1_VERSION);
}

bool conn_v2_negotiate(struct weir_conn *conn)
{
	const struct weir_engine *engine = conn->ep.engine;
	const uint64_t timeout_ns = engine->profile.connect_timeout_ms * 1000000ull;
	struct conn_v2 *v2 = conn->v2;

	if (!conn->exposes || (v2->is_off && engine->profile.protocol == WEIR_PROTOCOL_AUTO))
		return false;
	conn_negotiating(conn);
	if (engine->profile.protocol == WEIR_PROTOCOL_AUTO)
		conn->deadline_ns = engine->now_ns + timeout_ns / 4;
	else if (conn->deadline_ns == 0) /* the clock was not read before the set-up */
		conn->deadline_ns = engine->now_ns + timeout_ns;
	v2->xid = (uint32_t)rte_rand();
	if (!conn_send_connprop(conn, v2->xid, conn->credits))
		conn_fail(conn, -EIO); /* the send queue is empty, so the driver refused the Send */
	return true;
}

/* Opens a connection whose peer speaks version 2. */
static void negotiated(struct weir_conn *conn)
{
	conn_set_version(conn, RDMA2_VERSION);
	conn_opened(conn);
}

/* Handles a peer that does not speak version 2, or does not answer. If the profile allows version 1
 * and the peer speaks it, opens the connection with version 1. Otherwise fails the connection. */
static void refused(struct weir_conn *conn, bool speaks_v1)
{
	struct weir_engine *engine = conn->ep.engine;

	engine->stats.versions_refused++;
	if (engine->profile.protocol == WEIR_PROTOCOL_AUTO && speaks_v1) {
		conn->v2->is_off = true;
		conn_opened(conn);
		return;
	}
	LOG(CONNECTION, NOTICE, "connection to %s: the peer does not speak %s", conn->peer,
	    speaks_v1 ? "version 2, and the profile's protocol requires it" : "version 1 or 2");
	conn_fail(conn, -EPROTONOSUPPORT);
}

/* Handles an RDMA2_ERROR that answers this side's RDMA2_CONNPROP. */
static void on_error(struct weir_conn *conn, const struct rdma1_header *hdr)
{
	if (hdr->err == RDMA2_ERR_VERS) {
		refused(conn, hdr->vers_low <= RDMA1_VERSION && hdr->vers_high >= RDMA1_VERSION);
		return;
	}
	conn->v2->has_no_properties = true;
	negotiated(conn);
}

void conn_v2_on_answer(struct weir_conn *conn, struct mem_buf *buf, uint32_t len)
{
	struct weir_engine *engine = conn->ep.engine;
	enum rdma2_verdict verdict;
	struct rdma2_header hdr;
	uint32_t reason;

	verdict = rdma2_decode(buf->data, len, &engine->limits, &hdr, &reason);
	if (verdict == RDMA2_V_OK && hdr.lists.proc == RDMA2_ERROR &&
	    hdr.lists.xid == conn->v2->xid) {
		on_error(conn, &hdr.lists);
	} else if (verdict == RDMA2_V_OK && hdr.lists.proc == RDMA2_CONNPROP) {
		conn->v2->granted = hdr.lists.credit;
		conn_on_properties(conn, &hdr);
		negotiated(conn);
	} else {
		/* An invalid message of version 2 is answered by an error. The valid answer might
		 * still arrive. */
		if (hdr.lists.vers == RDMA2_VERSION && verdict != RDMA2_V_OK &&
		    verdict != RDMA2_V_DROP)
			conn_send_error(conn, &hdr, rdma2_verdict_err(verdict));
		engine->stats.dropped++;
	}
	conn_recv_done(conn, buf);
}

void conn_v2_on_answer_fail(struct weir_conn *conn)
{
	conn->v2->is_off = true;
}

void conn_v2_on_open(struct weir_conn *conn)
{
	conn->ep.engine->stats.connections_v2 += conn->vers == RDMA2_VERSION;
}

void conn_v2_on_answer_tick(struct weir_conn *conn, uint64_t now_ns)
{
	if (now_ns < conn->deadline_ns)
		return;
	conn->v2->is_late = true;
	refused(conn, true);
}
