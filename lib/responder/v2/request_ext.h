/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REQUEST_EXT_H
#define REQUEST_EXT_H

/*
 * What the files of version 2 and of its extension have for each other:
 *
 *   protocol.c           the table of operations, and which table a new connection has
 *   recv.c               the check of a message that came, and the version that it is answered in
 *   receive_request.c    requests in several transmissions (lib/proto/v2/rtr_group.h has the rules,
 *                        lib/conn/v2/continuation.c the messages that came)
 *   items.c              items that are read, or came in targets
 *   transmit_response.c  replies by the extension
 *   resend.c             replies that the base protocol sends again
 *   error.c              errors
 *
 * Each file but protocol.c holds steps. A step returns what it has come to, and calls no other one:
 * protocol.c goes from one step of a message to the next, and request.c does the rest.
 */

#include "continuation.h"
#include "placement.h"
#include "rdma2.h"
#include "request.h"
#include "rtr.h"

/* Notes an error of version 2, with its values where it has some. Returns REFUSED. */
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

/* recv.c: steps of a message that came where version 2 may be spoken. '*breaks_group' becomes true
 * where the open group, which came in part, has to go. */
/* Judges its header, and decodes it to 'hdr'. Returns GO_ON, BASE, REFUSED or DROP. */
enum request_next request_judge_v2(struct weir_request *req, struct rdma2_header *hdr,
				   bool *breaks_group);
/* Takes an accepted message of the base of version 2. Returns BEGIN, REFUSED, DROP or END. */
enum request_next request_take_v2(struct weir_request *req, const struct rdma2_header *hdr);

/* receive_request.c: requests by the extension */
/* A step: an accepted message of version 2 came. Returns GO_ON if it has nothing to do with the
 * extension, or else BEGIN, GROUP_BEGUN, GROUP_DONE, RESEND, REFUSED, DROP or END. */
enum request_next request_receive_rtr(struct weir_request *req, const struct rdma2_header *hdr,
				      bool *breaks_group);
/* All transmissions of a group are here. PULL, JOIN_GROUP, or what ends it. */
enum request_next request_begin_group(struct weir_request *req);
/* Sets the decoder to the start of a group's payload, as far as that is no item, and notes where
 * the arguments begin. */
void request_read_sections(struct weir_request *req);

/* What the header of a request by the extension says. */
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
/* Its items, as reassemble_chunks() lists Read chunks: with their places, for those that lie where
 * they can be used; of one in several transmissions behind the buffer for what crosses them, in the
 * place of a Position Zero chunk. Of a call that has items in targets, the program is not asked for
 * places. -E2BIG: too many. */
int request_list_items(struct weir_request *req);
/* All of them are here: those in targets that are elsewhere than they were to be are copied. How
 * many parts the arguments have, as reassemble_parts(), and how many items were read. */
int request_collect_items(struct weir_request *req, uint32_t *nread);

/* transmit_response.c: replies by the extension */
/* Lay out the reply of a request by the extension: in one transmission, as request_transmit() sends
 * any; or, nsends above 1, in several. 0; -EMSGSIZE; or what stops it for good. */
int request_plan_rtr(struct weir_request *req, uint32_t credit);
/* The same of one with directions for its results: reduce_reply(), by them. */
int request_reduce_rtr(struct weir_request *req, const struct reduce_reply_in *in, uint8_t *buf,
		       uint32_t size, struct reduce_xfer *xfers, struct reduce_reply_plan *plan);
/* A reply in several transmissions was laid out, its header is made: 0; -ENOBUFS: there are too few
 * buffers now. */
int request_take_group(struct weir_request *req, uint32_t credit);
/* False: it waits for places in the send queue. */
bool request_group_fits(struct weir_request *req);
void request_send_group(struct weir_request *req);

/* resend.c: replies that may have to be sent again */
/* Before and after a responder of the engine's: false: there is no memory for that. */
bool placed_replies_join(struct weir_engine *engine);
void placed_replies_leave(struct weir_engine *engine, const struct responder *responder);
/* A reply with results in targets is on its way. */
void request_keep_placed(struct weir_request *req);
/* The requester has reported an error about the reply to the XID in 'hdr': that is laid out once
 * more, for the base. False: it is not kept, or can't be sent now. */
bool request_resend(struct weir_request *req);

/* error.c: a step. Encodes RDMA2_ERROR for a request that is REFUSED. Returns SEND_ERROR or END. */
enum request_next request_error_v2(struct weir_request *req);

#endif
