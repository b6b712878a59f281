/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_V2_H
#define REPORT_V2_H

/* Functions that report parts of a version 2 message. */

#include "report.h"
#include "rtr.h"

const char *direction_name(enum rdma1_direction direction); /* "CALL", "REPLY" */

void report_segments2(struct emit *e, const char *name, struct rdma1_segment_iter segments);

/* Reports the properties of a property procedure. */
void report_properties(struct emit *e, const struct rdma2_header *hdr);

/* Reports the rdma_optinfo of the extension. */
void report_rtr(struct emit *e, const struct rtr_header *rtr);

#endif
