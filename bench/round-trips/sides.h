/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIDES_H
#define SIDES_H

/*
 * A requester and a responder over the simulated driver, in one thread and in virtual time. Only
 * the wire takes time, half a round trip in each direction. The time of a call therefore says how
 * often one side waits for the other.
 */

#include <weir/call.h>
#include <weir/request.h>

#define TRIPS_BYTES_MAX (1u << 20) /* data of a call or reply */

/* The kinds of calls. */
enum trips_work {
	TRIPS_NULL,
	TRIPS_WRITE, /* eligible data in the call */
	TRIPS_READ,  /* eligible data in the reply */
	TRIPS_CALL,  /* a call with data that are not eligible */
	TRIPS_REPLY, /* a reply with data that are not eligible */
	TRIPS_WORKS
};

/* The cost of one call. */
struct trips_cost {
	double round_trips;
	uint64_t lent;	    /* segments of the requester's memory that the responder could access */
	uint64_t messages;  /* Sends in both directions */
	uint64_t writes;    /* RDMA Writes */
	uint64_t reads;	    /* RDMA Reads */
	uint64_t copied;    /* eligible items that were copied in addition to the transfer */
	uint64_t fallbacks; /* times that the base protocol was used instead of the extension */
};

struct trips_sides;

/*
 * Creates and connects both sides, with all credits granted. 'rtt_ns' is the round-trip time of the
 * wire. Returns NULL after it has printed the reason.
 */
struct trips_sides *trips_sides_create(enum weir_protocol protocol, enum weir_extension extension,
				       uint64_t rtt_ns, uint32_t transmissions);
void trips_sides_destroy(struct trips_sides *sides);

/*
 * Makes one call with 'bytes' of data, and checks its results. Returns 0, or -1 after it has
 * printed the reason.
 */
int trips_measure(struct trips_sides *sides, enum trips_work work, uint32_t bytes,
		  struct trips_cost *cost);

#endif
