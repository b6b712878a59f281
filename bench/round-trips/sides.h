/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIDES_H
#define SIDES_H

/*
 * A requester and a responder over the simulated driver, in one thread and in virtual time: all
 * that takes time is the wire, half a round trip each way. What a call takes is then how often one
 * side waits for the other.
 */

#include <weir/call.h>
#include <weir/request.h>

#define TRIPS_BYTES_MAX (1u << 20) /* of data in a call or reply */

/* What is called. */
enum trips_work {
	TRIPS_NULL,
	TRIPS_WRITE, /* eligible data in the call */
	TRIPS_READ,  /* in the reply */
	TRIPS_CALL,  /* a call of bytes that are not eligible */
	TRIPS_REPLY, /* a reply of such */
	TRIPS_WORKS
};

/* What one call came to. */
struct trips_cost {
	double round_trips;
	uint64_t lent;	    /* pieces of the requester's memory that the responder could reach */
	uint64_t messages;  /* Sends, both ways */
	uint64_t writes;    /* RDMA Writes */
	uint64_t reads;	    /* RDMA Reads */
	uint64_t copied;    /* eligible items that were copied, beside the transfer */
	uint64_t fallbacks; /* of the extension to the base */
};

struct trips_sides;

/* Both sides, connected, with all credits granted. 'rtt_ns': of the wire. NULL, with the reason
 * said. */
struct trips_sides *trips_sides_create(enum weir_protocol protocol, enum weir_extension extension,
				       uint64_t rtt_ns, uint32_t transmissions);
void trips_sides_destroy(struct trips_sides *sides);

/* Make one call of 'bytes', and check what came of it. 0, or -1 with the reason said. */
int trips_measure(struct trips_sides *sides, enum trips_work work, uint32_t bytes,
		  struct trips_cost *cost);

#endif
