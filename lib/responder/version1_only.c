/* SPDX-License-Identifier: BSD-3-Clause */
/* In a build without version 2, all connections have the same protocol. */
#include "responder.h"

const struct conn_protocol *responder_protocol(const struct weir_engine *engine)
{
	(void)engine;
	return &responder_version1;
}
