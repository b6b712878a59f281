/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports the operations of the extension of version 2, with the names of their fields in
 * draft-dnoveck-nfsv4-rpcrdma-rtrext-01.
 */
#include "report_v2.h"

static const char *const ops[] = {
	[RTR_XMTREQ] = "ROPT_XMTREQ",
	[RTR_XMTRESP] = "ROPT_XMTRESP",
	[RTR_XMTCONT] = "ROPT_XMTCONT",
	[RTR_REPTERR] = "ROPT_REPTERR",
};

static const char *const types[] = {
	[RTR_EXRW] = "XMDTYPE_EXRW",	     [RTR_TBSN] = "XMDTYPE_TBSN",
	[RTR_CHOICE] = "XMDTYPE_CHOICE",     [RTR_BYSIZE] = "XMDTYPE_BYSIZE",
	[RTR_TOOSHORT] = "XMDTYPE_TOOSHORT", [RTR_NOITEM] = "XMDTYPE_NOITEM",
};

static const char *const errors[] = {
	[RTR_BADHMT] = "OPTRERR_BADHMT",   [RTR_BADOMT] = "OPTRERR_BADOMT",
	[RTR_BADCONT] = "OPTRERR_BADCONT", [RTR_BADSEQ] = "OPTRERR_BADSEQ",
	[RTR_BADXID] = "OPTRERR_BADXID",   [RTR_BADOFF] = "OPTRERR_BADOFF",
	[RTR_BADTBSN] = "OPTRERR_BADTBSN", [RTR_BADPL] = "OPTRERR_BADPL",
};

static void report_type(struct emit *e, enum rtr_type type)
{
	emit_string(e, "type", name_in(types, COUNT_OF(types), (uint32_t)type));
}

static void report_items(struct emit *e, const char *name, const struct rtr_header *rtr)
{
	struct rtr_item item;
	struct rtr_iter it;
	uint32_t tbsn;

	rtr_items_begin(rtr, &it);
	emit_list(e, name);
	while (rtr_items_next(&it, &item)) {
		emit_object(e, NULL);
		emit_u64(e, "xmdmi_disp", item.disp);
		emit_u64(e, "xmdmi_length", item.length);
		emit_object(e, "xmdmi_where");
		report_type(e, item.type);
		if (item.type == RTR_EXRW)
			report_segments2(e, "xmdl_ex", item.segments);
		if (item.type == RTR_TBSN) {
			emit_u64(e, "xmdl_offset", item.offset);
			emit_list(e, "xmdl_bsnum");
			while (rtr_tbsns_next(&item.tbsns, &tbsn))
				emit_u64(e, NULL, tbsn);
			emit_close(e);
		}
		emit_close(e);
		emit_close(e);
	}
	emit_close(e);
}

static void report_rsditem(struct emit *e, const struct rtr_rsditem *item)
{
	emit_object(e, NULL);
	emit_u64(e, "xmdrsdi_minlen", item->minlen);
	emit_object(e, "xmdrsdi_loc");
	report_type(e, item->type);
	if (item->type == RTR_BYSIZE) {
		emit_u64(e, "xmdrsdl_dsdov", item->dsdov);
		report_segments2(e, "xmdrsdl_bsex", item->segments);
	} else if (item->type != RTR_TBSN) {
		report_segments2(e, "xmdrsdl_ex", item->segments);
	}
	emit_close(e);
	emit_close(e);
}

static void report_sets(struct emit *e, const struct rtr_header *rtr)
{
	struct rtr_rsditem item;
	struct rtr_iter it;
	struct rtr_set set;

	rtr_sets_begin(rtr, &it);
	emit_list(e, "optxrq_rsd");
	while (rtr_sets_next(&it, &set)) {
		emit_object(e, NULL);
		emit_row(e, "xmdrsds_range");
		emit_u64(e, "xmdrsdr_begin", set.begin);
		emit_u64(e, "xmdrsdr_end", set.end);
		emit_close(e);
		emit_list(e, "xmdrsds_items");
		while (rtr_rsditems_next(&set.items, &item))
			report_rsditem(e, &item);
		emit_close(e);
		emit_close(e);
	}
	emit_close(e);
}

static void report_id(struct emit *e, const char *name, const struct rtr_id *id)
{
	emit_row(e, name);
	emit_hex(e, "xmsi_xid", id->xid, 8);
	emit_string(e, "xmsi_dir", direction_name(id->direction));
	emit_u64(e, "xmsi_seq", id->seq);
	emit_close(e);
}

static void report_report(struct emit *e, const struct rtr_report *report)
{
	static const char *const compared[] = {"optri_expect", "optri_current"};
	static const char *const ranged[] = {"optri_value", "optri_min", "optri_max"};
	uint32_t n = rtr_report_nvalues(report->err);

	report_id(e, "optre_bad", &report->bad);
	if (report->has_lead)
		report_id(e, "optre_lead", &report->lead);
	else
		emit_none(e, "optre_lead");
	emit_object(e, "optre_info");
	emit_string(e, "optre_which", name_in(errors, COUNT_OF(errors), (uint32_t)report->err));
	for (uint32_t i = 0; i < n; i++)
		emit_u64(e, n == 2 ? compared[i] : ranged[i], report->values[i]);
	emit_close(e);
}

void report_rtr(struct emit *e, const struct rtr_header *rtr)
{
	emit_object(e, "rdma_optinfo");
	emit_string(e, "operation", ops[rtr->op]);
	switch (rtr->op) {
	case RTR_XMTREQ:
		report_items(e, "optxrq_ddp", rtr);
		report_sets(e, rtr);
		emit_u64(e, "optxrq_count", rtr->count);
		emit_u64(e, "optxrq_rsbuf", rtr->rsbuf);
		emit_u64(e, "optxrq_pslen", rtr->pslen);
		break;
	case RTR_XMTRESP:
		report_items(e, "optxrs_ddp", rtr);
		emit_u64(e, "optxrs_count", rtr->count);
		emit_u64(e, "optxrs_pslen", rtr->pslen);
		break;
	case RTR_XMTCONT:
		emit_u64(e, "optxc_xnum", rtr->xnum);
		emit_u64(e, "optxc_itype", rtr->itype);
		emit_u64(e, "optxc_pslen", rtr->pslen);
		break;
	case RTR_REPTERR:
		report_report(e, &rtr->report);
		break;
	}
	emit_close(e);
}
