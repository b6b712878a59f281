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

#include <stdbool.h>
#include <sys/queue.h>

#include "piece.h"

#define DRC_HASH_BYTES 16u

struct drc;
struct drc_peer;
struct weir_request;

enum drc_state { DRC_FREE, DRC_BUSY, DRC_DONE };

struct drc_key {
	uint32_t xid;
	uint8_t hash[DRC_HASH_BYTES];
};

struct drc_entry {
	struct drc_key key;
	enum drc_state state;
	struct drc_peer *peer;		   /* that made the call */
	uint32_t first, last, nblocks;	   /* DONE: of the reply, in the cache's blocks */
	uint64_t seq;			   /* DONE: counts up */
	LIST_HEAD(, weir_request) waiting; /* BUSY: the same call, come once more */
	LIST_ENTRY(drc_entry) bucket;
	TAILQ_ENTRY(drc_entry) age; /* DONE: the peer's, oldest first; FREE */
};

/* For at most so many calls at a time, and replies of so many bytes, some for their bookkeeping.
 * NULL: no memory. */
struct drc *drc_create(uint32_t nentries, uint64_t nbytes);
void drc_destroy(struct drc *drc); /* NULL is allowed */

/* The secret of its hashes. */
const uint8_t *drc_secret(const struct drc *drc);

/* NULL: no such call. */
struct drc_entry *drc_find(struct drc *drc, const struct drc_key *key);
/* A new one, BUSY, of the peer that the hash 'peer', of DRC_HASH_BYTES, stands for. NULL: all are.
 */
struct drc_entry *drc_add(struct drc *drc, const struct drc_key *key, const uint8_t *peer);
/* Entries that are not BUSY. */
uint32_t drc_left(const struct drc *drc);
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
