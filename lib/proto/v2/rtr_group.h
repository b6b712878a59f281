/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RTR_GROUP_H
#define RTR_GROUP_H

/*
 * Message continuation (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 sections 4.2 and 9.4).
 *
 * A message that is sent in several transmissions is a group. Its transmissions must arrive in
 * order, without another message between them. Each connection has one struct rtr_group for the
 * groups that it receives.
 *
 * The caller owns the receive buffers. The caller passes each received message to
 * rtr_group_receive(). This function says whether the caller keeps the buffer of the message as a
 * part of the group, and whether the caller posts the buffers again that it has kept before. If a
 * group fails, its remaining transmissions are discarded without a report, so that there is one
 * report for the group.
 *
 *   idle --first of many--> open --next--> open --last--> idle
 *   open --anything else--> failed (reported) --rest of it--> failed --anything else--> as idle
 *
 * For senders, this file has functions that split a payload into transmissions.
 */

#include "rtr.h"

struct rtr_group {
	bool is_open;	 /* further transmissions of the group are expected */
	bool has_failed; /* the rest of a group with this XID and direction is discarded */
	uint32_t xid;
	enum rdma1_direction direction;
	uint32_t opttype;	/* opttype of the first transmission */
	uint32_t count;		/* number of transmissions of the group */
	uint32_t next;		/* number of the next transmission */
	uint64_t payload_bytes; /* bytes of payload received so far */
};

/* The action of the caller for a received message. */
enum rtr_action {
	RTR_ACTION_ALONE,   /* no part of a group; process the message as if there were no groups */
	RTR_ACTION_FIRST,   /* keep the buffer; the group is open */
	RTR_ACTION_NEXT,    /* keep the buffer */
	RTR_ACTION_LAST,    /* keep the buffer; the group is complete */
	RTR_ACTION_DISCARD, /* ignore the message */
};

/* The result of rtr_group_receive(). */
struct rtr_step {
	enum rtr_action action;
	bool drops_group; /* the group has failed: post again the buffers that were kept for it */
	bool has_report;  /* send 'report' to the peer */
	struct rtr_report report;
};

void rtr_group_init(struct rtr_group *group);

/* Processes a message that rdma2_decode() accepted, and stores in *step what the caller must do.
 * 'rtr' is the operation of the message if rtr_decode() accepted it. 'rtr' is NULL if the message
 * has no operation, or has a bad one, which the caller answers itself. 'count_max' is the limit of
 * transmissions of a request to this side, or of the reply to the call with this XID. */
void rtr_group_receive(struct rtr_group *group, const struct rdma2_header *hdr,
		       const struct rtr_header *rtr, uint32_t count_max, struct rtr_step *step);

/* Ends the open group, because it has taken too long. If its remaining transmissions arrive, they
 * are discarded. Returns false if no group was open. */
bool rtr_group_abandon(struct rtr_group *group);

/* Returns the direction of the message that has a report. The message is sent to the sender of the
 * bad transmission. */
enum rdma1_direction rtr_report_direction(const struct rtr_report *report);

/* The sizes by which a payload is split into transmissions, in bytes. Placed items are not part of
 * the payload. */
struct rtr_split {
	uint32_t payload_bytes;	 /* a multiple of 4 */
	uint32_t header_bytes;	 /* of the first transmission */
	uint32_t send_bytes_max; /* limit of header and payload of each transmission */
};

/* Returns how many transmissions the payload takes. Returns 0 if no number is enough, because a
 * header leaves too little room for payload. */
uint32_t rtr_split_count(const struct rtr_split *split);

/* Finds the part of the payload that transmission 'n', from 0 on, has: its offset in the payload,
 * and its length. */
void rtr_split_part(const struct rtr_split *split, uint32_t n, uint32_t *offset, uint32_t *len);

#endif
