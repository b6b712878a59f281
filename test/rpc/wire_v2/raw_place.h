/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RAW_PLACE_H
#define RAW_PLACE_H

/*
 * Functions for tests of data placement by Sends: a pair, a raw peer, and the messages with which
 * the raw peer announces the structure of its receives. Each receive has a lead of 1,024 bytes,
 * followed by three targets of 2,048 bytes.
 */

#include <endian.h>

#include "raw.h"
#include "responder.h"

#define CALL	0u
#define REPLY	1u
#define XMTREQ	5u
#define XMTRESP 6u
#define XMTCONT 7u
#define REPTERR 8u

#define LEAD   1024u
#define TARGET 2048u
#define NUMBER 3u
#define BUFFER (LEAD + NUMBER * TARGET)

enum { EXRW = 1, TBSN, CHOICE, BYSIZE, TOOSHORT, NOITEM };
enum { BADSEQ = 4, BADXID, BADOFF, BADTBSN, BADPL };

/*
 * An item that Sends place: its length in bytes, its offset in the first target, and the sequence
 * numbers (TBSNs) of its targets.
 */
struct place_item {
	uint32_t len, offset, ntbsns, tbsns[4];
};

static inline void place_shape(struct weir_profile *profile)
{
	profile->lead_bytes = LEAD;
	profile->targets = NUMBER;
	profile->target_bytes = TARGET;
}

static inline void place_open_as(struct raw *raw, struct pair *pair, enum weir_extension extension)
{
	pair_extension = extension;
	pair_start(pair, place_shape);
	raw_open(raw, pair);
	raw->msg_bytes = BUFFER;
}

static inline void place_open(struct raw *raw, struct pair *pair)
{
	place_open_as(raw, pair, WEIR_EXTENSION_PLACEMENT);
}

/*
 * Makes the RDMA2_CONNPROP of a peer whose receives have the structure above. The peer accepts
 * requests of up to 'limit' transmissions, and sends replies of up to 'limit' transmissions.
 */
static inline struct words place_connprop_several(uint32_t xid, uint32_t credits, uint32_t limit)
{
	struct words m = {0};

	words_put(&m, 5, xid, 2, credits, 6, 5);
	words_put(&m, 3, 3, 4, 7);	/* XREQ, XRESP, XCONT */
	words_put(&m, 3, 1, 4, BUFFER); /* RBSIZ */
	words_put(&m, 12, 4, 40, BUFFER, 2, 1, LEAD, 0, 0, NUMBER, TARGET, 2048, 1);
	words_put(&m, 6, 5, 4, limit, 6, 4, limit);
	words_put(&m, 2, 1, 31);
	return m;
}

/*
 * Makes the RDMA2_CONNPROP of a peer whose receives have the structure above, for requests and
 * replies of one transmission.
 */
static inline struct words place_connprop(uint32_t xid)
{
	struct words m = {0};

	words_put(&m, 5, xid, 2, 16, 6, 3);
	words_put(&m, 3, 3, 4, 3);	/* XREQ, XRESP */
	words_put(&m, 3, 1, 4, BUFFER); /* RBSIZ */
	words_put(&m, 12, 4, 40, BUFFER, 2, 1, LEAD, 0, 0, NUMBER, TARGET, 2048, 1);
	words_put(&m, 2, 1, 7);
	return m;
}

/*
 * Writes the bytes of an item, pair_byte(0), pair_byte(1) and so on, to its targets in the message
 * 'msg'. Returns the offset after the last of these bytes, or 'end' if 'end' is larger.
 */
static inline uint32_t place_lay(uint8_t msg[BUFFER], const struct place_item *item, uint32_t end)
{
	uint32_t done = 0;

	for (uint32_t i = 0; i < item->ntbsns; i++) {
		uint32_t start = i == 0 ? item->offset : 0,
			 at = LEAD + item->tbsns[i] * TARGET + start;

		for (; start < TARGET && done < item->len && at < BUFFER; start++, done++)
			msg[at++] = pair_byte(done);
		if (at > end && at <= BUFFER)
			end = at;
	}
	return end;
}

/*
 * Does what place_lay() does for the bytes of an item that are in transmission number n of several.
 */
static inline uint32_t place_lay_in(uint8_t msg[BUFFER], const struct place_item *item, uint32_t n,
				    uint32_t end)
{
	uint32_t done = 0;

	for (uint32_t i = 0; i < item->ntbsns; i++) {
		uint32_t start = i == 0 ? item->offset : 0,
			 at = LEAD + item->tbsns[i] % NUMBER * TARGET + start;

		for (; start < TARGET && done < item->len; start++, done++, at++)
			if (item->tbsns[i] / NUMBER == n && at < BUFFER)
				msg[at] = pair_byte(done);
		if (item->tbsns[i] / NUMBER == n && at > end)
			end = at;
	}
	return end;
}

static inline uint32_t place_checksum(uint32_t len)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < len; i++)
		sum = sum * 33 + pair_byte(i);
	return sum;
}

/*
 * Sets the first 'len' bytes of the client's memory to pair_byte(0), pair_byte(1) and so on, and
 * submits a WRITE of these bytes.
 */
static inline void place_submit_write(struct pair *pair, struct outcome *outcome, uint32_t len)
{
	struct weir_call_params params;
	struct weir_call *call;

	for (uint32_t i = 0; i < len; i++)
		pair->client_mem[i] = pair_byte(i);
	outcome_init(outcome, pair);
	params = pair_params(PAIR_WRITE, outcome);
	call = weir_call_begin(pair->conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), 5);
	assert_int_equal(weir_call_arg_item(call, pair->client_region, pair->client_mem, len), 0);
	weir_xdr_put_u32(weir_call_args(call), 6);
	assert_int_equal(weir_call_submit(call), 0);
}

/*
 * Checks that free request objects refer to no receives, because these receives can be in use by
 * other requests.
 */
static inline void expect_no_parts(const struct weir_conn *server_conn)
{
	const struct weir_request *req = responder_of(server_conn)->pool->free;

	for (; req; req = req->next_free)
		assert_int_equal(req->nparts, 0);
}

#endif
