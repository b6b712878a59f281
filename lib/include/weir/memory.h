/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_MEMORY_H
#define WEIR_MEMORY_H

/*
 * Regions: memory of the application that weir sends from and receives into. Register a region with
 * each engine that uses it, with weir_engine_add_region(), before the first call. From then on,
 * calls and replies can name any byte of the region.
 *
 * Thread of all functions: any, but not two functions on the same region at a time.
 */

#include <weir/common.h>

WEIR_BEGIN_DECLS

struct weir_region;

/** Flags of weir_region_options. */
enum weir_region_flags {
	/** Use ordinary pages. Do not try hugepages, not even transparent ones. */
	WEIR_REGION_NO_HUGE = 1,
	/**
	 * Never expose the region to a peer. Use it for receive buffers, for data that are checked
	 * in place, and at a responder for results and for memory of weir_program.arg_sink.
	 */
	WEIR_REGION_PRIVATE = 2,
	/**
	 * Anonymous memory, not backed by a file. RDMA devices can expose it. The shm driver
	 * cannot, because the peer has nothing to map.
	 */
	WEIR_REGION_UNSHARED = 4,
};
WEIR_FLAG_ENUM(weir_region_flags)

/**
 * Value of weir_region_options.page_bytes: use ordinary pages instead of reserved hugepages. If the
 * memory cannot be passed to other processes, the kernel is allowed to join the pages to
 * transparent hugepages.
 */
#define WEIR_PAGES_THP 1u

/** Options of weir_region_create(). */
struct weir_region_options {
	size_t struct_bytes; /**< size of the structure; set by the application; see weir/common.h
			      */
	/** Size in bytes, above 0. weir rounds it up to a multiple of the page size. */
	size_t len_bytes;
	/**
	 * Page size in bytes. 0: the largest available. 4096, 2 MiB or 1 GiB: at most that size.
	 * WEIR_PAGES_THP: ordinary pages.
	 */
	uint64_t page_bytes;
	uint32_t flags; /**< combination of enum weir_region_flags */
	/** NUMA node, up to the machine's highest. -1: that of the calling thread's CPU. */
	int numa_node;
};

/** Properties of a region. */
struct weir_region_info {
	size_t struct_bytes; /**< set by the application; see weir/common.h; 0: nothing is stored */
	void *base;	     /**< first byte */
	size_t len_bytes;    /**< size */
	uint64_t page_bytes; /**< page size that weir obtained */
	int numa_node;	     /**< -1: unknown */
	bool is_adopted;     /**< the application owns the memory; see weir_region_adopt() */
};

/**
 * Creates a region of zeroed memory, which weir can pass to other processes (a sealed memfd),
 * unless the flags say otherwise.
 *
 * All pages are present when the function returns. weir uses hugepages if enough are free.
 * Otherwise it uses ordinary pages and logs once how to reserve hugepages.
 *
 * @param options size, page size, flags and NUMA node
 * @param[out] region the region; set if the function returns 0
 * @retval 0 success
 * @retval -EINVAL an option is out of range, or struct_bytes is too small
 * @retval -E2BIG the options have members that are not 0 and that this version of weir does not
 * know
 * @retval -ENOMEM memory is exhausted
 * @owner the caller, until weir_region_destroy()
 */
WEIR_API int weir_region_create(const struct weir_region_options *options,
				struct weir_region **region);

/**
 * Makes a region of memory that the application owns, such as its page cache.
 *
 * Drivers between processes pass the file descriptor to peers, which can then read and write the
 * whole file. They expose the region only if all of these conditions hold:
 * - The region covers the whole memfd.
 * - /proc is mounted. It shows whether the memory belongs to the memfd.
 * - The memfd has the seals F_SEAL_SHRINK and F_SEAL_GROW.
 * - The memfd can be mapped for writing: it was opened O_RDWR and has neither F_SEAL_WRITE nor
 *   F_SEAL_FUTURE_WRITE.
 *
 * If a condition does not hold, these drivers use the memory as a local source or destination only,
 * and weir_engine_add_region() logs this. weir_call_result_item() then fails with -EOPNOTSUPP.
 * Arguments that do not fit inline are copied, up to the profile's long_buffer_bytes. For longer
 * arguments, weir_call_submit() fails with -EOPNOTSUPP.
 *
 * @param base first byte; aligned to a page. Adjacent mappings of one memfd count as one mapping.
 * @param len_bytes size; above 0
 * @param fd the memfd, which is mapped with MAP_SHARED and PROT_READ | PROT_WRITE; or -1
 * @param fd_offset offset of base in the memfd
 * @param[out] region the region; set if the function returns 0
 * @retval 0 success
 * @retval -EINVAL one of these conditions does not hold, and the log names it: base is aligned,
 * len_bytes is above 0 and within the file, and the memory is a shared, writable mapping of that
 * file at that offset
 * @retval -ENOMEM memory is exhausted
 * @owner the application keeps the memory. It must not unmap or replace the memory while the region
 * exists.
 */
WEIR_API int weir_region_adopt(void *base, size_t len_bytes, int fd, uint64_t fd_offset,
			       struct weir_region **region);

/**
 * Frees a region. Memory that was adopted still belongs to the application.
 *
 * @param region a region that no engine has registered; NULL is allowed
 */
WEIR_API void weir_region_destroy(struct weir_region *region);

/**
 * Describes a region. The function never fails.
 *
 * @param region the region
 * @param[out] info set its struct_bytes first; see weir/common.h
 */
WEIR_API void weir_region_info(const struct weir_region *region, struct weir_region_info *info);

WEIR_END_DECLS

#endif
