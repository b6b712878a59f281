/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRC_PEERS_H
#define DRC_PEERS_H

/*
 * The peers that have entries in a duplicate request cache, and the choice of the peer whose oldest
 * reply is removed first: the peer that holds most. How much a peer holds is the larger of two
 * fractions: its DONE entries as a fraction of all entries of the cache, and the blocks of its
 * replies as a fraction of all blocks. If several peers hold the same, the peer with the oldest
 * reply is chosen.
 *
 * Peers with DONE entries are in a binary heap, so that the search for the peer that holds most
 * takes few steps even with many peers.
 */

#include "drc_entry.h"

LIST_HEAD(drc_peer_list, drc_peer);

/* A peer that has entries, or an object that is free. */
struct drc_peer {
	uint8_t hash[DRC_HASH_BYTES];
	uint32_t nentries; /* number of BUSY and DONE entries; 0: this object is free */
	/* number of DONE entries, and of the blocks of their replies */
	uint32_t ndone;
	uint32_t nblocks;
	uint32_t at;	      /* position in the heap while ndone > 0 */
	struct drc_list done; /* the DONE entries, oldest first */
	LIST_ENTRY(drc_peer) bucket;
};

struct drc_peers {
	uint32_t nentries, nblocks; /* number of entries and blocks of the cache */
	uint32_t bucket_mask;
	/* number of peers in 'heap' */
	uint32_t nheap;
	struct drc_peer_list free;
	struct drc_peer_list *buckets;
	struct drc_peer **heap;
	struct drc_peer *all;
};

/* Initializes 'peers' for a cache with this number of entries and blocks. Returns false if there is
 * no memory. drc_peers_fini() must be called after a failure, too. */
bool drc_peers_init(struct drc_peers *peers, uint32_t nentries, uint32_t nblocks);
void drc_peers_fini(struct drc_peers *peers);

/* Returns the peer with this hash, for a new entry, and counts the entry in nentries. Takes a free
 * object if the peer has no entry yet. */
struct drc_peer *drc_peer_get(struct drc_peers *peers, const uint8_t *hash);
/* Subtracts one from nentries, for an entry that is removed. When the peer's last entry is removed,
 * the object of the peer becomes free. */
void drc_peer_put(struct drc_peers *peers, struct drc_peer *peer);

/* drc_peer_add_done() must be called when an entry becomes DONE, and drc_peer_remove_done() when a
 * DONE entry is removed. They change the peer's position in the heap. */
void drc_peer_add_done(struct drc_peers *peers, struct drc_entry *entry);
void drc_peer_remove_done(struct drc_peers *peers, struct drc_entry *entry);

/* Returns the entry that is removed first: the oldest DONE entry of the peer that holds most.
 * Returns NULL if no entry is DONE. */
struct drc_entry *drc_peers_oldest(const struct drc_peers *peers);

#endif
