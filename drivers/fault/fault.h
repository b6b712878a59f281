/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FAULT_H
#define FAULT_H

/*
 * The driver 'fault', as tests see it: another driver underneath, named by the option "over", that
 * is made to fail. Nothing that it does is outside of the driver contract: a user must be ready for
 * all of it. Without faults asked for it is transparent.
 *
 * Each kind of fault has occasions, which are counted: a work request posted, a message received, a
 * region registered. A fault is planned for the nth occasion from now (fault_at(), or option "nth"
 * with "kinds"), or befalls occasions by chance (fault_rate(), or options "rate" and "kinds"), by
 * the device's own seed: the same ops bring the same faults.
 */

#include <stdbool.h>
#include <stdint.h>

struct fabric_dev;
struct fabric_qp;

enum fault_kind {
	/* Occasion: a work request is posted. It fails, without an effect; or its effect is had and
	 * it fails yet. 'how' is the status (enum fabric_status). What is behind it is flushed, and
	 * the peer disconnected. */
	FAULT_WR,
	FAULT_WR_LATE,
	FAULT_RECV, /* a message came: the receive fails; 'how' as above */

	/* A completion or event can be polled: it takes 'how' polls more. So may what is behind it
	   in its queue. */
	FAULT_DELAY,
	/* Completions can be polled: those of different queues change places. WRITEs were posted in
	 * one burst, with nothing between them: they start in another order. */
	FAULT_REORDER,

	FAULT_DROP, /* a completion of an established connection: the connection breaks behind it */
	FAULT_CONNECTING, /* connect: the connection breaks at once. FAILED comes; 'how' is the
			     errno */
	FAULT_FAILED, /* ESTABLISHED, where one connected: FAILED comes instead; 'how' is the errno
		       */
	FAULT_REJECTED,	     /* the same: REJECTED comes */
	FAULT_ACCEPTED,	     /* accept: the connection breaks before ESTABLISHED */
	FAULT_DISCONNECTING, /* DISCONNECTED: comes 'how' polls late, when all has been flushed for
				long */
	FAULT_PREFIX,	     /* a post: 'how' work requests of it are taken, at most all but one */

	/* The op fails. 'how' is the errno. An accept that fails has ended the request. */
	FAULT_CONNECT,
	FAULT_ACCEPT,
	FAULT_LISTEN,
	FAULT_MR, /* mr_register */
	FAULT_MW, /* mw_alloc */

	/* Events are polled where one listens, once for each listener: it is lost, as when the
	   device goes. 'how' is the errno. */
	FAULT_UNLISTENED,
	FAULT_NKINDS
};

/* But the last: polls are many, and listeners few. */
#define FAULT_ALL      ((1u << FAULT_UNLISTENED) - 1)
#define FAULT_SOME_HOW (-1) /* chosen by the seed, of what suits the occasion */

/* The nth occasion from now (1: the next) is to fail. false when too many faults are planned. */
bool fault_at(struct fabric_dev *dev, enum fault_kind kind, uint64_t nth, int how);
void fault_forget(struct fabric_dev *dev); /* all that is planned */

/* From now on about one in 'one_in' occasions of the kinds in the mask fails; 0: none. Delays and
 * reordering are 16 times as frequent, and so is what has an occasion once in the life of a
 * connection or region. */
void fault_rate(struct fabric_dev *dev, uint32_t kinds, uint32_t one_in);

uint64_t fault_occasions(const struct fabric_dev *dev, enum fault_kind kind);
uint64_t fault_injected(const struct fabric_dev *dev, enum fault_kind kind);
/* Completions and events that wait to be polled, here, not underneath. */
uint32_t fault_held(const struct fabric_dev *dev);

/* The device underneath, and a queue pair's, when nothing is outstanding between the two that what
 * is done there at once would overtake, and no fault has ended the connection; else NULL. */
struct fabric_dev *fault_inner(struct fabric_dev *dev);
struct fabric_qp *fault_inner_qp(struct fabric_qp *qp);

const char *fault_kind_name(enum fault_kind kind);

#endif
