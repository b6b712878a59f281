/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PEER_H
#define PEER_H

/* Functions that several peers use. A peer is a program with which weir is compared. */

#include <stdint.h>

uint64_t peer_now_ns(void);

/*
 * Pins the process to a core. If that fails, prints the reason and ends the process. A negative
 * core means that the process is not pinned.
 */
void peer_pin(long core);

#endif
