/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UMR_H
#define UMR_H

/* Work requests that bind a window, or invalidate one locally. The device has one opcode for both,
 * UMR, which is short for user-mode memory registration. */

#include "qp.h"

/*
 * Executes an entry of 'units' 16-byte units. Returns 0, or the syndrome of its completion.
 */
uint8_t umr_execute(const struct qp *qp, const uint8_t *entry, uint32_t units);

#endif
