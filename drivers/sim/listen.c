/* SPDX-License-Identifier: BSD-3-Clause */
/* Listeners, and the connection requests that wait at them. */
#include "sim_world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool sim_addr_ok(const char *addr)
{
	return addr && *addr && strlen(addr) < FABRIC_ADDR_MAX;
}

struct fabric_listener *sim_listener_find(struct sim_world *world, const char *addr)
{
	struct fabric_listener *listener;

	TAILQ_FOREACH(listener, &world->listeners, entry)
	if (!listener->dev->is_dead && strcmp(listener->addr, addr) == 0)
		return listener;
	return NULL;
}

int sim_listen(struct fabric_dev *fdev, const char *addr, uint32_t backlog, void *ctx,
	       struct fabric_listener **out)
{
	struct sim_dev *dev = (struct sim_dev *)fdev;
	struct fabric_listener *listener;

	if (dev->is_dead)
		return -ENODEV;
	if (!sim_addr_ok(addr))
		return -EINVAL;
	if (sim_listener_find(dev->world, addr))
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

void sim_req_free(struct sim_world *world, struct fabric_conn_req *req)
{
	if (req->listener)
		backlog_remove(&req->listener->backlog, &req->waiting);
	TAILQ_REMOVE(&world->reqs, req, entry);
	free(req);
}

void sim_cm_refuse(struct sim_world *world, struct fabric_conn_req *req)
{
	struct sim_qp *qp = sim_cm_connecting(world, req->qp);

	if (qp)
		sim_cm_answer(qp, SIM_ANSWER_REFUSE);
	sim_req_free(world, req);
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
		sim_cm_refuse(dev->world, entry->req);
	}
	/* Requests that were polled stay until they are answered. */
	TAILQ_FOREACH(req, &dev->world->reqs, entry)
	if (req->listener == listener)
		req->listener = NULL;
	TAILQ_REMOVE(&dev->world->listeners, listener, entry);
	free(listener);
}
