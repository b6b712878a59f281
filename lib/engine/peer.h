/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PEER_H
#define PEER_H

/*
 * Accounts of peers: what an engine counts for each distinct peer, so that limits hold for a peer however many
 * connections it opens. A peer is a user (UID) where the kernel names one, as over shm, and a network address without its
 * port otherwise. An account exists as long as something refers to it: there are never more accounts than connections,
 * requests for connections included. Owner's thread only.
 */

#include <sys/queue.h>

#include "credit_share.h"
#include "share.h"
#include "weir_peer.h"

struct weir_engine;

enum engine_peer_kind {
	ENGINE_PEER_ADDRESS = 1, /* it connected; the key is its address without the port */
	ENGINE_PEER_USER,	 /* it connected; the key is its UID */
	ENGINE_PEER_OURS,	 /* this side connects to it; the key is the address that this side named */
};

/* Compared as a whole: bytes that are not used are zero. */
struct engine_peer_key {
	uint32_t kind;
	uint32_t uid;
	char address[WEIR_PEER_ADDRESS_BYTES];
};

struct engine_peer {
	LIST_ENTRY(engine_peer) entry;
	struct engine_peer_key key;
	uint32_t refs;
	uint32_t nconnections; /* weir_conn objects of this peer, in any state */
	struct engine_held held;
	struct credit_group receives; /* of those that connections share */
};

struct engine_peers;

/* The length of an address without its port. */
uint32_t engine_peer_host_bytes(const char *address);

/* The account of a peer that connects to this engine; it is made if there is none. NULL: no memory. */
struct engine_peer *engine_peer_get(struct weir_engine *engine, const struct weir_peer *peer);
/* The account of a peer that this engine connects to by 'address'. NULL: no memory. */
struct engine_peer *engine_peer_get_ours(struct weir_engine *engine, const char *address);
/* One more reference. */
static inline struct engine_peer *engine_peer_ref(struct engine_peer *peer)
{
	peer->refs++;
	return peer;
}

/* The reverse of these. The last one frees the account. NULL is allowed. */
void engine_peer_put(struct weir_engine *engine, struct engine_peer *peer);

/* The table of accounts. 0 or -ENOMEM. */
int engine_peers_create(struct weir_engine *engine);
void engine_peers_destroy(struct weir_engine *engine);

#endif
