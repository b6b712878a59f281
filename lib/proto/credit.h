/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CREDIT_H
#define CREDIT_H

/*
 * Credits of one connection (RFC 8166 section 3.3.1). The requester counts how many calls it is
 * allowed to have in flight. The responder decides how many credits to grant. If connections share
 * receives, credit_share.h decides this instead. A connection has these structures for each
 * direction in which it has calls. Below, "3.3.1" and "3.3.3" are sections of RFC 8166.
 */

#include <weir/common.h>

#include "compiler.h"

struct credit_requester {
	/* number of credits that each call requests: the calls that this side is able to have in
	 * flight */
	uint32_t wanted;
	uint32_t granted; /* latest grant, clamped to 1..wanted; 1 until the first reply (3.3.3) */
	uint32_t in_flight; /* calls that were sent and are not yet answered */
};

struct credit_responder {
	uint32_t limit; /* number of receives that are posted for calls */
};

void credit_requester_init(struct credit_requester *book, uint32_t wanted);

/* Accepts a grant that arrived before any call was sent. The messages of version 2 with properties
 * have such a grant. If 'granted' is 0, nothing changes. */
void credit_first(struct credit_requester *book, uint32_t granted);

/* Returns how many calls this side is allowed to send now. */
static inline uint32_t credit_available(const struct credit_requester *book)
{
	return book->granted > book->in_flight ? book->granted - book->in_flight : 0;
}

/* Takes the credit for a call that is sent. credit_available() must be greater than 0. */
static inline void credit_take(struct credit_requester *book)
{
	book->in_flight++;
}

/* Takes credits for the further 'more' messages of a call that is sent as several messages. Each
 * message takes a receive of the peer. credit_available() must be at least 'more'. */
static inline void credit_take_more(struct credit_requester *book, uint32_t more)
{
	book->in_flight += more;
}

/* Gives back the credit of a call to which a reply has arrived, and accepts the grant 'rdma_credit'
 * of the reply. The reply can also be an RDMA_ERROR with a known XID. The credit of the call must
 * not have been given back before. A grant of zero, which 3.3.1 forbids, counts as one. A grant
 * above 'wanted' counts as 'wanted'. Returns false if the grant was zero, so that the caller can
 * count this error. */
static inline bool credit_reply(struct credit_requester *book, uint32_t rdma_credit)
{
	book->in_flight--;
	if (likely(rdma_credit == book->granted))
		/* This is the usual case. The grant is at most 'wanted', because 'granted' is. */
		return true;
	if (rdma_credit - 1 < book->wanted) {
		book->granted = rdma_credit;
		return true;
	}
	book->granted = rdma_credit ? book->wanted : 1;
	return rdma_credit != 0;
}

/* Gives back the credits of 'messages' messages that no reply answers. Either their call has ended
 * without a reply because the connection was lost, or the call had several messages, of which the
 * reply answers only one. */
void credit_lost(struct credit_requester *book, uint32_t messages);

/* Returns the grant for a reply to a call that requests 'requested' credits. The grant is at most
 * 'requested', at most the number of posted receives, and at least 1. */
uint32_t credit_grant(const struct credit_responder *book, uint32_t requested);

#endif
