/* SPDX-License-Identifier: BSD-3-Clause */
/* The protocol of connections that speak version 1 alone. */
#include "responder.h"

const struct conn_protocol responder_version1 = {
	CONN_PROTOCOL_V1,
};
