/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses how many credits the calls of a connection request, if receives are shared. Each credit
 * needs a receive for the reply. Therefore the number of requested credits follows the share of the
 * connection in the receives, and the share follows the number of calls (credit_share.h). */
#include "requester.h"

#include "compiler.h"

#define SHARE_LOOK_NS 1000000000u /* interval at which unused credits are given back */

/* Changes the share so that calls can request 'wanted' credits, or as many as there are receives
 * for. They can request at least one, and at least as many as are in use. */
static void resize(struct weir_conn *conn, uint32_t wanted)
{
	const struct requester *req = requester_of(conn);
	struct credit_requester *credits = &requester_of(conn)->credits;
	uint32_t least = credits->in_flight > 0 ? credits->in_flight : 1;
	/* Calls have reserved these receives for replies, in addition to those for credits. */
	uint32_t reserved = req->reply_reserved;

	credits->wanted = credit_share_resize(&conn->srq->credits, &conn->share, wanted + reserved,
					      least + reserved) -
			  reserved;
	if (credits->granted > credits->wanted)
		credits->granted = credits->wanted;
}

void requester_share_start(struct weir_conn *conn)
{
	const struct requester *req = requester_of(conn);

	resize(conn, req->credits_max < CREDIT_SHARE_START ? req->credits_max : CREDIT_SHARE_START);
}

/* Gives a connection that was idle its initial share again. */
static void share_wake(struct weir_conn *conn)
{
	if (requester_of(conn)->credits.wanted >= CREDIT_SHARE_START)
		return;
	requester_share_start(conn);
	/* While the connection was not in use, it had too few receives to use the grant that the
	 * peer gave with its properties. That grant is still valid until the first reply. */
	if (!conn->got_message)
		credit_first(&requester_of(conn)->credits, conn->protocol->first_credits(conn));
}

out_of_line void requester_wake(struct weir_conn *conn)
{
	engine_tick_begin(&conn->ep);
	if (conn->srq)
		share_wake(conn);
}

void requester_share_grow(struct weir_conn *conn)
{
	const struct requester *req = requester_of(conn);
	uint32_t twice = 2 * req->credits.wanted;

	/* The share grows only if the peer has granted all requested credits. Otherwise calls could
	 * not use a larger share. */
	if (req->credits.granted == req->credits.wanted && req->credits.wanted < req->credits_max)
		resize(conn, twice < req->credits_max ? twice : req->credits_max);
}

void requester_share_tick(struct weir_conn *conn, uint64_t now_ns)
{
	struct requester *req = requester_of(conn);

	if (req->credits.in_flight > req->in_flight_peak)
		req->in_flight_peak = req->credits.in_flight;
	/* An open connection without any reply and without calls keeps a share of one. Otherwise
	 * thousands of such connections would take the receives that busy connections need. */
	if (!conn->got_message && req->nactive == 0 && req->credits.wanted > 1)
		resize(conn, 1);
	if (now_ns < conn->share_tick_ns)
		return;
	/* The share does not shrink while calls wait for credits, even if few calls were in flight:
	 * the requested credits arrive with a reply, which can take long. */
	if (conn->share_tick_ns != 0 && req->in_flight_peak < req->credits.wanted &&
	    TAILQ_EMPTY(&req->queue))
		resize(conn, req->in_flight_peak);
	req->in_flight_peak = req->credits.in_flight;
	conn->share_tick_ns = now_ns + SHARE_LOOK_NS;
}
