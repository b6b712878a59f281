/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRC_H
#define DRC_H

/*
 * A duplicate request cache. It records which calls were carried out and their replies, so that a
 * call that arrives again is not carried out again. The cache keeps RPC replies, as pieces of the
 * Payload stream. It never keeps transport headers, because a transport header is valid for one
 * message only.
 *
 * An entry is BUSY while its call is carried out, and DONE when the reply is complete. An entry is
 * found by the XID and a hash of the caller, the procedure and the arguments. The hash uses a
 * secret of the cache, so that nobody can make calls whose entries collide. Entries and bytes are
 * allocated at the start. When one of the two runs out, the cache removes the oldest DONE entry of
 * the peer that holds most (drc_peers.h). Therefore, a peer that makes many calls removes its own
 * replies first. A cache belongs to one engine and has no locks.
 */

#include <string.h>

#include "drc_peers.h"
#include "piece.h"

#define DRC_SECRET_BYTES 32u

/* Only drc.c and the inline functions below use the members of this structure. */
struct drc {
	/* the FREE entries */
	struct drc_list free;
	struct drc_peers peers;
	uint32_t bucket_mask;
	uint32_t nleft;	     /* entries that are not BUSY */
	uint32_t bytes_max;  /* maximum length of a reply in the blocks, in bytes */
	uint32_t free_block; /* index of the first free block; NO_BLOCK: none is free */
	uint32_t nfree_blocks;
	/* number of replies so far */
	uint64_t seq;
	/* the memory of all blocks, of BLOCK_BYTES each */
	uint8_t *blocks;
	/*
	 * for each block: index of the next block of the same reply, or of the list of free blocks
	 */
	uint32_t *next;
	uint8_t *reply; /* a contiguous copy of a reply: drc_reply() */
	struct drc_bucket *buckets;
	struct drc_entry *entries;
	uint8_t secret[DRC_SECRET_BYTES];
};

/* Creates a cache with 'nentries' entries, and with 'nbytes' bytes for the replies and their
 * headers. Returns NULL if there is no memory. */
struct drc *drc_create(uint32_t nentries, uint64_t nbytes);
void drc_destroy(struct drc *drc); /* accepts NULL */

/* Returns the secret of the cache's hashes, which has DRC_SECRET_BYTES bytes. */
static inline const uint8_t *drc_secret(const struct drc *drc)
{
	return drc->secret;
}

/* Returns how many entries are not BUSY, that is, how many calls can still be added. */
static inline uint32_t drc_left(const struct drc *drc)
{
	return drc->nleft;
}

/* Returns the list of entries whose hash is in the same class as that of 'key'. */
static inline struct drc_bucket *drc_bucket_of(const struct drc *drc, const struct drc_key *key)
{
	uint32_t i;

	memcpy(&i, key->hash, sizeof(i));
	return &drc->buckets[i & drc->bucket_mask];
}

/* Returns the entry of this call, or NULL if there is none. */
static inline struct drc_entry *drc_find(const struct drc *drc, const struct drc_key *key)
{
	struct drc_entry *entry;

	LIST_FOREACH(entry, drc_bucket_of(drc, key), bucket)
	{
		if (entry->key.xid == key->xid &&
		    memcmp(entry->key.hash, key->hash, DRC_HASH_BYTES) == 0)
			return entry;
	}
	return NULL;
}

/* Adds a BUSY entry for a new call, and returns it. 'peer' is the hash that identifies the peer, of
 * DRC_HASH_BYTES bytes. Returns NULL if all entries are BUSY. */
struct drc_entry *drc_add(struct drc *drc, const struct drc_key *key, const uint8_t *peer);
/* Makes a BUSY entry DONE, with a copy of the reply. Returns false if the reply is too long. The
 * entry is then DONE without a reply. */
bool drc_done(struct drc *drc, struct drc_entry *entry, const struct piece *pieces,
	      uint32_t npieces);
/* Removes a BUSY entry. If its call arrives again, the call is a new one. */
void drc_forget(struct drc *drc, struct drc_entry *entry);

/* Sets 'pieces' to the pieces of the reply of a DONE entry. The pieces are valid until the next
 * call of this function. Returns the number of pieces. Returns 0 if the reply was not kept or has
 * more than 'max' pieces. */
uint32_t drc_reply(struct drc *drc, const struct drc_entry *entry, struct piece *pieces,
		   uint32_t max);

#endif
