/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRC_PEERS_H
#define DRC_PEERS_H

/*
 * The peers that have entries in a duplicate request cache, and which of them gives way: the one
 * that holds most. What a peer holds is the larger one of its parts of all entries and of all
 * blocks. Of peers that hold the same, the one whose oldest entry is the oldest gives way.
 *
 * The peers that have entries which are DONE are in a binary heap, so that the search takes few
 * steps, however many peers there are.
 */

#include "drc_entry.h"

LIST_HEAD(drc_peer_list, drc_peer);

struct drc_peer {
	uint8_t hash[DRC_HASH_BYTES];
	uint32_t nentries; /* BUSY ones, too; 0: this object is free */
	uint32_t ndone;
	uint32_t nblocks;
	uint32_t at;	      /* in the heap, while ndone > 0 */
	struct drc_list done; /* oldest first */
	LIST_ENTRY(drc_peer) bucket;
};

struct drc_peers {
	uint32_t nentries, nblocks; /* of the cache */
	uint32_t bucket_mask;
	uint32_t nheap;
	struct drc_peer_list free;
	struct drc_peer_list *buckets;
	struct drc_peer **heap;
	struct drc_peer *all;
};

/* For a cache of so many entries and blocks. False: no memory; then free it all the same. */
bool drc_peers_init(struct drc_peers *peers, uint32_t nentries, uint32_t nblocks);
void drc_peers_fini(struct drc_peers *peers);

/* The peer of an entry that begins, with that entry counted. */
struct drc_peer *drc_peer_get(struct drc_peers *peers, const uint8_t *hash);
/* The entry is gone. */
void drc_peer_put(struct drc_peers *peers, struct drc_peer *peer);

/* The entry is DONE, and is not any more. */
void drc_peer_add_done(struct drc_peers *peers, struct drc_entry *entry);
void drc_peer_remove_done(struct drc_peers *peers, struct drc_entry *entry);

/* The entry that goes first. NULL: none is DONE. */
struct drc_entry *drc_peers_oldest(const struct drc_peers *peers);

#endif
