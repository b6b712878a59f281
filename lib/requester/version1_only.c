/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the operations of a new connection in a build without version 2: those of version 1. */
#include "requester.h"

const struct conn_protocol *requester_protocol(const struct weir_engine *engine)
{
	(void)engine;
	return &requester_version1;
}
