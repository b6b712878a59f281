/* SPDX-License-Identifier: BSD-3-Clause */
/* In a build without version 2, all connections have the same protocol. */
#include "requester.h"

const struct conn_protocol *requester_protocol(const struct weir_engine *engine)
{
	(void)engine;
	return &requester_version1;
}
