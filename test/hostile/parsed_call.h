/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PARSED_CALL_H
#define PARSED_CALL_H

/*
 * Parses the messages of a requester that speaks version 2, and judges them by the properties that
 * it was sent. Makes good answers in the way that the call asks for. The calls are of the bench's
 * program, whose data are known, so that the data are correct as well.
 */

#include "hostile.h"
#include "rdma2_prop_state.h"
#include "rtr_group.h"

#define ASKED_BYTES_MAX 65536u

/* A complete call. */
struct parsed_call {
	uint32_t xid;
	uint32_t vers;
	uint32_t base; /* of the operation numbers; 0: it came by RDMA2_MSG or RDMA2_NOMSG */
	uint32_t ndirections;
	uint32_t count;		  /* transmissions of the call */
	uint32_t reply_count;	  /* transmissions that its reply may have */
	enum rtr_type results_by; /* type of the first direction */
	bool has_result;	  /* the call offers memory for the first result */
	bool has_reply;		  /* the call offers memory for a long reply */
	struct rdma1_segment result;
	struct rdma1_segment reply;
	uint32_t rpc_bytes;
	uint32_t proc;
	uint32_t answer_bytes;
	/* the RPC call, including data that were placed directly */
	uint8_t rpc[ASKED_BYTES_MAX];
	uint8_t answer[ASKED_BYTES_MAX]; /* the data that it gets or brings */
};

enum came {
	CAME_NOTHING,
	CAME_CLOSED,
	CAME_CALL,
	CAME_PART, /* of a call */
	CAME_PROPERTIES,
	CAME_REPORT,
	CAME_ERROR,
	CAME_UNSOUND, /* a message that no side may send */
};

/* A transmission of a call that is not complete yet. */
struct asked_part {
	struct peer_message message;
	uint32_t header_bytes;
	uint32_t pslen;
};

/* The state of the other side of this connection. */
struct parsing {
	struct rdma2_properties told; /* properties that this side sent */
	bool has_told;
	struct rtr_group group; /* of a call that is partly received */
	uint32_t nparts;
	struct asked_part parts[RTR_TRANSMISSIONS_MAX];
	uint32_t xid;			 /* of the latest properties */
	struct parsed_call *parsed_call; /* the call that is being received */
};

void parsing_begin(struct parsing *parsing, struct parsed_call *parsed_call);
/* Notes the properties of this side in a message that was sent. */
void parsing_note_sent(struct parsing *parsing, const uint8_t *bytes, uint32_t len);

/* Parses a message. A complete call is then in *parsing->parsed_call. Otherwise *detail names the
 * error, or says what is wrong. */
enum came parsing_take(struct hostile *h, struct parsing *parsing,
		       const struct peer_message *message, char detail[48]);

/* Returns the values for the text of a case. */
struct values asked_values(const struct hostile *h, const struct parsed_call *parsed_call);
/* Writes the result to the memory that the call offers. */
bool asked_write(struct hostile *h, const struct parsed_call *parsed_call);
/* Sends the good answer to the call. Returns false if the connection has ended. */
bool asked_answer(struct hostile *h, const struct parsed_call *parsed_call);

#endif
