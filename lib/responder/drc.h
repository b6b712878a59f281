/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRC_H
#define DRC_H

/*
 * A duplicate request cache. It records which calls were carried out and what the replies were, so
 * that a call that arrives again is not carried out again. It keeps RPC replies, as pieces of the
 * Payload stream. It never keeps transport headers, because these belong to one message.
 *
 * An entry is BUSY while its call is carried out, and then DONE. It is found by the XID and a hash
 * of the caller, the procedure and the arguments. The hash uses a secret of the cache, so that
 * nobody can make calls whose entries collide. Entries and bytes are allocated at the start. When
 * one of the two runs out, the cache removes the oldest DONE entry of the peer that holds most
 * (drc_peers.h). Therefore, a peer that makes many calls removes its own replies first. A cache
 * belongs to one engine and has no locks.
 */

#include <string.h>

#include "drc_peers.h"
#include "piece.h"

#define DRC_SECRET_BYTES 32u

/* Only drc.c uses the members. Others use the functions below. */
struct drc {
	struct drc_list free;
	struct drc_peers peers;
	uint32_t bucket_mask;
	uint32_t nleft;	     /* entries that are not BUSY */
	uint32_t bytes_max;  /* maximum length of a reply */
	uint32_t free_block; /* the first free block; NO_BLOCK: none */
	uint32_t nfree_blocks;
	uint64_t seq;
	uint8_t *blocks;
	uint32_t *next; /* the next block of the same reply, or of the list of free blocks */
	uint8_t *reply; /* a contiguous copy of a reply: drc_reply() */
	struct drc_bucket *buckets;
	struct drc_entry *entries;
	uint8_t secret[DRC_SECRET_BYTES];
};

/* Creates a cache for at most 'nentries' calls and for replies of 'nbytes' bytes, which include
 * some bytes for bookkeeping. Returns NULL if there is no memory. */
struct drc *drc_create(uint32_t nentries, uint64_t nbytes);
void drc_destroy(struct drc *drc); /* NULL is allowed */

/* Returns the secret of its hashes, which has DRC_SECRET_BYTES. */
static inline const uint8_t *drc_secret(const struct drc *drc)
{
	return drc->secret;
}

/* Returns how many entries are not BUSY. */
static inline uint32_t drc_left(const struct drc *drc)
{
	return drc->nleft;
}

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

/* Adds an entry, which is BUSY, for a call of the peer with the hash 'peer' of DRC_HASH_BYTES.
 * Returns NULL if all entries are BUSY. */
struct drc_entry *drc_add(struct drc *drc, const struct drc_key *key, const uint8_t *peer);
/* Makes an entry DONE and keeps a copy of the reply. Returns false if the reply is too long for the
 * cache. */
bool drc_done(struct drc *drc, struct drc_entry *entry, const struct piece *pieces,
	      uint32_t npieces);
/* Removes the entry of a call. If the call arrives again, it is a new call. */
void drc_forget(struct drc *drc, struct drc_entry *entry);

/* Sets 'pieces' to the pieces of the reply of a DONE entry. They are valid until the next call of
 * this function. Returns the number of pieces, or 0 if the reply was not kept or has more than
 * 'max' pieces. */
uint32_t drc_reply(struct drc *drc, const struct drc_entry *entry, struct piece *pieces,
		   uint32_t max);

#endif
