/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NEGOTIATE_H
#define NEGOTIATE_H

/* What a connection has besides where version 2 may be spoken. */

#include "engine.h"
#include "mem.h"
#include "rdma2.h"
#include "rdma2_prop_state.h"
#include "rtr_group.h"

struct conn_tx {
	void (*done)(struct conn_tx *tx, int error);
};

/* A message that belongs to no call. */
struct conn_control {
	struct conn_tx tx;
	struct mem_buf *buf;
	bool is_busy;
};

struct conn_v2 {
	struct rdma2_properties peer; /* the defaults, where it has told none */
	uint32_t xid;		      /* of the RDMA2_CONNPROP that asks */
	uint32_t granted;	      /* by the RDMA2_CONNPROP that answered; 0: not told */
	bool has_told;		      /* this side's properties were sent */
	bool was_told;		      /* the peer's came */
	bool has_no_properties;	      /* the peer speaks version 2, and not these */
	bool is_late; /* it went on by version 1 without an answer, which may come yet */
	bool is_off;  /* the peer does not speak it: not asked again when it is remade */
	/* the extension */
	bool extends;		   /* Transmit Request may be sent: both sides have it */
	bool directs;		   /* and is to have items and directions for results */
	bool asks;		   /* or is to say at least how results are to come */
	bool places;		   /* data may be laid into targets of the peer's */
	bool is_extension_refused; /* by the peer, whatever its properties say */
	uint32_t rtr_base;	   /* of the operations that requests are sent with */
	bool is_again;		 /* the message that is looked at waited: it is between no others */
	struct rtr_group group;	 /* of transmissions that come */
	uint64_t group_since_ns; /* when the first of them came */
	struct mem_buf *group_chain; /* a requester's: those that came */
	uint32_t group_bytes;	     /* length of the first of them */
	struct conn_control controls[ENGINE_CONTROLS];
};

#endif
