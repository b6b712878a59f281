/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PEER_H
#define PEER_H

/* Common functions of the peers. */

#include <stdint.h>

uint64_t peer_now_ns(void);

/* Pins the process to a core, or ends it on failure. A negative core means any. */
void peer_pin(long core);

#endif
