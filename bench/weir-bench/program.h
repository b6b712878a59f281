/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROGRAM_H
#define PROGRAM_H

/*
 * The bench's RPC program and its upper-layer binding.
 *
 *         arguments                               results                     DDP-eligible
 *
 *   NULL  opaque padding[size]                    void                        -
 *   ECHO  opaque data<>                           opaque data<>               nothing
 *   READ  u64 offset, u32 count                   opaque data<>               data
 *   WRITE u64 seed, bool verify, opaque data<>    bool matched, u32 count     data
 *   LIST  u64 offset, u32 count                   opaque data<>               nothing
 *
 * READ and LIST return bytes of an endless sequence that both sides know. WRITE says the position
 * in the sequence at which its data start. Each receiver can therefore check every byte.
 */

#include <weir/binding.h>

#include "pattern.h"

#define BENCH_PROG 0x20b3e1c4u /* in the range that RFC 5531 section 8.3 leaves to sites */
#define BENCH_VERS 1u

enum bench_proc {
	BENCH_NULL = 0,
	BENCH_ECHO = 1,
	BENCH_READ = 2,
	BENCH_WRITE = 3,
	BENCH_LIST = 4,
	BENCH_NPROCS = 5
};

extern const struct weir_ulb bench_ulb;

#endif
