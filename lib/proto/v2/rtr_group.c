/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles received transmissions as groups, and splits a payload that is sent into transmissions.
 */
#include "rtr_group.h"

#define PAYLOAD_MIN 8u /* minimum of the payload in a first transmission: XID and msg_type */

void rtr_group_init(struct rtr_group *group)
{
	*group = (struct rtr_group){0};
}

/* ---- reports with their values ---- */

static void set_bad(struct rtr_step *step, const struct rdma2_header *hdr, uint32_t seq,
		    enum rtr_err err)
{
	step->has_report = true;
	step->report = (struct rtr_report){
		.bad = {.xid = hdr->lists.xid, .direction = hdr->direction, .seq = seq},
		.err = err,
	};
}

static void report_compared(struct rtr_step *step, const struct rdma2_header *hdr, uint32_t seq,
			    enum rtr_err err, uint32_t expect, uint32_t current)
{
	set_bad(step, hdr, seq, err);
	step->report.values[0] = expect;
	step->report.values[1] = current;
}

static void report_payload(struct rtr_step *step, const struct rdma2_header *hdr, uint32_t seq,
			   uint32_t value, uint32_t min, uint32_t max)
{
	set_bad(step, hdr, seq, RTR_BADPL);
	step->report.values[0] = value;
	step->report.values[1] = min;
	step->report.values[2] = max;
}

/* Marks the open group as failed. If *step has a report, the function adds the first transmission
 * of the group to it as the lead. */
static void fail_open(struct rtr_group *group, struct rtr_step *step)
{
	if (step->has_report) {
		step->report.has_lead = true;
		step->report.lead = (struct rtr_id){group->xid, group->direction, RTR_SEQ_FIRST};
	}
	step->drops_group = true;
	group->is_open = false;
	group->has_failed = true;
}

/* ---- first transmissions ---- */

/* Returns whether the payload of a first transmission is inside the transmission, is long enough,
 * and has whole words. If not, the function stores a report in *step. */
static bool check_first_payload(const struct rtr_header *rtr, const struct rdma2_header *hdr,
				struct rtr_step *step)
{
	uint32_t min = rtr->is_whole ? 0 : PAYLOAD_MIN;
	uint32_t max = rtr->is_whole ? 0 : rtr->room;

	if (rtr->pslen >= min && rtr->pslen <= max && rtr->pslen % 4 == 0)
		return true;
	report_payload(step, hdr, RTR_SEQ_FIRST, rtr->pslen, min, max);
	return false;
}

static bool check_first(const struct rtr_header *rtr, const struct rdma2_header *hdr,
			uint32_t count_max, struct rtr_step *step)
{
	if (rtr->count == 0) {
		report_compared(step, hdr, RTR_SEQ_FIRST, RTR_BADSEQ, 1, 0);
		return false;
	}
	if (rtr->count > count_max) {
		report_compared(step, hdr, RTR_SEQ_FIRST, RTR_BADSEQ, count_max, rtr->count);
		return false;
	}
	return check_first_payload(rtr, hdr, step);
}

static void receive_first(struct rtr_group *group, const struct rdma2_header *hdr,
			  const struct rtr_header *rtr, uint32_t count_max, struct rtr_step *step)
{
	bool is_good = check_first(rtr, hdr, count_max, step);

	*group = (struct rtr_group){
		.is_open = is_good && rtr->count > 1,
		.has_failed = !is_good,
		.xid = rtr->xid,
		.direction = rtr->direction,
		.opttype = hdr->opttype,
		.count = rtr->count,
		.next = RTR_SEQ_FIRST + 1,
		.payload_bytes = is_good ? rtr->pslen : 0,
	};
	if (!is_good)
		step->action = RTR_ACTION_DISCARD;
	else
		step->action = group->is_open ? RTR_ACTION_FIRST : RTR_ACTION_LAST;
}

/* ---- continuations ---- */

/* Returns whether a continuation is the next transmission of the open group, and its payload is
 * inside the transmission. If not, the function stores a report in *step. */
static bool check_next(const struct rtr_group *group, const struct rdma2_header *hdr,
		       const struct rtr_header *rtr, struct rtr_step *step)
{
	if (rtr->xid != group->xid)
		report_compared(step, hdr, rtr->xnum, RTR_BADXID, group->xid, rtr->xid);
	else if (rtr->direction != group->direction)
		set_bad(step, hdr, rtr->xnum, RTR_BADCONT);
	else if (rtr->xnum != group->next)
		report_compared(step, hdr, rtr->xnum, RTR_BADSEQ, group->next, rtr->xnum);
	else if (rtr->itype != group->opttype)
		report_compared(step, hdr, rtr->xnum, RTR_BADOMT, group->opttype, rtr->itype);
	else if (rtr->pslen > rtr->room || rtr->pslen % 4 != 0)
		report_payload(step, hdr, rtr->xnum, rtr->pslen, 0, rtr->room);
	else
		return true;
	return false;
}

