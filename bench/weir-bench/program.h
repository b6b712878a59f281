/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROGRAM_H
#define PROGRAM_H

/* The bench's RPC program and its upper-layer binding, from program.x. */

#include "pattern.h"
#include "program_rpc.h"

#endif
