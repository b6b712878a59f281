/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates, adopts and registers regions: mapped memory and the keys by which devices access it.
 *
 * A region is mapped once, with a size that never changes. The seals of its file guarantee this for
 * other processes, too: nobody can truncate the file while a peer has mapped it. All pages are
 * allocated before the region is used, so that no page fault occurs on the data path. mmap reserves
 * hugepages, and MADV_POPULATE_WRITE allocates them. If there are too few hugepages, mmap and
 * MADV_POPULATE_WRITE return an error. Without them, an access to the memory would raise SIGBUS.
 */
#include "mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/memfd.h>
#include <numa.h>
#include <numaif.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "alloc.h"
#include "limit.h"
#include "maps.h"
#include "log.h"
#include "resize.h"
#include "sized.h"
#include "sized_why.h"

#define PAGE_4K (1ull << 12)
#define PAGE_2M (1ull << 21)
#define PAGE_1G (1ull << 30)

#define NODES_MAX     1024u
#define BITS_PER_LONG (8u * sizeof(long))

static uint64_t page_ordinary(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

static size_t round_up(size_t len, uint64_t page)
{
	return (len + page - 1) & ~(size_t)(page - 1);
}

/*
 * Returns whether pages of 'page' bytes are suitable for 'len' bytes: rounding 'len' up to such
 * pages must at most double it.
 */
static bool page_fits(size_t len, uint64_t page)
{
	return round_up(len, page) / 2 <= len;
}

/* Returns whether the machine has more than one NUMA node. */
static bool has_nodes(void)
{
	return numa_available() >= 0 && numa_max_node() > 0;
}

/* Returns numa_node if it is not negative. Otherwise returns the NUMA node on which the calling
 * thread runs, or -1 if that is not known. */
static int node_wanted(int numa_node)
{
	unsigned cpu, node;

	if (numa_node >= 0)
		return numa_node;
	return getcpu(&cpu, &node) == 0 ? (int)node : -1;
}

/* Requests that the kernel prefers a NUMA node for this memory. The memory is not bound to the
 * node, because memory on another node is slow, but better than none. With a strict binding, the
 * kernel would start the OOM killer if the node were full. */
static void node_prefer(void *base, size_t len, int node)
{
	unsigned long mask[NODES_MAX / BITS_PER_LONG] = {0};

	if (node < 0 || (unsigned)node >= NODES_MAX || !has_nodes())
		return;
	mask[(unsigned)node / BITS_PER_LONG] = 1ul << ((unsigned)node % BITS_PER_LONG);
	if (mbind(base, len, MPOL_PREFERRED, mask, NODES_MAX, 0) != 0)
		LOG(MEMORY, INFO, "memory can't be placed on node %d", node);
}

/* Returns the NUMA node of the page at 'addr', or -1 if it is not known. */
static int node_of(void *addr)
{
	int node;

	if (get_mempolicy(&node, NULL, 0, addr, MPOL_F_NODE | MPOL_F_ADDR) != 0)
		return -1;
	return node;
}

/* Makes the kernel allocate every page of the memory. Returns 0, or -ENOMEM if there are too few
 * pages. */
static int fault_in(void *base, size_t len, uint64_t page)
{
	volatile uint8_t *p = base;

	if (madvise(base, len, MADV_POPULATE_WRITE) == 0)
		return 0;
	if (errno != EINVAL)
		return -ENOMEM;
	/* Linux before 5.14 lacks MADV_POPULATE_WRITE. The following writes cannot fail for lack of
	 * hugepages, because mmap has reserved them. */
	for (size_t at = 0; at < len; at += page)
		p[at] = 0;
	return 0;
}

/* Creates a memfd of 'len' bytes with pages of 'page' bytes, whose length is sealed. Returns its
 * descriptor or -errno. */
static int file_create(size_t len, uint64_t page)
{
	unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd, rc;

	if (page == PAGE_1G)
		flags |= MFD_HUGETLB | MFD_HUGE_1GB;
	else if (page == PAGE_2M)
		flags |= MFD_HUGETLB | MFD_HUGE_2MB;
	fd = memfd_create("weir", flags);
	if (fd < 0)
		return -errno;
	rc = mem_file_resize(fd, len);
	/* A peer to which the memory is exposed gets a descriptor of this file. The file's mode
	 * prevents other users from opening the file again through /proc with more rights than
	 * their descriptor has. */
	if (rc == 0 && (fchmod(fd, S_IRUSR) != 0 ||
			fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0))
		rc = -errno;
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

static int anonymous_flags(uint64_t page)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;

	if (page == PAGE_1G)
		flags |= MAP_HUGETLB | (int)MFD_HUGE_1GB;
	else if (page == PAGE_2M)
		flags |= MAP_HUGETLB | (int)MFD_HUGE_2MB;
	return flags;
}

/* Requests that the kernel joins ordinary pages, 512 at a time, to large pages. This saves work in
 * the kernel and TLB misses. The kernel does this on request if its transparent hugepages allow it.
 * For shared memory, the kernel joins pages only if an administrator has enabled that, and then
 * without a request. Therefore this function is called only for anonymous memory. */
static void join_pages(void *base, size_t len)
{
	/* an error is ignored, because pages that are not joined can be used as well */
	(void)madvise(base, len, MADV_HUGEPAGE);
}

/*
 * Maps the memory of 'region', with pages of 'page' bytes, and allocates all pages. If may_join is
 * true, ordinary pages of anonymous memory are joined to large ones. Returns 0, or -errno after it
 * has undone everything.
 */
static int region_map(struct weir_region *region, size_t len, uint64_t page, int node,
		      bool may_join)
{
	bool is_joined = may_join && region->is_anonymous && page_fits(len, PAGE_2M);
	int flags = MAP_SHARED;
	void *base;
	int rc;

	/* The kernel can join all pages only if the length is a multiple of the large page. Linux
	 * aligns the start of such mappings so that the pages can be joined. */
	len = round_up(len, is_joined ? PAGE_2M : page);
	if (region->is_anonymous) {
		region->fd = -1;
		flags = anonymous_flags(page);
	} else {
		region->fd = file_create(len, page);
		if (region->fd < 0)
			return region->fd;
	}
	base = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, region->fd, 0);
	if (base == MAP_FAILED) {
		rc = -errno;
		goto close_file;
	}
	node_prefer(base, len, node);
	if (is_joined)
		join_pages(base, len);
	rc = fault_in(base, len, page);
	if (rc != 0)
		goto unmap;
	region->base = base;
	region->len_bytes = len;
	region->page_bytes = page;
	region->numa_node = node_of(base);
	return 0;

unmap:
	munmap(base, len);
close_file:
	if (region->fd >= 0)
		close(region->fd);
	return rc;
}

