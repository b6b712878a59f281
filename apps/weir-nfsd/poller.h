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
 * If home and owner are the same, as with one lcore, the op is not handed over. The threads, and
 * the messages in which ops travel, are those of weir's runtime (weir/runtime.h).
 */

#include <weir/runtime.h>

#include "op.h"

#define POLLERS_MAX WEIR_RUNTIME_THREADS_MAX

struct poller {
	struct server *server;
	struct weir_engine *engine;
	uint32_t index; /* of the thread in the runtime */
	struct op_list free_ops;
	struct holds op_holds;	 /* ops in use, by connection and client */
	uint32_t nops_used;	 /* number of ops in use */
	uint32_t naway;		 /* ops of this home that are with owners which are other pollers */
	uint32_t nreleases;	 /* messages that release memory and have not been sent yet */
	_Atomic uint64_t npolls; /* number of polls, which the watchdog reads */
};

typedef void (*poller_mail_fn)(struct weir_engine *engine, void *arg);

/* Initializes the poller of the runtime's thread 'index'. */
void poller_init(struct poller *poller, struct server *server, uint32_t index);
/* Frees the ops that are not in use. The caller must have destroyed the engine before. */
void poller_fini(struct poller *poller);
/*
 * Polls the exports that the poller owns, at the time 'now_ns', and returns the amount of work
 * done. Runs on the poller's thread, or on any thread while the poller has none.
 */
uint32_t poller_poll(struct poller *poller, uint64_t now_ns);

/*
 * Wakes the poller's thread while 'fd' is readable. The caller must own the poller's engine.
 * Returns 0 or -errno.
 */
int poller_watch(struct poller *poller, int fd);

/*
 * Has the poller 'to' run fn(engine, arg) on its thread. The caller must run on the thread of
 * 'from'. The message is in 'op', which must not be used otherwise until it was sent. If 'arg' is
 * not 'op', 'op' is freed when the message has been sent.
 */
void poller_send(struct poller *from, struct poller *to, struct op *op, poller_mail_fn fn,
		 void *arg);

#endif
