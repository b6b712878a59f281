/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Establishes connections.
 *
 *   connecting side                        accepting side
 *   connect: CONNECTING   -- REQUEST -->   event REQUEST
 *   event ESTABLISHED     <-- ANSWER --    accept: ACCEPTED, receives can be posted and taken
 *   CONNECTED             --  READY  -->   event ESTABLISHED: CONNECTED
 *
 * Each arrow is a message that takes its own random time. Data do not wait for READY. Therefore the
 * first message can arrive before the accepting side gets ESTABLISHED. The connecting queue pair
 * has the private data of both directions. If one side disconnects, its device dies or its queue
 * pair fails, the other side gets the message LOST. LOST makes the event DISCONNECTED, or FAILED
 * before ESTABLISHED.
 */
#include "sim_world.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int keep_private_data(struct sim_qp *qp, const void *data, uint32_t len)
{
	if (len > FABRIC_PRIVATE_DATA_MAX)
		return -EINVAL;
	qp->private_len = len;
	if (len > 0)
		memcpy(qp->private_data, data, len);
	return 0;
}

int sim_connect(struct fabric_dev *fdev, const char *addr, const struct fabric_qp_attr *attr,
		const void *private_data, uint32_t private_len, struct fabric_qp **out)
{
	struct sim_dev *dev = (struct sim_dev *)fdev;
	struct sim_qp *qp;
	int rc;

	if (dev->is_dead)
		return -ENODEV;
	if (!sim_addr_ok(addr))
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

int sim_accept(struct fabric_dev *fdev, struct fabric_conn_req *req,
	       const struct fabric_qp_attr *attr, const void *private_data, uint32_t private_len,
	       struct fabric_qp **out)
{
	struct sim_dev *dev = (struct sim_dev *)fdev;
	struct sim_world *world = dev->world;
	struct sim_qp *peer = sim_cm_connecting(world, req->qp), *qp;
	int rc;

	if (dev->is_dead) {
		sim_req_free(world, req);
		return -ENODEV;
	}
	rc = private_len > FABRIC_PRIVATE_DATA_MAX ? -EINVAL : sim_qp_create(dev, attr, &qp);
	if (rc != 0) {
		sim_cm_refuse(world, req); /* accept ends the request even after an error */
		return rc;
	}
	qp->state = SIM_ACCEPTED;
	qp->peer = req->qp;
	sim_req_free(world, req);
	*out = &qp->base;
	if (!peer) {
		sim_cm_lose(qp); /* the connecting side has given up */
		return 0;
	}
	snprintf(qp->addr, sizeof(qp->addr), "sim-%u", peer->dev->number);
	peer->peer = qp->number;
	sim_cm_answer(peer, SIM_ANSWER_ACCEPT);
	return keep_private_data(peer, private_data, private_len);
}

int sim_reject(struct fabric_dev *fdev, struct fabric_conn_req *req, const void *private_data,
	       uint32_t private_len)
{
	struct sim_world *world = ((struct sim_dev *)fdev)->world;
	struct sim_qp *peer = sim_cm_connecting(world, req->qp);
	int rc = 0;

	sim_req_free(world, req);
	if (!peer || ((struct sim_dev *)fdev)->is_dead)
		return 0;
	if (private_len > FABRIC_PRIVATE_DATA_MAX) {
		rc = -EINVAL;
		private_len = 0;
	}
	keep_private_data(peer, private_data, private_len);
	sim_cm_answer(peer, SIM_ANSWER_REJECT);
	return rc;
}

static bool cm_next(struct sim_dev *dev, struct fabric_cm_event *event)
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

uint32_t sim_cm_poll(struct fabric_dev *fdev, struct fabric_cm_event *events, uint32_t max)
{
	struct sim_dev *dev = (struct sim_dev *)fdev;
	uint32_t n = 0;

	if (dev->world->runs_itself && TAILQ_EMPTY(&dev->cm))
		sim_step(dev->world);
	if (dev->is_dead)
		return 0;
	while (n < max && cm_next(dev, &events[n]))
		n++;
	return n;
}