/* Returns how many hugepages of 2 MiB the machine has, or 0 if that cannot be read. */
static uint64_t hugepages_now(void)
{
	FILE *file = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "re");
	unsigned long count = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%lu", &count) != 1)
		count = 0;
	fclose(file);
	return count;
}

/* Logs once per process that a region of 'len' bytes has ordinary pages, and how to provide
 * hugepages. */
static void notice_ordinary(size_t len)
{
	static atomic_flag done = ATOMIC_FLAG_INIT;
	uint64_t pages = round_up(len, PAGE_2M) / PAGE_2M;

	if (atomic_flag_test_and_set(&done))
		return;
	LOG(MEMORY, NOTICE,
	    "too few free hugepages for %zu MiB: ordinary pages are used instead (slower). To "
	    "reserve hugepages, as root: echo %" PRIu64
	    " > /proc/sys/vm/nr_hugepages (more if other regions need some, too)",
	    len >> 20, hugepages_now() + pages);
}

uint64_t mem_region_hugepage(const struct weir_region_options *options, uint32_t attempt)
{
	static const uint64_t sizes[] = {PAGE_1G, PAGE_2M};

	if (options->flags & WEIR_REGION_NO_HUGE)
		return 0;
	for (uint32_t i = 0; i < RTE_DIM(sizes); i++)
		if ((options->page_bytes == 0 || sizes[i] <= options->page_bytes) &&
		    page_fits(options->len_bytes, sizes[i]) && attempt-- == 0)
			return sizes[i];
	return 0;
}

