/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RDMA2_PROP_STATE_H
#define RDMA2_PROP_STATE_H

/*
 * The properties of one end of a connection that are in effect. They begin with the defaults, which
 * the end's RDMA2_CONNPROP and then its RDMA2_UPDPROP change
 * (draft-cel-nfsv4-rpcrdma-version-two-03 section 5.3; draft-dnoveck-nfsv4-rpcrdma-rtrext-01
 * section 8). The values for use are valid whatever a peer sends.
 */

#include "rdma2_prop.h"

#define RDMA2_RBSIZ_DEFAULT 4096u
#define RDMA2_RBSIZ_MIN                                                                            \
	1024u /* smaller values count as this, which version 1 requires of every receiver */

struct rdma2_properties {
	/* The values for use. */
	uint32_t send_bytes_max;      /* length of the longest Send to this end */
	enum rdma2_bkreqsup bkreqsup; /* reverse requests that this end accepts */
	uint32_t rtrs;		      /* RDMA2_RTRS_*: operations that this end accepts */
	uint32_t request_count_max;   /* transmissions of a request to this end: 1 or more */
	uint32_t response_count_max;  /* transmissions of a reply from this end: 1 or more */
	/* Always consistent. If it has no targets, no item is placed by Sends. */
	struct rtr_buffer buffer;
	/* The values as the peer sent them. */
	uint32_t rbsiz;		/* 0 if the peer sent none */
	struct rtr_buffer told; /* valid only if has_buffer */
	bool has_buffer;
	uint32_t fixed; /* Bit n is set if property n may not change any more. */
};

/* Sets the values that are in effect until the peer has sent properties. */
void rdma2_properties_init(struct rdma2_properties *props);

/* Applies an accepted RDMA2_CONNPROP. These properties cannot change later:
 *
 * - those that are not in it, which have their defaults
 * - those in 'nochg'
 * - the structure of the buffer, which determines the numbering of TBSNs */
void rdma2_properties_start(struct rdma2_properties *props, const struct rdma2_propset *start,
			    const struct rdma2_propsubset *nochg);

/* Applies an accepted RDMA2_UPDPROP. Returns how many known properties were not applied because
 * they may not change. */
uint32_t rdma2_properties_update(struct rdma2_properties *props, const struct rdma2_propset *now);

#endif
