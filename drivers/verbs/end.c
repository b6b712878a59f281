/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends a connection: at the user's request, after an error, or with its queue pair. */
#include "alloc.h"
#include "verbs.h"

void verbs_link_free(struct verbs_link *link)
{
	if (link->id)
		rdma_destroy_id(link->id);
	mem_free(link);
}

void verbs_link_remove(struct verbs_link *link)
{
	verbs_lock();
	verbs_event_drop_all(link);
	TAILQ_REMOVE(&link->dev->links, link, entry);
	link->state = LINK_DEAD;
	if (link->qp)
		link->qp->link = NULL;
	link->qp = NULL;
	verbs_unlock();
}

void verbs_link_break(struct verbs_qp *qp)
{
	verbs_lock();
	/* librdmacm reports the end when the peer has answered the disconnect, or when the answer
	 * is overdue. Then the engine gets its event. */
	if (qp->link && qp->link->state == LINK_OPEN)
		rdma_disconnect(qp->link->id);
	if (qp->link)
		qp->link->breaks = true;
	verbs_unlock();
}

bool verbs_has_left(const struct fabric_qp *fqp)
{
	return atomic_load(&((const struct verbs_qp *)fqp)->peer_left);
}

void verbs_disconnect(struct fabric_qp *fqp)
{
	struct verbs_qp *qp = (struct verbs_qp *)fqp;

	verbs_lock();
	if (qp->link) {
		verbs_event_drop_all(qp->link);
		if (qp->link->state == LINK_OPEN || qp->link->state == LINK_ACCEPTED)
			rdma_disconnect(qp->link->id);
		qp->link->state = LINK_DEAD;
	}
	verbs_unlock();
	verbs_qp_fail(qp);
}

void verbs_qp_destroy(struct fabric_qp *fqp)
{
	struct verbs_qp *qp = (struct verbs_qp *)fqp;
	struct verbs_link *link;

	if (!qp)
		return;
	verbs_disconnect(fqp);
	link = qp->link;
	verbs_link_remove(link);
	if (qp->srq)
		verbs_srq_leave(qp);
	else
		verbs_qp_free(qp);
	verbs_link_free(link);
}
