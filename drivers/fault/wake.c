/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleeping: passes the operations on. Completions and events that this driver holds become due by
 * polls. Therefore the device has work while it holds any. */
#include "fault_dev.h"

#include <errno.h>

int fault_wake_attach(struct fabric_dev *fdev, struct fabric_waker *waker)
{
	struct fault_dev *dev = (struct fault_dev *)fdev;

	return dev->ops->wake_attach ? dev->ops->wake_attach(dev->inner, waker) : -EOPNOTSUPP;
}

int fault_arm(struct fabric_dev *fdev, uint64_t *timeout_ns)
{
	struct fault_dev *dev = (struct fault_dev *)fdev;

	if (dev->ncq > 0 || dev->nevents > 0)
		return -EAGAIN;
	return dev->ops->arm(dev->inner, timeout_ns);
}

void fault_disarm(struct fabric_dev *fdev)
{
	struct fault_dev *dev = (struct fault_dev *)fdev;

	dev->ops->disarm(dev->inner);
	fault_sync(dev);
}
