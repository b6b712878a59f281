/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHM_OPTIONS_H
#define SHM_OPTIONS_H

/* What the user of driver shm chooses. */

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
	uint32_t ring_kib;  /* 4 to 65536; 0: none was given, by need */
	uint32_t rnr_retry; /* 0 to 7: milliseconds that a message may wait for a receive,
			       SHM_RNR_FOR_EVER: no limit */
	struct shm_ids peer_uids,
		peer_gids; /* who may connect, besides this process's user and root */
	struct shm_ids
		server_uids; /* whose listeners this side connects to, besides those of these two */
	uint32_t mode;	     /* of socket files; 0600 and more */
};

/* 'text' is "key=value,...", or NULL. 0, or -EINVAL, logged: a key or value that is none. */
int shm_options_parse(const char *text, struct shm_options *options);

#endif
