/* SPDX-License-Identifier: BSD-3-Clause */
/* Credits of a connection whose receives are not shared: the functions of credit.h that are not
 * inline. */
#include "credit.h"

#include "seeded_bugs.h"

void credit_requester_init(struct credit_requester *book, uint32_t wanted)
{
	book->wanted = wanted ? wanted : 1;
	book->granted = 1; /* RFC 8166 section 3.3.3 */
	book->in_flight = 0;
}

void credit_first(struct credit_requester *book, uint32_t granted)
{
	if (granted > 0)
		book->granted = granted < book->wanted ? granted : book->wanted;
}

void credit_lost(struct credit_requester *book, uint32_t messages)
{
	book->in_flight -= messages < book->in_flight ? messages : book->in_flight;
}

uint32_t credit_grant(const struct credit_responder *book, uint32_t requested)
{
	uint32_t granted = requested < book->limit || SEEDED_BUG(10) ? requested : book->limit;

	return granted ? granted : 1;
}
