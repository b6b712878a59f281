/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates and finds keys. A key is a permutation of a counter, and the seed selects the
 * permutation. Keys look random, and no key repeats during the life of a world. Therefore the use
 * of an ended key is always detected. Keys are unique over all devices of a world. Therefore the
 * use of a key with the wrong device is detected, too.
 */
#include "sim_world.h"

uint32_t sim_key_make(struct sim_world *world)
{
	uint32_t x;

	do {
		/* Each of the next lines maps different values to different values. */
		x = world->key_count++ ^ world->key_mask;
		x *= 0x9e3779b1u;
		x ^= x >> 15;
		x *= 0x85ebca6bu;
		x ^= x >> 13;
		x *= 0xc2b2ae35u;
		x ^= x >> 16;
	} while (x == 0);
	return x;
}

static struct sim_keys *bucket_of(const struct sim_dev *dev, uint32_t key)
{
	return (struct sim_keys *)(uintptr_t)&dev->keys[key % SIM_KEY_BUCKETS];
}

void sim_key_enter(struct sim_dev *dev, struct sim_key *key)
{
	LIST_INSERT_HEAD(bucket_of(dev, key->key), key, entry);
}

struct sim_key *sim_key_find(const struct sim_dev *dev, uint32_t value)
{
	struct sim_key *key;

	LIST_FOREACH(key, bucket_of(dev, value), entry)
	if (key->key == value)
		return key;
	return NULL;
}
