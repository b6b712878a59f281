/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METRICS_TIMES_H
#define METRICS_TIMES_H

/* The times of procedures. */

#include "metrics.h"

/* Writes a histogram for each procedure that has times, and a summary for each of its stages. */
void metrics_times(const struct family_out *out, struct process *const *processes, uint32_t n);

#endif
