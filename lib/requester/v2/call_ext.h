/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALL_EXT_H
#define CALL_EXT_H

/*
 * The functions that the files of version 2 and of its extension share:
 *
 *   protocol.c          the table of operations, and the order of the steps for a call and for a
 *                       message. It chooses the table of a new connection, as version1_only.c does
 *                       in a build without version 2
 *   reply.c             the steps for a message that does not belong to the extension; properties
 *                       are handled in lib/conn/v2
 *   receive_response.c  the steps for a reply by the extension, and for Report Error
 *   transmit_request.c  calls in several transmissions (lib/proto/v2/rtr_group.h has the rules)
 *   directions.[ch]     calls that say for each result how it should be returned
 *   placement.c         calls with data that their Send places in targets
 */

#include "call_read_reply.h"
#include "continuation.h"
#include "requester.h"
#include "rtr.h"
#include "rtr_choice.h"

/* placement.c: data placed by Sends */
/* Returns whether the device can gather the message, with the header before it. */
bool call_can_place(const struct weir_call *call);
/* Queues the Send of a call with placed pieces, whose windows are bound. It never has to wait. */
void call_transmit_placed(struct weir_call *call);

/* transmit_request.c: message continuation */
/* Takes all that a call needs to go in 'count' transmissions, with 'reply_count' for its reply. The
 * call is planned, and only its header is not yet written. Returns NULL, or the counter of the
 * reason for which something is not available. The call owns all that was taken, even after a
 * failure: call_release_extra() gives it back. */
uint64_t *call_take_group(struct weir_call *call, uint32_t count, uint32_t reply_count);
/* These functions return the maximum number of transmissions of a call, and of a reply. */
uint32_t call_count_max(const struct weir_conn *conn);
uint32_t call_reply_count_max(const struct weir_conn *conn);
/* Prepares a call for several transmissions, if its message or its reply would go in a chunk by the
 * plan of the base protocol. Version 2 may be spoken on the connection. Returns false if the call
 * goes by the base protocol. */
bool call_prepare_group(struct weir_call *call);
/* Checks whether there is a credit for each transmission of a call. Returns NOW if there is, or one
 * of these results:
 *
 * - LATER: calls in flight have the credits.
 * - ANEW: the call must be prepared again, and then goes by the base protocol. */
enum resend call_claim_credits(struct weir_call *call);
/* Queues the Sends of a call in several transmissions, whose windows are bound. It never has to
 * wait. */
void call_transmit_group(struct weir_call *call);

static inline struct rtr_costs requester_costs(const struct weir_engine *engine)
{
	const struct weir_profile *profile = &engine->profile;

	return (struct rtr_costs){profile->round_trip_ns, profile->operation_ns,
				  profile->message_ns, profile->copy_ns};
}

/* receive_response.c */
/* Handles an accepted message of version 2. Returns REPLY_MESSAGE if it does not belong to the
 * extension. */
enum reply_kind requester_receive_rtr(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
				      const struct rdma2_header *hdr, struct reply_in *in);
/* Does what conn_protocol.read_group() describes. */
bool requester_read_group(struct weir_call *call, const struct mem_buf *chain, uint32_t len,
			  uint32_t *credit, struct call_content *content,
			  struct weir_result *result);
/* Drops the open group, and returns its receives. */
void requester_drop_group(struct weir_conn *conn);

/* reply.c */
/* Handles a message of version 1. Returns true if no further step is needed. */
bool requester_receive_v1(struct weir_conn *conn, const struct mem_buf *buf, uint32_t len,
			  struct reply_in *in);
/* Returns whether the message refuses a call. If so, 'in' names that call. */
bool requester_is_refusal(struct weir_conn *conn, struct reply_in *in);
/* Handles a message that may be no reply. Returns REPLY_NONE or REPLY_SHRUNK if it is not a reply
 * and needs no further step. */
enum reply_kind requester_receive_other(struct weir_conn *conn, enum rdma2_verdict verdict,
					const struct rdma2_header *hdr);

#endif
