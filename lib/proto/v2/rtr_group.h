/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RTR_GROUP_H
#define RTR_GROUP_H

/*
 * Message continuation (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 sections 4.2 and 9.4).
 *
 * The receiver's side handles transmission groups. The transmissions of a group arrive in order,
 * without another message between them. Each connection has one struct rtr_group.
 *
 * The caller owns the receive buffers. The caller passes each message to rtr_group_receive(), which
 * says whether the buffer of the message is kept as a part of the group, and whether the buffers
 * that were kept before are returned. If a group fails, its remaining transmissions are discarded
 * without a report, so that there is one report for the group.
 *
 *   idle --first of many--> open --next--> open --last--> idle
 *   open --anything else--> failed (reported) --rest of it--> failed --anything else--> as idle
 *
 * The sender's side splits a payload into transmissions.
 */

#include "rtr.h"

struct rtr_group {
	bool is_open;
	bool has_failed; /* the rest of a group with this XID and direction is discarded */
	uint32_t xid;
	enum rdma1_direction direction;
	uint32_t opttype; /* opttype of the first transmission */
	uint32_t count;
	uint32_t next;		/* number of the next transmission */
	uint64_t payload_bytes; /* payload received so far */
};

enum rtr_action {
	RTR_ACTION_ALONE,   /* no part of a group; process the message as if there were no groups */
	RTR_ACTION_FIRST,   /* keep the buffer; the group is open */
	RTR_ACTION_NEXT,    /* keep the buffer */
	RTR_ACTION_LAST,    /* keep the buffer; the group is complete */
	RTR_ACTION_DISCARD, /* return the buffer */
};

struct rtr_step {
	enum rtr_action action;
	bool drops_group; /* return the buffers that were kept before */
	bool has_report;  /* send 'report' to the peer */
	struct rtr_report report;
};

void rtr_group_init(struct rtr_group *group);

/* Processes a message that rdma2_decode() accepted. 'rtr' is its operation if rtr_decode() accepted
 * one. 'rtr' is NULL if the message has no operation, or has a bad one, which the caller answers
 * itself. 'count_max' is the number of transmissions that a request to this side, or the reply to
 * 'xid', may have. */
void rtr_group_receive(struct rtr_group *group, const struct rdma2_header *hdr,
		       const struct rtr_header *rtr, uint32_t count_max, struct rtr_step *step);

/* Ends the open group, because its time is over. Its remaining transmissions are discarded if they
 * arrive. Returns false if no group was open. */
bool rtr_group_abandon(struct rtr_group *group);

/* Returns the direction of the message that carries a report. It is sent to the sender of the bad
 * transmission. */
enum rdma1_direction rtr_report_direction(const struct rtr_report *report);

/* The parameters for sending a payload stream in several transmissions. Placed items are not part
 * of the stream. */
struct rtr_split {
	uint32_t payload_bytes; /* a multiple of 4 */
	uint32_t header_bytes;	/* of the first transmission */
	uint32_t send_bytes_max;
};

/* Returns how many transmissions the payload takes. Returns 0 if a header is so long that no number
 * is enough. */
uint32_t rtr_split_count(const struct rtr_split *split);

/* Finds the bytes of the payload that transmission 'n' has. */
void rtr_split_part(const struct rtr_split *split, uint32_t n, uint32_t *offset, uint32_t *len);

#endif
