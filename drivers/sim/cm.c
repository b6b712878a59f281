/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Set-up and end of connections.
 *
 *   connecting side                        accepting side
 *   connect: CONNECTING   -- REQUEST -->   event REQUEST
 *   event ESTABLISHED     <-- ANSWER --    accept: ACCEPTED, receives may be posted and met
 *   CONNECTED             --  READY  -->   event ESTABLISHED: CONNECTED
 *
 * Every arrow takes its own time, and data does not wait for READY: the first message may be there
 * before the accepting side is told that the connection is. Private data waits in the connecting
 * queue pair. LOST comes to whoever is left, when the other side ended, died or broke; before
 * ESTABLISHED it reads FAILED.
 */
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

static int keep_private_data(struct sim_qp *qp, const void *data, uint32_t len)
{
	if (len > FABRIC_PRIVATE_DATA_MAX)
		return -EINVAL;
	qp->private_len = len;
	if (len > 0)
		memcpy(qp->private_data, data, len);
	return 0;
}

/* The only event, when it does not come to ESTABLISHED. */
static struct sim_cm_entry *end_with(struct sim_qp *qp, enum fabric_cm_kind kind, int error)
{
	qp->end_raised = true;
	sim_qp_break(qp);
	return sim_cm_raise(qp, kind, error);
}

/* A connecting queue pair by number, as long as it waits for an answer. */
static struct sim_qp *connecting(struct sim_world *world, uint32_t number)
{
	struct sim_qp *qp = sim_world_qp(world, number);

	return qp && qp->state == SIM_CONNECTING ? qp : NULL;
}

static void answer(struct sim_qp *qp, enum sim_answer kind)
{
	qp->answer = kind;
	sim_cm_send(qp, SIM_CM_ANSWER);
}

static struct fabric_listener *listener_find(struct sim_world *world, const char *addr)
{
	struct fabric_listener *listener;

	TAILQ_FOREACH(listener, &world->listeners, entry)
	if (!listener->dev->is_dead && strcmp(listener->addr, addr) == 0)
		return listener;
	return NULL;
}

static bool addr_ok(const char *addr)
{
	return addr && *addr && strlen(addr) < FABRIC_ADDR_MAX;
}

int sim_listen(struct fabric_dev *fdev, const char *addr, uint32_t backlog, void *ctx,
	       struct fabric_listener **out)
{
	struct sim_dev *dev = (struct sim_dev *)fdev;
	struct fabric_listener *listener;

	if (dev->is_dead)
		return -ENODEV;
	if (!addr_ok(addr))
		return -EINVAL;
	if (listener_find(dev->world, addr))
		return -EADDRINUSE;
	listener = calloc(1, sizeof(*listener));
	if (!listener)
		return -ENOMEM;
	listener->dev = dev;
	listener->ctx = ctx;
	backlog_init(&listener->backlog, backlog > 0 ? backlog : 1);
	snprintf(listener->addr, sizeof(listener->addr), "%s", addr);
	TAILQ_INSERT_TAIL(&dev->world->listeners, listener, entry);
	*out = listener;
	return 0;
}

static void req_free(struct sim_world *world, struct fabric_conn_req *req)
{
	if (req->listener)
		backlog_remove(&req->listener->backlog, &req->waiting);
	TAILQ_REMOVE(&world->reqs, req, entry);
	free(req);
}

static void cm_refuse(struct sim_world *world, struct fabric_conn_req *req)
{
	struct sim_qp *qp = connecting(world, req->qp);

	if (qp)
		answer(qp, SIM_ANSWER_REFUSE);
	req_free(world, req);
}

void sim_unlisten(struct fabric_listener *listener)
{
	struct sim_cm_entry *entry, *next;
	struct fabric_conn_req *req;
	struct sim_dev *dev;

	if (!listener)
		return;
	dev = listener->dev;
	for (entry = TAILQ_FIRST(&dev->cm); entry; entry = next) {
		next = TAILQ_NEXT(entry, entry);
		if (!entry->req || entry->req->listener != listener)
			continue;
		sim_cm_remove(dev, entry);
		cm_refuse(dev->world, entry->req);
	}
	/* Those that were handed over live on until they are answered. */
	TAILQ_FOREACH(req, &dev->world->reqs, entry)
	if (req->listener == listener)
		req->listener = NULL;
	TAILQ_REMOVE(&dev->world->listeners, listener, entry);
	free(listener);
}

