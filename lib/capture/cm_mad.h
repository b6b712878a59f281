/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CM_MAD_H
#define CM_MAD_H

/* The messages of InfiniBand's connection manager (InfiniBand Architecture Specification, volume 1,
 * chapter 12) that set up and end a connection. They are the payload of frames to queue pair 1. */

#include <stdint.h>

#define CM_MAD_BYTES	     256u
#define CM_MAD_PRIVATE_BYTES 56u /* the most private data of either side */

/* This structure describes one side of a connection. Side 0 is the requester. It sends the request
 * of the set-up. */
struct cm_mad_side {
	uint32_t ip;	  /* in the byte order of the CPU */
	uint32_t qpn;	  /* number of the queue pair, of 24 bits */
	uint32_t psn;	  /* the first packet sequence number that this side sends, of 24 bits */
	uint32_t comm_id; /* the number by which this side names the connection */
	uint8_t private_data[CM_MAD_PRIVATE_BYTES];
	uint32_t private_bytes;
};

struct cm_mad_conn {
	struct cm_mad_side sides[2];
	uint16_t port; /* to which the requester connects */
};

/* These functions write a message of CM_MAD_BYTES. cm_mad_request() is sent by the requester,
 * cm_mad_reply() by the responder, and cm_mad_ready() by the requester. cm_mad_disconnect() is sent
 * by the side 'from'. */
void cm_mad_request(uint8_t *out, const struct cm_mad_conn *conn);
void cm_mad_reply(uint8_t *out, const struct cm_mad_conn *conn);
void cm_mad_ready(uint8_t *out, const struct cm_mad_conn *conn);
void cm_mad_disconnect(uint8_t *out, const struct cm_mad_conn *conn, uint32_t from);

#endif
