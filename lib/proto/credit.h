/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CREDIT_H
#define CREDIT_H

/*
 * Credits (RFC 8166 section 3.3.1). The requester's book: how many calls may be in flight. The
 * responder's: what to grant. Kept per connection and per direction.
 */

#include <weir/common.h>

#include "compiler.h"

struct credit_requester {
	uint32_t wanted;  /* what each call asks for: calls that this side can hold in flight */
	uint32_t granted; /* latest grant, clamped to 1..wanted; 1 until the first reply (3.3.3) */
	uint32_t in_flight; /* calls sent and not yet answered */
};

struct credit_responder {
	uint32_t limit; /* receives posted for calls */
};

void credit_requester_init(struct credit_requester *book, uint32_t wanted);

/* A grant came before any call was sent (version 2's properties bring one); 0: none did. */
void credit_first(struct credit_requester *book, uint32_t granted);

/* Calls that may be sent now. */
static inline uint32_t credit_available(const struct credit_requester *book)
{
	return book->granted > book->in_flight ? book->granted - book->in_flight : 0;
}

/* A call is sent; only when credit_available() > 0. */
static inline void credit_take(struct credit_requester *book)
{
	book->in_flight++;
}

/* It takes 'more' messages than one, each of which takes a receive; only when so many are
 * available, too. */
static inline void credit_take_more(struct credit_requester *book, uint32_t more)
{
	book->in_flight += more;
}

/* A reply (or RDMA_ERROR for a known XID) came, to a call that has its credit still, with its
 * rdma_credit. A grant of zero counts as one (3.3.1: it MUST NOT be zero), one above what was asked
 * as that. Returns false when it was clamped up from zero, for a counter. */
static inline bool credit_reply(struct credit_requester *book, uint32_t rdma_credit)
{
	book->in_flight--;
	if (likely(rdma_credit == book->granted))
		return true; /* as most often, and no more than is wanted: it was found so */
	if (rdma_credit - 1 < book->wanted) {
		book->granted = rdma_credit;
		return true;
	}
	book->granted = rdma_credit ? book->wanted : 1;
	return rdma_credit != 0;
}

/* A call of so many messages ended without a reply (connection lost), or all but one of them are
 * answered for. */
void credit_lost(struct credit_requester *book, uint32_t messages);

/* What to put into a reply: at most what was asked for, at most the receives posted, at least 1. */
uint32_t credit_grant(const struct credit_responder *book, uint32_t requested);

#endif
