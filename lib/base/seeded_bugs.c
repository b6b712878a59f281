/* SPDX-License-Identifier: BSD-3-Clause */
/* In builds with the option seeded_bugs only. */
#include "seeded_bugs.h"

uint32_t seeded_bug;
