/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PARSED_CALL_H
#define PARSED_CALL_H

/*
 * What comes from a requester that speaks version 2: taken apart, and judged by what it was told;
 * and answers that are right, by the way in which the call wants them. Of the bench's program,
 * whose data are known, so that they are right, too.
 */

#include "hostile.h"
#include "rdma2_prop_state.h"
#include "rtr_group.h"

#define ASKED_BYTES_MAX 65536u

/* A call, whole. */
struct parsed_call {
	uint32_t xid;
	uint32_t vers;
	uint32_t base; /* of its operation's numbers; 0: by RDMA2_MSG or RDMA2_NOMSG */
	uint32_t ndirections;
	uint32_t count;		  /* transmissions that it came in */
	uint32_t reply_count;	  /* that its reply may have */
	enum rtr_type results_by; /* of the first direction */
	bool has_result;	  /* memory for the first result */
	bool has_reply;		  /* and for a long reply */
	struct rdma1_segment result;
	struct rdma1_segment reply;
	uint32_t rpc_bytes;
	uint32_t proc;
	uint32_t answer_bytes;
	uint8_t rpc[ASKED_BYTES_MAX];	 /* the RPC call, with what was placed directly in it */
	uint8_t answer[ASKED_BYTES_MAX]; /* the data that it gets, or brings */
};

enum came {
	CAME_NOTHING,
	CAME_CLOSED,
	CAME_CALL,
	CAME_PART, /* of a call */
	CAME_PROPERTIES,
	CAME_REPORT,
	CAME_ERROR,
	CAME_UNSOUND, /* what no side may send */
};

/* A transmission of a call that is not whole yet. */
struct asked_part {
	struct peer_message message;
	uint32_t header_bytes;
	uint32_t pslen;
};

/* What is known of the other side of this connection. */
struct parsing {
	struct rdma2_properties told; /* by this side, of itself */
	bool has_told;
	struct rtr_group group; /* of a call that has begun to come */
	uint32_t nparts;
	struct asked_part parts[RTR_TRANSMISSIONS_MAX];
	uint32_t xid;			 /* of the latest properties */
	struct parsed_call *parsed_call; /* the call that comes */
};

void parsing_begin(struct parsing *parsing, struct parsed_call *parsed_call);
/* A message was sent: what it tells of this side. */
void parsing_note_sent(struct parsing *parsing, const uint8_t *bytes, uint32_t len);

/* Take a message apart. A call that is whole is in *asking->asked. Else *detail says which error it
 * is, or what is wrong. */
enum came parsing_take(struct hostile *h, struct parsing *parsing,
		       const struct peer_message *message, char detail[48]);

/* For a case's text. */
struct values asked_values(const struct hostile *h, const struct parsed_call *parsed_call);
/* Its data to the memory that it offers. */
bool asked_write(struct hostile *h, const struct parsed_call *parsed_call);
/* Its answer, as it should be. False: the connection is gone. */
bool asked_answer(struct hostile *h, const struct parsed_call *parsed_call);

#endif
