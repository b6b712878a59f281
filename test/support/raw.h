/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RAW_H
#define RAW_H

/*
 * A peer that sends the bytes that a test chooses, over a driver and without weir's protocol. It is
 * either side of a connection to an engine of the pair under test.
 */

#include "driver.h"
#include "pair.h"

#define RAW_MSG_MAX 4096u  /* default of msg_bytes */
#define RAW_BUF	    12288u /* the largest value of msg_bytes */
#define RAW_RECVS   24u
#define RAW_SEND_AT (RAW_RECVS * RAW_BUF) /* offset of the send buffer */
#define RAW_MEM	    (1u << 20) /* exposed memory, after the receives and the send buffer */

struct raw {
	struct pair *pair;
	/* length of the longest message; set by raw_open(), or by the test before it connects */
	uint32_t msg_bytes;
	const struct fabric_ops *ops;
	struct fabric_dev *dev;
	struct fabric_qp *qp;
	struct fabric_listener *listener;
	struct fabric_mr mr;
	uint8_t *base;
	uint8_t *mem;	/* the exposed part */
	uint64_t raddr; /* remote address of 'mem' */
	int established, disconnected;
	int nmsgs; /* messages that arrived and were not taken */
	uint32_t len[RAW_RECVS];
	uint8_t msgs[RAW_RECVS][RAW_BUF];
	int sent;     /* completions of sends */
	bool ignores; /* messages are received and discarded */
	/* messages are received, and their receives are not posted again */
	bool stops;
	/* announces remote invalidation to requesters that connect (RFC 8797) */
	bool may_invalidate;
	uint32_t inv_rkey;	   /* the key that the latest message invalidated, or 0 */
	enum fabric_status status; /* of the latest completion of a work request */
};

/* A message as words, big-endian on the wire. */
struct words {
	uint32_t n;
	uint32_t w[RAW_BUF / 4];
};

void raw_open(struct raw *raw, struct pair *pair);
void raw_connect(struct raw *raw);		    /* to the pair's responder */
void raw_listen(struct raw *raw, const char *addr); /* for the pair's requester */
/* Listens at a new address and has the pair's requester connect to it. */
void raw_serve(struct raw *raw);
/* Like raw_serve(), with version 2: answers the requester's properties with these, whatever XID
 * they have. */
void raw_serve_v2(struct raw *raw, const struct words *properties);
void raw_close(struct raw *raw);
/* Calls raw_close() and pair_stop(). */
void raw_end(struct raw *raw);

uint32_t raw_poll(struct raw *raw); /* polls the raw peer and the pair; returns the work done */
void raw_until(struct raw *raw, const int *flag, int value);
/* With 'stops': lets one more message arrive. */
void raw_take_one(struct raw *raw);
void raw_settle(struct raw *raw);
void raw_send(struct raw *raw, const uint8_t *msg, uint32_t len);
/* Makes an RDMA Write of the first 'len' bytes of 'mem' to the pair's memory. */
void raw_write(struct raw *raw, uint32_t handle, uint64_t offset, uint32_t len);
/* Makes an RDMA Write to the pair's memory, or an RDMA Read from it. Returns the status of the
 * completion. */
enum fabric_status raw_access(struct raw *raw, enum fabric_op op, uint32_t handle, uint64_t offset,
			      uint32_t len);
/* Like raw_send_words(), with a Send that invalidates a key of the pair. */
void raw_send_inv(struct raw *raw, const struct words *words, uint32_t handle);
/* Waits for the next message. Returns its length. */
uint32_t raw_recv(struct raw *raw, uint8_t *msg);

void words_put(struct words *words, uint32_t n, ...);
/* Adds the header of an RPC call of the pair's program with AUTH_NONE. */
void words_put_rpc(struct words *words, uint32_t xid, uint32_t proc);
/* Adds a segment of the peer's exposed memory, which begins at 'at'. */
void raw_put_segment(const struct raw *raw, struct words *words, uint32_t len, uint32_t at);
void raw_send_words(struct raw *raw, const struct words *words);
/* Receives a message as words. Fails the test if the length is not a multiple of 4. */
void raw_recv_words(struct raw *raw, struct words *words);
/* Sends a message and receives its only answer. Without an answer, 'answer' has no words. The
 * granted credits differ from one run to the next, so they read as 0. */
void raw_ask_words(struct raw *raw, const struct words *m, struct words *answer);

#endif
