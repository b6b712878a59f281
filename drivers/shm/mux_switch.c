/* SPDX-License-Identifier: BSD-3-Clause */
/* The switch of a queue pair from its own rings to its mux (mux.h). */
#include "shm_dev.h"
#include "shm_qp.h"

/* Writes a message of the kind MUX_HELLO or MUX_SWITCH to the mux. Returns 1 if it was written, and
 * 0 if the mux has no room yet. Returns -1 if the peer has published an impossible head of the
 * ring, which ends the queue pair. */
static int mux_put_control(struct shm_qp *qp, uint32_t kind)
{
	int rc = ring_put_tagged(&qp->mux->tx, qp->mux_tag | kind << MUX_KIND_SHIFT, NULL, 0);

	if (rc < 0)
		shm_qp_violated(qp);
	else if (rc == 1)
		shm_wake_peer_any(qp);
	return rc;
}

bool shm_mux_step(struct shm_qp *qp)
{
	int rc;

	if (qp->state != QP_READY)
		return false;
	if (qp->mux->is_connector && !qp->is_greeted) {
		rc = mux_put_control(qp, MUX_HELLO);
		if (rc != 1)
			return rc == 0;
		qp->is_greeted = true;
	}
	if (qp->is_heard && !qp->tx_in_mux && qp->npending == 0) {
		rc = mux_put_control(qp, MUX_SWITCH);
		if (rc != 1)
			return rc == 0;
		mux_begin_sending(qp);
		shm_qp_update_limits(qp);
	}
	qp->is_switching = !(qp->tx_in_mux && qp->rx_in_mux);
	return false;
}

void shm_mux_on_control(struct shm_qp *qp, uint32_t kind)
{
	shm_qp_make_hot(qp);
	qp->is_heard = true;
	qp->rx_in_mux |= kind == MUX_SWITCH;
	shm_qp_update_limits(qp);
}
