/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALL_INSPECT_H
#define CALL_INSPECT_H

/* Descriptions of calls and requesters. */

#include <weir/inspect.h>

#include "requester.h"

void call_describe(struct weir_call *call, struct weir_call_info *info);

/* Fills in an array as weir_engine_calls() does, with the calls of one connection. 'found' calls
 * were found before. Returns their new number. The connection may be one of a responder, which has
 * no calls. */
uint32_t calls_describe(const struct weir_conn *conn, struct weir_call_info *infos, uint32_t n,
			uint32_t found);

/* Returns the time since the submission of a call. The result is 0 if the call was not submitted or
 * was cancelled, and the time-out of the call while its keys are being revoked. */
uint64_t call_age_ns(const struct weir_call *call);

/* Reports the stuck calls of a connection that were not reported yet. */
void requester_report_stuck(struct weir_conn *conn);

/* Sets the members of 'info' that belong to the requester (struct conn_role). */
void requester_describe(const struct weir_conn *conn, struct weir_conn_info *info);

#endif
