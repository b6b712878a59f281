/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RAW_H
#define RAW_H

/*
 * A peer that says what a test wants it to say: bytes over a driver, without weir's protocol above
 * it. Either side of a connection to an engine of the pair under test.
 */

#include "driver.h"
#include "pair.h"

#define RAW_MSG_MAX 4096u  /* of the peer under test, if msg_bytes is not set otherwise */
#define RAW_BUF	    12288u /* the longest that it can be set to */
#define RAW_RECVS   24u
#define RAW_SEND_AT (RAW_RECVS * RAW_BUF) /* the send buffer, from 'base' */
#define RAW_MEM	    (1u << 20) /* exposed memory, after the receives and the send buffer */

struct raw {
	struct pair *pair;
	uint32_t msg_bytes; /* the longest message; as raw_open() set it, or, before a connection,
			       as the test does */
	const struct fabric_ops *ops;
	struct fabric_dev *dev;
	struct fabric_qp *qp;
	struct fabric_listener *listener;
	struct fabric_mr mr;
	uint8_t *base;
	uint8_t *mem;	/* the exposed part */
	uint64_t raddr; /* its name */
	int established, disconnected;
	int nmsgs; /* messages that came and were not taken */
	uint32_t len[RAW_RECVS];
	uint8_t msgs[RAW_RECVS][RAW_BUF];
	int sent;		   /* completions of sends */
	bool ignores;		   /* messages are received and forgotten */
	bool stops;		   /* messages are received, and their receives not posted again */
	bool may_invalidate;	   /* says so to those who connect (RFC 8797) */
	uint32_t inv_rkey;	   /* that came with the latest message, or 0 */
	enum fabric_status status; /* of the latest completion of what was sent */
};

/* Messages by words, big-endian. */
struct words {
	uint32_t n;
	uint32_t w[RAW_BUF / 4];
};

void raw_open(struct raw *raw, struct pair *pair);
void raw_connect(struct raw *raw);		    /* to the pair's responder */
void raw_listen(struct raw *raw, const char *addr); /* for the pair's requester */
/* The same, at an address of its own, and the pair's requester has connected to it. */
void raw_serve(struct raw *raw);
/* As raw_serve(), by version 2: answers the requester's properties with these, whatever XID they
 * have. */
void raw_serve_v2(struct raw *raw, const struct words *properties);
void raw_close(struct raw *raw);
/* The same, and pair_stop(). */
void raw_end(struct raw *raw);

uint32_t raw_poll(struct raw *raw); /* the raw peer and the pair; the work done */
void raw_until(struct raw *raw, const int *flag, int value);
/* With 'stops': one more message can come. */
void raw_take_one(struct raw *raw);
void raw_settle(struct raw *raw);
void raw_send(struct raw *raw, const uint8_t *msg, uint32_t len);
/* RDMA Write of the first 'len' bytes of 'mem' to memory of the pair's. */
void raw_write(struct raw *raw, uint32_t handle, uint64_t offset, uint32_t len);
/* The same, and RDMA Read to there; returns how it completed. */
enum fabric_status raw_access(struct raw *raw, enum fabric_op op, uint32_t handle, uint64_t offset,
			      uint32_t len);
/* As raw_send_words(), ending a key of the pair's. */
void raw_send_inv(struct raw *raw, const struct words *words, uint32_t handle);
/* The next message, waiting for it; its length. */
uint32_t raw_recv(struct raw *raw, uint8_t *msg);

void words_put(struct words *words, uint32_t n, ...);
/* An RPC call's header with AUTH_NONE, of the pair's program. */
void words_put_rpc(struct words *words, uint32_t xid, uint32_t proc);
/* A segment of the peer's exposed memory, from 'at' on. */
void raw_put_segment(const struct raw *raw, struct words *words, uint32_t len, uint32_t at);
void raw_send_words(struct raw *raw, const struct words *words);
/* Receive and turn into words; fails the test when the length is no multiple of 4. */
void raw_recv_words(struct raw *raw, struct words *words);
/* Send, and have the one answer, or none: of no words then. What it grants, which differs from one
 * time to the next, reads 0. */
void raw_ask_words(struct raw *raw, const struct words *m, struct words *answer);

#endif