static void receive_next(struct rtr_group *group, const struct rdma2_header *hdr,
			 const struct rtr_header *rtr, struct rtr_step *step)
{
	if (!check_next(group, hdr, rtr, step)) {
		step->action = RTR_ACTION_DISCARD;
		fail_open(group, step);
		return;
	}
	group->payload_bytes += rtr->pslen;
	group->next++;
	group->is_open = group->next < group->count;
	step->action = group->is_open ? RTR_ACTION_NEXT : RTR_ACTION_LAST;
}

/* Processes a continuation that arrived while no group is open. If it belongs to the rest of a
 * failed group, it is only discarded. Otherwise it is also reported. */
static void receive_stray(const struct rtr_group *group, const struct rdma2_header *hdr,
			  const struct rtr_header *rtr, struct rtr_step *step)
{
	step->action = RTR_ACTION_DISCARD;
	if (!group->has_failed || rtr->xid != group->xid || rtr->direction != group->direction)
		set_bad(step, hdr, rtr->xnum, RTR_BADCONT);
}

/* ---- other messages inside a group ---- */

static bool is_cont_opttype(uint32_t opttype)
{
	return opttype == RTR_BASE_XDR + RTR_XMTCONT || opttype == RTR_BASE_TABLE + RTR_XMTCONT;
}

static bool has_no_direction(uint32_t proc)
{
	return proc >= RDMA2_CONNPROP && proc <= RDMA2_UPDPROP;
}

/* Fails the open group because another message arrived, and stores a report about this message in
 * *step. The caller then processes the message as if there had been no group. If the message is a
 * continuation that cannot be decoded, the caller answers it, and the group ends without a report.
 */
static void intrude(struct rtr_group *group, const struct rdma2_header *hdr, struct rtr_step *step)
{
	uint32_t expected =
		group->opttype - (group->direction == RDMA1_CALL ? RTR_XMTREQ : RTR_XMTRESP);

	if (hdr->lists.proc != RDMA2_OPTIONAL)
		report_compared(step, hdr, RTR_SEQ_FIRST, RTR_BADHMT, RDMA2_OPTIONAL,
				hdr->lists.proc);
	else if (!is_cont_opttype(hdr->opttype))
		report_compared(step, hdr, RTR_SEQ_FIRST, RTR_BADOMT, expected + RTR_XMTCONT,
				hdr->opttype);
	/* A message without a direction, too, is from the sender of the group. */
	if (has_no_direction(hdr->lists.proc))
		step->report.bad.direction = group->direction;
	fail_open(group, step);
}

void rtr_group_receive(struct rtr_group *group, const struct rdma2_header *hdr,
		       const struct rtr_header *rtr, uint32_t count_max, struct rtr_step *step)
{
	bool is_cont = rtr && rtr->op == RTR_XMTCONT;
	struct rtr_step first;

	*step = (struct rtr_step){.action = RTR_ACTION_ALONE};
	if (is_cont) {
		if (group->is_open)
			receive_next(group, hdr, rtr, step);
		else
			receive_stray(group, hdr, rtr, step);
		return;
	}
	if (group->is_open)
		intrude(group, hdr, step);
	else
		group->has_failed = false;
	if (!rtr || rtr->op == RTR_REPTERR)
		return;
	/* This is a first transmission. If it arrived inside another group, the report about this
	 * is kept, because it is more useful than a report about the content of the transmission.
	 */
	first = (struct rtr_step){.action = RTR_ACTION_ALONE};
	receive_first(group, hdr, rtr, count_max, &first);
	step->action = first.action;
	if (!step->has_report && first.has_report) {
		step->has_report = true;
		step->report = first.report;
	}
}

bool rtr_group_abandon(struct rtr_group *group)
{
	if (!group->is_open)
		return false;
	group->is_open = false;
	group->has_failed = true;
	return true;
}

enum rdma1_direction rtr_report_direction(const struct rtr_report *report)
{
	return report->bad.direction == RDMA1_CALL ? RDMA1_REPLY : RDMA1_CALL;
}

/* ---- splitting ---- */

static uint32_t room(const struct rtr_split *split, uint32_t header_bytes)
{
	return header_bytes < split->send_bytes_max ? (split->send_bytes_max - header_bytes) & ~3u
						    : 0;
}

uint32_t rtr_split_count(const struct rtr_split *split)
{
	uint32_t first = room(split, split->header_bytes), next = room(split, RTR_XMTCONT_SIZE),
		 left;

	if (first < PAYLOAD_MIN)
		return 0;
	if (split->payload_bytes <= first)
		return 1;
	left = split->payload_bytes - first;
	return next == 0 ? 0 : 1 + left / next + (left % next != 0);
}

void rtr_split_part(const struct rtr_split *split, uint32_t n, uint32_t *offset, uint32_t *len)
{
	uint32_t first = room(split, split->header_bytes), next = room(split, RTR_XMTCONT_SIZE);
	uint64_t at = n == 0 ? 0 : first + (uint64_t)(n - 1) * next;

	*offset = at < split->payload_bytes ? (uint32_t)at : split->payload_bytes;
	*len = split->payload_bytes - *offset;
	if (*len > (n == 0 ? first : next))
		*len = n == 0 ? first : next;
}
