/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RAW_H
#define RAW_H

/*
 * A raw peer: it sends the bytes that a test chooses, over a driver and without weir's protocol
 * code. It is one side of a connection. The other side is the client or the server of a pair, which
 * is under test.
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
	/*
	 * Length of the receives in bytes. raw_open() sets it, and a test can change it before it
	 * connects.
	 */
	uint32_t msg_bytes;
	const struct fabric_ops *ops;
	struct fabric_dev *dev;
	struct fabric_qp *qp;
	struct fabric_listener *listener;
	struct fabric_mr mr;
	uint8_t *base;
	uint8_t *mem;	/* the exposed part of the memory */
	uint64_t raddr; /* the address by which a peer names 'mem' in an RDMA Read or Write */
	int established, disconnected;
	int nmsgs; /* number of messages that arrived and that the test has not yet read */
	uint32_t len[RAW_RECVS];
	uint8_t msgs[RAW_RECVS][RAW_BUF];
	int sent;     /* number of Sends that completed */
	bool ignores; /* messages that arrive are discarded */
	/* When a message arrives, its receive is not posted again. */
	bool stops;
	/* The raw peer announces remote invalidation to requesters that connect (RFC 8797). */
	bool may_invalidate;
	uint32_t inv_rkey;	   /* the rkey that the latest message invalidated, or 0 */
	enum fabric_status status; /* of the latest completion of a work request */
};

/* A message as words, big-endian on the wire. */
struct words {
	uint32_t n;
	uint32_t w[RAW_BUF / 4];
};

void raw_open(struct raw *raw, struct pair *pair);
void raw_connect(struct raw *raw);		    /* connects to the pair's responder */
void raw_listen(struct raw *raw, const char *addr); /* listens for the pair's requester */
/* Listens at a new address, and makes the pair's requester connect to it. */
void raw_serve(struct raw *raw);
/*
 * Does what raw_serve() does, with version 2. The raw peer answers the requester's properties with
 * the message 'properties', in which it replaces the XID.
 */
void raw_serve_v2(struct raw *raw, const struct words *properties);
void raw_close(struct raw *raw);
/* Calls raw_close() and pair_stop(). */
void raw_end(struct raw *raw);

uint32_t raw_poll(struct raw *raw); /* polls the raw peer and the pair; returns the work done */
void raw_until(struct raw *raw, const int *flag, int value);
/* If 'stops' is set: posts one receive, so that one more message arrives. */
void raw_take_one(struct raw *raw);
void raw_settle(struct raw *raw);
void raw_send(struct raw *raw, const uint8_t *msg, uint32_t len);
/* Makes an RDMA Write from the first 'len' bytes of 'mem' to the pair's memory. */
void raw_write(struct raw *raw, uint32_t handle, uint64_t offset, uint32_t len);
/*
 * Makes an RDMA Write to the pair's memory, or an RDMA Read from that memory, as 'op' says. Returns
 * the status of the completion.
 */
enum fabric_status raw_access(struct raw *raw, enum fabric_op op, uint32_t handle, uint64_t offset,
			      uint32_t len);
/* Sends a message with a Send that invalidates the rkey 'handle' of the pair. */
void raw_send_inv(struct raw *raw, const struct words *words, uint32_t handle);
/* Waits for the next message and copies it to 'msg'. Returns its length in bytes. */
uint32_t raw_recv(struct raw *raw, uint8_t *msg);

void words_put(struct words *words, uint32_t n, ...);
/* Adds the header of an RPC call of the test program, with AUTH_NONE. */
void words_put_rpc(struct words *words, uint32_t xid, uint32_t proc);
/* Adds a segment that begins at offset 'at' of 'mem'. */
void raw_put_segment(const struct raw *raw, struct words *words, uint32_t len, uint32_t at);
void raw_send_words(struct raw *raw, const struct words *words);
/* Receives a message as words. Fails the test if the length is not a multiple of 4. */
void raw_recv_words(struct raw *raw, struct words *words);
/*
 * Sends a message and receives its answer. Fails the test if there is more than one answer. If
 * there is none, 'answer' has no words. The granted credits differ from one run to the next, so
 * that they are set to 0.
 */
void raw_ask_words(struct raw *raw, const struct words *m, struct words *answer);

#endif
