/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_LISTS_H
#define FUZZ_LISTS_H

#include "rdma1.h"

/* Write the chunk lists of an accepted header as they iterate, and hold what was counted to them
 * and to the limits. */
void fuzz_encode_lists(const struct rdma1_header *hdr, const struct rdma1_limits *limits,
		       struct rdma1_writer *w);

#endif
