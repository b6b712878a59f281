/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves queue pairs between the lists that a poll goes through: hot or cold queue pairs (poll.c),
 * and those that wait for their peer (stall.c). */
#include <rte_cycles.h>

#include "shm_dev.h"
#include "shm_qp.h"

/* A header that never announces a message. It stands for the next header of a ring that is not
 * read. */
static const _Atomic uint64_t no_message;

void shm_qp_make_hot(struct shm_qp *qp)
{
	struct shm_dev *dev = shm_dev_of(qp);

	qp->empty_polls = 0;
	if (qp->is_hot)
		return;
	if (!qp->rx_in_mux)
		shm_turn_remove_cold(&dev->turns, qp->turn, qp);
	shm_turn_add_hot(&dev->turns, qp->turn, qp);
	dev->nhot++;
	qp->is_hot = true;
	shm_qp_update_limits(qp);
}

void shm_qp_make_cold(struct shm_qp *qp)
{
	struct shm_dev *dev = shm_dev_of(qp);
	struct shm_cold cold;
	bool is_ready = qp->state == QP_READY && !qp->is_rnr;

	if (qp->is_rnr)
		shm_stall_begin(qp);
	shm_turn_remove_hot(&dev->turns, qp->turn, qp);
	dev->nhot--;
	qp->is_hot = false;
	shm_qp_update_limits(qp);
	if (qp->rx_in_mux)
		return;
	cold = (struct shm_cold){
		.header = is_ready ? ring_header_at(&qp->rx.cells, qp->rx.head) : &no_message,
		.number = ring_number(is_ready ? qp->rx.head : 0),
		.qp = qp,
	};
	shm_turn_add_cold(&dev->turns, qp->turn, &cold);
}

void shm_stall_begin(struct shm_qp *qp)
{
	struct shm_stalls *stalls = &shm_dev_of(qp)->stalls;

	if (qp->is_stalled)
		return;
	qp->is_stalled = true;
	qp->stalled_since = rte_rdtsc();
	qp->stall_index = stalls->n++;
	stalls->at[qp->stall_index] = (struct shm_stall){.qp = qp};
}

void shm_stall_end(struct shm_qp *qp)
{
	struct shm_stalls *stalls = &shm_dev_of(qp)->stalls;
	uint32_t index = qp->stall_index;

	if (!qp->is_stalled)
		return;
	qp->is_stalled = false;
	stalls->at[index] = stalls->at[--stalls->n];
	stalls->at[index].qp->stall_index = index;
}
