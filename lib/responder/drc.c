/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The duplicate request cache. drc.h describes it. Replies are stored in blocks of a fixed size,
 * which are linked to lists.
 */
#include "drc.h"

#include <sodium.h>
#include <string.h>

#include "alloc.h"

#define BLOCK_BYTES 64u
#define NO_BLOCK    UINT32_MAX
/* A reply may take at most 1 / REPLY_PART of the bytes of the cache. A longer reply would remove
 * too many other replies. */
#define REPLY_PART 8u

_Static_assert(DRC_SECRET_BYTES == crypto_generichash_KEYBYTES, "the key of a hash");

/* The blocks of a reply contain this header, then a struct stored_piece for each piece of the
 * reply, and then the bytes of the pieces. */
struct reply {
	uint32_t npieces; /* number of pieces; 0: the reply was not kept */
	/* length of all that the blocks contain, in bytes */
	uint32_t total_bytes;
};

struct stored_piece {
	uint32_t kind;
	uint32_t len;
	uint32_t op;
};

/* Makes all blocks free. */
static void free_all_blocks(struct drc *drc, uint32_t nblocks)
{
	for (uint32_t i = 0; i < nblocks; i++)
		drc->next[i] = i + 1 < nblocks ? i + 1 : NO_BLOCK;
	drc->free_block = 0;
	drc->nfree_blocks = nblocks;
}

struct drc *drc_create(uint32_t nentries, uint64_t nbytes)
{
	struct drc *drc = mem_zalloc(sizeof(*drc));
	uint32_t nbuckets = 1, nblocks = (uint32_t)(nbytes / BLOCK_BYTES);

	if (!drc)
		return NULL;
	while (nbuckets < nentries)
		nbuckets *= 2;
	drc->bucket_mask = nbuckets - 1;
	drc->bytes_max = nblocks * BLOCK_BYTES / REPLY_PART;
	drc->entries = mem_zalloc(nentries * sizeof(drc->entries[0]));
	drc->buckets = mem_zalloc(nbuckets * sizeof(drc->buckets[0]));
	drc->blocks = mem_zalloc((size_t)nblocks * BLOCK_BYTES);
	drc->next = mem_zalloc(nblocks * sizeof(drc->next[0]));
	drc->reply = mem_zalloc(drc->bytes_max + BLOCK_BYTES);
	if (!drc->entries || !drc->buckets || !drc->blocks || !drc->next || !drc->reply ||
	    !drc_peers_init(&drc->peers, nentries, nblocks) || sodium_init() < 0) {
		drc_destroy(drc);
		return NULL;
	}
	randombytes_buf(drc->secret, sizeof(drc->secret));
	free_all_blocks(drc, nblocks);
	TAILQ_INIT(&drc->free);
	drc->nleft = nentries;
	for (uint32_t i = 0; i < nentries; i++)
		TAILQ_INSERT_TAIL(&drc->free, &drc->entries[i], age);
	return drc;
}

void drc_destroy(struct drc *drc)
{
	if (!drc)
		return;
	drc_peers_fini(&drc->peers);
	mem_free(drc->reply);
	mem_free(drc->next);
	mem_free(drc->blocks);
	mem_free(drc->buckets);
	mem_free(drc->entries);
	mem_free(drc);
}

/* Moves 'n' blocks from the list of free blocks to the entry. The list must have 'n' or more. */
static void take_blocks(struct drc *drc, struct drc_entry *entry, uint32_t n)
{
	uint32_t last = drc->free_block;

	for (uint32_t i = 1; i < n; i++)
		last = drc->next[last];
	entry->first = drc->free_block;
	entry->last = last;
	entry->nblocks = n;
	drc->free_block = drc->next[last];
	drc->next[last] = NO_BLOCK;
	drc->nfree_blocks -= n;
}

static void give_back_blocks(struct drc *drc, const struct drc_entry *entry)
{
	drc->next[entry->last] = drc->free_block;
	drc->free_block = entry->first;
	drc->nfree_blocks += entry->nblocks;
}

/* Removes an entry from its bucket and from its peer, and makes it FREE. */
static void drc_free_entry(struct drc *drc, struct drc_entry *entry)
{
	LIST_REMOVE(entry, bucket);
	drc_peer_put(&drc->peers, entry->peer);
	entry->state = DRC_FREE;
	TAILQ_INSERT_HEAD(&drc->free, entry, age);
}

/* Removes the oldest DONE entry, with its reply, of the peer that holds most. Returns false if no
 * entry is DONE. */
