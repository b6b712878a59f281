/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ACCOUNT_H
#define ACCOUNT_H

/*
 * Users, which are what a peer is over shm: the processes of one UID. Each user has one account in
 * this process, over all devices. It counts what the user's connections hold here, and it queues
 * what has to be given up for them (reap.h), so that one user's limits and delays never concern
 * another user.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "reap.h"

/* What one user may hold of a process; a device's configuration has it. */
struct account_limits {
	uint64_t map_bytes;
	uint32_t mappings;
};

struct shm_account {
	uint32_t uid;
	uint32_t refs; /* of connections, memories and jobs; the table's lock guards it */
	_Atomic uint64_t map_bytes;
	_Atomic uint32_t mappings;
	struct reap_queue queue;
	struct shm_account *next;
};

/* The account of a UID. NULL if there is no memory. The caller has a reference to it. */
struct shm_account *shm_account_get(uint32_t uid);
void shm_account_hold(struct shm_account *account);
void shm_account_put(struct shm_account *account); /* NULL is allowed */

/* Charge a mapping of so many bytes. Returns -EDQUOT if it would exceed the limits, and 0
 * otherwise. Any thread. */
int shm_account_charge(struct shm_account *account, uint64_t bytes,
		       const struct account_limits *limits);
void shm_account_discharge(struct shm_account *account, uint64_t bytes);

/*
 * Around a fork(2), which may happen while another thread holds the lock. The child has no accounts
 * and no jobs.
 */
void shm_account_fork_begin(void);
void shm_account_fork_end(bool is_child);

#endif
