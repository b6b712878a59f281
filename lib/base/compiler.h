/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMPILER_H
#define COMPILER_H

/*
 * Hints to the compiler about conditions and functions. DPDK defines likely() and unlikely() with
 * the same meaning, so each is defined here only if DPDK's header has not defined it.
 *
 * The files of this folder, which every library may use:
 *
 *   compiler.h         likely(), hot_inline and others
 *   wire.h             big-endian words at any alignment
 *   copy_small.h       copies of a few bytes
 *   log_rate.h         a limit on log lines that a peer can cause
 *   probe.h            static probes for tracers
 *   sized.[ch]         public structures that grow: copies of the members that a program knows
 *   terminal.[ch]      text of a peer, made safe to print
 *   seeded_bugs.[ch]   bugs that weir-sim must find
 */

#ifndef likely
#define likely(x) __builtin_expect(!!(x), 1)
#endif
#ifndef unlikely
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif

/* Inlines the function into each of its callers, whatever the size of the function. It is for
 * functions on a fast path. Write "static hot_inline". */
#define hot_inline inline __attribute__((always_inline))

/* Never inlines the function, so that its code and its registers do not burden the fast path of the
 * caller. */
#define out_of_line __attribute__((noinline))

/* Inlines, into this function, all functions that it calls. */
#define inline_callees __attribute__((flatten))

/* Marks a function that is rarely called. It is compiled to small code, apart from other code. */
#define cold_code __attribute__((cold))

/* Marks a static function in a header that not every file calls, so that the compiler does not
 * warn. */
#define maybe_unused __attribute__((unused))

/* Makes the compiler check a call against its printf format. The format is argument number
 * 'format_at', and its values begin at argument number 'first'. Arguments are counted from 1. */
#define printf_like(format_at, first) __attribute__((format(printf, format_at, first)))

/* Sets the alignment of a type. For a member or a variable, use _Alignas. */
#define aligned_to(bytes) __attribute__((aligned(bytes)))

#endif
