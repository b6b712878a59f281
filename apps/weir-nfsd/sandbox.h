/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SANDBOX_H
#define SANDBOX_H

/*
 * Limits this process to the capabilities and system calls that a file server needs. An attacker
 * who exploits an error in the code that decodes clients' messages then has less power over the
 * host than root has.
 */

#include <stdbool.h>

/*
 * Checks that the process has the capabilities that an export of a directory needs. These are eight
 * of the nine capabilities that sandbox_drop() keeps, all except cap_ipc_lock. Returns 0, or -EPERM
 * after it has printed one line on standard error that names each missing capability.
 */
int sandbox_check_dir(void);

/*
 * Gives up all capabilities except nine, which are listed in sandbox.c. Does so in the bounding set
 * as well, and sets no-new-privs. The process must have only one thread. Returns 0. If the kernel
 * refuses, prints what it refused on standard error and returns -EPERM.
 */
int sandbox_drop(void);

/*
 * Installs the filter of system calls for all present and future threads. A call that the filter
 * does not allow is written to the kernel's audit log and fails with EPERM. The process then
 * continues. Returns 0. If the filter cannot be installed, prints the reason on standard error and
 * returns -errno.
 */
int sandbox_filter(void);

#endif
