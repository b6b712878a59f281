/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALL_INSPECT_H
#define CALL_INSPECT_H

/* Descriptions of calls and requesters. */

#include <weir/inspect.h>

#include "requester.h"

void call_describe(struct weir_call *call, struct weir_call_info *info);

/* Returns the time since the submission of a call; 0 if it was not submitted, or was cancelled. */
uint64_t call_age_ns(const struct weir_call *call);

/* Sets the members of 'info' that belong to the requester (struct conn_role). */
void requester_describe(const struct weir_conn *conn, struct weir_conn_info *info);

#endif
