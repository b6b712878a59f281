/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives the reaper descriptors and mappings that a peer passed and that no connection uses. */
#include <sys/socket.h>
#include <unistd.h>

#include "alloc.h"
#include "account.h"
#include "mapping.h"
#include "reap.h"
#include "sigbus_guard.h"
#include "sock.h"

struct discarded {
	struct reap_job job;
	struct shm_mapping mapping;
	int fds[SHM_FDS_MAX + 1];
	uint32_t nfds;
};

static void close_discarded(struct reap_job *job)
{
	struct discarded *it = (struct discarded *)job;

	for (uint32_t i = 0; i < it->nfds; i++)
		close(it->fds[i]);
	mapping_release(&it->mapping);
	mem_free(it);
}

static struct discarded *discarded_new(void)
{
	struct discarded *it = mem_zalloc(sizeof(*it));

	if (it)
		it->mapping.guard = GUARD_NONE;
	return it;
}

static void discard(struct discarded *it, struct shm_account *account, bool is_suspect)
{
	shm_account_hold(account);
	it->job = (struct reap_job){
		.run = close_discarded, .account = account, .is_suspect = is_suspect};
	reap(&it->job);
}

void shm_discard_fds(const int *fds, uint32_t nfds, struct shm_account *account, bool is_suspect)
{
	struct discarded *it = nfds > 0 ? discarded_new() : NULL;

	for (uint32_t i = 0; i < nfds; i++) {
		if (it)
			it->fds[it->nfds++] = fds[i];
		else
			close(fds[i]);
	}
	if (it)
		discard(it, account, is_suspect);
}

void shm_discard_mapping(struct shm_mapping *mapping, struct shm_account *account)
{
	struct discarded *it = mapping->base ? discarded_new() : NULL;

	if (!it) {
		mapping_release(mapping);
		return;
	}
	it->mapping = *mapping;
	*mapping = (struct shm_mapping){.guard = GUARD_NONE};
	discard(it, account, false);
}

void shm_close_later(int fd, struct shm_account *account)
{
	(void)shutdown(fd, SHUT_RDWR);
	shm_discard_fds(&fd, 1, account, true);
}
