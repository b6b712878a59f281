/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MAPPING_H
#define MAPPING_H

/*
 * Mappings of memory that is shared with a peer: rings, key tables, muxes and regions. All of them
 * are guarded (sigbus_guard.h). A mapping of a peer's file is charged to the peer's user
 * (account.h). It takes no memory before a page is accessed, even if the program has locked its own
 * memory (unlocked.h).
 *
 * A received descriptor can be of any file. Before it is known to be a sealed memfd,
 * fcntl(F_GET_SEALS) is the only call that is made on it. For this call the kernel needs only the
 * descriptor itself. In contrast, fstat(2), mmap(2) or close(2) on a file of another kind can ask
 * the server of the file system, which can belong to the peer.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account.h"

struct shm_mapping {
	void *base; /* NULL: there is no mapping */
	size_t len; /* bytes, in whole pages of the file */
	int guard;  /* of the mapping (sigbus_guard.h), or GUARD_NONE */
	/* account that the mapping is charged to, with a reference; NULL: none */
	struct shm_account *account;
};

/* The device and the user for which something is mapped. */
struct mapping_owner {
	struct shm_account *account;
	const struct account_limits *limits;
	int wake_fd;  /* eventfd that wakes the device when a mapping has lost its pages */
	uint64_t tag; /* reported to the device when a mapping has lost its pages */
};

/* Returns whether a descriptor is of a memfd that is sealed against shrinking. The function makes
 * no call that could block. */
bool mapping_is_memfd(int fd);

/*
 * Maps 'len' bytes of a peer's memfd from 'offset' on, and guards the mapping. The memfd of a
 * region is allowed to be larger, and to consist of hugepages. If it does, 'len' is rounded up to
 * whole hugepages. Any other memfd must have exactly this size, counted in pages, and must be
 * sealed against growing as well.
 *
 * Returns one of these values:
 * - 0: the memory is mapped.
 * - -EPROTO: the descriptor is not of such a memfd, or the memfd has another size.
 * - -EDQUOT: the mapping would exceed the limits of the peer's user.
 * - -ENOSPC: no guard is free.
 * - -ENOMEM: the kernel has no memory or address space, or a limit of this process forbids it.
 */
int mapping_peer(struct shm_mapping *mapping, const struct mapping_owner *owner, int fd,
		 uint64_t offset, uint64_t len, bool is_writable, bool is_region);
/* Creates a sealed memfd of 'len' bytes, maps it, and stores its descriptor in *fd. With
 * 'read_only_for_others', peers that get the descriptor can map the memfd only for reading. The
 * memfd's mode keeps other users from opening it again. Returns 0 or -errno. */
int mapping_own(struct shm_mapping *mapping, const char *name, size_t len,
		bool read_only_for_others, int *fd);
/* Guards a mapping of mapping_own(). 'wake_fd' and 'tag' are those of guard_set(). Returns 0, or
 * -ENOSPC if no guard is free. */
int mapping_guard(struct shm_mapping *mapping, int wake_fd, uint64_t tag);
/* Unmaps a mapping, if there is one. This can take long if no other mapping or descriptor of a
 * large memfd is left. */
void mapping_release(struct shm_mapping *mapping);

/* Returns the size of a memfd's pages if it consists of hugepages, otherwise 0. */
size_t mapping_hugepage_bytes(int fd);

#endif
