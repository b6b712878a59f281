/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ACCOUNT_H
#define ACCOUNT_H

/* Over shm, a peer is a user: all processes of one UID. Each user has one account in this process,
 * for all devices. The account counts what the user's connections hold here. It also queues what
 * must be given up for them (reap.h), so that the limits and delays of one user never concern
 * another user. */

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
	uint32_t refs; /* of connections, memories and jobs; guarded by the table's lock */
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

/* Charges a mapping of 'bytes' bytes. Returns -EDQUOT if this would exceed the limits, otherwise 0.
 * May be called on any thread. */
int shm_account_charge(struct shm_account *account, uint64_t bytes,
		       const struct account_limits *limits);
void shm_account_discharge(struct shm_account *account, uint64_t bytes);

/* Call these functions around a fork(2), which may happen while another thread holds the lock. The
 * child has no accounts and no jobs. */
void shm_account_fork_begin(void);
void shm_account_fork_end(bool is_child);

#endif
