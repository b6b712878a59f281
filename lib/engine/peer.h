/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PEER_H
#define PEER_H

/*
 * Accounts of peers: what an engine counts for each distinct peer, so that limits hold for a peer
 * however many connections it opens. A peer is a user (UID) where the kernel names one, as over
 * shm, and a network address without its port otherwise. An account exists as long as something
 * refers to it: there are never more accounts than connections, requests for connections included.
 * Owner's thread only.
 *
 * When the table of connections is full, the peer that holds the most gives way:
 * engine_peer_largest(). Where all peers hold as few as the newcomer's peer would, the connection
 * that was idle longest of all may give way: engine_peer_oldest(). Accounts are in lists by their
 * number of connections, and connections are in the order of their latest activity, those of an
 * account and those of all accounts, so that no search grows with the number of connections.
 */

#include <sys/queue.h>

#include <weir/peer.h>

#include "credit_share.h"
#include "quota.h"

struct weir_engine;

enum engine_peer_kind {
	ENGINE_PEER_ADDRESS = 1, /* it connected; the key is its address without the port */
	ENGINE_PEER_USER,	 /* it connected; the key is its UID */
	ENGINE_PEER_OURS, /* this side connects to it; the key is the address that this side named
			   */
};

/* Compared as a whole: bytes that are not used are zero. */
struct engine_peer_key {
	uint32_t kind;
	uint32_t uid;
	char address[WEIR_PEER_ADDRESS_BYTES];
};

/* One connection of a peer. */
struct engine_peer_member {
	TAILQ_ENTRY(engine_peer_member) entry;
	TAILQ_ENTRY(engine_peer_member) any_entry; /* of all peers that connect */
	struct engine_peer *peer;		   /* NULL: it is in no account */
	uint64_t active_ns;			   /* when it was last seen to be of use */
};

TAILQ_HEAD(engine_peer_members, engine_peer_member);

struct engine_peer {
	LIST_ENTRY(engine_peer) entry;
	LIST_ENTRY(engine_peer) same_count; /* where nconnections > 0, unless this side connects */
	struct engine_peer_key key;
	uint32_t refs;
	uint32_t nconnections;		    /* of 'members' */
	uint32_t narriving;		    /* requests for connections that wait for a place */
	struct engine_peer_members members; /* the longest idle one first */
	struct engine_quota_use used;
	struct credit_group receives; /* where connections do not share them, only 'behind' */
};

struct engine_peers;

/* The length of an address without its port. */
uint32_t engine_peer_host_bytes(const char *address);

/* The account of a peer that connects to this engine; it is made if there is none. NULL: no memory.
 */
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

/* A connection of the peer begins, and ends. Leaving twice is allowed. A member refers to its
 * account. */
void engine_peer_join(struct weir_engine *engine, struct engine_peer *peer,
		      struct engine_peer_member *member);
void engine_peer_leave(struct weir_engine *engine, struct engine_peer_member *member);

/* The connection is of use now: it is the last one to go. */
void engine_peer_touch(struct weir_engine *engine, struct engine_peer_member *member,
		       uint64_t now_ns);

/* Of the peers that connect to this engine, one that has the most connections. NULL: there is none.
 */
struct engine_peer *engine_peer_largest(const struct weir_engine *engine);

/*
 * Of all connections of these peers, the one that was touched the longest time ago. NULL: there is
 * none.
 */
struct engine_peer_member *engine_peer_oldest(const struct weir_engine *engine);

/* What a peer has, or is about to have. */
static inline uint32_t engine_peer_holds(const struct engine_peer *peer)
{
	return peer->nconnections + peer->narriving;
}

/* The table of accounts. 0 or -ENOMEM. */
int engine_peers_create(struct weir_engine *engine);
void engine_peers_destroy(struct weir_engine *engine);

#endif
