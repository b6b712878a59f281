/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers memory and allocates memory windows. A fault can refuse both. */
#include "fault_dev.h"

#include <errno.h>

int fault_mr_register(struct fabric_dev *fdev, void *addr, size_t len, uint32_t access, int fd,
		      uint64_t fd_offset, struct fabric_mr *mr)
{
	struct fault_dev *dev = (struct fault_dev *)fdev;
	int how, rc;

	if (fault_fires(dev, FAULT_MR, &how))
		return how > 0 ? -how : -ENOMEM;
	rc = dev->ops->mr_register(dev->inner, addr, len, access, fd, fd_offset, mr);
	fault_sync(dev);
	return rc;
}

void fault_mr_deregister(struct fabric_dev *fdev, struct fabric_mr *mr)
{
	struct fault_dev *dev = (struct fault_dev *)fdev;

	dev->ops->mr_deregister(dev->inner, mr);
}

int fault_mw_alloc(struct fabric_dev *fdev, struct fabric_mw *mw)
{
	struct fault_dev *dev = (struct fault_dev *)fdev;
	int how;

	if (fault_fires(dev, FAULT_MW, &how))
		return how > 0 ? -how : -ENOMEM;
	return dev->ops->mw_alloc(dev->inner, mw);
}

void fault_mw_free(struct fabric_dev *fdev, struct fabric_mw *mw)
{
	struct fault_dev *dev = (struct fault_dev *)fdev;

	dev->ops->mw_free(dev->inner, mw);
}
