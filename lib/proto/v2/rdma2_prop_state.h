/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RDMA2_PROP_STATE_H
#define RDMA2_PROP_STATE_H

/*
 * The properties of one end of a connection that are in effect: the defaults, then what its
 * RDMA2_CONNPROP and its RDMA2_UPDPROP say (draft-cel-nfsv4-rpcrdma-version-two-03 section 5.3;
 * draft-dnoveck-nfsv4-rpcrdma-rtrext-01 section 8). Whatever a peer says, what is in here can be
 * used as it is.
 */

#include "rdma2_prop.h"

#define RDMA2_RBSIZ_DEFAULT 4096u
#define RDMA2_RBSIZ_MIN                                                                            \
	1024u /* a smaller one counts as this: version 1 asks as much of every receiver */

struct rdma2_properties {
	/* For use. */
	uint32_t send_bytes_max;      /* the longest Send to this end */
	enum rdma2_bkreqsup bkreqsup; /* reverse requests that it takes */
	uint32_t rtrs;		      /* RDMA2_RTRS_*: operations that it takes */
	uint32_t request_count_max;   /* transmissions of a request to it: 1 or more */
	uint32_t response_count_max;  /* transmissions of a reply from it: 1 or more */
	struct rtr_buffer buffer; /* consistent always; no targets: nothing is placed by Sends */
	/* As told. */
	uint32_t rbsiz;		/* 0: not told */
	struct rtr_buffer told; /* only when has_buffer */
	bool has_buffer;
	uint32_t fixed; /* bit n: property n may not change any more */
};

/* What holds as long as nothing was told. */
void rdma2_properties_init(struct rdma2_properties *props);

/* An accepted RDMA2_CONNPROP. Properties that are not in it have the default and stay so; those in
 * 'nochg' stay too, as does the buffer's structure, by which TBSNs are counted. */
void rdma2_properties_start(struct rdma2_properties *props, const struct rdma2_propset *start,
			    const struct rdma2_propsubset *nochg);

/* An accepted RDMA2_UPDPROP. Returns how many known properties were not taken over because they may
 * not change. */
uint32_t rdma2_properties_update(struct rdma2_properties *props, const struct rdma2_propset *now);

#endif
