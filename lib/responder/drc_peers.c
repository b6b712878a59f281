/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The peers of a duplicate request cache, and a heap of those with DONE entries. drc_peers.h
 * describes the order of the heap.
 */
#include "drc_peers.h"

#include <string.h>

#include "alloc.h"

bool drc_peers_init(struct drc_peers *peers, uint32_t nentries, uint32_t nblocks)
{
	uint32_t nbuckets = 1;

	while (nbuckets < nentries)
		nbuckets *= 2;
	peers->nentries = nentries;
	peers->nblocks = nblocks;
	peers->bucket_mask = nbuckets - 1;
	peers->buckets = mem_zalloc(nbuckets * sizeof(peers->buckets[0]));
	peers->heap = mem_zalloc(nentries * sizeof(peers->heap[0]));
	peers->all = mem_zalloc(nentries * sizeof(peers->all[0]));
	if (!peers->buckets || !peers->heap || !peers->all)
		return false;
	for (uint32_t i = 0; i < nentries; i++)
		LIST_INSERT_HEAD(&peers->free, &peers->all[i], bucket);
	return true;
}

void drc_peers_fini(struct drc_peers *peers)
{
	mem_free(peers->buckets);
	mem_free(peers->heap);
	mem_free(peers->all);
}

struct drc_peer *drc_peer_get(struct drc_peers *peers, const uint8_t *hash)
{
	struct drc_peer_list *list;
	struct drc_peer *peer;
	uint32_t i;

	memcpy(&i, hash, sizeof(i));
	list = &peers->buckets[i & peers->bucket_mask];
	LIST_FOREACH(peer, list, bucket)
	if (memcmp(peer->hash, hash, sizeof(peer->hash)) == 0)
		break;
	if (!peer) {
		/* not NULL, because there are as many objects as entries of the cache */
		peer = LIST_FIRST(&peers->free);
		LIST_REMOVE(peer, bucket);
		memcpy(peer->hash, hash, sizeof(peer->hash));
		TAILQ_INIT(&peer->done);
		LIST_INSERT_HEAD(list, peer, bucket);
	}
	peer->nentries++;
	return peer;
}

void drc_peer_put(struct drc_peers *peers, struct drc_peer *peer)
{
	if (--peer->nentries > 0)
		return;
	LIST_REMOVE(peer, bucket);
	LIST_INSERT_HEAD(&peers->free, peer, bucket);
}

/* Returns how much of the cache a peer holds (drc_peers.h), as a number that can be compared with
 * the numbers of other peers. */
static uint64_t part_of(const struct drc_peers *peers, const struct drc_peer *peer)
{
	uint64_t entries = (uint64_t)peer->ndone * peers->nblocks;
	uint64_t blocks = (uint64_t)peer->nblocks * peers->nentries;

	return entries > blocks ? entries : blocks;
}

/* Returns whether the oldest reply of 'a' is removed before that of 'b'. */
static bool goes_before(const struct drc_peers *peers, const struct drc_peer *a,
			const struct drc_peer *b)
{
	uint64_t of_a = part_of(peers, a), of_b = part_of(peers, b);

	if (of_a != of_b)
		return of_a > of_b;
	return TAILQ_FIRST(&a->done)->seq < TAILQ_FIRST(&b->done)->seq;
}

/* Stores a peer at a position of the heap. */
static void heap_set(struct drc_peers *peers, uint32_t at, struct drc_peer *peer)
{
	peers->heap[at] = peer;
	peer->at = at;
}

/* Moves a peer to its position in the heap. The search for the position begins at 'at', which must
 * be free. */
static void heap_put(struct drc_peers *peers, uint32_t at, struct drc_peer *peer)
{
	uint32_t child;

	for (; at > 0 && goes_before(peers, peer, peers->heap[(at - 1) / 2]); at = (at - 1) / 2)
		heap_set(peers, at, peers->heap[(at - 1) / 2]);
	for (; (child = 2 * at + 1) < peers->nheap; at = child) {
		if (child + 1 < peers->nheap &&
		    goes_before(peers, peers->heap[child + 1], peers->heap[child]))
			child++;
		if (!goes_before(peers, peers->heap[child], peer))
			break;
		heap_set(peers, at, peers->heap[child]);
	}
	heap_set(peers, at, peer);
}

void drc_peer_add_done(struct drc_peers *peers, struct drc_entry *entry)
{
	struct drc_peer *peer = entry->peer;

	TAILQ_INSERT_TAIL(&peer->done, entry, age);
	peer->nblocks += entry->nblocks;
	heap_put(peers, peer->ndone++ == 0 ? peers->nheap++ : peer->at, peer);
}

void drc_peer_remove_done(struct drc_peers *peers, struct drc_entry *entry)
{
	struct drc_peer *peer = entry->peer, *last;

	TAILQ_REMOVE(&peer->done, entry, age);
	peer->nblocks -= entry->nblocks;
	if (--peer->ndone > 0) {
		heap_put(peers, peer->at, peer);
		return;
	}
	last = peers->heap[--peers->nheap];
	if (last != peer)
		heap_put(peers, peer->at, last);
}

struct drc_entry *drc_peers_oldest(const struct drc_peers *peers)
{
	return peers->nheap > 0 ? TAILQ_FIRST(&peers->heap[0]->done) : NULL;
}
