/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FAULT_H
#define FAULT_H

/*
 * The interface of the driver 'fault' for tests. The option "over" names another driver below it,
 * and 'fault' makes operations of that driver fail. All faults are within the driver contract.
 * Therefore a user of the driver must handle all of them. As long as no faults are requested, the
 * driver only passes operations on.
 *
 * Each kind of fault has occasions, at which a fault of this kind can occur, and which are counted.
 * An occasion is, for example, a posted work request, a received message or the registration of a
 * region. There are two ways to request faults:
 * - A fault is planned for the nth occasion from the request on: fault_at(), or option "nth" with
 *   "kinds".
 * - Faults occur at random: fault_rate(), or options "rate" and "kinds". The device's own seed
 *   determines the choice. Therefore the same operations meet the same faults.
 */

#include <stdbool.h>
#include <stdint.h>

struct fabric_dev;
struct fabric_qp;

/*
 * The comment of a kind names its occasion, then the effect of the fault. 'how' is the parameter of
 * fault_at().
 */
enum fault_kind {
	/*
	 * Occasion: a work request is posted. FAULT_WR: the work request fails without an effect.
	 * FAULT_WR_LATE: the work request has its effect and then fails. 'how' is the status (enum
	 * fabric_status). Later work requests are flushed, and the peer is disconnected.
	 */
	FAULT_WR,
	FAULT_WR_LATE,
	FAULT_RECV, /* a message has arrived: the receive fails; 'how' is the status */

	/*
	 * A completion or an event has arrived: it is delayed by 'how' polls. Later completions of
	 * the same queue, or later events of the same queue pair, can be delayed, too, because they
	 * keep their order.
	 */
	FAULT_DELAY,
	/*
	 * There are two kinds of occasions:
	 * - Two neighbouring completions of different queues wait to be polled. They are swapped.
	 * - Two consecutive WRITEs are in one post. They start in the other order.
	 */
	FAULT_REORDER,

	FAULT_DROP, /* a completion of an established connection: the connection ends after it */
	/* connect: the connection ends at once with FAILED; 'how' is the errno */
	FAULT_CONNECTING,
	FAULT_FAILED,	/* ESTABLISHED on the connecting side becomes FAILED with the errno 'how' */
	FAULT_REJECTED, /* ESTABLISHED on the connecting side becomes REJECTED */
	FAULT_ACCEPTED, /* accept: the connection ends before ESTABLISHED */
	FAULT_DISCONNECTING, /* DISCONNECTED is delayed by 'how' polls, beyond the flush */
	/* a post: only the first 'how' work requests are accepted, and never all of them */
	FAULT_PREFIX,

	/* The operation of this name: it fails. 'how' is the errno. A failed accept ends the
	 * request. */
	FAULT_CONNECT,
	FAULT_ACCEPT,
	FAULT_LISTEN,
	FAULT_MR, /* mr_register */
	FAULT_MW, /* mw_alloc */

	/*
	 * Events are polled, once for each listener that exists: the listener is lost, as after the
	 * removal of the device. 'how' is the errno.
	 */
	FAULT_UNLISTENED,
	FAULT_NKINDS
};

/* All kinds except FAULT_UNLISTENED, because there are many polls and few listeners. */
#define FAULT_ALL      ((1u << FAULT_UNLISTENED) - 1)
#define FAULT_SOME_HOW (-1) /* the seed selects a value that fits the occasion */

/*
 * Plans a fault at the nth occasion of this kind from now on (1: the next one). Returns false if
 * too many faults are planned.
 */
bool fault_at(struct fabric_dev *dev, enum fault_kind kind, uint64_t nth, int how);
void fault_forget(struct fabric_dev *dev); /* cancels all planned faults */

/*
 * Starts random faults. A fault occurs at about one of 'one_in' occasions of the kinds in the mask
 * 'kinds', or at none if 'one_in' is 0. Faults of these kinds occur 16 times as often:
 * - delays and reordering
 * - kinds that have one occasion in the life of a connection or region
 */
void fault_rate(struct fabric_dev *dev, uint32_t kinds, uint32_t one_in);

uint64_t fault_occasions(const struct fabric_dev *dev, enum fault_kind kind);
uint64_t fault_injected(const struct fabric_dev *dev, enum fault_kind kind);
/*
 * Returns the number of completions and events that wait in this driver to be polled. Those that
 * wait in the driver below are not counted.
 */
uint32_t fault_held(const struct fabric_dev *dev);

/*
 * Return the device and the queue pair of the driver below. fault_inner_qp() returns NULL in these
 * cases:
 * - A work request is outstanding, which a direct operation on the queue pair below would overtake.
 * - The connection is not established, or has ended or failed.
 */
struct fabric_dev *fault_inner(struct fabric_dev *dev);
struct fabric_qp *fault_inner_qp(struct fabric_qp *qp);

const char *fault_kind_name(enum fault_kind kind);

#endif
