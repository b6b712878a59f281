/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRC_H
#define DRC_H

/*
 * The duplicate request cache: replies to procedures that can't be carried out twice (RFC 1813 section 4.7), for clients that
 * lost one and ask again, by the same or another connection. A key is the XID, the procedure, and a SipHash under a
 * secret of the caller's credential (who, and from which machine) and all arguments. What is kept is the RPC
 * results; transport headers belong to one message and are made anew. A fixed number; the oldest goes.
 */

#include <sys/queue.h>

#include "nfs3_xdr.h"

#define DRC_ENTRIES 2048u
#define DRC_BUCKETS 1024u

struct drc_key {
	uint32_t xid;
	uint32_t proc;
	uint8_t hash[16];
};

enum drc_state { DRC_FREE, DRC_BUSY, DRC_DONE };

struct drc_entry {
	struct drc_key key;
	enum drc_state state;
	uint32_t len_bytes;
	uint8_t results[NFS3_RESULTS_XDR_MAX];
	LIST_ENTRY(drc_entry) bucket;
	TAILQ_ENTRY(drc_entry) age; /* oldest first */
};

struct drc {
	struct drc_entry *entries;
	TAILQ_HEAD(, drc_entry) by_age;
	LIST_HEAD(, drc_entry) buckets[DRC_BUCKETS];
	uint8_t secret[16];
	uint64_t hits;
};

int drc_init(struct drc *drc); /* 0 or -ENOMEM */
void drc_fini(struct drc *drc);

/* The key of a call with these bytes of credential and arguments. */
void drc_make_key(const struct drc *drc, uint32_t xid, uint32_t proc, const void *cred, uint32_t cred_bytes,
		  const void *args, uint32_t args_bytes, struct drc_key *key);

/* The entry of this key: DRC_DONE, with results; DRC_BUSY: being carried out; or a new one, *is_new true, to be ended with
 * drc_answered() or drc_drop(). NULL: none is free, as all are busy. */
struct drc_entry *drc_get(struct drc *drc, const struct drc_key *key, bool *is_new);
void drc_answered(struct drc *drc, struct drc_entry *entry, const void *results, uint32_t len_bytes);
void drc_drop(struct drc *drc, struct drc_entry *entry);

#endif
