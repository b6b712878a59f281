/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PEER_H
#define PEER_H

/* What the peers share. */

#include <stdint.h>

uint64_t peer_now_ns(void);

/* Have the process run on that core alone, or end it; below 0: on any. */
void peer_pin(long core);

#endif
