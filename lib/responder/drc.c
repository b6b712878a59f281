/* SPDX-License-Identifier: BSD-3-Clause */
#include "drc.h"

#include <sodium.h>
#include <string.h>

#include "alloc.h"

#define ALIGN 8u
/* No reply takes more than this part of the ring: one would push out too many others. */
#define RING_PART 8u

LIST_HEAD(drc_bucket, drc_entry);
TAILQ_HEAD(drc_list, drc_entry);

/* In the ring: this, then for each piece its kind and length, then the bytes. */
struct reply {
	uint32_t npieces; /* 0: not kept */
	uint32_t total_bytes;
};

struct stored_piece {
	uint32_t kind;
	uint32_t len;
	uint32_t op;
};

struct drc {
	struct drc_list free;
	struct drc_list done;
	uint32_t bucket_mask;
	uint32_t head; /* of the ring: where the next reply goes */
	uint32_t ring_bytes;
	uint32_t nleft; /* entries that are not BUSY */
	uint8_t *ring;
	struct drc_bucket *buckets;
	struct drc_entry *entries;
	uint8_t secret[crypto_generichash_KEYBYTES];
};

struct drc *request_drc_create(uint32_t nentries, uint64_t nbytes)
{
	struct drc *drc = mem_zalloc(sizeof(*drc));
	uint32_t nbuckets = 1;

	if (!drc)
		return NULL;
	while (nbuckets < nentries)
		nbuckets *= 2;
	drc->bucket_mask = nbuckets - 1;
	drc->ring_bytes = (uint32_t)(nbytes & ~(uint64_t)(ALIGN - 1));
	drc->entries = mem_zalloc(nentries * sizeof(drc->entries[0]));
	drc->buckets = mem_zalloc(nbuckets * sizeof(drc->buckets[0]));
	drc->ring = mem_zalloc(drc->ring_bytes);
	if (!drc->entries || !drc->buckets || !drc->ring || sodium_init() < 0) {
		request_drc_destroy(drc);
		return NULL;
	}
	randombytes_buf(drc->secret, sizeof(drc->secret));
	TAILQ_INIT(&drc->free);
	TAILQ_INIT(&drc->done);
	drc->nleft = nentries;
	for (uint32_t i = 0; i < nentries; i++)
		TAILQ_INSERT_TAIL(&drc->free, &drc->entries[i], age);
	return drc;
}

void request_drc_destroy(struct drc *drc)
{
	if (!drc)
		return;
	mem_free(drc->ring);
	mem_free(drc->buckets);
	mem_free(drc->entries);
	mem_free(drc);
}

const uint8_t *request_drc_secret(const struct drc *drc)
{
	return drc->secret;
}

static struct drc_bucket *bucket_of(struct drc *drc, const struct drc_key *key)
{
	uint32_t i;

	memcpy(&i, key->hash, sizeof(i));
	return &drc->buckets[i & drc->bucket_mask];
}

struct drc_entry *request_drc_find(struct drc *drc, const struct drc_key *key)
{
	struct drc_entry *entry;

	LIST_FOREACH(entry, bucket_of(drc, key), bucket)
	{
		if (entry->key.xid == key->xid &&
		    memcmp(entry->key.hash, key->hash, DRC_HASH_BYTES) == 0)
			return entry;
	}
	return NULL;
}

static void push_out_oldest(struct drc *drc)
{
	struct drc_entry *entry = TAILQ_FIRST(&drc->done);

	TAILQ_REMOVE(&drc->done, entry, age);
	LIST_REMOVE(entry, bucket);
	entry->state = DRC_FREE;
	TAILQ_INSERT_HEAD(&drc->free, entry, age);
}

struct drc_entry *request_drc_add(struct drc *drc, const struct drc_key *key)
{
	struct drc_entry *entry;

	if (TAILQ_EMPTY(&drc->free) && !TAILQ_EMPTY(&drc->done))
		push_out_oldest(drc);
	entry = TAILQ_FIRST(&drc->free);
	if (!entry)
		return NULL;
	TAILQ_REMOVE(&drc->free, entry, age);
	drc->nleft--;
	entry->key = *key;
	entry->state = DRC_BUSY;
	LIST_INIT(&entry->waiting);
	LIST_INSERT_HEAD(bucket_of(drc, key), entry, bucket);
	return entry;
}

void request_drc_forget(struct drc *drc, struct drc_entry *entry)
{
	LIST_REMOVE(entry, bucket);
	entry->state = DRC_FREE;
	drc->nleft++;
	TAILQ_INSERT_HEAD(&drc->free, entry, age);
}

/* 'len' bytes of the ring, in one piece. The oldest replies are those behind the head, up to the
 * end and then from the start: those in the way go. */
static uint32_t drc_place(struct drc *drc, uint32_t len)
{
	struct drc_entry *oldest;
	uint32_t at = drc->head;

	if (len > drc->ring_bytes - at) {
		while ((oldest = TAILQ_FIRST(&drc->done)) && oldest->offset >= at)
			push_out_oldest(drc);
		at = 0;
	}
	while ((oldest = TAILQ_FIRST(&drc->done)) && oldest->offset >= at &&
	       oldest->offset - at < len)
		push_out_oldest(drc);
	drc->head = at + len;
	return at;
}

bool request_drc_done(struct drc *drc, struct drc_entry *entry, const struct piece *pieces,
		      uint32_t npieces)
{
	uint64_t bytes = sizeof(struct reply) + npieces * sizeof(struct stored_piece);
	struct reply reply = {0, 0};
	uint8_t *to;

	for (uint32_t i = 0; i < npieces; i++)
		bytes += pieces[i].len;
	if (bytes <= drc->ring_bytes / RING_PART)
		reply = (struct reply){npieces, (uint32_t)bytes};
	else
		bytes = sizeof(reply);
	entry->offset = drc_place(drc, (uint32_t)((bytes + ALIGN - 1) & ~(uint64_t)(ALIGN - 1)));
	to = drc->ring + entry->offset;
	memcpy(to, &reply, sizeof(reply));
	to += sizeof(reply);
	for (uint32_t i = 0; i < reply.npieces; i++, to += sizeof(struct stored_piece)) {
		const struct stored_piece stored = {pieces[i].kind, pieces[i].len, pieces[i].op};

		memcpy(to, &stored, sizeof(stored));
	}
	for (uint32_t i = 0; i < reply.npieces; to += pieces[i++].len)
		if (pieces[i].len > 0)
			memcpy(to, pieces[i].base, pieces[i].len);
	entry->state = DRC_DONE;
	drc->nleft++;
	TAILQ_INSERT_TAIL(&drc->done, entry, age);
	return reply.npieces == npieces;
}

uint32_t request_drc_left(const struct drc *drc)
{
	return drc->nleft;
}

uint32_t request_drc_reply(const struct drc *drc, const struct drc_entry *entry,
			   struct piece *pieces, uint32_t max)
{
	uint8_t *at = drc->ring + entry->offset, *bytes;
	struct reply reply;

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
