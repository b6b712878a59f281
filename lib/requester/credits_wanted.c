/* SPDX-License-Identifier: BSD-3-Clause */
/* If receives are shared: limits the calls in flight to the receives that there are for their
 * replies. */
#include "requester.h"

#include "compiler.h"

#define SHARE_LOOK_NS 1000000000u

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

static void share_wake(struct weir_conn *conn)
{
	if (requester_of(conn)->credits.wanted >= CREDIT_SHARE_START)
		return;
	requester_share_start(conn);
	/* While the connection was unused, it had no receives for the grant that the peer gave with
	 * its properties. That grant is still valid. */
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

	/* The share grows only when the peer has granted all requested credits. Calls can then use
	 * the larger share soon. */
	if (req->credits.granted == req->credits.wanted && req->credits.wanted < req->credits_max)
		resize(conn, twice < req->credits_max ? twice : req->credits_max);
}

void requester_share_tick(struct weir_conn *conn, uint64_t now_ns)
{
	struct requester *req = requester_of(conn);

	if (req->credits.in_flight > req->in_flight_peak)
		req->in_flight_peak = req->credits.in_flight;
	/* An open connection that was not used yet keeps a share of one. Thousands of such
	 * connections would otherwise take the initial share from those that are used. */
	if (!conn->got_message && req->nactive == 0 && req->credits.wanted > 1)
		resize(conn, 1);
	if (now_ns < conn->share_tick_ns)
		return;
	/* Calls that wait for credits are demand, even if few calls were in flight. Credits that
	 * were requested arrive with a reply, which may take long. */
	if (conn->share_tick_ns != 0 && req->in_flight_peak < req->credits.wanted &&
	    TAILQ_EMPTY(&req->queue))
		resize(conn, req->in_flight_peak);
	req->in_flight_peak = req->credits.in_flight;
	conn->share_tick_ns = now_ns + SHARE_LOOK_NS;
}
