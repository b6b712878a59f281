/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METRICS_H
#define METRICS_H

/* The metrics of processes. A process has a label "process", which is the name of its socket. */

#include <stdbool.h>

#include "family.h"
#include "watch_find.h"
#include "watch_state.h"

/* A process that was read. */
struct process {
	char name[WATCH_NAME_BYTES];
	bool is_up; /* false: the members below are not known */
	int64_t pid;
	char version[64]; /* of DPDK */
	struct watch_state state;
};

/* Writes all metrics of the processes. */
void metrics_print(const struct family_out *out, struct process *const *processes, uint32_t n);

#endif
