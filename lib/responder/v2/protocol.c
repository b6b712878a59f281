/* SPDX-License-Identifier: BSD-3-Clause */
/* The protocol of connections that may speak version 2: which table a new connection has. */
#include "negotiate.h"
#include "responder.h"

static const struct conn_protocol version2 = {
	CONN_PROTOCOL_V2,
};

const struct conn_protocol *responder_protocol(const struct weir_engine *engine)
{
	return engine->profile.protocol == WEIR_PROTOCOL_V1 ? &responder_version1 : &version2;
}
