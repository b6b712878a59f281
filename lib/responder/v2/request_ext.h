/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REQUEST_EXT_H
#define REQUEST_EXT_H

/*
 * Declares the functions that the files of version 2 and of its extension share. The files are:
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
 * Each file except protocol.c contains steps. A step returns its result (enum request_next, named
 * here without "REQUEST_") and calls no other step. protocol.c runs the steps that check a message,
 * and request.c runs all others.
 */

#include "continuation.h"
#include "placement.h"
#include "rdma2.h"
#include "request.h"
#include "rtr.h"

/* Stores an error of version 2 in the request, with the values of the error if it has any. Returns
 * REFUSED. */
static inline enum request_next request_refuse_v2(struct weir_request *req, enum rdma2_err err,
						  uint32_t first, uint32_t second)
{
	req->refusal = (struct request_refusal){err, first, second};
	return REQUEST_REFUSED;
}

/* Counts an invalid message of either version in limits_exceeded, if the reason is a limit, and
 * logs it, if the limit is one of the profile. */
static inline void request_note_invalid_v2(struct weir_request *req, uint32_t reason)
{
	req->responder->engine->stats.limits_exceeded += reason == RDMA2_R_TOO_MANY_ITEMS;
	request_note_invalid(req, reason);
}

/* recv.c: steps that check a message on a connection that can use version 2. They set
 * '*breaks_group' to true if the open group of transmissions, which is incomplete, must be
 * dropped. */
/* This step checks the header of the message, and decodes it to 'hdr'. Returns BASE if the message
 * has version 1, and 'hdr' is then not set. Otherwise returns GO_ON if the header is accepted,
 * REFUSED if it must be answered with an error, or DROP. */
enum request_next request_judge_v2(struct weir_request *req, struct rdma2_header *hdr,
				   bool *breaks_group);
/* This step takes an accepted message of version 2 that is not one of the extension. Returns BEGIN
 * for a call, END for properties, which it processes, REFUSED for an operation of an extension that
 * the connection does not have, or DROP for a reply or an error. */
enum request_next request_accept_v2(struct weir_request *req, const struct rdma2_header *hdr);

/* receive_request.c: requests by the extension */
/* This step takes an accepted message of version 2. Returns:
 * - GO_ON if the message has nothing to do with the extension
 * - BEGIN for a call in one transmission
 * - GROUP_BEGUN or GROUP_DONE for the first or the last one of several transmissions
 * - END for a transmission between them, or after an error that was sent
 * - RESEND for a report about a reply that can be sent again
 * - REFUSED or DROP for a message that is not accepted */
enum request_next request_receive_rtr(struct weir_request *req, const struct rdma2_header *hdr,
				      bool *breaks_group);
/* This step runs when all transmissions of a group have arrived. Returns PULL if the call has
 * items, JOIN_GROUP if it has none, or END if items were misplaced. */
enum request_next request_begin_group(struct weir_request *req);
/* Sets the decoder to the start of the payload of a group, which is without its items, and stores
 * the offset at which the arguments begin. */
void request_read_sections(struct weir_request *req);

/* Returns the header of a call by the extension, as far as it is stored in the request. */
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

/* items.c: the items of calls by the extension */
/*
 * Lists the items of a call in req->chunks, as reassemble_chunks() lists Read chunks. Returns the
 * number of entries, or -E2BIG if there are too many items.
 * - The entry of an item that was placed in targets has the address of the item's data if the data
 *   are contiguous.
 * - If the call has several transmissions, the first entry is the buffer for data that cross from
 *   one transmission to the next. It replaces a Position Zero chunk.
 * - If the call has items in targets, the program's arg_sink is not called for its items.
 */
int request_list_items(struct weir_request *req);
/* Runs when all items have arrived. Copies the items in targets whose data are not contiguous.
 * Returns the number of parts of the arguments, like reassemble_parts(), and sets '*nread' to the
 * number of items that were read. */
int request_collect_items(struct weir_request *req, uint32_t *nread);

/* transmit_response.c: replies by the extension */
/* Lays out the reply to a request by the extension without directions for its results. The reply
 * has one transmission, which request_transmit() sends like any other reply, or several. In the
 * latter case, 'nsends' is more than 1. Returns 0, -ENOBUFS if too few buffers are free at present,
 * -EMSGSIZE if the reply is too long, or -EINVAL if its length is not a multiple of 4. */
int request_plan_rtr(struct weir_request *req, uint32_t credit);
/* Does the work of reduce_reply() for a request that has directions for its results
 * (req->lists.sets), and follows these directions. */
int request_reduce_rtr(struct weir_request *req, const struct reduce_reply_in *in, uint8_t *buf,
		       uint32_t size, struct reduce_xfer *xfers, struct reduce_reply_plan *plan);
/* Takes the buffers of a reply in several transmissions. The reply must be laid out, and its header
 * must be complete. Returns 0, or -ENOBUFS if too few buffers are free. */
int request_take_group(struct weir_request *req, uint32_t credit);
/* request_group_fits() returns whether the send queue has room for all transmissions and Writes of
 * a reply. If the result is false, the reply waits for room. request_send_group() queues the
 * transmissions. */
bool request_group_fits(struct weir_request *req);
void request_send_group(struct weir_request *req);

/* resend.c: replies that possibly have to be sent again */
/* placed_replies_join() must be called before a responder of the engine is created, and returns
 * false if there is no memory. placed_replies_leave() must be called when the responder ends, and
 * drops the replies that are kept for it. */
bool placed_replies_join(struct weir_engine *engine);
void placed_replies_leave(struct weir_engine *engine, const struct responder *responder);
/* Keeps a copy of a reply with results in targets, if the reply fits in one message. It is called
 * when the reply is being sent. */
void request_keep_placed(struct weir_request *req);
/* Encodes a kept reply again, for the base protocol, because the requester has reported an error
 * about the reply with the XID of the request. Returns false if the reply was not kept, or cannot
 * be sent at present. */
bool request_resend(struct weir_request *req);

/* error.c: this step encodes the error that request_refuse_v2() has stored, as RDMA2_ERROR. Returns
 * SEND_ERROR, or END if no reply can be sent. */
enum request_next request_error_v2(struct weir_request *req);

#endif
