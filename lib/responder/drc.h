/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRC_H
#define DRC_H

/*
 * A duplicate request cache: which calls were carried out, and what was replied, so that a call
 * that comes once more is not carried out once more. Kept are RPC replies, as pieces of the Payload
 * stream; never a transport header, which belongs to one message.
 *
 * An entry is BUSY while its call is carried out, then DONE. It is found by the XID and a hash,
 * under a secret of the cache's own, of who calls what with which arguments: nobody can make calls
 * whose entries meet. Entries and bytes are taken at the start. When either runs out, the oldest
 * that is DONE goes, of the peer that holds most (drc_peers.h): a peer that makes many calls pushes
 * out its own replies first. One engine's; no locks.
 */

#include <string.h>

#include "drc_peers.h"
#include "piece.h"

#define DRC_SECRET_BYTES 32u

/* Users read what the functions below return. All else is for drc.c. */
struct drc {
	struct drc_list free;
	struct drc_peers peers;
	uint32_t bucket_mask;
	uint32_t nleft;	     /* entries that are not BUSY */
	uint32_t bytes_max;  /* of a reply */
	uint32_t free_block; /* the first one; NO_BLOCK: none is */
	uint32_t nfree_blocks;
	uint64_t seq;
	uint8_t *blocks;
	uint32_t *next; /* of a block: that of the same reply, or of the free ones */
	uint8_t *reply; /* one in one piece: drc_reply() */
	struct drc_bucket *buckets;
	struct drc_entry *entries;
	uint8_t secret[DRC_SECRET_BYTES];
};

/* For at most so many calls at a time, and replies of so many bytes, some for their bookkeeping.
 * NULL: no memory. */
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

/* A new one, BUSY, of the peer that the hash 'peer', of DRC_HASH_BYTES, stands for. NULL: all are.
 */
struct drc_entry *drc_add(struct drc *drc, const struct drc_key *key, const uint8_t *peer);
/* It is DONE: keep a copy of the reply. False: it is too long for the cache. */
bool drc_done(struct drc *drc, struct drc_entry *entry, const struct piece *pieces,
	      uint32_t npieces);
/* It never was: the call, when it comes once more, is a new one. */
void drc_forget(struct drc *drc, struct drc_entry *entry);

/* The reply of an entry that is DONE: its pieces, at most 'max', valid until the next call of this.
 * How many; 0: it was not kept. */
uint32_t drc_reply(struct drc *drc, const struct drc_entry *entry, struct piece *pieces,
		   uint32_t max);

#endif
