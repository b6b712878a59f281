/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMPILER_H
#define COMPILER_H

/*
 * What the compiler is told about a condition or a function. DPDK has likely() and unlikely() too,
 * which mean the same; whichever header comes first defines them.
 *
 * The files of this folder, which every library may use:
 *
 *   compiler.h         likely(), hot_inline and others
 *   wire.h             big-endian words at any alignment
 *   copy_small.h       copies of a few bytes
 *   log_rate.h         a limit of log lines that a peer can bring about
 *   sized.h            public structures that grow: which of their bytes a program knows
 *   terminal.[ch]      text of a peer, made safe to print
 *   seeded_bugs.[ch]   bugs that weir-sim is to find
 */

#ifndef likely
#define likely(x) __builtin_expect(!!(x), 1)
#endif
#ifndef unlikely
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif

/* Part of each caller on a fast path, whatever its size. Write "static hot_inline". */
#define hot_inline inline __attribute__((always_inline))

/* A function of its own: its code and its registers do not burden the caller's fast path. */
#define out_of_line __attribute__((noinline))

/* All that the function calls becomes part of it. */
#define inline_callees __attribute__((flatten))

/* Rarely called: small code, which is kept away from the rest. */
#define cold_code __attribute__((cold))

/* A static function in a header that not every file calls. */
#define maybe_unused __attribute__((unused))

/* The compiler checks arguments from number 'first' on against the format, which is argument number
 * 'format_at'. */
#define printf_like(format_at, first) __attribute__((format(printf, format_at, first)))

/* The alignment of a whole type. A member or a variable has _Alignas. */
#define aligned_to(bytes) __attribute__((aligned(bytes)))

#endif