/* Maps the region with the largest pages that the options allow, that are suitable for the length
 * and that are available. Returns 0, or -errno if it cannot be mapped with ordinary pages
 * either. */
static int region_map_best(struct weir_region *region, const struct weir_region_options *options)
{
	int node = node_wanted(options->numa_node);
	bool tried = false;
	uint64_t page;
	int rc;

	for (uint32_t i = 0; (page = mem_region_hugepage(options, i)) != 0; i++) {
		if (region_map(region, options->len_bytes, page, node, false) == 0)
			return 0;
		tried = true;
	}
	rc = region_map(region, options->len_bytes, page_ordinary(), node,
			!(options->flags & WEIR_REGION_NO_HUGE) && options->page_bytes != PAGE_4K);
	if (rc == 0 && tried)
		notice_ordinary(options->len_bytes);
	return rc;
}

static bool options_valid(const struct weir_region_options *options)
{
	uint64_t page = options->page_bytes;

	if (options->len_bytes == 0 || options->len_bytes > SIZE_MAX / 4)
		return false;
	if (page != 0 && page != WEIR_PAGES_THP && page != PAGE_4K && page != PAGE_2M &&
	    page != PAGE_1G)
		return false;
	if (options->flags &
	    ~(uint32_t)(WEIR_REGION_NO_HUGE | WEIR_REGION_PRIVATE | WEIR_REGION_UNSHARED))
		return false;
	/* On a machine without NUMA, the node has no effect. */
	return options->numa_node >= -1 &&
	       (numa_available() < 0 || options->numa_node <= numa_max_node());
}

static int create(const struct weir_region_options *options, struct weir_region **out)
{
	struct weir_region *region;
	int rc;

	if (!options_valid(options))
		return -EINVAL;
	region = mem_zalloc(sizeof(*region));
	if (!region)
		return -ENOMEM;
	region->is_private = options->flags & WEIR_REGION_PRIVATE;
	region->is_anonymous = options->flags & (WEIR_REGION_PRIVATE | WEIR_REGION_UNSHARED);
	rc = region_map_best(region, options);
	if (rc != 0) {
		mem_free(region);
		return rc == -ENOSPC ? -ENOMEM : rc;
	}
	*out = region;
	return 0;
}

int weir_region_create(const struct weir_region_options *options, struct weir_region **out)
{
	static const struct sized_type type = SIZED_TYPE(weir_region_options, numa_node);
	struct weir_region_options own;
	char why[SIZED_WHY_BYTES];
	int rc = sized_read_why(&type, &own, options, why);

	if (rc != 0) {
		LOG(MEMORY, ERROR, "%s", why);
		return rc;
	}
	rc = create(&own, out);
	mem_explain_limit(rc);
	return rc;
}

uint64_t mem_file_page_bytes(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) == 0 && fs.f_type == HUGETLBFS_MAGIC)
		return (uint64_t)fs.f_bsize;
	return page_ordinary();
}

/* Checks that the file 'fd' of adopted memory extends to the end of the memory, and sets *page to
 * the size of its pages. Returns 0 or -EINVAL. */
static int file_check(int fd, uint64_t offset, size_t len, uint64_t *page)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -EINVAL;
	/* A peer that maps memory after the end of the file would be killed when it accesses that
	 * memory. */
	if (S_ISREG(st.st_mode) &&
	    (offset > (uint64_t)st.st_size || len > (uint64_t)st.st_size - offset))
		return -EINVAL;
	*page = mem_file_page_bytes(fd);
	return 0;
}

