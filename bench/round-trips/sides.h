/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIDES_H
#define SIDES_H

/*
 * A requester and a responder over the simulated driver, in one thread and in virtual time. Only
 * the wire takes time: half a round trip in each direction. The time of a call, as a number of
 * round trips, is therefore the number of times that one side waits for the other.
 */

#include <weir/call.h>
#include <weir/request.h>

#define TRIPS_BYTES_MAX (1u << 20) /* maximum bytes of the data of a call or reply */

/* The kinds of calls. */
enum trips_work {
	TRIPS_NULL,
	TRIPS_WRITE, /* a call whose arguments have DDP-eligible data */
	TRIPS_READ,  /* a call whose results have DDP-eligible data */
	TRIPS_CALL,  /* a call whose arguments have data that are not eligible */
	TRIPS_REPLY, /* a call whose results have data that are not eligible */
	TRIPS_WORKS
};

/* The cost of one call. */
struct trips_cost {
	double round_trips; /* time of the call, in round trips of the wire */
	uint64_t lent; /* segments of the requester's memory to which the responder got access */
	uint64_t messages;  /* Sends of both sides */
	uint64_t writes;    /* RDMA Writes */
	uint64_t reads;	    /* RDMA Reads */
	uint64_t copied;    /* eligible items that were copied in addition to their transfer */
	uint64_t fallbacks; /* number of messages that used the base protocol instead of the
			       extension */
};

struct trips_sides;

/*
 * Creates both sides and connects them. All credits are granted. 'rtt_ns' is the round trip time of
 * the wire, and 'transmissions' is the maximum number of parts of a long message. Returns NULL
 * after it has printed the reason.
 */
struct trips_sides *trips_sides_create(enum weir_protocol protocol, enum weir_extension extension,
				       uint64_t rtt_ns, uint32_t transmissions);
void trips_sides_destroy(struct trips_sides *sides);

/*
 * Makes one call with 'bytes' of data, and checks its results. Returns 0 with *cost set, or -1
 * after it has printed the reason.
 */
int trips_measure(struct trips_sides *sides, enum trips_work work, uint32_t bytes,
		  struct trips_cost *cost);

#endif
