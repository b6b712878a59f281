/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHM_OPTIONS_H
#define SHM_OPTIONS_H

/* What the user of driver shm chooses. */

#include <stdint.h>

#define SHM_ANY_USER	 UINT32_MAX
#define SHM_RNR_FOR_EVER 7u

struct shm_options {
	uint32_t ring_kib; /* 4 to 65536; 0: none was given, by need */
	uint32_t
		rnr_retry; /* 0 to 7: milliseconds that a message may wait for a receive, SHM_RNR_FOR_EVER: no limit */
	uint32_t peer_uid; /* whom to connect with, or SHM_ANY_USER */
};

/* 'text' is "key=value,...", or NULL. 0, or -EINVAL, logged: a key or value that is none. */
int shm_options_parse(const char *text, struct shm_options *options);

#endif
