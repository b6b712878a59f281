/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALL_ANSWER_H
#define CALL_ANSWER_H

/* Calls and requests in the answers of the command /weir/calls. */

#include <weir/inspect.h>

#include "telemetry.h"

/* A call or a request. The names are constants. */
struct call_answer {
	const char *state, *waits_for;
	uint32_t xid, prog, vers, proc, bytes;
	uint64_t age_ns, stage_ns;
};

/* Calls and requests have members of the same names. */
#define CALL_ANSWER(info, state_name)                                                              \
	(struct call_answer)                                                                       \
	{                                                                                          \
		.state = state_name((info)->state), .waits_for = (info)->waits_for,                \
		.xid = (info)->xid, .prog = (info)->prog, .vers = (info)->vers,                    \
		.proc = (info)->proc, .bytes = (info)->bytes, .age_ns = (info)->age_ns,            \
		.stage_ns = (info)->stage_ns,                                                      \
	}

/* Orders older calls before newer ones, and calls of the same age by their XID. */
int call_answer_compare(const struct call_answer *x, const struct call_answer *y);

/* Adds a call to a list, as entry number 'index'. Returns the entry, or NULL if there is no memory.
 */
struct rte_tel_data *call_answer_show(const struct call_answer *call, uint32_t index,
				      struct rte_tel_data *list);

#endif
