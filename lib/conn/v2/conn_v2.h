/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONN_V2_H
#define CONN_V2_H

/*
 * What a connection has besides where version 2 may be spoken. The files of this folder:
 *
 *   negotiate.c         a requester asks for version 2; a responder answers in the version of each
 *                       call (lib/responder/v2/recv.c)
 *   thresholds.c        what the version that is spoken lets be sent
 *   properties.c        messages of properties and errors
 *   continuation.[ch]   the transmissions of a message that came, until the last is here
 *   placement.[ch]      targets in receives
 */

#include "conn.h"
#include "rdma2.h"
#include "rdma2_prop_state.h"
#include "rtr_group.h"

/* A message that belongs to no call. */
struct conn_control {
	struct conn_tx tx;
	struct mem_buf *buf;
	bool is_busy;
};

struct conn_v2 {
	struct rtr_buffer mine;	      /* the structure of this side's receives */
	struct rdma2_properties peer; /* the defaults, where it has told none */
	uint32_t xid;		      /* of the RDMA2_CONNPROP that asks */
	uint32_t granted;	      /* by the RDMA2_CONNPROP that answered; 0: not told */
	bool has_told;		      /* this side's properties were sent */
	bool was_told;		      /* the peer's came */
	bool has_no_properties;	      /* the peer speaks version 2, and not these */
	bool is_late; /* it went on by version 1 without an answer, which may come yet */
	bool is_off;  /* the peer does not speak it: not asked again when it is remade */
	/* the extension */
	bool extends;		     /* Transmit Request may be sent: both sides have it */
	bool directs;		     /* and is to have items and directions for results */
	bool asks;		     /* or is to say at least how results are to come */
	bool places;		     /* data may be laid into targets of the peer's */
	bool is_extension_refused;   /* by the peer, whatever its properties say */
	uint32_t rtr_base;	     /* of the operations that requests are sent with */
	struct rtr_group group;	     /* of transmissions that come */
	uint64_t group_since_ns;     /* when the first of them came */
	struct mem_buf *group_chain; /* a requester's: those that came */
	uint32_t group_bytes;	     /* length of the first of them */
	struct conn_control controls[ENGINE_CONTROLS];
};

/* negotiate.c: which version is spoken. */
int conn_v2_create(struct weir_conn *conn);
void conn_v2_destroy(struct weir_conn *conn);
void conn_v2_reset(struct weir_conn *conn);
bool conn_v2_negotiate(struct weir_conn *conn);
void conn_v2_on_answer(struct weir_conn *conn, struct mem_buf *buf, uint32_t len);
void conn_v2_on_answer_tick(struct weir_conn *conn, uint64_t now_ns);
void conn_v2_on_answer_fail(struct weir_conn *conn);
void conn_v2_on_open(struct weir_conn *conn);

/* thresholds.c: what it lets be sent. */
void conn_v2_set_thresholds(struct weir_conn *conn);
void conn_v2_versions(const struct weir_conn *conn, uint32_t *low, uint32_t *high);
/* From here on it speaks 'vers', with that version's thresholds. */
void conn_set_version(struct weir_conn *conn, uint32_t vers);

/* What all tables of connections have that may speak version 2. */
#define CONN_PROTOCOL_V2                                                                           \
	.via_protocol = true, .create = conn_v2_create, .destroy = conn_v2_destroy,                \
	.reset = conn_v2_reset, .set_thresholds = conn_v2_set_thresholds,                          \
	.versions = conn_v2_versions, .negotiate = conn_v2_negotiate,                              \
	.negotiate_on_message = conn_v2_on_answer, .negotiate_on_tick = conn_v2_on_answer_tick,    \
	.negotiate_on_fail = conn_v2_on_answer_fail, .on_open = conn_v2_on_open

/* Whether messages may be parts of others: of a connection that may speak version 2. */
static inline bool conn_has_extension(const struct weir_conn *conn)
{
	return conn->ep.engine->profile.extension != WEIR_EXTENSION_OFF;
}

/* properties.c: messages of version 2 that belong to no call */
/* An accepted message of one of the property procedures came. What asks for an answer gets it. */
void conn_on_properties(struct weir_conn *conn, const struct rdma2_header *hdr);
/* Answer a message by RDMA2_ERROR; where that can't be sent now it is dropped, and counted. */
void conn_send_error(struct weir_conn *conn, const struct rdma2_header *hdr, enum rdma2_err err);
/* Report Error, in the direction against what it is about. False: it can't be sent now. */
bool conn_send_report(struct weir_conn *conn, const struct rtr_report *report, uint32_t base,
		      uint32_t credit);
/* What this side grants outside of a reply, where 'wanted' is asked for. */
uint32_t conn_first_grant(const struct weir_conn *conn, uint32_t wanted);
/* This side's RDMA2_CONNPROP. False: it can't be sent now. */
bool conn_send_connprop(struct weir_conn *conn, uint32_t xid, uint32_t credit);

#endif
