/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POLLER_H
#define POLLER_H

/*
 * Each lcore of the profile has one thread with its own engine. New clients are assigned to the
 * threads round-robin, and all connections of one client go to the same thread. The files of an
 * export belong to one thread, the owner of the export. No other thread accesses them. A call
 * passes through these threads:
 *
 *   home    has the connection; decodes and checks the call, and hands the op to the export's owner
 *   owner   carries the op out and hands it back with its results
 *   home    encodes and replies; its engine sends the data from the owner's memory
 *
 * If home and owner are the same, as with one lcore, the op is not handed over. Ops travel through
 * the mailboxes of the engines. If a mailbox is full, the op waits in the sender's outbox, in
 * order.
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
	int cpu; /* the core to which the thread is pinned; -1: any core */
	struct op_list free_ops;
	struct holds op_holds; /* ops in use, by connection and client */
	uint32_t nops_used;    /* number of ops in use */
	uint32_t naway;	       /* ops of this home that are with owners which are other pollers */
	struct op_list outbox; /* ops whose messages have not been sent yet, in order */
};

typedef void (*poller_mail_fn)(struct weir_engine *engine, void *arg);

/*
 * Initializes a poller and creates its engine. Returns 0, or -errno after it has printed the reason
 * on standard error.
 */
int poller_init(struct poller *poller, struct server *server, int cpu);
/* Frees the ops that are not in use. The caller must have destroyed the engine before. */
void poller_fini(struct poller *poller);
/*
 * Polls once and returns the amount of work done. Runs on the poller's thread, or on any thread
 * while the poller has none.
 */
uint32_t poller_poll(struct poller *poller);
/* Polls until server->stop is set. */
void poller_run(struct poller *poller);

/*
 * Has the poller 'to' run fn(engine, arg) on its thread. The caller must run on the thread of
 * 'from'. If the mailbox of 'to' is full, the message waits in the outbox of 'from', linked by
 * 'op', which must not be used otherwise until then. If 'arg' is not 'op', 'op' is freed when the
 * message has been sent.
 */
void poller_send(struct poller *from, struct poller *to, struct op *op, poller_mail_fn fn,
		 void *arg);

#endif
