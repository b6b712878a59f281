/* SPDX-License-Identifier: BSD-3-Clause */
/* Where receives are shared: as many calls are under way as there are receives for their replies.
 */
#include "requester.h"

#include "compiler.h"

#define SHARE_LOOK_NS 1000000000u

static void resize(struct weir_conn *conn, uint32_t wanted)
{
	const struct requester *req = requester_of(conn);
	struct credit_requester *credits = &requester_of(conn)->credits;
	uint32_t least = credits->in_flight > 0 ? credits->in_flight : 1;
	/* Besides what calls have reserved for replies. */
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
	/* While unused it held no receives for what the peer had granted with its properties, which
	 * is as good as ever. */
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

	/* What was asked for is granted: it can be used at once. */
	if (req->credits.granted == req->credits.wanted && req->credits.wanted < req->credits_max)
		resize(conn, twice < req->credits_max ? twice : req->credits_max);
}

void requester_share_tick(struct weir_conn *conn, uint64_t now_ns)
{
	struct requester *req = requester_of(conn);

	if (req->credits.in_flight > req->in_flight_peak)
		req->in_flight_peak = req->credits.in_flight;
	/* Opened and not used yet: thousands of them would keep the start's part from those that
	 * are used. */
	if (!conn->got_message && req->nactive == 0 && req->credits.wanted > 1)
		resize(conn, 1);
	if (now_ns < conn->share_tick_ns)
		return;
	/* Calls that wait for credits are demand. What was asked for comes with a reply, which may
	 * take long. */
	if (conn->share_tick_ns != 0 && req->in_flight_peak < req->credits.wanted &&
	    TAILQ_EMPTY(&req->queue))
		resize(conn, req->in_flight_peak);
	req->in_flight_peak = req->credits.in_flight;
	conn->share_tick_ns = now_ns + SHARE_LOOK_NS;
}
