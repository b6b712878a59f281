/* SPDX-License-Identifier: BSD-3-Clause */
/* Begins and ends listeners. A fault can refuse a listener. */
#include "fault_dev.h"

#include <errno.h>
#include <stdlib.h>

int fault_listen(struct fabric_dev *fdev, const char *addr, uint32_t backlog, void *ctx,
		 struct fabric_listener **out)
{
	struct fault_dev *dev = (struct fault_dev *)fdev;
	struct fabric_listener *listener;
	int how, rc;

	if (fault_fires(dev, FAULT_LISTEN, &how))
		return how > 0 ? -how : -EADDRINUSE;
	if (!dev->has_listened) {
		rc = fault_reserve(dev, 0, FAULT_REQUESTS_MAX);
		if (rc != 0)
			return rc;
		dev->has_listened = true;
	}
	listener = calloc(1, sizeof(*listener));
	if (!listener)
		return -ENOMEM;
	listener->dev = dev;
	listener->ctx = ctx;
	rc = dev->ops->listen(dev->inner, addr, backlog, listener, &listener->inner);
	if (rc != 0) {
		free(listener);
		return rc;
	}
	LIST_INSERT_HEAD(&dev->listeners, listener, entry);
	*out = listener;
	return 0;
}

void fault_unlisten(struct fabric_listener *listener)
{
	struct fault_dev *dev;

	if (!listener)
		return;
	dev = listener->dev;
	for (uint32_t i = dev->nevents; i-- > 0;) {
		if (dev->events[i].listener != listener)
			continue;
		if (dev->events[i].event.kind == FABRIC_CM_REQUEST)
			dev->ops->reject(dev->inner, dev->events[i].event.req, NULL, 0);
		fault_event_drop(dev, i);
	}
	LIST_REMOVE(listener, entry);
	dev->ops->unlisten(listener->inner);
	free(listener);
}
