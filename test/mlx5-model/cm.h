/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CM_H
#define CM_H

/* The file of the connection manager, /dev/infiniband/rdma_cm, to which librdmacm writes commands.
 */

#include <stddef.h>
#include <sys/types.h>

#include "file.h"

int cm_open(void); /* returns a descriptor, or -1 with errno */
void cm_close(struct file *file);
/* Executes the command that a program has written. Returns 'len' or -errno. */
ssize_t cm_write(struct file *file, const void *buf, size_t len);

#endif
