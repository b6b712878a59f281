/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POLLER_H
#define POLLER_H

/*
 * One thread for each lcore of the profile, with an engine of its own. Clients go to them in turn,
 * and all connections of one client to the same. An export's files belong to one of them, its
 * owner; nobody else touches them:
 *
 *   home    has the connection: decodes, checks, and hands the op to the export's owner
 *   owner   carries it out, and hands it back with its results
 *   home    encodes and replies; data go from where they lie, by the home's own engine
 *
 * Where home and owner are the same, as with one lcore, nothing is handed anywhere. Ops travel by
 * the engines' mailboxes. One that a full mailbox does not take waits in the sender's outbox, in
 * its order.
 */

#include <pthread.h>

#include <weir/engine.h>

#include "op.h"

#define POLLERS_MAX 64u

struct poller {
	struct server *server;
	struct weir_engine *engine;
	pthread_t thread;
	bool has_thread;
	int cpu; /* -1: any */
	struct op_list free_ops;
	struct holds op_holds; /* of the ops that are not free, by connection */
	uint32_t nops_used;    /* that are not free */
	uint32_t naway;	       /* ops of this home that their owners have */
	struct op_list outbox;
};

typedef void (*poller_mail_fn)(struct weir_engine *engine, void *arg);

/* 0 or -errno, which was said on standard error. */
int poller_init(struct poller *poller, struct server *server, int cpu);
/* After its engine ended. */
void poller_fini(struct poller *poller);
/* Do once what there is to do. The poller's thread, or any while it has none. */
uint32_t poller_poll(struct poller *poller);
/* Poll until server->stop. */
void poller_run(struct poller *poller);

/* 'from', on its thread: have fn(engine, arg) run by 'to'. It takes op's place in the outbox until
 * 'to' has room. */
void poller_send(struct poller *from, struct poller *to, struct op *op, poller_mail_fn fn,
		 void *arg);

#endif
