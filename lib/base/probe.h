/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBE_H
#define PROBE_H

/*
 * Static probes (USDT) for bpftrace, perf and SystemTap, of the provider "weir". doc/probes.rst
 * lists them. A probe is a single instruction that does nothing until a tracer replaces it. Its
 * arguments are described in a section of the program that is not loaded. The arguments are values
 * that the code has at hand, so that no instruction computes them for the probe.
 *
 * A build without <sys/sdt.h> (option 'usdt') has no probes. The arguments are then not evaluated.
 */

#ifdef WEIR_USDT
#include <sys/sdt.h>

#define PROBE2(name, a, b)	 DTRACE_PROBE2(weir, name, a, b)
#define PROBE3(name, a, b, c)	 DTRACE_PROBE3(weir, name, a, b, c)
#define PROBE4(name, a, b, c, d) DTRACE_PROBE4(weir, name, a, b, c, d)
#else
#define PROBE2(name, a, b)	 ((void)sizeof(a), (void)sizeof(b))
#define PROBE3(name, a, b, c)	 ((void)sizeof(a), (void)sizeof(b), (void)sizeof(c))
#define PROBE4(name, a, b, c, d) (PROBE2(name, a, b), PROBE2(name, c, d))
#endif

#endif
