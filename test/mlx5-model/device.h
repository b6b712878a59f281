/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DEVICE_H
#define DEVICE_H

/* Makes the pages of registers, and starts the thread that executes work requests, unless it runs
 * already. Returns 0 or -errno. */
int device_start(void);
/*
 * Executes all work requests that can be executed. The caller holds the lock. A command calls it
 * first, because a real device needs only microseconds for the doorbells that came before, however
 * busy the processors are.
 */
void device_catch_up(void);

#endif
