/* SPDX-License-Identifier: BSD-3-Clause */
/* Accounts of peers, in a hash table of chains. The table's size follows the profile's number of connections. */
#include "peer.h"

#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_random.h>

#include "alloc.h"
#include "engine.h"

#define LISTS_MAX 4096u

struct engine_peers {
	uint64_t seed; /* so that a peer cannot choose addresses that share a chain */
	uint32_t mask;
	LIST_HEAD(, engine_peer) lists[];
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
	peers->seed = rte_rand();
	peers->mask = nlists - 1;
	engine->peers = peers;
	return 0;
}

void engine_peers_destroy(struct weir_engine *engine)
{
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
