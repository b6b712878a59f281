/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALL_EXT_H
#define CALL_EXT_H

/*
 * What the files of version 2 and of its extension have for each other:
 *
 *   protocol.c          the table of operations, and the order of the steps that a call and a
 *                       message pass. It chooses the table of a new connection, as
 *                       version1_only.c does in a build without version 2
 *   reply.c             the steps of a message that does not belong to the extension; properties
 *                       are handled in lib/conn/v2
 *   receive_response.c  the steps of a reply by the extension, and of Report Error
 *   transmit_request.c  calls in several transmissions (lib/proto/v2/rtr_group.h has the rules)
 *   directions.[ch]     calls that say for each result how it is to come
 *   placement.c         calls whose data their Send lays into targets
 */

#include "call_read_reply.h"
#include "continuation.h"
#include "requester.h"
#include "rtr.h"
#include "rtr_choice.h"

/* placement.c: data placed by Sends */
/* Whether the device can gather the message, with its header in its place. */
bool call_can_place(const struct weir_call *call);
/* As call_send(), of a call with pieces that are placed; it need not wait. */
void call_transmit_placed(struct weir_call *call);

/* transmit_request.c: message continuation */
/* Of a call that is planned, all but its header written: what it takes to go in so many
 * transmissions, with so many for its reply. NULL; or the reason for which it can't be had now, a
 * counter: what was taken is on the call, to be given back by call_release_extra(). */
uint64_t *call_take_group(struct weir_call *call, uint32_t count, uint32_t reply_count);
/* The most that there may be, of the call and of its reply. */
uint32_t call_count_max(const struct weir_conn *conn);
uint32_t call_reply_count_max(const struct weir_conn *conn);
/* Where version 2 may be spoken: prepare the call for it, where the base's plan would have its
 * message, or its reply, in a chunk. False: the base it is. */
bool call_prepare_group(struct weir_call *call);
/* Each transmission of a call takes a credit. LATER: they are with calls in flight; ANEW: it is to
 * be prepared once more, and goes by the base. */
enum resend call_claim_credits(struct weir_call *call);
/* As call_send(), of a call in several transmissions; it need not wait. */
void call_transmit_group(struct weir_call *call);

static inline struct rtr_costs requester_costs(const struct weir_engine *engine)
{
	const struct weir_profile *profile = &engine->profile;

	return (struct rtr_costs){profile->round_trip_ns, profile->operation_ns,
				  profile->message_ns, profile->copy_ns};
}

/* receive_response.c */
/* An accepted message of version 2 came. MESSAGE: it does not belong to the extension. */
enum reply_kind requester_receive_rtr(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
				      const struct rdma2_header *hdr, struct reply_in *in);
/* As conn_protocol.read_group(). */
bool requester_read_group(struct weir_call *call, const struct mem_buf *chain, uint32_t len,
			  uint32_t *credit, struct call_content *content,
			  struct weir_result *result);
/* The open group is over. */
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
