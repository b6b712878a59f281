/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends a connection at the user's request. */
#include "sim_world.h"

void sim_goodbye(struct fabric_qp *fqp)
{
	((struct sim_qp *)fqp)->says_goodbye = true;
}

bool sim_has_left(const struct fabric_qp *fqp)
{
	return ((const struct sim_qp *)fqp)->peer_left;
}

void sim_disconnect(struct fabric_qp *fqp)
{
	struct sim_qp *qp = (struct sim_qp *)fqp;
	struct sim_qp *peer = sim_world_qp(qp->dev->world, qp->peer);

	if (qp->is_closed)
		return;
	qp->is_closed = true;
	sim_note(qp->dev->world, "disconnect", qp->number, 0, 0);
	sim_cm_drop(qp);
	if (peer && !qp->dev->is_dead) {
		peer->peer_left = qp->says_goodbye;
		sim_cm_lose(peer);
	}
	sim_qp_break(qp);
}

void sim_qp_destroy(struct fabric_qp *fqp)
{
	struct sim_qp *qp = (struct sim_qp *)fqp;

	if (!qp)
		return;
	/* A device may read sources until the end of the queue pair, even after a disconnect. */
	if (!qp->dev->is_dead)
		sim_sources_check(qp);
	sim_disconnect(fqp);
	sim_qp_free(qp);
}
