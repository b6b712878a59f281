/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALL_EXT_H
#define CALL_EXT_H

/*
 * The functions that the files of this folder share. The folder has the parts of the requester for
 * version 2 (draft-cel-nfsv4-rpcrdma-version-two-03) and its extension
 * (draft-dnoveck-nfsv4-rpcrdma-rtrext-01). Its files:
 *
 *   protocol.c          the table of operations, and the order of the steps for a call and for a
 *                       message. It chooses the table of a new connection, as version1_only.c does
 *                       in a build without version 2
 *   reply.c             the steps for a message that does not belong to the extension; properties
 *                       are handled in lib/conn/v2
 *   receive_response.c  the steps for a reply by the extension, and for Report Error
 *   transmit_request.c  calls in several transmissions (lib/proto/v2/rtr_group.h has the rules)
 *   directions.[ch]     calls with items or directions. A direction says how the responder should
 *                       return a result
 *   placement.c         calls with data that their Send places in targets
 */

#include "call_read_reply.h"
#include "continuation.h"
#include "requester.h"
#include "rtr.h"
#include "rtr_choice.h"

/* placement.c: data placed by Sends */
/* Returns whether the only Send of a call can place the call's data. Memory for the header must
 * have been found. Returns false in these cases:
 *
 * - The message, with header, placed data and zeros, has more elements than the device gathers.
 * - The data do not fit into the targets of one receive of the peer.
 * - Header and payload extend beyond the start of the first target. */
bool call_can_place(const struct weir_call *call);
/* Queues the Send of a call with placed pieces. The windows of the call must be bound. This
 * function never has to wait for a resource. */
void call_transmit_placed(struct weir_call *call);

/* transmit_request.c: message continuation */
/* Takes the receives, buffers and other resources that a call needs to be sent in 'count'
 * transmissions, with a reply of at most 'reply_count' transmissions. The call must be planned, and
 * its header not yet written. Returns NULL on success. Otherwise returns the statistics counter of
 * the reason, which the caller increments. The call owns all that was taken, even after a failure:
 * call_release_extra() gives it back. */
uint64_t *call_take_group(struct weir_call *call, uint32_t count, uint32_t reply_count);
/* These functions return the maximum number of transmissions of a call, and of a reply, that both
 * sides allow. */
uint32_t call_count_max(const struct weir_conn *conn);
uint32_t call_reply_count_max(const struct weir_conn *conn);
/* Prepares a call without items and directions for message continuation, if its message or its
 * reply would go by a chunk in the base protocol. The connection must be one that may speak version
 * 2. Returns false if the call must be sent by the base protocol. */
bool call_prepare_group(struct weir_call *call);
/* Checks whether there is a credit for each transmission of a call. Returns one of these results:
 *
 * - NOW: there are enough credits.
 * - LATER: calls in flight hold the credits, and the call waits for them.
 * - ANEW: the call must be prepared again, and is then sent by the base protocol. */
enum resend call_claim_credits(struct weir_call *call);
/* Queues the Sends of a call in several transmissions. The windows of the call must be bound. This
 * function never has to wait for a resource. */
void call_transmit_group(struct weir_call *call);

/* Returns the costs in the profile, by which the form of a call is chosen (rtr_choice.h). */
static inline struct rtr_costs requester_costs(const struct weir_engine *engine)
{
	const struct weir_profile *profile = &engine->profile;

	return (struct rtr_costs){profile->round_trip_ns, profile->operation_ns,
				  profile->message_ns, profile->copy_ns};
}

/* receive_response.c */
/* Handles a message of 'len' bytes in 'buf'. 'hdr' is its header if the header was accepted as
 * version 2, otherwise NULL. Returns REPLY_MESSAGE if the message does not belong to the extension.
 * Otherwise returns the kind of the message, for which *in is set. */
enum reply_kind requester_receive_rtr(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
				      const struct rdma2_header *hdr, struct reply_in *in);
/* Does what conn_protocol.read_group() describes. */
bool requester_read_group(struct weir_call *call, const struct mem_buf *chain, uint32_t len,
			  uint32_t *credit, struct call_content *content,
			  struct weir_result *result);
/* Drops the transmissions of the open group that have arrived, and gives their receives back. */
void requester_drop_group(struct weir_conn *conn);

/* reply.c */
/* Decodes a message of version 1. Returns false if the message must be handled as the verdict in
 * *in says. Returns true if it is a late answer of the negotiation, which needs no further step. */
bool requester_receive_v1(struct weir_conn *conn, const struct mem_buf *buf, uint32_t len,
			  struct reply_in *in);
/* Returns whether the message with the header in->hdr refuses a call, because the responder does
 * not know the operation of the call. If so, sets in->call to that call. */
bool requester_is_refusal(struct weir_conn *conn, struct reply_in *in);
/* Handles a message that is not the reply to a call. Returns REPLY_MESSAGE if the message must only
 * be dropped. Returns REPLY_NONE or REPLY_SHRUNK if the message was processed or answered, and
 * needs no further step. */
enum reply_kind requester_receive_other(struct weir_conn *conn, enum rdma2_verdict verdict,
					const struct rdma2_header *hdr);

#endif
