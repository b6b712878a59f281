/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PLANTED_H
#define PLANTED_H

/*
 * Bugs that are planted to see that weir-sim finds them: PLANTED(k) is false, at compile time, but in a build
 * with the option planted_bugs, where it is true for the one that planted_select() has chosen.
 */

#include <stdbool.h>
#include <stdint.h>

#define PLANTED_BUGS 13u

#ifdef WEIR_PLANTED_BUGS
extern uint32_t planted_bug;
#define PLANTED(k) __builtin_expect(planted_bug == (k), 0)
static inline bool planted_select(uint32_t k)
{
	planted_bug = k;
	return true;
}
#else
#define PLANTED(k) false
static inline bool planted_select(uint32_t k)
{
	return k == 0;
}
#endif

#endif
