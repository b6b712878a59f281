/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SEEDED_BUGS_H
#define SEEDED_BUGS_H

/*
 * Seeded bugs, which test that weir-sim finds bugs. SEEDED_BUG(k) is false at compile time, except
 * in a build with the option seeded_bugs. In such a build, SEEDED_BUG(k) is true if
 * seeded_bug_select() has selected bug number k. seeded_bug_select() selects bug number k, or none
 * if k is 0. It returns false if the build has no such bugs and k is not 0.
 */

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"

#define SEEDED_BUGS 13u

#ifdef WEIR_SEEDED_BUGS
extern uint32_t seeded_bug;
#define SEEDED_BUG(k) unlikely(seeded_bug == (k))
static inline bool seeded_bug_select(uint32_t k)
{
	seeded_bug = k;
	return true;
}
#else
#define SEEDED_BUG(k) false
static inline bool seeded_bug_select(uint32_t k)
{
	return k == 0;
}
#endif

#endif
