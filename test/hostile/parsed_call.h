/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PARSED_CALL_H
#define PARSED_CALL_H

/*
 * Parses the messages of a requester that speaks version 2. Checks them by the properties that this
 * side sent to the requester. Makes good answers of the kind for which the call asks. The calls are
 * those of weir-bench's program. Its data are known, so that the data of the answers are correct as
 * well.
 */

#include "hostile.h"
#include "rdma2_prop_state.h"
#include "rtr_group.h"

#define ASKED_BYTES_MAX 65536u

/* A call of which all transmissions have arrived. */
struct parsed_call {
	uint32_t xid;
	uint32_t vers;
	/* base of the operation numbers; 0 if the message was RDMA2_MSG or RDMA2_NOMSG */
	uint32_t base;
	uint32_t ndirections;
	uint32_t count;		  /* number of transmissions of the call */
	uint32_t reply_count;	  /* number of transmissions that the reply can have */
	enum rtr_type results_by; /* type of the first direction */
	bool has_result;	  /* the call offers memory for the first result */
	bool has_reply;		  /* the call offers memory for a long reply */
	struct rdma1_segment result;
	struct rdma1_segment reply;
	uint32_t rpc_bytes;
	uint32_t proc;
	uint32_t answer_bytes;
	/* The RPC call, including data that were read or placed. */
	uint8_t rpc[ASKED_BYTES_MAX];
	/* the data that the reply must return, or those of the arguments */
	uint8_t answer[ASKED_BYTES_MAX];
};

enum came {
	CAME_NOTHING,
	CAME_CLOSED,
	CAME_CALL,
	CAME_PART, /* a transmission of a call that is not complete */
	CAME_PROPERTIES,
	CAME_REPORT,
	CAME_ERROR,
	CAME_UNSOUND, /* a message that no side is allowed to send */
};

/* A transmission of a call of which others have not yet arrived. */
struct asked_part {
	struct peer_message message;
	uint32_t header_bytes;
	uint32_t pslen;
};

/* The state of parsing one connection. */
struct parsing {
	struct rdma2_properties told; /* properties that this side has sent */
	bool has_told;
	struct rtr_group group; /* the transmissions of a call that is not complete */
	uint32_t nparts;
	struct asked_part parts[RTR_TRANSMISSIONS_MAX];
	uint32_t xid;			 /* XID of the latest properties */
	struct parsed_call *parsed_call; /* the call that is being received */
};

void parsing_begin(struct parsing *parsing, struct parsed_call *parsed_call);
/* Records the properties of this side in a message that was sent. */
void parsing_note_sent(struct parsing *parsing, const uint8_t *bytes, uint32_t len);

/*
 * Parses a message of the requester. If a call is complete, it is in *parsing->parsed_call. For an
 * error or an invalid message, 'detail' says which error it is, or what is wrong.
 */
enum came parsing_take(struct hostile *h, struct parsing *parsing,
		       const struct peer_message *message, char detail[48]);

/* Returns the values for the text of an answer to the call. */
struct values asked_values(const struct hostile *h, const struct parsed_call *parsed_call);
/*
 * Writes the result by RDMA Write to the memory that the call offers. Returns false if that was not
 * possible.
 */
bool asked_write(struct hostile *h, const struct parsed_call *parsed_call);
/* Sends a good answer to the call. Returns false if the connection has ended. */
bool asked_answer(struct hostile *h, const struct parsed_call *parsed_call);

#endif
