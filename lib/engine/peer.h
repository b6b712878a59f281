/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PEER_H
#define PEER_H

/*
 * Accounts of peers: what an engine counts for each distinct peer. A limit thus applies to a peer
 * as a whole, however many connections it opens. A peer is a user (UID) if the kernel identifies
 * one, as over shm. Otherwise it is a network address without its port. An account exists as long
 * as a connection, a connection request or a request refers to it. Only the engine's thread uses
 * the accounts.
 *
 * When the table of connections is full, the peer that holds the most connections gives one of them
 * up. engine_peer_largest() returns this peer. If no peer holds more than the peer of the new
 * connection would, the connection that was idle longest of all can be ended instead.
 * engine_peer_oldest() returns this connection.
 *
 * Accounts are in lists by their number of connections. Connections are in the order of their
 * latest activity, in a list per account and in one list of all accounts. Therefore the time of a
 * search does not grow with the number of connections.
 */

#include <sys/queue.h>

#include <weir/peer.h>

#include "credit_share.h"
#include "quota.h"

struct weir_engine;

enum engine_peer_kind {
	/* the peer connected to this engine; the key is the peer's address without the port */
	ENGINE_PEER_ADDRESS = 1,
	ENGINE_PEER_USER, /* the peer connected to this engine; the key is the peer's UID */
	/* This side connects to the peer. The key is the address that this side used. */
	ENGINE_PEER_OURS,
};

/* The key by which an account is found. Keys are compared as a whole, so that bytes that are not
 * used must be zero. */
struct engine_peer_key {
	uint32_t kind;
	uint32_t uid;
	char address[WEIR_PEER_ADDRESS_BYTES];
};

/* A connection, as a member of its peer's account. */
struct engine_peer_member {
	TAILQ_ENTRY(engine_peer_member) entry;
	/* in the list of the connections of all peers that connect to this engine */
	TAILQ_ENTRY(engine_peer_member) any_entry;
	/* the account; NULL: the connection is in no account */
	struct engine_peer *peer;
	uint64_t active_ns; /* time of the connection's latest activity */
};

TAILQ_HEAD(engine_peer_members, engine_peer_member);

/* The account of a peer. */
struct engine_peer {
	LIST_ENTRY(engine_peer) entry;
	/* member of the list of accounts with the same number of connections; only if
	 * nconnections > 0, and not for a peer to which this side connects */
	LIST_ENTRY(engine_peer) same_count;
	struct engine_peer_key key;
	uint32_t refs;
	uint32_t nconnections; /* number of 'members' */
	/* number of the peer's connection requests that wait until another connection ends */
	uint32_t narriving;
	/* the connections of the peer; the one that was idle longest is the first */
	struct engine_peer_members members;
	/* how many units of each resource all connections of the peer hold together: quota.h */
	struct engine_quota_use used;
	/* the peer's part of the shared receives; if receives are not shared, only its member
	 * 'behind' is used */
	struct credit_group receives;
};

struct engine_peers;

/* Returns the length in bytes of an address without its port. An address without a port has its
 * full length. */
uint32_t engine_peer_host_bytes(const char *address);

/* Returns the account of a peer that connects to this engine, with a new reference. Creates the
 * account if there is none. Returns NULL if there is no memory. */
struct engine_peer *engine_peer_get(struct weir_engine *engine, const struct weir_peer *peer);
/* Returns the account of a peer to which this engine connects by 'address', with a new reference.
 * Creates the account if there is none. Returns NULL if there is no memory. */
struct engine_peer *engine_peer_get_ours(struct weir_engine *engine, const char *address);
/* Adds a reference to an account, and returns the account. */
static inline struct engine_peer *engine_peer_ref(struct engine_peer *peer)
{
	peer->refs++;
	return peer;
}

/* Releases a reference to an account. The release of the last reference frees the account. Accepts
 * NULL. */
void engine_peer_put(struct weir_engine *engine, struct engine_peer *peer);

/* engine_peer_join() adds a connection to an account, and engine_peer_leave() removes it.
 * engine_peer_leave() does nothing if the connection is in no account. A connection in an account
 * holds a reference to it. */
void engine_peer_join(struct weir_engine *engine, struct engine_peer *peer,
		      struct engine_peer_member *member);
void engine_peer_leave(struct weir_engine *engine, struct engine_peer_member *member);

/*
 * Records that the connection was active at now_ns. The connection becomes the last one in the
 * order of idle connections.
 */
void engine_peer_touch(struct weir_engine *engine, struct engine_peer_member *member,
		       uint64_t now_ns);

/* Returns the account with the most connections, of the peers that connect to this engine. Returns
 * NULL if no such peer has a connection. */
struct engine_peer *engine_peer_largest(const struct weir_engine *engine);

/*
 * Returns the connection whose latest activity is the oldest, of all peers that connect to this
 * engine. Returns NULL if there is none.
 */
struct engine_peer_member *engine_peer_oldest(const struct weir_engine *engine);

/* Returns how many connections a peer has, including its connection requests that wait. */
static inline uint32_t engine_peer_holds(const struct engine_peer *peer)
{
	return peer->nconnections + peer->narriving;
}

/* Creates the table of accounts. Returns 0 or -ENOMEM. */
int engine_peers_create(struct weir_engine *engine);
void engine_peers_destroy(struct weir_engine *engine);

#endif
