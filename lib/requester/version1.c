/* SPDX-License-Identifier: BSD-3-Clause */
/* The protocol of connections that speak version 1 alone. */
#include "requester.h"

const struct conn_protocol requester_version1 = {
	CONN_PROTOCOL_V1,
};
