/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BLOCKSTORE_H
#define BLOCKSTORE_H

/* The two sides of the block store. Shard i listens at the name NAME.i. */

#include <stdint.h>

#include <weir/weir.h>

#define SHARDS_MAX WEIR_RUNTIME_THREADS_MAX
#define BLOCKS_MAX 16777216u

struct options {
	const char *listen, *connect;
	uint32_t shards;
	uint64_t blocks; /* of a shard */
	uint32_t rounds;
	struct weir_profile profile;
};

/* Serves all shards until the program gets a signal. Ends the program after an error. */
void blockstore_serve(struct options *options);

/* Writes, reads, discards and verifies blocks of all shards. Ends the program after an error. */
void blockstore_client(const struct options *options);

#endif
