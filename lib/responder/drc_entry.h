/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRC_ENTRY_H
#define DRC_ENTRY_H

/* An entry of the duplicate request cache (drc.h): a call that was or is carried out. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define DRC_HASH_BYTES 16u

struct drc_peer;
struct weir_request;

enum drc_state { DRC_FREE, DRC_BUSY, DRC_DONE };

struct drc_key {
	uint32_t xid;
	uint8_t hash[DRC_HASH_BYTES];
};

struct drc_entry {
	struct drc_key key;
	enum drc_state state;
	struct drc_peer *peer;		   /* the peer that made the call */
	uint32_t first, last, nblocks;	   /* DONE: blocks of the reply in the cache */
	uint64_t seq;			   /* DONE: increases from reply to reply */
	LIST_HEAD(, weir_request) waiting; /* BUSY: duplicates of the call */
	LIST_ENTRY(drc_entry) bucket;
	/* DONE: list of the peer, oldest first; FREE: list of the cache */
	TAILQ_ENTRY(drc_entry) age;
};

TAILQ_HEAD(drc_list, drc_entry);
LIST_HEAD(drc_bucket, drc_entry);

#endif
