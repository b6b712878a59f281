/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHM_OPTIONS_H
#define SHM_OPTIONS_H

/* The options of driver shm. */

#include <stdbool.h>
#include <stdint.h>

#define SHM_RNR_FOR_EVER 7u
#define SHM_IDS_MAX	 32u
#define SHM_MODE_DEFAULT 0600u

/* Users or groups, by number. */
struct shm_ids {
	bool any;
	uint32_t n;
	uint32_t at[SHM_IDS_MAX];
};

struct shm_options {
	uint32_t ring_kib; /* 4 to 65536; 0: not given, chosen by need */
	/* Milliseconds that a message may wait for a receive, 0 to 6. SHM_RNR_FOR_EVER (7): no
	 * limit. */
	uint32_t rnr_retry;
	/* users and groups that are allowed to connect, besides this process's user and root */
	struct shm_ids peer_uids, peer_gids;
	/* users to whose listeners this side connects, besides this process's user and root */
	struct shm_ids server_uids;
	uint32_t mode; /* mode of socket files: 0600 with or without further bits */
};

/* Parses 'text', which is "key=value,..." or NULL. Returns 0, or logs an invalid key or value and
 * returns -EINVAL. */
int shm_options_parse(const char *text, struct shm_options *options);

#endif
