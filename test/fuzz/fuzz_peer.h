/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_PEER_H
#define FUZZ_PEER_H

/*
 * A peer on simulated hardware. The fuzzer chooses the messages and the memory of the peer.
 *
 * An input is a list of records. A record is a big-endian length with two flags, followed by that
 * number of bytes. Some words of a record, aligned to four bytes, stand for values that the input
 * cannot contain:
 *
 *   0xfeedbee0  a handle: the peer's key. The offset in the same segment then becomes an address
 *               in the peer's memory
 *   0xca11ccww  word ww of the message that was received cc messages before the latest one
 */

#include "driver.h"
#include "fuzz.h"

/* longest message that the peer accepts; its own messages have up to PEER_RECORD_LENGTH bytes */
#define PEER_MSG_MAX   8192u
#define PEER_INLINE    4096u
#define PEER_RECVS     32u
#define PEER_MEM_BYTES (64u << 10)

#define PEER_RECORD_BURST                                                                          \
	0x8000u			   /* the next record follows at once, without a poll between them \
				    */
#define PEER_RECORD_MEMORY 0x4000u /* the record is the content of memory, not a message */
#define PEER_RECORD_LENGTH 0x0fffu

struct peer {
	const struct fabric_ops *ops;
	struct fabric_dev *dev;
	struct fabric_listener *listener;
	struct fabric_qp *qp;
	struct fabric_mr mr;
	/*
	 * inline threshold that the peer announces when a connection starts, or 0 if it announces
	 * none
	 */
	uint32_t inline_bytes;
	bool is_established;
	uint32_t nreceived;
	uint32_t nsent;
	uint32_t lens[16]; /* lengths of received messages; the index is their number modulo 16 */
	uint8_t msgs[16][PEER_MSG_MAX];
	uint8_t *mem; /* memory that the other side can read and write */
	uint8_t *base;
};

void peer_open(struct peer *peer, const char *options);
void peer_listen(struct peer *peer, const char *addr);
void peer_connect(struct peer *peer, const char *addr);
void peer_disconnect(struct peer *peer);
void peer_poll(struct peer *peer);

/*
 * Carries out the next record. Returns false if there is none. Sets *burst if the next record must
 * follow without a poll.
 */
bool peer_play(struct peer *peer, const uint8_t **data, size_t *size, bool *burst);

#endif
