/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RTR_GROUP_H
#define RTR_GROUP_H

/*
 * Message continuation (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 sections 4.2 and 9.4): the receiver's
 * side of transmission groups, which come in order and without another message between. One of
 * these stands for one connection.
 *
 * The caller owns the receive buffers. Each message is put to rtr_group_receive(), which says
 * whether its buffer is kept as a part of the group, and whether those kept so far go back. When a
 * group fails, its remaining transmissions are discarded without a word, so that there is one
 * report of it.
 *
 *   idle --first of many--> open --next--> open --last--> idle
 *   open --anything else--> failed (reported) --rest of it--> failed --anything else--> as idle
 *
 * And the sender's side: how a payload is split.
 */

#include "rtr.h"

struct rtr_group {
	bool is_open;
	bool has_failed; /* what is left of a group with this XID and direction is discarded */
	uint32_t xid;
	enum rdma1_direction direction;
	uint32_t opttype; /* of the first transmission */
	uint32_t count;
	uint32_t next;		/* number of the transmission that is expected */
	uint64_t payload_bytes; /* so far */
};

enum rtr_take {
	RTR_TAKE_ALONE,	  /* no part of a group: go on with it as if there were none */
	RTR_TAKE_FIRST,	  /* keep: the group is open */
	RTR_TAKE_NEXT,	  /* keep */
	RTR_TAKE_LAST,	  /* keep: the group is whole, be it one transmission only */
	RTR_TAKE_DISCARD, /* the buffer goes back */
};

struct rtr_step {
	enum rtr_take take;
	bool drops_group; /* the buffers kept so far go back */
	bool has_report;  /* send 'report' to the peer */
	struct rtr_report report;
};

void rtr_group_init(struct rtr_group *group);

/* A message that rdma2_decode() accepted. 'rtr' is what rtr_decode() accepted of it; NULL: it
 * carries none, or a bad one, on which the caller acts by itself. 'count_max' is how many
 * transmissions a request to us, or the reply to 'xid', may have. */
void rtr_group_receive(struct rtr_group *group, const struct rdma2_header *hdr,
		       const struct rtr_header *rtr, uint32_t count_max, struct rtr_step *step);

/* The group does not go on: its time is over. Its remaining transmissions, should they come, are
 * discarded. False: none was open. */
bool rtr_group_abandon(struct rtr_group *group);

/* The direction of the message that carries a report: to where the bad transmission came from. */
enum rdma1_direction rtr_report_direction(const struct rtr_report *report);

/* How a payload stream without placed items is sent. */
struct rtr_split {
	uint32_t payload_bytes; /* a multiple of 4 */
	uint32_t header_bytes;	/* of the first transmission */
	uint32_t send_bytes_max;
};

/* How many transmissions it takes: 0 when no number of them does, because a header leaves no room.
 */
uint32_t rtr_split_count(const struct rtr_split *split);

/* Which bytes of the payload transmission 'n' has. */
void rtr_split_part(const struct rtr_split *split, uint32_t n, uint32_t *offset, uint32_t *len);

#endif