static bool push_out_oldest(struct drc *drc)
{
	struct drc_entry *entry = drc_peers_oldest(&drc->peers);

	if (!entry)
		return false;
	drc_peer_remove_done(&drc->peers, entry);
	give_back_blocks(drc, entry);
	drc_free_entry(drc, entry);
	return true;
}

struct drc_entry *drc_add(struct drc *drc, const struct drc_key *key, const uint8_t *peer)
{
	struct drc_entry *entry;

	if (TAILQ_EMPTY(&drc->free) && !push_out_oldest(drc))
		return NULL;
	entry = TAILQ_FIRST(&drc->free);
	TAILQ_REMOVE(&drc->free, entry, age);
	drc->nleft--;
	entry->key = *key;
	entry->state = DRC_BUSY;
	entry->peer = drc_peer_get(&drc->peers, peer);
	LIST_INIT(&entry->waiting);
	LIST_INSERT_HEAD(drc_bucket_of(drc, key), entry, bucket);
	return entry;
}

void drc_forget(struct drc *drc, struct drc_entry *entry)
{
	drc->nleft++;
	drc_free_entry(drc, entry);
}

/* The position of the next byte in the blocks of a reply. */
struct drc_cursor {
	uint32_t block;
	uint32_t at;
};

/* Copies 'len' bytes to the position 'to' in the blocks of a reply, and advances the position. */
static void store(struct drc *drc, struct drc_cursor *to, const void *from, uint64_t len)
{
	const uint8_t *bytes = from;

	while (len > 0) {
		uint32_t room = BLOCK_BYTES - to->at, n = len < room ? (uint32_t)len : room;

		memcpy(drc->blocks + (size_t)to->block * BLOCK_BYTES + to->at, bytes, n);
		bytes += n;
		len -= n;
		to->at += n;
		if (to->at == BLOCK_BYTES)
			*to = (struct drc_cursor){drc->next[to->block], 0};
	}
}

bool drc_done(struct drc *drc, struct drc_entry *entry, const struct piece *pieces,
	      uint32_t npieces)
{
	uint64_t bytes = sizeof(struct reply) + npieces * sizeof(struct stored_piece);
	struct reply reply = {0, 0};
	struct drc_cursor to;
	uint32_t nblocks;

	for (uint32_t i = 0; i < npieces; i++)
		bytes += pieces[i].len;
	if (bytes <= drc->bytes_max)
		reply = (struct reply){npieces, (uint32_t)bytes};
	else
		bytes = sizeof(reply);
	nblocks = (uint32_t)((bytes + BLOCK_BYTES - 1) / BLOCK_BYTES);
	while (drc->nfree_blocks < nblocks && push_out_oldest(drc))
		;
	take_blocks(drc, entry, nblocks);
	to = (struct drc_cursor){entry->first, 0};
	store(drc, &to, &reply, sizeof(reply));
	for (uint32_t i = 0; i < reply.npieces; i++) {
		const struct stored_piece stored = {pieces[i].kind, pieces[i].len, pieces[i].op};

		store(drc, &to, &stored, sizeof(stored));
	}
	for (uint32_t i = 0; i < reply.npieces; i++)
		store(drc, &to, pieces[i].base, pieces[i].len);
	entry->state = DRC_DONE;
	entry->seq = drc->seq++;
	drc->nleft++;
	drc_peer_add_done(&drc->peers, entry);
	return reply.npieces == npieces;
}

uint32_t drc_reply(struct drc *drc, const struct drc_entry *entry, struct piece *pieces,
		   uint32_t max)
{
	uint8_t *at = drc->reply, *bytes;
	struct reply reply;

	for (uint32_t block = entry->first; block != NO_BLOCK; block = drc->next[block]) {
		memcpy(at, drc->blocks + (size_t)block * BLOCK_BYTES, BLOCK_BYTES);
		at += BLOCK_BYTES;
	}
	at = drc->reply;
	memcpy(&reply, at, sizeof(reply));
	if (reply.npieces > max)
		return 0;
	at += sizeof(reply);
	bytes = at + reply.npieces * sizeof(struct stored_piece);
	for (uint32_t i = 0; i < reply.npieces; i++, at += sizeof(struct stored_piece)) {
		struct stored_piece stored;

		memcpy(&stored, at, sizeof(stored));
		pieces[i] = (struct piece){
			.base = bytes, .len = stored.len, .kind = stored.kind, .op = stored.op};
		bytes += stored.len;
	}
	return reply.npieces;
}
