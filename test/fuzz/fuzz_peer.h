/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_PEER_H
#define FUZZ_PEER_H

/*
 * A peer on simulated hardware. The fuzzer chooses its messages and its memory.
 *
 * An input is a list of records: a big-endian length with two flags, then so many bytes. Some words
 * of a record, aligned to four bytes, stand for values that the input cannot know:
 *
 *   0xfeedbee0  a handle: the peer's key. The offset in the same segment then becomes an address
 *               in the peer's memory
 *   0xca11ccww  word ww of the message that was received cc messages before the latest one
 */

#include "driver.h"
#include "fuzz.h"

#define PEER_MSG_MAX   8192u /* that it accepts; its own have up to PEER_RECORD_LENGTH bytes */
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
	uint32_t inline_bytes; /* announced when a connection starts; 0: nothing is announced */
	bool is_established;
	uint32_t nreceived;
	uint32_t nsent;
	uint32_t lens[16]; /* of received messages, by their number modulo 16 */
	uint8_t msgs[16][PEER_MSG_MAX];
	uint8_t *mem; /* memory that the other side may read and write */
	uint8_t *base;
};

void peer_open(struct peer *peer, const char *options);
void peer_listen(struct peer *peer, const char *addr);
void peer_connect(struct peer *peer, const char *addr);
void peer_disconnect(struct peer *peer);
void peer_poll(struct peer *peer);

/* Carries out the next record. Returns false if there is none. *burst is set if the next record
 * must follow without a poll. */
bool peer_play(struct peer *peer, const uint8_t **data, size_t *size, bool *burst);

#endif
