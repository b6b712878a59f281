/* SPDX-License-Identifier: BSD-3-Clause */
/* In builds with the option planted_bugs only. */
#include "planted.h"

uint32_t planted_bug;
