/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DPDK's headers include <x86intrin.h>, which declares the intrinsics of all x86 instruction sets.
 * To read these declarations takes the compiler three times as long as to compile a usual file of
 * weir. DPDK uses none above SSE4.2, if the compiler may not use AVX. In this case the header
 * includes those alone. Otherwise it includes the compiler's header.
 */
#if defined(__SSE4_2__) && !defined(__AVX__)
#include <nmmintrin.h>
#else
#include_next <x86intrin.h>
#endif
