/* SPDX-License-Identifier: BSD-3-Clause */
#include "drc.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

int drc_init(struct drc *drc)
{
	TAILQ_INIT(&drc->by_age);
	for (uint32_t i = 0; i < DRC_BUCKETS; i++)
		LIST_INIT(&drc->buckets[i]);
	randombytes_buf(drc->secret, sizeof(drc->secret));
	drc->hits = 0;
	drc->entries = calloc(DRC_ENTRIES, sizeof(drc->entries[0]));
	if (!drc->entries)
		return -ENOMEM;
	for (uint32_t i = 0; i < DRC_ENTRIES; i++)
		TAILQ_INSERT_TAIL(&drc->by_age, &drc->entries[i], age);
	return 0;
}

void drc_fini(struct drc *drc)
{
	free(drc->entries);
	drc->entries = NULL;
}

void drc_make_key(const struct drc *drc, uint32_t xid, uint32_t proc, const void *cred, uint32_t cred_bytes,
		  const void *args, uint32_t args_bytes, struct drc_key *key)
{
	*key = (struct drc_key){.xid = xid, .proc = proc};
	/* Hashed apart, so that nothing can be moved from one to the other. */
	crypto_shorthash(key->hash, cred, cred_bytes, drc->secret);
	crypto_shorthash(key->hash + 8, args, args_bytes, drc->secret);
}

static uint32_t bucket_of(const struct drc_key *key)
{
	uint32_t i;

	memcpy(&i, key->hash + 8, sizeof(i));
	return (i ^ key->xid) % DRC_BUCKETS;
}

static bool is_same(const struct drc_key *a, const struct drc_key *b)
{
	return a->xid == b->xid && a->proc == b->proc && memcmp(a->hash, b->hash, sizeof(a->hash)) == 0;
}

/* The oldest that is not being carried out, out of its bucket. */
static struct drc_entry *take_oldest(struct drc *drc)
{
	struct drc_entry *entry;

	TAILQ_FOREACH(entry, &drc->by_age, age)
	{
		if (entry->state == DRC_BUSY)
			continue;
		if (entry->state == DRC_DONE)
			LIST_REMOVE(entry, bucket);
		return entry;
	}
	return NULL;
}

struct drc_entry *drc_get(struct drc *drc, const struct drc_key *key, bool *is_new)
{
	uint32_t b = bucket_of(key);
	struct drc_entry *entry;

	*is_new = false;
	LIST_FOREACH(entry, &drc->buckets[b], bucket)
	{
		if (is_same(&entry->key, key)) {
			drc->hits++;
			return entry;
		}
	}
	entry = take_oldest(drc);
	if (!entry)
		return NULL;
	entry->key = *key;
	entry->state = DRC_BUSY;
	LIST_INSERT_HEAD(&drc->buckets[b], entry, bucket);
	TAILQ_REMOVE(&drc->by_age, entry, age);
	TAILQ_INSERT_TAIL(&drc->by_age, entry, age);
	*is_new = true;
	return entry;
}

void drc_answered(struct drc *drc, struct drc_entry *entry, const void *results, uint32_t len_bytes)
{
	if (len_bytes > sizeof(entry->results)) {
		drc_drop(drc, entry);
		return;
	}
	memcpy(entry->results, results, len_bytes);
	entry->len_bytes = len_bytes;
	entry->state = DRC_DONE;
}

void drc_drop(struct drc *drc, struct drc_entry *entry)
{
	LIST_REMOVE(entry, bucket);
	entry->state = DRC_FREE;
	TAILQ_REMOVE(&drc->by_age, entry, age);
	TAILQ_INSERT_HEAD(&drc->by_age, entry, age);
}
