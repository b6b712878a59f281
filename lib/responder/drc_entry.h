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
	struct drc_peer *peer;		   /* that made the call */
	uint32_t first, last, nblocks;	   /* DONE: of the reply, in the cache's blocks */
	uint64_t seq;			   /* DONE: counts up */
	LIST_HEAD(, weir_request) waiting; /* BUSY: the same call, come once more */
	LIST_ENTRY(drc_entry) bucket;
	TAILQ_ENTRY(drc_entry) age; /* DONE: the peer's, oldest first; FREE */
};

TAILQ_HEAD(drc_list, drc_entry);
LIST_HEAD(drc_bucket, drc_entry);

#endif
