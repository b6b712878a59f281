/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_CLIENT_H
#define BENCH_CLIENT_H

/*
 * One engine of the requester's side, with its thread and its connections. Each of the first
 * 'nactive' connections has 'depth' slots. With --in-turn the first connection has all slots, and
 * each call of a slot uses the next connection. A slot has at most one call in flight, and its own
 * memory for bulk data. The pace decides when a slot starts its next call: at the end of the
 * previous one, or at a certain time.
 */

#include <pthread.h>
#include <stdatomic.h>

#include <weir/call.h>

#include "clock.h"
#include "pace.h"
#include "program.h"
#include "requester.h"

struct load_slot {
	struct link *link; /* connection of the latest call */
	uint8_t *data;
	uint64_t offset;      /* position in the bench's sequence */
	uint64_t start_ticks; /* start of the round trip */
	uint64_t due_ticks;   /* time of the next call, with --think */
	uint32_t len;	      /* bytes of the call's data */
	enum bench_proc proc;
	bool is_counted; /* open loop: the call was due within the measured time */
};

/* One connection. */
struct link {
	struct client *client;
	struct weir_conn *conn;
	struct load_slot *slots;
	uint32_t nslots;
	uint64_t calls; /* number of measured calls */
	bool is_open;
	bool is_gone;
};

struct client {
	const struct bench_options *options;
	struct bench_shared *shared;
	/* number of clients, of 'nclients', whose warm-up is over; shared by all clients */
	_Atomic uint32_t *nsteady;
	uint32_t nclients;
	uint32_t number;
	struct weir_engine *engine;
	struct weir_region *region;
	uint8_t *region_base;
	uint32_t nlinks;
	uint32_t nactive; /* number of connections with load, which are the first ones */
	uint32_t turn;	  /* with --in-turn: connection of the next call */
	struct link *links;
	uint32_t nopen;
	uint32_t ngone;
	uint32_t in_flight;
	uint32_t lcore;
	uint32_t random;
	uint32_t nblocks; /* blocks of a READ's size in the working set */
	uint32_t block;	  /* sequential: the next block */
	bool is_measuring;
	bool is_stopping;
	uint64_t calls_left;
	uint64_t completed; /* calls that ended, measured or not */
	struct pace pace;
	struct bench_clock clock;
	struct bench_result result;
	int rc;
	pthread_t thread;
};

/*
 * client.c: everything that happens without load. Functions return 0, or -errno after they have
 * printed the reason.
 */
int client_init(struct client *client);
int client_connect(struct client *client);
void client_disconnect(struct client *client);
void client_fini(struct client *client);

/*
 * load_slot.c: starts the slot's next call, whose round trip counts from 'start_ticks'. 'ended' is
 * the latest call, if its 'done' is running, or NULL. Returns false if no more calls will start.
 */
bool load_slot_next(struct load_slot *slot, struct weir_call *ended, uint64_t start_ticks);

/* load.c: the warm-up, the measured time, and the end of calls in flight. */
void client_load(struct client *client, bool shows_progress);

#endif
