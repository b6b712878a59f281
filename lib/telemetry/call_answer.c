/* SPDX-License-Identifier: BSD-3-Clause */
/* Orders calls and requests, and adds them to the answers of the command /weir/calls. */
#include "call_answer.h"

#include <stdio.h>

int call_answer_compare(const struct call_answer *x, const struct call_answer *y)
{
	if (x->age_ns != y->age_ns)
		return x->age_ns < y->age_ns ? 1 : -1;
	return (x->xid > y->xid) - (x->xid < y->xid);
}

struct rte_tel_data *call_answer_show(const struct call_answer *call, uint32_t index,
				      struct rte_tel_data *list)
{
	struct rte_tel_data *entry = telemetry_dict();
	char xid[12], name[12];

	if (!entry)
		return NULL;
	snprintf(name, sizeof(name), "%u", index);
	snprintf(xid, sizeof(xid), "0x%08x", call->xid);
	telemetry_add_text(entry, "xid", xid);
	telemetry_add_text(entry, "state", call->state);
	telemetry_add_text(entry, "waits_for", call->waits_for);
	telemetry_add_number(entry, "prog", call->prog);
	telemetry_add_number(entry, "vers", call->vers);
	telemetry_add_number(entry, "proc", call->proc);
	telemetry_add_number(entry, "bytes", call->bytes);
	telemetry_add_number(entry, "age_ns", call->age_ns);
	telemetry_add_number(entry, "stage_ns", call->stage_ns);
	return telemetry_add_dict(list, name, entry);
}
