/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the protocol of a new connection, in a build without version 2. All connections have
 * version 1. */
#include "responder.h"

const struct conn_protocol *responder_protocol(const struct weir_engine *engine)
{
	(void)engine;
	return &responder_version1;
}
