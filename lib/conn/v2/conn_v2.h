/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONN_V2_H
#define CONN_V2_H

/*
 * The additional state of a connection that may speak version 2. The files of this folder:
 *
 *   negotiate.c         negotiation of the version: a requester asks for version 2; a responder
 *                       answers in the version of each call (lib/responder/v2/recv.c)
 *   thresholds.c        inline thresholds, and the parts of the extension that are in use
 *   properties.c        sends and processes properties and errors
 *   continuation.[ch]   messages in several transmissions
 *   placement.[ch]      data in the targets of receives
 *
 * Version 2 is draft-cel-nfsv4-rpcrdma-version-two-03. Its extension, with Transmit Request, is
 * draft-dnoveck-nfsv4-rpcrdma-rtrext-01.
 */

#include "conn.h"
#include "rdma2.h"
#include "rdma2_prop_state.h"
#include "rtr_group.h"

/* The buffer of a message that belongs to no call. */
struct conn_control {
	struct conn_tx tx; /* of the Send */
	struct mem_buf *buf;
	bool is_busy; /* the Send is posted and not complete */
};

/* The additional state of one connection. */
struct conn_v2 {
	struct rtr_buffer mine;	      /* the structure of this side's receives */
	struct rdma2_properties peer; /* the peer's properties, or their defaults */
	uint32_t xid;	  /* a requester: XID of the RDMA2_CONNPROP that asks for version 2 */
	uint32_t granted; /* a requester: credits that the peer granted in its RDMA2_CONNPROP; 0:
			     none */
	bool has_sent_properties; /* this side's properties were sent */
	bool has_peer_properties; /* the peer's properties have arrived */
	bool has_no_properties;	  /* the peer speaks version 2, but sends no properties */
	bool is_late;		  /* version 1 is in use because the peer did not answer in time */
	bool is_off; /* after a reconnect, the peer is not asked for version 2, unless the profile
			has protocol = v2 */
	/* the extension */
	bool extends; /* both sides have Transmit Request */
	bool directs; /* requests have items and directions even if all data go by explicit RDMA */
	bool asks;    /* requests can have directions: 'directs' is set, or this side has targets */
	bool places;  /* this side can place data in targets of the peer */
	bool is_extension_refused; /* the peer refused Transmit Request, although its properties say
				      that it accepts it */
	uint32_t rtr_base;	   /* RTR_BASE_*: base of the operation numbers in requests */
	struct rtr_group group;	   /* the transmission group that is being received */
	uint64_t group_since_ns;   /* time when the first transmission of 'group' arrived */
	/* A requester: the transmissions of 'group' that have arrived, and the length of the first
	 * one. */
	struct mem_buf *group_chain;
	uint32_t group_bytes;
	struct conn_control controls[ENGINE_CONTROLS];
};

/* negotiate.c: negotiates the version. */
int conn_v2_create(struct weir_conn *conn);
void conn_v2_destroy(struct weir_conn *conn);
void conn_v2_reset(struct weir_conn *conn);
bool conn_v2_negotiate(struct weir_conn *conn);
void conn_v2_on_answer(struct weir_conn *conn, struct mem_buf *buf, uint32_t len);
void conn_v2_on_answer_tick(struct weir_conn *conn, uint64_t now_ns);
void conn_v2_on_answer_fail(struct weir_conn *conn);
void conn_v2_on_open(struct weir_conn *conn);

/* thresholds.c: sets the inline thresholds. */
void conn_v2_set_thresholds(struct weir_conn *conn);
void conn_v2_versions(const struct weir_conn *conn, uint32_t *low, uint32_t *high);
/* Sets the version in use, and the inline thresholds and parts of the extension that follow from
 * it. */
void conn_set_version(struct weir_conn *conn, uint32_t vers);

/* The operations for connections (protocol.h) in all tables for connections that may speak version
 * 2. */
#define CONN_PROTOCOL_V2                                                                           \
	.via_protocol = true, .create = conn_v2_create, .destroy = conn_v2_destroy,                \
	.reset = conn_v2_reset, .set_thresholds = conn_v2_set_thresholds,                          \
	.versions = conn_v2_versions, .negotiate = conn_v2_negotiate,                              \
	.negotiate_on_message = conn_v2_on_answer, .negotiate_on_tick = conn_v2_on_answer_tick,    \
	.negotiate_on_fail = conn_v2_on_answer_fail, .on_open = conn_v2_on_open

/* Returns whether the profile allows the extension. The connection must be one that may speak
 * version 2. */
static inline bool conn_has_extension(const struct weir_conn *conn)
{
	return conn->ep.engine->profile.extension != WEIR_EXTENSION_OFF;
}

/* properties.c: messages of version 2 that belong to no call */
/* Processes a message of one of the property procedures, which rdma2_decode() accepted. Answers the
 * message if an answer is required. */
void conn_on_properties(struct weir_conn *conn, const struct rdma2_header *hdr);
/* Answers a message by an RDMA2_ERROR with the error code 'err'. If the answer cannot be sent at
 * the moment, it is dropped and counted. */
void conn_send_error(struct weir_conn *conn, const struct rdma2_header *hdr, enum rdma2_err err);
/* Sends a Report Error, in the direction opposite to the message that it reports. 'base' is the
 * base of its operation number, and 'credit' is its credit value. Returns false if it cannot be
 * sent at the moment. */
bool conn_send_report(struct weir_conn *conn, const struct rtr_report *report, uint32_t base,
		      uint32_t credit);
/* Returns the credits that this side grants in a message that is not a reply, if the peer requests
 * 'wanted' credits. */
uint32_t conn_first_grant(const struct weir_conn *conn, uint32_t wanted);
/* Sends this side's properties by RDMA2_CONNPROP, with the XID and the credit value given. Returns
 * false if the message cannot be sent at the moment. */
bool conn_send_connprop(struct weir_conn *conn, uint32_t xid, uint32_t credit);

#endif
