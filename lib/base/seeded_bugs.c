/* SPDX-License-Identifier: BSD-3-Clause */
/* This file is compiled only if the option seeded_bugs is set. */
#include "seeded_bugs.h"

uint32_t seeded_bug;
