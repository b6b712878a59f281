/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRC_PEERS_H
#define DRC_PEERS_H

/*
 * The peers that have entries in a duplicate request cache, and the choice of the peer whose oldest
 * reply is removed first: the peer that holds most. A peer holds a part of all entries and a part
 * of all blocks, and the larger part counts. If several peers hold the same, the peer with the
 * oldest reply is chosen.
 *
 * Peers with DONE entries are in a binary heap, so that the search takes few steps even with many
 * peers.
 */

#include "drc_entry.h"

LIST_HEAD(drc_peer_list, drc_peer);

struct drc_peer {
	uint8_t hash[DRC_HASH_BYTES];
	uint32_t nentries; /* includes BUSY entries; 0: this object is free */
	uint32_t ndone;
	uint32_t nblocks;
	uint32_t at;	      /* position in the heap while ndone > 0 */
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

/* Initializes the peers for a cache with that many entries and blocks. Returns false if there is no
 * memory; drc_peers_fini() must be called in that case, too. */
bool drc_peers_init(struct drc_peers *peers, uint32_t nentries, uint32_t nblocks);
void drc_peers_fini(struct drc_peers *peers);

/* Returns the peer with this hash, which has a new entry, and counts the entry. */
struct drc_peer *drc_peer_get(struct drc_peers *peers, const uint8_t *hash);
/* Ends the count of an entry that is removed. */
void drc_peer_put(struct drc_peers *peers, struct drc_peer *peer);

/* These functions are called when an entry becomes DONE, and when a DONE entry is removed. */
void drc_peer_add_done(struct drc_peers *peers, struct drc_entry *entry);
void drc_peer_remove_done(struct drc_peers *peers, struct drc_entry *entry);

/* Returns the entry that is removed first, or NULL if no entry is DONE. */
struct drc_entry *drc_peers_oldest(const struct drc_peers *peers);

#endif
