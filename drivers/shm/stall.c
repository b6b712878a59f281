/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs that wait for their peer: until the peer reads from a ring, until it passes a region,
 * or until its RDMA Write ends. The list shm_dev.stalls also has queue pairs for whose next message
 * no receive of their own is posted. shm_post_recv() makes such a queue pair hot. A try here only
 * finds out whether the message has waited for too long. A peer decides how many queue pairs wait
 * and for how long. Therefore a poll does not try all of them. It looks at a few, round-robin, and
 * tries those that are due, until one of them still has to wait. The pause between two tries of a
 * queue pair is a small part of the time that it has waited. Therefore a short wait ends almost at
 * once, and a long wait costs almost nothing.
 *
 * The work of these queue pairs is subject to the turn of their user (turn.h), although it is not
 * done in a poll of that turn. The reason is that a peer decides when its queue pairs can continue,
 * and could let all of them continue in one poll. A queue pair that is skipped because of its
 * user's debt is looked at again after the others.
 */
#include <rte_cycles.h>

#include "recv.h"
#include "shm_dev.h"
#include "shm_qp.h"

#define FEW	     8u /* queue pairs that a poll looks at */
#define PAUSE_PART   8u /* a pause is the wait so far, divided by this number */
#define PAUSE_MAX_MS 1	/* longest pause */

bool shm_stall_try(struct shm_qp *qp)
{
	bool goes_on = shm_run_pending(qp);
	uint64_t pause, longest = rte_get_tsc_hz() / 1000 * PAUSE_MAX_MS, now = rte_rdtsc();
	bool waits = qp->npending > 0 || (qp->is_switching && shm_mux_step(qp));

	waits |= shm_recv_is_awaited(qp);

	if (qp->done_head != qp->done_tail)
		shm_qp_make_hot(qp);
	if (!waits) {
		shm_stall_end(qp);
		return true;
	}
	if (goes_on)
		qp->stalled_since = now;
	pause = (now - qp->stalled_since) / PAUSE_PART;
	if (pause > longest)
		pause = longest;
	shm_dev_of(qp)->stalls.at[qp->stall_index].retry_at = now + pause;
	return goes_on;
}

/* Returns whether the user of a queue pair is allowed to have it continue in this poll: no other
 * queue pair of the user has continued in this poll, and the user has no debt. A single user is
 * always allowed to. */
static bool may_go_on(const struct shm_turns *turns, const struct shm_qp *qp)
{
	if (turns->n <= 1)
		return true;
	return qp->turn->tried_at != turns->repaid && shm_turn_debt(turns, qp->turn) == 0;
}

void shm_stalls_try(struct shm_dev *dev)
{
	struct shm_stalls *stalls = &dev->stalls;
	uint64_t now = rte_rdtsc();

	for (uint32_t i = 0; i < FEW && i < stalls->n; i++) {
		const struct shm_stall *stall;
		struct shm_turn *turn;

		if (++stalls->next >= stalls->n)
			stalls->next = 0;
		stall = &stalls->at[stalls->next];
		if (now < stall->retry_at || !may_go_on(&dev->turns, stall->qp))
			continue;
		turn = stall->qp->turn;
		if (!shm_stall_try(stall->qp))
			break;
		turn->tried_at = dev->turns.repaid;
	}
}
