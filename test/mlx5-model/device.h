/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DEVICE_H
#define DEVICE_H

/* Starts the thread that executes work requests, unless it runs already. Returns 0 or -errno. */
int device_start(void);

#endif