int sim_connect(struct fabric_dev *fdev, const char *addr, const struct fabric_qp_attr *attr,
		const void *private_data, uint32_t private_len, struct fabric_qp **out)
{
	struct sim_dev *dev = (struct sim_dev *)fdev;
	struct sim_qp *qp;
	int rc;

	if (dev->is_dead)
		return -ENODEV;
	if (!addr_ok(addr))
		return -EINVAL;
	rc = sim_qp_create(dev, attr, &qp);
	if (rc != 0)
		return rc;
	rc = keep_private_data(qp, private_data, private_len);
	if (rc != 0) {
		sim_qp_free(qp);
		return rc;
	}
	snprintf(qp->addr, sizeof(qp->addr), "%s", addr);
	sim_cm_send(qp, SIM_CM_REQUEST);
	sim_cm_schedule(qp, SIM_CM_TIMEOUT, dev->world->options.cm_timeout_ns);
	*out = &qp->base;
	return 0;
}

static struct fabric_conn_req *req_of(struct backlog_entry *waiting)
{
	return (struct fabric_conn_req *)((uintptr_t)waiting -
					  offsetof(struct fabric_conn_req, waiting));
}

/* Whether a request of this device may wait at the listener. Another may have to give way to it. */
static bool admit(struct fabric_listener *listener, const struct backlog_peer *peer)
{
	struct backlog_entry *oldest;

	if (!backlog_is_full(&listener->backlog))
		return true;
	listener->dev->base.stats.requests_displaced++;
	oldest = backlog_displaced(&listener->backlog, peer);
	if (oldest) {
		sim_cm_remove(listener->dev, &req_of(oldest)->request);
		cm_refuse(listener->dev->world, req_of(oldest));
	}
	return oldest != NULL;
}

static void request(struct sim_qp *qp)
{
	const struct backlog_peer peer = {{qp->dev->number}};
	struct sim_world *world = qp->dev->world;
	struct fabric_listener *listener = listener_find(world, qp->addr);
	struct fabric_conn_req *req;
	struct sim_cm_entry *entry;

	if (!listener || !admit(listener, &peer)) {
		answer(qp, SIM_ANSWER_REFUSE);
		return;
	}
	req = calloc(1, sizeof(*req));
	if (!req) {
		answer(qp, SIM_ANSWER_REFUSE);
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

int sim_accept(struct fabric_dev *fdev, struct fabric_conn_req *req,
	       const struct fabric_qp_attr *attr, const void *private_data, uint32_t private_len,
	       struct fabric_qp **out)
{
	struct sim_dev *dev = (struct sim_dev *)fdev;
	struct sim_world *world = dev->world;
	struct sim_qp *peer = connecting(world, req->qp), *qp;
	int rc;

	if (dev->is_dead) {
		req_free(world, req);
		return -ENODEV;
	}
	rc = private_len > FABRIC_PRIVATE_DATA_MAX ? -EINVAL : sim_qp_create(dev, attr, &qp);
	if (rc != 0) {
		cm_refuse(world, req); /* the request ends here either way */
		return rc;
	}
	qp->state = SIM_ACCEPTED;
	qp->peer = req->qp;
	req_free(world, req);
	*out = &qp->base;
	if (!peer) {
		sim_cm_lose(qp); /* it gave up meanwhile */
		return 0;
	}
	snprintf(qp->addr, sizeof(qp->addr), "sim-%u", peer->dev->number);
	peer->peer = qp->number;
	answer(peer, SIM_ANSWER_ACCEPT);
	return keep_private_data(peer, private_data, private_len);
}

int sim_reject(struct fabric_dev *fdev, struct fabric_conn_req *req, const void *private_data,
	       uint32_t private_len)
{
	struct sim_world *world = ((struct sim_dev *)fdev)->world;
	struct sim_qp *peer = connecting(world, req->qp);
	int rc = 0;

	req_free(world, req);
	if (!peer || ((struct sim_dev *)fdev)->is_dead)
		return 0;
	if (private_len > FABRIC_PRIVATE_DATA_MAX) {
		rc = -EINVAL;
		private_len = 0;
	}
	keep_private_data(peer, private_data, private_len);
	answer(peer, SIM_ANSWER_REJECT);
	return rc;
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

/* The other side died without a word: what was on its way may come back as never answered. */
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

bool sim_cm_next(struct sim_dev *dev, struct fabric_cm_event *event)
{
	struct sim_cm_entry *entry = TAILQ_FIRST(&dev->cm);

	if (!entry)
		return false;
	if (entry->event.kind == FABRIC_CM_ESTABLISHED)
		entry->qp->may_send = true;
	if (entry->req && entry->req->listener)
		backlog_remove(&entry->req->listener->backlog, &entry->req->waiting);
	*event = entry->event;
	sim_cm_remove(dev, entry);
	return true;
}
