/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PAIR_PROGRAM_H
#define PAIR_PROGRAM_H

/* The RPC program of a pair's server. The argument 'arg' of its functions is the pair. */

#include <weir/binding.h>
#include <weir/request.h>

extern const struct weir_ulb pair_ulb;

void pair_handle(struct weir_request *req, void *arg);
int pair_arg_sink(struct weir_request *req, uint32_t item, uint32_t len, struct weir_arg_sink *sink,
		  void *arg);

#endif