/* Checks whether the memory is mapped from the file 'fd'. Returns 0 and sets *kept to 'fd' if it
 * is. Returns 0 and sets *kept to -1 if this cannot be found out, or if 'fd' is negative. Returns
 * -EINVAL if the memory is mapped from another file, or -ENOMEM. If peers got another file, they
 * would not see this memory, and might see data that is not intended for them. */
static int mapping_check(void *base, size_t len, int fd, uint64_t offset, uint64_t page, int *kept)
{
	int rc;

	*kept = -1;
	if (fd < 0)
		return 0;
	rc = mem_maps_check(base, len, fd, offset, page);
	if (rc == 0)
		*kept = fd;
	return rc == -ENODATA ? 0 : rc;
}

int weir_region_adopt(void *base, size_t len_bytes, int fd, uint64_t fd_offset,
		      struct weir_region **out)
{
	uint64_t page = page_ordinary();
	struct weir_region *region;
	int rc;

	if (!base || len_bytes == 0 || len_bytes - 1 > UINTPTR_MAX - (uintptr_t)base || fd < -1)
		return -EINVAL;
	if (fd >= 0 && file_check(fd, fd_offset, len_bytes, &page) != 0)
		return -EINVAL;
	if ((uintptr_t)base % page != 0 || (fd >= 0 && fd_offset % page != 0))
		return -EINVAL;
	rc = mapping_check(base, len_bytes, fd, fd_offset, page, &fd);
	if (rc != 0)
		return rc;
	region = mem_zalloc(sizeof(*region));
	if (!region)
		return -ENOMEM;
	region->base = base;
	region->len_bytes = len_bytes;
	region->page_bytes = page;
	region->numa_node = -1;
	region->fd = -1;
	region->is_adopted = true;
	if (fd >= 0) {
		/* The region keeps a duplicate of the descriptor, so that the program is free to
		 * close its own. */
		region->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		region->fd_offset = fd_offset;
		if (region->fd < 0) {
			mem_free(region);
			return -ENOMEM;
		}
	}
	*out = region;
	return 0;
}

void weir_region_destroy(struct weir_region *region)
{
	if (!region)
		return;
	for (uint32_t slot = 0; slot < MEM_SLOTS_MAX; slot++) {
		if (region->keys[slot].lkey != 0) {
			/* A device might still write to this memory. A leak is better than memory
			 * that is unmapped then. */
			LOG(MEMORY, ERROR,
			    "region %p is destroyed while it is registered with an engine: "
			    "kept mapped",
			    (void *)region->base);
			return;
		}
	}
	if (!region->is_adopted)
		munmap(region->base, region->len_bytes);
	if (region->fd >= 0)
		close(region->fd);
	mem_free(region);
}

void weir_region_info(const struct weir_region *region, struct weir_region_info *info)
{
	const struct weir_region_info own = {
		.base = region->base,
		.len_bytes = region->len_bytes,
		.page_bytes = region->page_bytes,
		.numa_node = region->numa_node,
		.is_adopted = region->is_adopted,
	};

	sized_fill(info, &own, sizeof(own));
}

int mem_region_register(struct weir_region *region, const struct mem_registrar *registrar)
{
	struct mem_keys *keys = &region->keys[registrar->slot];

	if (keys->lkey != 0)
		return 0;
	return registrar->reg(registrar->ctx, region->base, region->len_bytes, !region->is_private,
			      region->fd, region->fd_offset, keys);
}

void mem_region_deregister(struct weir_region *region, const struct mem_registrar *registrar)
{
	struct mem_keys *keys = &region->keys[registrar->slot];

	if (keys->lkey == 0)
		return;
	registrar->dereg(registrar->ctx, keys);
	*keys = (struct mem_keys){0};
}
