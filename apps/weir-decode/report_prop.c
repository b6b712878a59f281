/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports the property lists of version 2, including the properties of the extension rtrext-01. */
#include "report_v2.h"

static const char *const names[] = {
	[RDMA2_PROPID_RBSIZ] = "RDMA2_PROPID_RBSIZ", [RDMA2_PROPID_BRS] = "RDMA2_PROPID_BRS",
	[RDMA2_PROPID_RTRSUPP] = "XPROP_RTRSUPP",    [RDMA2_PROPID_RBSTRUCT] = "XPROP_RBSTRUCT",
	[RDMA2_PROPID_REQRXLIM] = "XPROP_REQRXLIM",  [RDMA2_PROPID_RESPSXLIM] = "XPROP_RESPSXLIM",
};

static const char *const bkreqsups[] = {
	[RDMA2_BKREQSUP_NONE] = "RDMA2_BKREQSUP_NONE",
	[RDMA2_BKREQSUP_INLINE] = "RDMA2_BKREQSUP_INLINE",
	[RDMA2_BKREQSUP_GENL] = "RDMA2_BKREQSUP_GENL",
};

static void report_support(struct emit *e, uint32_t bits)
{
	emit_hex(e, "value", bits, 8);
	emit_bool(e, "RTRS_XREQ", (bits & RDMA2_RTRS_XREQ) != 0);
	emit_bool(e, "RTRS_XRESP", (bits & RDMA2_RTRS_XRESP) != 0);
	emit_bool(e, "RTRS_XCONT", (bits & RDMA2_RTRS_XCONT) != 0);
}

static void report_structure(struct emit *e, const struct rdma2_propval *value)
{
	struct rtr_buffer buffer;
	struct weir_xdr_in in;

	weir_xdr_in_init(&in, value->data, value->len_bytes);
	(void)rtr_buffer_get(&in, &buffer);
	emit_u64(e, "xmrbuf_length", buffer.length);
	emit_bool(e, "is_consistent", buffer.is_consistent);
	emit_list(e, "xmrbuf_groups");
	for (uint32_t i = 0; i < buffer.ngroups; i++) {
		emit_row(e, NULL);
		emit_u64(e, "xmrgrp_count", buffer.groups[i].count);
		emit_u64(e, "xmrseg_length", buffer.groups[i].length);
		emit_u64(e, "xmrseg_align", buffer.groups[i].align);
		emit_hex(e, "xmrseg_flags", buffer.groups[i].flags, 8);
		emit_close(e);
	}
	emit_close(e);
}

static void report_value(struct emit *e, const struct rdma2_propval *value)
{
	uint32_t word;

	if (value->len_bytes == 0) {
		emit_none(e, "value"); /* an empty value means the default */
		return;
	}
	if (value->which == 0 || value->which > RDMA2_PROPID_KNOWN_MAX) {
		emit_u64(e, "rdma_data_bytes", value->len_bytes);
		return;
	}
	if (value->which == RDMA2_PROPID_RBSTRUCT) {
		report_structure(e, value);
		return;
	}
	word = rdma2_propval_u32(value, 0);
	if (value->which == RDMA2_PROPID_RTRSUPP) {
		report_support(e, word);
		return;
	}
	emit_u64(e, "value", word);
	if (value->which == RDMA2_PROPID_BRS)
		emit_string(e, "value_name", name_in(bkreqsups, COUNT_OF(bkreqsups), word));
}

static void report_set(struct emit *e, const char *name, struct rdma2_propset set)
{
	struct rdma2_propval value;

	emit_list(e, name);
	while (rdma2_propset_next(&set, &value)) {
		emit_object(e, NULL);
		emit_u64(e, "rdma_which", value.which);
		emit_string(e, "rdma_which_name", name_in(names, COUNT_OF(names), value.which));
		report_value(e, &value);
		emit_close(e);
	}
	emit_close(e);
}

/* Reports the numbers of the properties that are in a subset, each of which has one bit. */
static void report_subset(struct emit *e, const char *name, const struct rdma2_propsubset *subset)
{
	emit_list(e, name);
	for (uint32_t n = 0; n < 32 * subset->nwords; n++)
		if (rdma2_propsubset_has(subset, n))
			emit_u64(e, NULL, n);
	emit_close(e);
}

void report_properties(struct emit *e, const struct rdma2_header *hdr)
{
	switch (hdr->lists.proc) {
	case RDMA2_CONNPROP:
		report_set(e, "rdma_start", hdr->set);
		report_subset(e, "rdma_nochg", &hdr->subset);
		break;
	case RDMA2_REQPROP:
		report_set(e, "rdma_want", hdr->set);
		break;
	case RDMA2_RESPROP:
		report_subset(e, "rdma_done", &hdr->subset);
		report_subset(e, "rdma_rejected", &hdr->rejected);
		report_set(e, "rdma_other", hdr->set);
		break;
	default:
		report_set(e, "rdma_now", hdr->set);
	}
}
