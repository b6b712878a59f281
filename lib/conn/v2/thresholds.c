/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets the version in use of a connection that may speak version 2. The inline thresholds and the
 * parts of the extension that are in use follow from the version, the profile and the peer's
 * properties. Section numbers are those of draft-cel-nfsv4-rpcrdma-version-two-03. */
#include "conn_v2.h"

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Returns the length up to which a reply is certain to arrive inline. This is the smaller of two
 * lengths:
 *
 * - the longest message for which the receives of this side are made
 * - the longest message that the peer sends. The peer announces this length in its private data,
 *   but any peer with version 2 sends at least RDMA2_INLINE_DEFAULT. A peer without properties has
 *   not learnt how much this side receives. Therefore it sends no more than RDMA2_INLINE_DEFAULT
 *   (section 2.3). */
static uint32_t receives(const struct weir_conn *conn)
{
	uint32_t theirs = conn->theirs.send_bytes;

	if (theirs < RDMA2_INLINE_DEFAULT || conn->v2->has_no_properties)
		theirs = RDMA2_INLINE_DEFAULT;
	return min_u32(conn->ep.engine->msg_bytes, theirs);
}

/* Returns whether this side can place data in the peer's targets. All of these conditions must be
 * met:
 *
 * - The profile has the extension "placement".
 * - The peer's receives have targets.
 * - This side can send a message that fills a whole receive of the peer. The targets that a message
 *   can use, which are numbered by TBSNs, then have no gaps. */
static bool can_place(const struct weir_conn *conn)
{
	const struct weir_engine *engine = conn->ep.engine;
	const struct rtr_buffer *theirs = &conn->v2->peer.buffer;

	return engine->profile.extension & WEIR_EXTENSION_PLACEMENT &&
	       rtr_buffer_targets(theirs) > 0 && theirs->length <= engine->recv_bytes &&
	       theirs->length <= conn->v2->peer.send_bytes_max;
}

void conn_set_version(struct weir_conn *conn, uint32_t vers)
{
	const struct weir_engine *engine = conn->ep.engine;

	if (vers == RDMA2_VERSION) {
		conn->vers = vers;
		conn->extra_bytes = RDMA2_EXTRA;
		/* A Read chunk instead of inline data is only useful if the responder has a fast
		 * path for it, and responders have that only for version 1. */
		conn->chunk_bytes = 0;
		conn->send_inline = min_u32(engine->msg_bytes, conn->v2->peer.send_bytes_max);
		conn->recv_inline = receives(conn);
		conn->v2->extends = engine->profile.extension != WEIR_EXTENSION_OFF &&
				    conn->v2->peer.rtrs & RDMA2_RTRS_XREQ &&
				    !conn->v2->is_extension_refused;
		conn->v2->directs =
			conn->v2->extends && engine->profile.extension & WEIR_EXTENSION_DIRECTION;
		conn->v2->asks = conn->v2->directs ||
				 (conn->v2->extends && rtr_buffer_targets(&conn->v2->mine) > 0);
		conn->v2->places = can_place(conn);
	} else {
		conn->v2->extends = conn->v2->directs = conn->v2->asks = conn->v2->places = false;
		conn_v1_set_thresholds(conn);
	}
}

void conn_v2_set_thresholds(struct weir_conn *conn)
{
	conn_set_version(conn, conn->vers);
}

void conn_v2_versions(const struct weir_conn *conn, uint32_t *low, uint32_t *high)
{
	enum weir_protocol protocol = conn->ep.engine->profile.protocol;

	*low = protocol == WEIR_PROTOCOL_V2 ? RDMA2_VERSION : RDMA1_VERSION;
	*high = protocol == WEIR_PROTOCOL_V1 ? RDMA1_VERSION : RDMA2_VERSION;
}
