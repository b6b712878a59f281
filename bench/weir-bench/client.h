/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_CLIENT_H
#define BENCH_CLIENT_H

/*
 * One engine of the requester's side, with its thread and its connections. Each of the first
 * 'nactive' connections has 'depth' slots, or where they take turns the first has them all, and
 * each call of a slot goes to the next connection. A slot has one call in flight at most, and
 * memory of its own for bulk data. What it does after its call's end is the pace's: the next call
 * at once, or when its time has come.
 */

#include <pthread.h>
#include <stdatomic.h>

#include <weir/call.h>

#include "clock.h"
#include "pace.h"
#include "program.h"
#include "requester.h"

struct load_slot {
	struct link *link; /* of its latest call */
	uint8_t *data;
	uint64_t offset;      /* in the bench's sequence */
	uint64_t start_ticks; /* what its round trip is measured from */
	uint64_t due_ticks;   /* its next call, after thinking */
	uint32_t len;	      /* of its call's data */
	enum bench_proc proc;
	bool is_counted; /* open loop: due within the measured time */
};

/* One connection. */
struct link {
	struct client *client;
	struct weir_conn *conn;
	struct load_slot *slots;
	uint32_t nslots;
	uint64_t calls; /* of those measured */
	bool is_open;
	bool is_gone;
};

struct client {
	const struct bench_options *options;
	struct bench_shared *shared;
	/* clients whose warm-up is over, of 'nclients'; shared by all */
	_Atomic uint32_t *nsettled;
	uint32_t nclients;
	uint32_t number;
	struct weir_engine *engine;
	struct weir_region *region;
	uint8_t *region_base;
	uint32_t nlinks;
	uint32_t nactive; /* the first of them, with load */
	uint32_t turn;	  /* the one that the next call goes to, where they take turns */
	struct link *links;
	uint32_t nopen;
	uint32_t ngone;
	uint32_t in_flight;
	uint32_t lcore;
	uint32_t random;
	uint32_t nblocks; /* of a READ's size, in the working set */
	uint32_t block;	  /* sequential: the next */
	bool is_measuring;
	bool is_stopping;
	uint64_t calls_left;
	uint64_t completed; /* with or without measuring */
	struct pace pace;
	struct bench_clock clock;
	struct bench_result result;
	int rc;
	pthread_t thread;
};

/* client.c: all that does not happen under load. 0 or -errno, which was said. */
int client_init(struct client *client);
int client_connect(struct client *client);
void client_disconnect(struct client *client);
void client_fini(struct client *client);

/* load_slot.c: make the slot's next call, whose round trip counts from 'start_ticks'. 'ended': its
 * latest, whose 'done' is being called; or NULL. False: no more are to be made. */
bool load_slot_next(struct load_slot *slot, struct weir_call *ended, uint64_t start_ticks);

/* load.c: warm-up, the measured time, and the end of calls in flight. */
void client_load(struct client *client, bool shows_progress);

#endif
