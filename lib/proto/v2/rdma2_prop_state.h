/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RDMA2_PROP_STATE_H
#define RDMA2_PROP_STATE_H

/*
 * The properties of one end of a connection that are in effect. At first they have the defaults,
 * which the RDMA2_CONNPROP of this end and then its RDMA2_UPDPROP change
 * (draft-cel-nfsv4-rpcrdma-version-two-03 section 5.3; draft-dnoveck-nfsv4-rpcrdma-rtrext-01
 * section 8). The values for use are always valid, whatever a peer sends.
 */

#include "rdma2_prop.h"

#define RDMA2_RBSIZ_DEFAULT 4096u
#define RDMA2_RBSIZ_MIN                                                                            \
	1024u /* smaller values count as this one, which version 1 requires of every receiver */

struct rdma2_properties {
	/* These values are for use. "This end" is the end that has sent the properties. */
	uint32_t send_bytes_max;      /* bytes of the longest Send to this end */
	enum rdma2_bkreqsup bkreqsup; /* reverse requests that this end accepts */
	uint32_t rtrs;		      /* RDMA2_RTRS_*: operations that this end accepts */
	/* limit of transmissions of a request to this end: 1 or more */
	uint32_t request_count_max;
	/* limit of transmissions of a reply from this end: 1 or more */
	uint32_t response_count_max;
	/* Structure of the receive buffer of this end. It is always consistent. If it has no
	 * targets, no item is placed by Sends. */
	struct rtr_buffer buffer;
	/* These are values as this end has sent them. */
	uint32_t rbsiz;		/* size of the receive buffer in bytes; 0: not sent */
	struct rtr_buffer told; /* structure of the receive buffer; valid only if has_buffer */
	bool has_buffer;
	uint32_t fixed; /* Bit n is set if property n must not change any more. */
};

/* Sets the values that are in effect until the peer has sent properties. */
void rdma2_properties_init(struct rdma2_properties *props);

/*
 * Applies an accepted RDMA2_CONNPROP: its set 'start' and its subset 'nochg'. After that, these
 * properties cannot change:
 *
 * - properties that are not in 'start', which have their defaults
 * - properties in 'nochg'
 * - the structure of the receive buffer, which determines the numbering of TBSNs
 */
void rdma2_properties_start(struct rdma2_properties *props, const struct rdma2_propset *start,
			    const struct rdma2_propsubset *nochg);

/* Applies an accepted RDMA2_UPDPROP. Returns how many known properties were not applied because
 * they must not change. */
uint32_t rdma2_properties_update(struct rdma2_properties *props, const struct rdma2_propset *now);

#endif
