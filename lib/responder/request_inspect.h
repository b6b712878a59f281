/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REQUEST_INSPECT_H
#define REQUEST_INSPECT_H

/* Descriptions of requests and responders. */

#include <weir/inspect.h>

#include "request.h"

void request_describe(struct weir_request *req, struct weir_request_info *info);

/* Fills in an array as weir_engine_requests() does, with the requests of one connection. Returns
 * their number. The connection may be one of a requester, which has no requests. */
uint32_t requests_describe(const struct weir_conn *conn, struct weir_request_info *infos,
			   uint32_t n);

/* Reports the stuck requests of a connection that were not reported yet. */
void responder_report_stuck(const struct responder *responder);

/* Sets the members of 'info' that belong to the responder (struct conn_role). */
void responder_describe(const struct weir_conn *conn, struct weir_conn_info *info);

#endif
