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

struct left {
	struct reap_job job;
	struct shm_mapping mapping;
	int fds[SHM_FDS_MAX + 1];
	uint32_t nfds;
};

static void close_left(struct reap_job *job)
{
	struct left *left = (struct left *)job;

	for (uint32_t i = 0; i < left->nfds; i++)
		close(left->fds[i]);
	mapping_release(&left->mapping);
	mem_free(left);
}

static struct left *left_new(void)
{
	struct left *left = mem_zalloc(sizeof(*left));

	if (left)
		left->mapping.guard = GUARD_NONE;
	return left;
}

static void leave(struct left *left, struct shm_account *account, bool is_suspect)
{
	shm_account_hold(account);
	left->job =
		(struct reap_job){.run = close_left, .account = account, .is_suspect = is_suspect};
	reap(&left->job);
}

void shm_leave_fds(const int *fds, uint32_t nfds, struct shm_account *account, bool is_suspect)
{
	struct left *left = nfds > 0 ? left_new() : NULL;

	for (uint32_t i = 0; i < nfds; i++) {
		if (left)
			left->fds[left->nfds++] = fds[i];
		else
			close(fds[i]);
	}
	if (left)
		leave(left, account, is_suspect);
}

void shm_leave_mapping(struct shm_mapping *mapping, struct shm_account *account)
{
	struct left *left = mapping->base ? left_new() : NULL;

	if (!left) {
		mapping_release(mapping);
		return;
	}
	left->mapping = *mapping;
	*mapping = (struct shm_mapping){.guard = GUARD_NONE};
	leave(left, account, false);
}

void shm_close_later(int fd, struct shm_account *account)
{
	(void)shutdown(fd, SHUT_RDWR);
	shm_leave_fds(&fd, 1, account, true);
}
