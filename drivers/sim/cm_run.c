/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles messages of the connection manager when they arrive. The arrows at the head of cm.c are
 * these messages. */
#include "sim_world.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_private_data(struct sim_cm_entry *entry, const struct sim_qp *qp)
{
	entry->event.private_len = qp->private_len;
	memcpy(entry->event.private_data, qp->private_data, qp->private_len);
}

/* Breaks a queue pair, and queues its last event. Returns the entry of this event. */
static struct sim_cm_entry *end_with(struct sim_qp *qp, enum fabric_cm_kind kind, int error)
{
	qp->end_raised = true;
	sim_qp_break(qp);
	return sim_cm_raise(qp, kind, error);
}

static struct fabric_conn_req *req_of(struct backlog_entry *waiting)
{
	return (struct fabric_conn_req *)((uintptr_t)waiting -
					  offsetof(struct fabric_conn_req, waiting));
}

/*
 * Returns whether a new request of this peer can wait at the listener. If the backlog is full, the
 * request displaces a waiting request, if backlog.h permits that.
 */
static bool admit(struct fabric_listener *listener, const struct backlog_peer *peer)
{
	struct backlog_entry *oldest;

	if (!backlog_is_full(&listener->backlog))
		return true;
	listener->dev->base.stats.requests_displaced++;
	oldest = backlog_displaced(&listener->backlog, peer);
	if (oldest) {
		sim_cm_remove(listener->dev, &req_of(oldest)->request);
		sim_cm_refuse(listener->dev->world, req_of(oldest));
	}
	return oldest != NULL;
}

static void request(struct sim_qp *qp)
{
	const struct backlog_peer peer = {{qp->dev->number}};
	struct sim_world *world = qp->dev->world;
	struct fabric_listener *listener = sim_listener_find(world, qp->addr);
	struct fabric_conn_req *req;
	struct sim_cm_entry *entry;

	if (!listener || !admit(listener, &peer)) {
		sim_cm_answer(qp, SIM_ANSWER_REFUSE);
		return;
	}
	req = calloc(1, sizeof(*req));
	if (!req) {
		sim_cm_answer(qp, SIM_ANSWER_REFUSE);
		return;
	}
	req->listener = listener;
	req->qp = qp->number;
	TAILQ_INSERT_TAIL(&world->reqs, req, entry);
	backlog_add(&listener->backlog, &req->waiting, &peer);
	entry = &req->request;
	entry->req = req;
	entry->event.req = req;
	entry->event.listener_ctx = listener->ctx;
	add_private_data(entry, qp);
	snprintf(entry->event.peer.address, sizeof(entry->event.peer.address), "sim-%u",
		 qp->dev->number);
	sim_cm_add(listener->dev, entry, FABRIC_CM_REQUEST);
}

static void answered(struct sim_qp *qp)
{
	struct sim_qp *peer = sim_world_qp(qp->dev->world, qp->peer);

	switch (qp->answer) {
	case SIM_ANSWER_ACCEPT:
		qp->state = SIM_CONNECTED;
		qp->was_established = true;
		add_private_data(sim_cm_raise(qp, FABRIC_CM_ESTABLISHED, 0), qp);
		if (peer)
			sim_cm_send(peer, SIM_CM_READY);
		break;
	case SIM_ANSWER_REJECT:
		add_private_data(end_with(qp, FABRIC_CM_REJECTED, 0), qp);
		break;
	case SIM_ANSWER_REFUSE:
		end_with(qp, FABRIC_CM_FAILED, -ECONNREFUSED);
		break;
	}
}

/*
 * If the peer's device has died, lets the oldest work request that was started fail with
 * FABRIC_ERR_RETRY in a random half of the cases, as if the peer had never answered.
 */
static void give_up(struct sim_qp *qp)
{
	const struct sim_qp *peer = sim_world_qp(qp->dev->world, qp->peer);
	struct sim_swr *swr;

	if (!peer || !peer->dev->is_dead || qp->sq.completed == qp->sq.next ||
	    qp->state == SIM_BROKEN)
		return;
	swr = sim_sq_at(qp, qp->sq.completed);
	if (sim_random_below(qp->dev->world, 2) == 0) {
		swr->state = SIM_DONE;
		swr->status = FABRIC_ERR_RETRY;
	}
}

static void lost(struct sim_qp *qp)
{
	give_up(qp);
	if (qp->was_established)
		end_with(qp, FABRIC_CM_DISCONNECTED, qp->peer_left ? -ESHUTDOWN : 0);
	else
		end_with(qp, FABRIC_CM_FAILED, -ECONNRESET);
}

void sim_cm_run(struct sim_qp *qp, enum sim_event_kind kind)
{
	if (kind == SIM_CM_REQUEST) {
		request(qp);
	} else if (kind == SIM_CM_ANSWER) {
		answered(qp);
	} else if (kind == SIM_CM_TIMEOUT) {
		end_with(qp, FABRIC_CM_FAILED, -ETIMEDOUT);
	} else if (kind == SIM_CM_READY) {
		qp->state = SIM_CONNECTED;
		qp->was_established = true;
		sim_cm_raise(qp, FABRIC_CM_ESTABLISHED, 0);
	} else {
		lost(qp);
	}
}
