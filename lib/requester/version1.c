/* SPDX-License-Identifier: BSD-3-Clause */
/* The protocol of connections that speak version 1 alone. */
#include "requester.h"

static uint32_t v1_first_credits(const struct weir_conn *conn)
{
	(void)conn;
	return 0;
}

static void v1_on_suspend(struct weir_conn *conn)
{
	(void)conn;
}

const struct conn_protocol requester_version1 = {
	CONN_PROTOCOL_V1,
	.first_credits = v1_first_credits,
	.on_suspend = v1_on_suspend,
};
