/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UVERBS_H
#define UVERBS_H

/* The device file, /dev/infiniband/uverbs0. */

#include "file.h"

struct ib_uverbs_ioctl_hdr;

int uverbs_open(void); /* returns a descriptor, or -1 with errno */
void uverbs_close(struct file *file);
/* Handles RDMA_VERBS_IOCTL. Returns 0 or -errno. */
int uverbs_ioctl(struct file *file, struct ib_uverbs_ioctl_hdr *header);

#endif
