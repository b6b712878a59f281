/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FAULT_H
#define FAULT_H

/*
 * The interface of the driver 'fault' for tests. The option "over" names another driver below it,
 * and 'fault' makes operations of that driver fail. All faults are within the driver contract, so a
 * user must handle all of them. The driver is transparent unless faults are requested.
 *
 * Each kind of fault has occasions, which are counted. An occasion is, for example, a posted work
 * request, a received message or the registration of a region. There are two ways to request
 * faults:
 * - A fault is planned for the nth occasion from the request on: fault_at(), or option "nth" with
 *   "kinds".
 * - Occasions fail at random: fault_rate(), or options "rate" and "kinds". The device's own seed
 *   determines the choice, so the same operations meet the same faults.
 */

#include <stdbool.h>
#include <stdint.h>

struct fabric_dev;
struct fabric_qp;

enum fault_kind {
	/*
	 * Occasion: a work request is posted. FAULT_WR: the work request fails without an effect.
	 * FAULT_WR_LATE: the work request has its effect and then fails. 'how' is the status (enum
	 * fabric_status). Later work requests are flushed, and the peer is disconnected.
	 */
	FAULT_WR,
	FAULT_WR_LATE,
	FAULT_RECV, /* a message arrived: the receive fails; 'how' is the status */

	/*
	 * A completion or event can be polled: it is delayed by 'how' polls. Later ones in its
	 * queue may also be delayed.
	 */
	FAULT_DELAY,
	/*
	 * There are two kinds of occasions:
	 * - Two neighbouring completions of different queues wait to be polled. They are swapped.
	 * - Two consecutive WRITEs are in one post. They start in the other order.
	 */
	FAULT_REORDER,

	FAULT_DROP, /* completion of an established connection: the connection breaks after it */
	FAULT_CONNECTING, /* connect: it breaks at once with FAILED; 'how' is the errno */
	FAULT_FAILED,	/* ESTABLISHED on the connecting side becomes FAILED with the errno 'how' */
	FAULT_REJECTED, /* ESTABLISHED on the connecting side becomes REJECTED */
	FAULT_ACCEPTED, /* accept: the connection breaks before ESTABLISHED */
	FAULT_DISCONNECTING, /* DISCONNECTED is delayed by 'how' polls, long after the flush */
	FAULT_PREFIX, /* a post: only the first 'how' work requests are accepted, never all */

	/* The operation fails. 'how' is the errno. A failed accept ends the request. */
	FAULT_CONNECT,
	FAULT_ACCEPT,
	FAULT_LISTEN,
	FAULT_MR, /* mr_register */
	FAULT_MW, /* mw_alloc */

	/*
	 * Events are polled while a listener exists, once for each listener: the listener is lost,
	 * as when the device is removed. 'how' is the errno.
	 */
	FAULT_UNLISTENED,
	FAULT_NKINDS
};

/* All kinds except FAULT_UNLISTENED, because there are many polls and few listeners. */
#define FAULT_ALL      ((1u << FAULT_UNLISTENED) - 1)
#define FAULT_SOME_HOW (-1) /* the seed selects a value that fits the occasion */

/*
 * Plans a fault at the nth occasion from now (1: the next). Returns false when too many faults are
 * planned.
 */
bool fault_at(struct fabric_dev *dev, enum fault_kind kind, uint64_t nth, int how);
void fault_forget(struct fabric_dev *dev); /* cancels all planned faults */

/*
 * Makes about one of 'one_in' occasions of the kinds in the mask fail at random; 0: none. These
 * kinds fail 16 times as often:
 * - delays and reordering
 * - kinds that have one occasion in the life of a connection or region
 */
void fault_rate(struct fabric_dev *dev, uint32_t kinds, uint32_t one_in);

uint64_t fault_occasions(const struct fabric_dev *dev, enum fault_kind kind);
uint64_t fault_injected(const struct fabric_dev *dev, enum fault_kind kind);
/*
 * Returns the number of completions and events that wait to be polled in this driver, without those
 * in the driver below.
 */
uint32_t fault_held(const struct fabric_dev *dev);

/*
 * Return the device below, and the queue pair below. fault_inner_qp() returns NULL in these cases:
 * - A work request is outstanding that a direct operation on the queue pair below would overtake.
 * - The connection is not established, or has ended or failed.
 */
struct fabric_dev *fault_inner(struct fabric_dev *dev);
struct fabric_qp *fault_inner_qp(struct fabric_qp *qp);

const char *fault_kind_name(enum fault_kind kind);

#endif
