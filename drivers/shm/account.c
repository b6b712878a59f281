/* SPDX-License-Identifier: BSD-3-Clause */
/* The accounts of users (account.h): a list for the whole process, which a lock guards, and atomic
 * counters in each account. */
#include "account.h"

#include <errno.h>
#include <pthread.h>

#include "alloc.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shm_account *accounts; /* a short list: only users with connections or jobs */

static struct shm_account *account_find(uint32_t uid)
{
	struct shm_account *account = accounts;

	while (account && account->uid != uid)
		account = account->next;
	if (account)
		account->refs++;
	return account;
}

struct shm_account *shm_account_get(uint32_t uid)
{
	struct shm_account *account, *fresh;

	pthread_mutex_lock(&lock);
	account = account_find(uid);
	pthread_mutex_unlock(&lock);
	if (account)
		return account;
	fresh = mem_zalloc(sizeof(*fresh));
	if (!fresh)
		return NULL;
	fresh->uid = uid;
	fresh->refs = 1;
	reap_queue_init(&fresh->queue);
	pthread_mutex_lock(&lock);
	account = account_find(uid); /* another thread might have created it meanwhile */
	if (!account) {
		fresh->next = accounts;
		accounts = fresh;
	}
	pthread_mutex_unlock(&lock);
	if (!account)
		return fresh;
	mem_free(fresh);
	return account;
}

void shm_account_hold(struct shm_account *account)
{
	pthread_mutex_lock(&lock);
	account->refs++;
	pthread_mutex_unlock(&lock);
}

void shm_account_put(struct shm_account *account)
{
	struct shm_account **at;
	bool is_last;

	if (!account)
		return;
	pthread_mutex_lock(&lock);
	is_last = --account->refs == 0;
	if (is_last) {
		for (at = &accounts; *at != account; at = &(*at)->next)
			;
		*at = account->next;
	}
	pthread_mutex_unlock(&lock);
	if (is_last)
		mem_free(account);
}

int shm_account_charge(struct shm_account *account, uint64_t bytes,
		       const struct account_limits *limits)
{
	uint64_t before = atomic_load(&account->map_bytes);

	do {
		if (bytes > limits->map_bytes || before > limits->map_bytes - bytes)
			return -EDQUOT;
	} while (!atomic_compare_exchange_weak(&account->map_bytes, &before, before + bytes));
	if (atomic_fetch_add(&account->mappings, 1) < limits->mappings)
		return 0;
	shm_account_discharge(account, bytes);
	return -EDQUOT;
}

void shm_account_discharge(struct shm_account *account, uint64_t bytes)
{
	atomic_fetch_sub(&account->map_bytes, bytes);
	atomic_fetch_sub(&account->mappings, 1);
}

void shm_account_fork_begin(void)
{
	pthread_mutex_lock(&lock);
}

void shm_account_fork_end(bool is_child)
{
	/* The child forgets the accounts, because only mappings of the parent are charged to them.
	 * The accounts are not freed: the child has copies of the parent's sockets, which refer to
	 * the accounts and are never freed either. */
	if (is_child)
		accounts = NULL;
	pthread_mutex_unlock(&lock);
}
