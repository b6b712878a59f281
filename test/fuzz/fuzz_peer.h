/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_PEER_H
#define FUZZ_PEER_H

/*
 * A peer of simulated hardware whose messages and memory are the fuzzer's.
 *
 * An input is a list of records: a big-endian length with two flags, then so many bytes. Words of a
 * record that stand for what the input can't know are replaced, where they are aligned to four
 * bytes:
 *
 *   0xfeedbee0  a handle: the peer's key. The offset in its segment is then one in the peer's
 *               memory
 *   0xca11ccww  word ww of the latest message received but cc
 */

#include "driver.h"
#include "fuzz.h"

#define PEER_MSG_MAX   8192u /* that it takes; its own are of PEER_RECORD_LENGTH at most */
#define PEER_INLINE    4096u
#define PEER_RECVS     32u
#define PEER_MEM_BYTES (64u << 10)

#define PEER_RECORD_BURST                                                                          \
	0x8000u			   /* the next record follows at once, without a poll between them \
				    */
#define PEER_RECORD_MEMORY 0x4000u /* not a message, but what is in memory */
#define PEER_RECORD_LENGTH 0x0fffu

struct peer {
	const struct fabric_ops *ops;
	struct fabric_dev *dev;
	struct fabric_listener *listener;
	struct fabric_qp *qp;
	struct fabric_mr mr;
	uint32_t inline_bytes; /* announced at the set-up; 0: nothing is */
	bool is_established;
	uint32_t nreceived;
	uint32_t nsent;
	uint32_t lens[16]; /* of messages, by their number modulo 16 */
	uint8_t msgs[16][PEER_MSG_MAX];
	uint8_t *mem; /* what the other side may read and write */
	uint8_t *base;
};

void peer_open(struct peer *peer, const char *options);
void peer_listen(struct peer *peer, const char *addr);
void peer_connect(struct peer *peer, const char *addr);
void peer_disconnect(struct peer *peer);
void peer_poll(struct peer *peer);

/* Do what the next record says. False: there is none. *burst: go on without a poll. */
bool peer_play(struct peer *peer, const uint8_t **data, size_t *size, bool *burst);

#endif
