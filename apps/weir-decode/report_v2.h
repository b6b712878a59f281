/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_V2_H
#define REPORT_V2_H

/*
 * Functions that report parts of a version 2 message to 'e'. report_v2.c calls them, and the files
 * report_prop.c and report_rtr.c have some of them.
 */

#include "report.h"
#include "rtr.h"

const char *direction_name(enum rdma1_direction direction); /* returns "CALL" or "REPLY" */

/* Reports a list of segments, with the names of version 2. */
void report_segments2(struct emit *e, const char *name, struct rdma1_segment_iter segments);

/*
 * Reports the properties that a message of a property procedure (such as RDMA2_CONNPROP) carries.
 */
void report_properties(struct emit *e, const struct rdma2_header *hdr);

/* Reports the rdma_optinfo of a message of the extension rtrext-01. */
void report_rtr(struct emit *e, const struct rtr_header *rtr);

#endif
