/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_H
#define REPORT_H

#include "emit.h"
#include "rdma1.h"

/* Decode the message as the engine would, and tell all of it to 'e'. */
void report_message(struct emit *e, const uint8_t *msg, uint32_t len, enum rdma1_direction direction);

#endif
