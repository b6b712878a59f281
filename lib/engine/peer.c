/* SPDX-License-Identifier: BSD-3-Clause */
/* Accounts of peers, in a hash table with chains. The number of chains depends on the profile's
 * number of connections. */
#include "peer.h"

#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_random.h>

#include "alloc.h"
#include "engine.h"

/* the largest number of chains */
#define LISTS_MAX 4096u

LIST_HEAD(engine_peer_list, engine_peer);

struct engine_peers {
	/* of the hash: random, so that a peer cannot choose addresses that share a chain */
	uint64_t seed;
	/* List k has the accounts with k connections, of the peers that connect to this engine. */
	struct engine_peer_list *by_count;
	/* the highest index in by_count of a list that is not empty; 0: all lists are empty */
	uint32_t count_max;
	/* The connections of the accounts in by_count. The connection that was idle longest is the
	 * first. */
	struct engine_peer_members any;
	/* number of 'lists' minus 1 */
	uint32_t mask;
	struct engine_peer_list lists[];
};

int engine_peers_create(struct weir_engine *engine)
{
	uint32_t nlists = rte_align32pow2(engine->profile.connections);
	struct engine_peers *peers;

	if (nlists > LISTS_MAX)
		nlists = LISTS_MAX;
	peers = mem_zalloc(sizeof(*peers) + nlists * sizeof(peers->lists[0]));
	if (!peers)
		return -ENOMEM;
	peers->by_count =
		mem_zalloc((engine->profile.connections + 1) * sizeof(peers->by_count[0]));
	if (!peers->by_count) {
		mem_free(peers);
		return -ENOMEM;
	}
	peers->seed = rte_rand();
	peers->mask = nlists - 1;
	TAILQ_INIT(&peers->any);
	engine->peers = peers;
	return 0;
}

void engine_peers_destroy(struct weir_engine *engine)
{
	if (engine->peers)
		mem_free(engine->peers->by_count);
	mem_free(engine->peers);
	engine->peers = NULL;
}

uint32_t engine_peer_host_bytes(const char *address)
{
	const char *colon = strrchr(address, ':');

	return (uint32_t)(colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1)
				  ? (size_t)(colon - address)
				  : strlen(address));
}

static uint32_t hash(const struct engine_peers *peers, const struct engine_peer_key *key)
{
	const uint8_t *bytes = (const uint8_t *)key;
	uint64_t sum = peers->seed;

	for (size_t i = 0; i < sizeof(*key); i++)
		sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
	return (uint32_t)(sum >> 32) & peers->mask;
}

/* Returns the account with this key, with a new reference. Creates the account if there is none.
 * Returns NULL if there is no memory. */
static struct engine_peer *get(struct weir_engine *engine, const struct engine_peer_key *key)
{
	struct engine_peers *peers = engine->peers;
	uint32_t list = hash(peers, key);
	struct engine_peer *peer;

	LIST_FOREACH(peer, &peers->lists[list], entry)
	if (memcmp(&peer->key, key, sizeof(*key)) == 0)
		break;
	if (!peer) {
		peer = mem_zalloc(sizeof(*peer));
		if (!peer)
			return NULL;
		peer->key = *key;
		TAILQ_INIT(&peer->members);
		LIST_INSERT_HEAD(&peers->lists[list], peer, entry);
	}
	peer->refs++;
	return peer;
}

static void set_address(struct engine_peer_key *key, const char *address, size_t bytes)
{
	memcpy(key->address, address, RTE_MIN(bytes, sizeof(key->address) - 1));
}

struct engine_peer *engine_peer_get(struct weir_engine *engine, const struct weir_peer *who)
{
	struct engine_peer_key key = {.kind = ENGINE_PEER_ADDRESS};

	if (who->has_credentials) {
		key.kind = ENGINE_PEER_USER;
		key.uid = who->uid;
	} else {
		set_address(&key, who->address, engine_peer_host_bytes(who->address));
	}
	return get(engine, &key);
}

struct engine_peer *engine_peer_get_ours(struct weir_engine *engine, const char *address)
{
	struct engine_peer_key key = {.kind = ENGINE_PEER_OURS};

	set_address(&key, address, strlen(address));
	return get(engine, &key);
}

void engine_peer_put(struct weir_engine *engine, struct engine_peer *peer)
{
	(void)engine;
	if (!peer || --peer->refs > 0)
		return;
	LIST_REMOVE(peer, entry);
	mem_free(peer);
}

/* Returns whether this engine may end connections of the peer in favour of other peers. Returns
 * false for a peer to which this side connects. */
static bool gives_way(const struct engine_peer *peer)
{
	return peer->key.kind != ENGINE_PEER_OURS;
}

/* Sets the number of connections of an account to 'count', which differs from the current number by
 * one, and moves the account to the list of that number. */
static void recount(struct engine_peers *peers, struct engine_peer *peer, uint32_t count)
{
	if (gives_way(peer)) {
		if (peer->nconnections > 0)
			LIST_REMOVE(peer, same_count);
		if (count > 0)
			LIST_INSERT_HEAD(&peers->by_count[count], peer, same_count);
		if (count > peers->count_max)
			peers->count_max = count;
		else if (peers->count_max > 0 && LIST_EMPTY(&peers->by_count[peers->count_max]))
			peers->count_max--;
	}
	peer->nconnections = count;
}

void engine_peer_join(struct weir_engine *engine, struct engine_peer *peer,
		      struct engine_peer_member *member)
{
	peer->refs++;
	member->peer = peer;
	member->active_ns = engine->now_ns;
	TAILQ_INSERT_TAIL(&peer->members, member, entry);
	if (gives_way(peer))
		TAILQ_INSERT_TAIL(&engine->peers->any, member, any_entry);
	recount(engine->peers, peer, peer->nconnections + 1);
}

void engine_peer_leave(struct weir_engine *engine, struct engine_peer_member *member)
{
	struct engine_peer *peer = member->peer;

	if (!peer)
		return;
	member->peer = NULL;
	TAILQ_REMOVE(&peer->members, member, entry);
	if (gives_way(peer))
		TAILQ_REMOVE(&engine->peers->any, member, any_entry);
	recount(engine->peers, peer, peer->nconnections - 1);
	engine_peer_put(engine, peer);
}

void engine_peer_touch(struct weir_engine *engine, struct engine_peer_member *member,
		       uint64_t now_ns)
{
	struct engine_peer *peer = member->peer;

	member->active_ns = now_ns;
	if (!peer)
		return;
	if (TAILQ_NEXT(member, entry)) {
		TAILQ_REMOVE(&peer->members, member, entry);
		TAILQ_INSERT_TAIL(&peer->members, member, entry);
	}
	if (gives_way(peer) && TAILQ_NEXT(member, any_entry)) {
		TAILQ_REMOVE(&engine->peers->any, member, any_entry);
		TAILQ_INSERT_TAIL(&engine->peers->any, member, any_entry);
	}
}

struct engine_peer *engine_peer_largest(const struct weir_engine *engine)
{
	const struct engine_peers *peers = engine->peers;

	return peers->count_max > 0 ? LIST_FIRST(&peers->by_count[peers->count_max]) : NULL;
}

struct engine_peer_member *engine_peer_oldest(const struct weir_engine *engine)
{
	return TAILQ_FIRST(&engine->peers->any);
}
