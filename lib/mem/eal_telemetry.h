/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EAL_TELEMETRY_H
#define EAL_TELEMETRY_H

/* The socket of rte_telemetry, which EAL creates when it starts. */

#include <stdbool.h>

#define EAL_TELEMETRY_WHY_BYTES 256u

/*
 * Prepares the folder of the socket, and checks that EAL will be able to create the socket there.
 * If EAL cannot, its start fails, and a process cannot start EAL a second time. The folder is
 * locked, because EALs of two processes that start at the same time would remove each other's
 * socket.
 *
 * Returns a descriptor that the caller closes when EAL has started, which ends the lock. Returns
 * -errno if EAL must be started without telemetry, with the reason in 'why'.
 */
int eal_telemetry_prepare(char why[EAL_TELEMETRY_WHY_BYTES]);

/* Returns whether a descriptor is a socket that EAL has opened for telemetry. */
bool eal_telemetry_owns(int fd);

#endif
