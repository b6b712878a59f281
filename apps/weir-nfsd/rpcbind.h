/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RPCBIND_H
#define RPCBIND_H

/* This host's rpcbind, so that clients can ask where we are: NFS under netids rdma and rdma6, MOUNT under tcp and tcp6. */

#include <stdint.h>

/* 'listen' is what the NFS listener was given; 'mount_port' 0: no MOUNT. Without rpcbind one notice is given. */
void rpcbind_register(const char *listen, uint32_t mount_port);
/* Take back what was registered. */
void rpcbind_withdraw(void);

#endif
