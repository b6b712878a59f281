/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PEER_H
#define PEER_H

/*
 * Accounts of peers: what an engine counts for each distinct peer. A limit thus applies to a peer
 * as a whole, however many connections it opens. A peer is a user (UID) if the kernel identifies
 * one, as over shm. Otherwise it is a network address without its port. An account exists as long
 * as something refers to it. So there are never more accounts than connections and connection
 * requests. Owner's thread only.
 *
 * When the table of connections is full, the peer that holds the most connections gives one up:
 * engine_peer_largest(). If no peer holds more than the peer of the new connection would, the
 * connection that was idle longest of all may be ended instead: engine_peer_oldest().
 *
 * Accounts are in lists by their number of connections. Connections are in the order of their
 * latest activity, in a list per account and in one list of all accounts. So no search grows with
 * the number of connections.
 */

#include <sys/queue.h>

#include <weir/peer.h>

#include "credit_share.h"
#include "quota.h"

struct weir_engine;

enum engine_peer_kind {
	ENGINE_PEER_ADDRESS = 1, /* it connected; the key is its address without the port */
	ENGINE_PEER_USER,	 /* it connected; the key is its UID */
	/* This side connects to it. The key is the address that this side used. */
	ENGINE_PEER_OURS,
};

/* Keys are compared as a whole. Unused bytes are zero. */
struct engine_peer_key {
	uint32_t kind;
	uint32_t uid;
	char address[WEIR_PEER_ADDRESS_BYTES];
};

/* One connection of a peer. */
struct engine_peer_member {
	TAILQ_ENTRY(engine_peer_member) entry;
	TAILQ_ENTRY(engine_peer_member) any_entry; /* in the list of all peers that connect */
	struct engine_peer *peer;		   /* NULL: it is in no account */
	uint64_t active_ns;			   /* time of its latest activity */
};

TAILQ_HEAD(engine_peer_members, engine_peer_member);

struct engine_peer {
	LIST_ENTRY(engine_peer) entry;
	/* used if nconnections > 0, unless this side connects */
	LIST_ENTRY(engine_peer) same_count;
	struct engine_peer_key key;
	uint32_t refs;
	uint32_t nconnections;		    /* number of 'members' */
	uint32_t narriving;		    /* connection requests that wait for room */
	struct engine_peer_members members; /* the one that was idle longest first */
	struct engine_quota_use used;
	struct credit_group receives; /* if receives are not shared, only 'behind' is used */
};

struct engine_peers;

/* Returns the length of an address without its port. */
uint32_t engine_peer_host_bytes(const char *address);

/* Returns the account of a peer that connects to this engine, with a new reference. Creates the
 * account if necessary. NULL: no memory. */
struct engine_peer *engine_peer_get(struct weir_engine *engine, const struct weir_peer *peer);
/* Returns the account of a peer to which this engine connects by 'address', with a new reference.
 * NULL: no memory. */
struct engine_peer *engine_peer_get_ours(struct weir_engine *engine, const char *address);
/* Takes one more reference. */
static inline struct engine_peer *engine_peer_ref(struct engine_peer *peer)
{
	peer->refs++;
	return peer;
}

/* Releases a reference. The last one frees the account. Accepts NULL. */
void engine_peer_put(struct weir_engine *engine, struct engine_peer *peer);

/* engine_peer_join() adds a connection to an account, and engine_peer_leave() removes it. A second
 * engine_peer_leave() does nothing. A member holds a reference to its account. */
void engine_peer_join(struct weir_engine *engine, struct engine_peer *peer,
		      struct engine_peer_member *member);
void engine_peer_leave(struct weir_engine *engine, struct engine_peer_member *member);

/*
 * Records activity of the connection, which becomes the last one in the order of idle connections.
 */
void engine_peer_touch(struct weir_engine *engine, struct engine_peer_member *member,
		       uint64_t now_ns);

/* Returns a peer with the most connections, of those that connect to this engine. NULL: there is
 * none. */
struct engine_peer *engine_peer_largest(const struct weir_engine *engine);

/*
 * Returns the connection of these peers whose latest activity is the oldest. NULL: there is none.
 */
struct engine_peer_member *engine_peer_oldest(const struct weir_engine *engine);

/* Returns how many connections a peer has, including its waiting requests. */
static inline uint32_t engine_peer_holds(const struct engine_peer *peer)
{
	return peer->nconnections + peer->narriving;
}

/* Creates the table of accounts. Returns 0 or -ENOMEM. */
int engine_peers_create(struct weir_engine *engine);
void engine_peers_destroy(struct weir_engine *engine);

#endif
