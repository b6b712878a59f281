/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MAPPING_H
#define MAPPING_H

/*
 * Mappings of memory that is shared with a peer: rings, key tables, muxes and regions. All of them
 * are guarded (sigbus_guard.h). A mapping of a peer's file is charged to the peer's user
 * (account.h). It takes no memory before a page is accessed, even if the program has locked its own
 * memory (unlocked.h).
 *
 * A received descriptor can be anything. fcntl(F_GET_SEALS) is the only call that is made on it
 * before it is known to be a sealed memfd: the kernel answers it from the descriptor itself,
 * whereas fstat(2), mmap(2) or close(2) on a file of another kind may ask the file system's server,
 * which can belong to the peer.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account.h"

struct shm_mapping {
	void *base; /* NULL: there is none */
	size_t len; /* bytes, in whole pages of the file */
	int guard;
	struct shm_account *account; /* charged, with a reference; NULL: none */
};

/* The device and the user for which something is mapped. */
struct mapping_owner {
	struct shm_account *account;
	const struct account_limits *limits;
	int wake_fd;  /* of the device, for its guards */
	uint64_t tag; /* reported to the device when a guard is lost */
};

/* Returns whether a descriptor is of a memfd that cannot shrink. It makes no call that could block.
 */
bool mapping_is_memfd(int fd);

/*
 * Maps 'len' bytes of a peer's memfd from 'offset' on. The memfd of a region may be larger, and may
 * consist of hugepages, of which whole ones are mapped. Any other memfd must have exactly this
 * size, and must be sealed against growing as well.
 *
 * Returns one of these values:
 * - 0
 * - -EPROTO: it is no such memfd, or has another size.
 * - -EDQUOT: the limits of its user forbid it.
 * - -ENOSPC: there is no guard left.
 * - -ENOMEM: the kernel refuses.
 */
int mapping_peer(struct shm_mapping *mapping, const struct mapping_owner *owner, int fd,
		 uint64_t offset, uint64_t len, bool is_writable, bool is_region);
/* Creates a sealed memfd of this process, and maps it. With 'read_only_for_others', peers that get
 * the descriptor can map it only for reading. Its mode keeps other users from opening it again.
 * Returns 0 or -errno. */
int mapping_own(struct shm_mapping *mapping, const char *name, size_t len,
		bool read_only_for_others, int *fd);
/* Guards a mapping of mapping_own(). Returns 0 or -ENOSPC. */
int mapping_guard(struct shm_mapping *mapping, int wake_fd, uint64_t tag);
/* Unmaps a mapping, if there is one. This may take long if the mapping is the last one of a large
 * memory. */
void mapping_release(struct shm_mapping *mapping);

/* Returns the size of a memfd's pages if it consists of hugepages, otherwise 0. */
size_t mapping_hugepage_bytes(int fd);

#endif
