/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METRICS_CONNS_H
#define METRICS_CONNS_H

/* The metrics of connections. */

#include "metrics.h"

/* Writes the metrics of the connections that were read. */
void metrics_conns(const struct family_out *out, struct process *const *processes, uint32_t n);

#endif
