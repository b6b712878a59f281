/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CREDIT_H
#define CREDIT_H

/*
 * Credits (RFC 8166 section 3.3.1). The requester counts how many calls may be in flight. The
 * responder decides how many credits to grant; where connections share receives, credit_share.h
 * divides them. Each connection has these structures for each
 * direction.
 */

#include <weir/common.h>

#include "compiler.h"

struct credit_requester {
	uint32_t wanted;  /* the credits that each call requests: the calls that this side can have
			     in flight */
	uint32_t granted; /* latest grant, clamped to 1..wanted; 1 until the first reply (3.3.3) */
	uint32_t in_flight; /* calls that were sent and are not yet answered */
};

struct credit_responder {
	uint32_t limit; /* receives that are posted for calls */
};

void credit_requester_init(struct credit_requester *book, uint32_t wanted);

/* Accepts a grant that arrived before any call was sent. The properties of version 2 contain such a
 * grant. 0 means no grant. */
void credit_first(struct credit_requester *book, uint32_t granted);

/* Returns how many calls may be sent. */
static inline uint32_t credit_available(const struct credit_requester *book)
{
	return book->granted > book->in_flight ? book->granted - book->in_flight : 0;
}

/* Takes the credit for a call that is sent. Only valid if credit_available() > 0. */
static inline void credit_take(struct credit_requester *book)
{
	book->in_flight++;
}

/* Takes credits for the further 'more' messages of a call that is sent as several messages. Each
 * message takes a receive. Only valid if this many credits are available. */
static inline void credit_take_more(struct credit_requester *book, uint32_t more)
{
	book->in_flight += more;
}

/* Returns the credit of a call to which a reply arrived, and accepts the grant 'rdma_credit' of the
 * reply. The reply can also be an RDMA_ERROR with a known XID. The call must still have its credit.
 * A grant of zero counts as one (3.3.1: it MUST NOT be zero). A grant above 'wanted' counts as
 * 'wanted'. Returns false if the grant was zero, for a counter. */
static inline bool credit_reply(struct credit_requester *book, uint32_t rdma_credit)
{
	book->in_flight--;
	if (likely(rdma_credit == book->granted))
		return true; /* The usual case. The grant is at most 'wanted', because an earlier
				call checked it. */
	if (rdma_credit - 1 < book->wanted) {
		book->granted = rdma_credit;
		return true;
	}
	book->granted = rdma_credit ? book->wanted : 1;
	return rdma_credit != 0;
}

/* Returns the credits of 'messages' messages that no reply answers. Either their call ended without
 * a reply because the connection was lost, or the call had several messages, of which the reply
 * answers only one. */
void credit_lost(struct credit_requester *book, uint32_t messages);

/* Returns the grant for a reply. The grant is at most 'requested', at most the number of posted
 * receives, and at least 1. */
uint32_t credit_grant(const struct credit_responder *book, uint32_t requested);

#endif
