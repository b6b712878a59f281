/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ACCOUNT_H
#define ACCOUNT_H

/* Over shm, a peer is a user: all processes of one UID. Each user has one account in this process,
 * for all devices. The account counts the mappings of the user's connections in this process. It
 * also queues the jobs that close and unmap what these connections had (reap.h). Therefore the
 * limits and delays of one user never concern another user. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "reap.h"

/* Limits of what one user may hold in a process. They come from a device's configuration. */
struct account_limits {
	uint64_t map_bytes;
	uint32_t mappings;
};

struct shm_account {
	uint32_t uid;
	/* references of sockets, mappings, mux sets and jobs; guarded by the lock of account.c */
	uint32_t refs;
	_Atomic uint64_t map_bytes;
	_Atomic uint32_t mappings;
	struct reap_queue queue;
	struct shm_account *next;
};

/* Returns the account of a UID, with a reference for the caller. Returns NULL if no memory is
 * available. */
struct shm_account *shm_account_get(uint32_t uid);
void shm_account_hold(struct shm_account *account);
void shm_account_put(struct shm_account *account); /* NULL is allowed */

/* Charges a mapping of 'bytes' bytes to the account. Returns 0, or -EDQUOT if this would exceed
 * 'limits', in which case nothing is charged. It can be called on any thread. */
int shm_account_charge(struct shm_account *account, uint64_t bytes,
		       const struct account_limits *limits);
void shm_account_discharge(struct shm_account *account, uint64_t bytes);

/* Called before and after a fork(2), in the parent and in the child. They hold the lock of the
 * accounts meanwhile, because otherwise another thread might hold it at the fork, and the child
 * could never take it. A child begins without accounts. */
void shm_account_fork_begin(void);
void shm_account_fork_end(bool is_child);

#endif
