/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REQUEST_EXT_H
#define REQUEST_EXT_H

/*
 * Declares what the files of version 2 and of its extension share:
 *
 *   protocol.c           the table of operations, and the choice of the table of a new connection
 *   recv.c               the check of a received message, and the version of the answer
 *   receive_request.c    requests in several transmissions (lib/proto/v2/rtr_group.h has the rules,
 *                        lib/conn/v2/continuation.c the messages that were received)
 *   items.c              items that are read, or were placed in targets
 *   transmit_response.c  replies by the extension
 *   resend.c             replies that the base protocol sends again
 *   error.c              errors
 *
 * Each file except protocol.c contains steps. A step returns its result (enum request_next) and
 * calls no other step: protocol.c runs the steps of a message, and request.c does the rest.
 */

#include "continuation.h"
#include "placement.h"
#include "rdma2.h"
#include "request.h"
#include "rtr.h"

/* Notes an error of version 2 and its values, if it has any. Returns REFUSED. */
static inline enum request_next request_refuse_v2(struct weir_request *req, enum rdma2_err err,
						  uint32_t first, uint32_t second)
{
	req->refusal = (struct request_refusal){err, first, second};
	return REQUEST_REFUSED;
}

/* Does what request_count_refused() does, for reasons of either version. */
static inline void request_count_refused_v2(struct weir_engine *engine, uint32_t reason)
{
	engine->stats.limits_exceeded += reason == RDMA2_R_TOO_MANY_ITEMS;
	request_count_refused(engine, reason);
}

/* recv.c: steps of a message on a connection that may use version 2. They set '*breaks_group' to
 * true if the open group, which is incomplete, must be dropped. */
/* Checks the header of the message, and decodes it to 'hdr'. Returns GO_ON, BASE, REFUSED or
 * DROP. */
enum request_next request_judge_v2(struct weir_request *req, struct rdma2_header *hdr,
				   bool *breaks_group);
/* Takes an accepted message of the base of version 2. Returns BEGIN, REFUSED, DROP or END. */
enum request_next request_accept_v2(struct weir_request *req, const struct rdma2_header *hdr);

/* receive_request.c: requests by the extension */
/* A step. Takes an accepted message of version 2. Returns GO_ON if the message has nothing to do
 * with the extension, or else BEGIN, GROUP_BEGUN, GROUP_DONE, RESEND, REFUSED, DROP or END. */
enum request_next request_receive_rtr(struct weir_request *req, const struct rdma2_header *hdr,
				      bool *breaks_group);
/* A step that runs when all transmissions of a group have arrived. Returns PULL, JOIN_GROUP, or
 * what ends the request. */
enum request_next request_begin_group(struct weir_request *req);
/* Sets the decoder to the start of a group's payload without its items, and notes where the
 * arguments begin. */
void request_read_sections(struct weir_request *req);

/* Returns the contents of the header of a request by the extension. */
static inline struct rtr_header request_rtr_header(const struct weir_request *req)
{
	return (struct rtr_header){
		.xid = req->hdr.xid,
		.direction = RDMA1_CALL,
		.base = req->extension,
		.count = RTR_TRANSMISSIONS_MAX,
		.nitems = req->lists.nitems,
		.items = req->lists.items,
		.nsets = req->lists.nsets,
		.sets = req->lists.sets,
	};
}

/* items.c */
/*
 * Lists the items of a call in req->chunks, as reassemble_chunks() lists Read chunks. Returns the
 * number of entries, or -E2BIG if there are too many items.
 * - The entry of an item that was placed in a target has the address of the data if these are
 *   contiguous.
 * - If the call has several transmissions, the first entry is the buffer for data that cross from
 *   one transmission to the next. It replaces a Position Zero chunk.
 * - If the call has items in targets, the program is not asked for the memory of the items.
 */
int request_list_items(struct weir_request *req);
/* Runs when all items have arrived. Copies the items in targets whose data are not contiguous.
 * Returns the number of parts of the arguments, like reassemble_parts(), and sets '*nread' to the
 * number of items that were read. */
int request_collect_items(struct weir_request *req, uint32_t *nread);

/* transmit_response.c: replies by the extension */
/* Lays out the reply to a request by the extension. The reply has one transmission, which
 * request_transmit() sends like any other reply, or several; 'nsends' is then above 1. Returns 0,
 * -ENOBUFS if too few buffers are free, -EMSGSIZE, or an error that no later attempt can avoid. */
int request_plan_rtr(struct weir_request *req, uint32_t credit);
/* Does what reduce_reply() does, for a request that has directions for its results. The function
 * follows these directions. */
int request_reduce_rtr(struct weir_request *req, const struct reduce_reply_in *in, uint8_t *buf,
		       uint32_t size, struct reduce_xfer *xfers, struct reduce_reply_plan *plan);
/* Takes the buffers of a reply in several transmissions, which is laid out and whose header is
 * complete. Returns 0, or -ENOBUFS if too few buffers are free. */
int request_take_group(struct weir_request *req, uint32_t credit);
/* Returns false if the reply waits for room in the send queue. */
bool request_group_fits(struct weir_request *req);
void request_send_group(struct weir_request *req);

/* resend.c: replies that may have to be sent again */
/* These functions are called before and after the life of a responder of the engine.
 * placed_replies_join() returns false if there is no memory. */
bool placed_replies_join(struct weir_engine *engine);
void placed_replies_leave(struct weir_engine *engine, const struct responder *responder);
/* Keeps a copy of a reply with results in targets, because this reply is being sent. */
void request_keep_placed(struct weir_request *req);
/* Lays out a reply again, for the base protocol, because the requester has reported an error about
 * the reply to the XID in 'hdr'. Returns false if the reply was not kept or cannot be sent now. */
bool request_resend(struct weir_request *req);

/* error.c: a step. Encodes RDMA2_ERROR for a request that is REFUSED. Returns SEND_ERROR or END. */
enum request_next request_error_v2(struct weir_request *req);

#endif
