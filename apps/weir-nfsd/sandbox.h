/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SANDBOX_H
#define SANDBOX_H

/*
 * What this process may do: only what serving files takes. An error in the code that reads clients'
 * messages then gives an attacker less than root's power over the host.
 *
 * The order matters. Capabilities are dropped before any thread and before the RDMA device is
 * opened: the kernel refuses a device to a thread whose credentials have changed since it was
 * opened. The filter of system calls is installed when all is open.
 */

#include <stdbool.h>

/*
 * Find out whether the process has what a directory export needs: eight of the nine capabilities
 * that sandbox_drop() keeps, all but cap_ipc_lock.
 *
 * Returns 0; -EPERM: a capability is missing, and one line on standard error names each that is.
 */
int sandbox_check_dir(void);

/*
 * Give up all capabilities but the nine, in the bounding set, too, and set no-new-privs. The
 * process has one thread.
 *
 * Returns 0; -EPERM: the kernel refused, which was said on standard error.
 */
int sandbox_drop(void);

/*
 * Install the filter of system calls for all threads, those that run and those that come. A call
 * that the filter does not allow is written to the kernel's audit log and fails with EPERM; the
 * process goes on.
 *
 * Returns 0; -errno: there is no filter, which was said on standard error.
 */
int sandbox_filter(void);

#endif
