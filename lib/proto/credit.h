/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CREDIT_H
#define CREDIT_H

/*
 * Credits (RFC 8166 section 3.3.1). The requester's book: how many calls may be in flight. The
 * responder's: what to grant. Kept per connection and per direction.
 */

#include "weir_common.h"

struct credit_requester {
	uint32_t wanted;    /* what each call asks for: calls that this side can hold in flight */
	uint32_t granted;   /* latest grant, clamped to 1..wanted; 1 until the first reply (3.3.3) */
	uint32_t in_flight; /* calls sent and not yet answered */
};

struct credit_responder {
	uint32_t limit; /* receives posted for calls */
};

void credit_requester_init(struct credit_requester *book, uint32_t wanted);

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

/* A reply (or RDMA_ERROR for a known XID) came, with its rdma_credit. A grant of zero counts as one
 * (3.3.1: it MUST NOT be zero), one above what was asked as that. Returns false when it was clamped up
 * from zero, for a counter. */
bool credit_reply(struct credit_requester *book, uint32_t rdma_credit);

/* A call ended without a reply (connection lost). */
void credit_lost(struct credit_requester *book);

/* What to put into a reply: at most what was asked for, at most the receives posted, at least 1. */
uint32_t credit_grant(const struct credit_responder *book, uint32_t requested);

#endif
