/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRC_ENTRY_H
#define DRC_ENTRY_H

/* An entry of the duplicate request cache (drc.h): a call that was carried out or is being carried
 * out. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define DRC_HASH_BYTES 16u

struct drc_peer;
struct weir_request;

enum drc_state { DRC_FREE, DRC_BUSY, DRC_DONE };

/* The key by which the entry of a call is found. drc.h says what the hash contains. */
struct drc_key {
	uint32_t xid;
	uint8_t hash[DRC_HASH_BYTES];
};

struct drc_entry {
	struct drc_key key;
	enum drc_state state;
	struct drc_peer *peer; /* the peer that made the call */
	/*
	 * DONE: indices of the first and the last block of the reply, and the number of its blocks
	 */
	uint32_t first, last, nblocks;
	/* DONE: number of the reply in the order in which replies were complete */
	uint64_t seq;
	/* BUSY: duplicates of the call, which wait for its reply */
	LIST_HEAD(, weir_request) waiting;
	LIST_ENTRY(drc_entry) bucket;
	/* DONE: member of the peer's list, oldest first. FREE: member of the cache's list. */
	TAILQ_ENTRY(drc_entry) age;
};

TAILQ_HEAD(drc_list, drc_entry);
LIST_HEAD(drc_bucket, drc_entry);

#endif
