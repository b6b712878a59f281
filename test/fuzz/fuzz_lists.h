/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_LISTS_H
#define FUZZ_LISTS_H

#include "rdma1.h"

/*
 * Encodes the chunk lists of an accepted header, by its iterators, to 'w'. Checks the elements
 * against the counts in the header and against the limits.
 */
void fuzz_encode_lists(const struct rdma1_header *hdr, const struct rdma1_limits *limits,
		       struct rdma1_writer *w);

#endif
