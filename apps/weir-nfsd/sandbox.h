/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SANDBOX_H
#define SANDBOX_H

/*
 * Limits this process to what a file server needs. An error in the code that decodes clients'
 * messages then gives an attacker less than root's power over the host.
 *
 * The order of the steps matters:
 *
 * 1. Capabilities are dropped before any thread exists and before the RDMA device is opened. The
 *    kernel refuses the use of a device to a thread whose credentials have changed since the device
 *    was opened.
 * 2. The filter of system calls is installed after everything has been opened.
 */

#include <stdbool.h>

/*
 * Checks that the process has the capabilities that a directory export needs: eight of the nine
 * that sandbox_drop() keeps, all but cap_ipc_lock. Returns 0, or -EPERM after it has printed one
 * line on standard error that names each missing capability.
 */
int sandbox_check_dir(void);

/*
 * Gives up all capabilities but the nine, also in the bounding set, and sets no-new-privs. The
 * process must have one thread. Returns 0, or -EPERM after it has printed on standard error what
 * the kernel refused.
 */
int sandbox_drop(void);

/*
 * Installs the filter of system calls for all present and future threads. A call that the filter
 * does not allow is written to the kernel's audit log and fails with EPERM; the process continues.
 * Returns 0, or -errno after it has printed the reason on standard error if there is no filter.
 */
int sandbox_filter(void);

#endif
