/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_CLIENT_H
#define BENCH_CLIENT_H

/*
 * A client is one engine of the requester's side, with its thread and its connections. Each of the
 * first 'nactive' connections has 'depth' slots. With --in-turn the first connection has all slots,
 * and each call of a slot uses the next connection. A slot has at most one call in flight, and its
 * own memory for bulk data. The pace decides when a slot starts its next call: at the end of the
 * previous one, or at a certain time.
 */

#include <stdatomic.h>

#include <weir/call.h>

#include "clock.h"
#include "pace.h"
#include "program.h"
#include "requester.h"

struct load_slot {
	struct link *link; /* the connection of the latest call */
	uint8_t *data;
	uint64_t offset;      /* offset of the call's data in the bench's sequence of bytes */
	uint64_t start_ticks; /* start of the round trip */
	uint64_t due_ticks;   /* with --think: time at which the next call starts */
	uint32_t len;	      /* bytes of the call's data */
	uint32_t proc;
	bool is_counted; /* open loop: the call was due within the measured time, so its round trip
			    counts */
};

/* A connection. */
struct link {
	struct client *client;
	struct weir_conn *conn;
	struct load_slot *slots;
	uint32_t nslots;
	uint64_t calls; /* number of calls on this connection that were measured */
	bool is_open;
	bool is_gone;
};

struct client {
	const struct bench_options *options;
	struct bench_shared *shared;
	/* number of clients, out of 'nclients', whose warm-up has ended; all clients share it */
	_Atomic uint32_t *nsteady;
	uint32_t nclients;
	uint32_t number;
	struct weir_engine *engine;
	struct weir_region *region;
	uint8_t *region_base;
	uint32_t nlinks;
	uint32_t nactive; /* number of connections with load, which are the first ones in 'links' */
	uint32_t turn;	  /* with --in-turn: index of the connection that gets the next call */
	struct link *links;
	uint32_t nopen;	    /* connections that are open */
	uint32_t ngone;	    /* connections that have ended or were not begun */
	uint32_t in_flight; /* calls in flight */
	uint32_t random;
	uint32_t nblocks; /* number of blocks of a READ's size in the working set */
	uint32_t block;	  /* with sequential access: number of the next block */
	bool is_measuring;
	bool is_stopping;
	bool idles;	     /* a thread without work may yield or sleep */
	uint64_t calls_left; /* with --calls: calls that this client still has to start */
	uint64_t completed;  /* calls that have ended, whether they are measured or not */
	struct pace pace;
	struct bench_clock clock;
	struct bench_result result;
	int rc;
};

/*
 * client.c: everything that precedes and follows the load. The caller of client_init() has set
 * client->engine, and destroys the engine before client_fini(). client_init() and client_connect()
 * return 0, or -errno after they have printed the reason.
 */
int client_init(struct client *client);
int client_connect(struct client *client);
void client_disconnect(struct client *client);
void client_fini(struct client *client);

/*
 * load_slot.c: starts the slot's next call, whose round trip is measured from 'start_ticks'.
 * 'ended' is the slot's previous call, if this function is called from the end of that call, and
 * otherwise NULL. Returns false if no more calls will start.
 */
bool load_slot_next(struct load_slot *slot, struct weir_call *ended, uint64_t start_ticks);

/*
 * load.c: runs the load, which is the warm-up, the measured time, and the end of the calls in
 * flight.
 */
void client_load(struct client *client, bool shows_progress);

#endif
