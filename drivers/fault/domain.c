/* SPDX-License-Identifier: BSD-3-Clause */
/* Protection domains of queue pairs, which are those of the driver below. */
#include "fault_dev.h"

int fault_own_domains(struct fabric_dev *fdev)
{
	struct fault_dev *dev = (struct fault_dev *)fdev;

	return dev->ops->own_domains(dev->inner);
}

uint32_t fault_qp_rkey(const struct fabric_qp *fqp, uint32_t rkey)
{
	const struct fault_qp *qp = (const struct fault_qp *)fqp;

	return qp->dev->ops->qp_rkey(qp->inner, rkey);
}
