/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_MEMORY_H
#define WEIR_MEMORY_H

/*
 * Memory that data is sent from and received into. A region is registered once, with every engine
 * that is to use it, before the first call; from then on any byte of it can be named in calls and
 * replies.
 *
 * Control path: create, adopt, destroy may be called on any thread, not at the same time on one
 * region.
 */

#include <weir/common.h>

WEIR_BEGIN_DECLS

struct weir_region;

enum weir_region_flags {
	/** Ordinary pages, without trying hugepages or having the kernel join them. */
	WEIR_REGION_NO_HUGE = 1,
	/** Never visible to a peer: for receive buffers and for what is checked in place. */
	WEIR_REGION_PRIVATE = 2,
	/** Not of a file: for peers that a device reaches. Drivers between processes don't expose
	   it, as they have nothing to map. */
	WEIR_REGION_UNSHARED = 4,
};

/** For weir_region_options.page_bytes: no hugepages that were set aside, but ordinary ones, of
 * which the kernel may join those that no other process can be given (transparent hugepages). */
#define WEIR_PAGES_THP 1u

struct weir_region_options {
	/** Above 0; rounded up to the size of the pages in use, or of those that the kernel may
	 * join them to. */
	size_t len_bytes;
	/** 0: the largest that can be had; WEIR_PAGES_THP; or 4096, 2 MiB, 1 GiB: at most that. */
	uint64_t page_bytes;
	uint32_t flags; /**< enum weir_region_flags */
	int numa_node;	/**< -1: where the calling thread runs */
};

struct weir_region_info {
	size_t struct_bytes; /**< set by the application: see weir/common.h */
	void *base;
	size_t len_bytes;
	uint64_t page_bytes; /**< what it got */
	int numa_node;	     /**< -1: unknown */
	bool is_adopted;     /**< the embedder's own memory */
};

/** Create a region of memory that another process can be given (a sealed memfd), zeroed and faulted
 * in, from hugepages when there are enough, else from ordinary pages with one notice in the log
 * that says how to get hugepages. 0; -EINVAL; -ENOMEM. Owner: the caller, until
 * weir_region_destroy(). */
WEIR_API int weir_region_create(const struct weir_region_options *options,
				struct weir_region **region);

/** Make a region of memory that the embedder owns, e.g. its page cache. 'fd' and 'fd_offset' name
 * the memfd that it was mapped from, with MAP_SHARED and PROT_READ | PROT_WRITE, or fd is -1.
 * Adjacent mappings of the memfd serve as one does. They have to stay in place as long as the
 * region is there.
 *
 * Drivers between processes pass the descriptor to peers, who can then read and write the whole
 * file. So they expose the region only if
 * - it is all of the memfd,
 * - /proc is mounted, which says whether the memory is of that memfd,
 * - the memfd has F_SEAL_SHRINK and F_SEAL_GROW, and
 * - the memfd can be mapped for writing: opened O_RDWR, without F_SEAL_WRITE and
 * F_SEAL_FUTURE_WRITE. Other memory serves them as a local source or destination only, which
 * weir_engine_add_region() logs. weir_call_result_item() then fails with -EOPNOTSUPP, and arguments
 * that do not fit inline are copied, up to the profile's long_buffer_bytes; longer ones make
 * weir_call_submit() fail with -EOPNOTSUPP.
 *
 * 0; -EINVAL: not page-aligned, zero length, past the end of the file, or memory that is not such
 * a mapping, as one that is private, of another file, at another offset or read-only (the log says
 * which, and what to do); -ENOMEM. */
WEIR_API int weir_region_adopt(void *base, size_t len_bytes, int fd, uint64_t fd_offset,
			       struct weir_region **region);

/** Free a region, or let go of an adopted one. It must not be registered any more. NULL is allowed.
 */
WEIR_API void weir_region_destroy(struct weir_region *region);

/** Where a region is, and what it got, copied to *info, which is the caller's. Any thread, while
 * the region is there. Never fails. */
WEIR_API void weir_region_info(const struct weir_region *region, struct weir_region_info *info);

WEIR_END_DECLS

#endif
