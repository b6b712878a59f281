/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of regions: their mappings, the access of another process, and keys. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <numa.h>
#include <rte_log.h>

#include "mem.h"

#define PAGE_2M (2ul << 20)
#define PAGE_1G (1ul << 30)

static size_t page_ordinary(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static struct weir_region *create(size_t len, uint64_t page, uint32_t flags)
{
	struct weir_region_options options = {.struct_bytes = sizeof(options),
					      .len_bytes = len,
					      .page_bytes = page,
					      .flags = flags,
					      .numa_node = -1};
	struct weir_region *region = NULL;

	assert_int_equal(weir_region_create(&options, &region), 0);
	assert_non_null(region);
	return region;
}

/* Returns the number of pages of a mapping that are present in memory. */
static size_t resident(void *base, size_t len)
{
	size_t pages = len / page_ordinary(), n = 0;
	unsigned char *in = calloc(pages, 1);

	assert_non_null(in);
	assert_int_equal(mincore(base, len, in), 0);
	for (size_t i = 0; i < pages; i++)
		n += in[i] & 1;
	free(in);
	return n;
}

static void create__is_zeroed_faulted_in_and_rounded_up(void **state)
{
	static const uint32_t flags[] = {WEIR_REGION_NO_HUGE,
					 WEIR_REGION_NO_HUGE | WEIR_REGION_PRIVATE};

	(void)state;
	for (size_t f = 0; f < RTE_DIM(flags); f++) {
		struct weir_region *region = create(3 * page_ordinary() + 1, 0, flags[f]);
		struct weir_region_info info = {.struct_bytes = sizeof(info)};

		weir_region_info(region, &info);
		assert_int_equal(info.len_bytes, 4 * page_ordinary());
		assert_int_equal(info.page_bytes, page_ordinary());
		assert_false(info.is_adopted);
		assert_int_equal(resident(info.base, info.len_bytes), 4);
		for (size_t i = 0; i < info.len_bytes; i++)
			assert_int_equal(((uint8_t *)info.base)[i], 0);
		memset(info.base, 0xa5, info.len_bytes);
		weir_region_destroy(region);
	}
}

static void create__a_shared_one_is_the_file_and_a_private_one_has_none(void **state)
{
	struct weir_region *region = create(8192, 4096, 0);
	uint8_t *peer;

	(void)state;
	assert_true(region->fd >= 0);
	peer = mmap(NULL, region->len_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, region->fd, 0);
	assert_ptr_not_equal(peer, MAP_FAILED);
	peer[5000] = 77;
	assert_int_equal(region->base[5000], 77);
	munmap(peer, region->len_bytes);
	assert_true(fcntl(region->fd, F_GETFD) & FD_CLOEXEC);
	weir_region_destroy(region);

	region = create(8192, 4096, WEIR_REGION_PRIVATE);
	assert_int_equal(region->fd, -1);
	weir_region_destroy(region);
}

/* Checks that a peer which has the file cannot change its size while weir uses it. */
static void create__the_size_is_sealed(void **state)
{
	struct weir_region *region = create(16384, 4096, 0);

	(void)state;
	assert_int_equal(ftruncate(region->fd, 4096), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(region->fd, 65536), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(fcntl(region->fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	weir_region_destroy(region);
}

static void create__bad_options(void **state)
{
	static const struct weir_region_options bad[] = {
		{.struct_bytes = sizeof(bad[0]), .len_bytes = 0, .numa_node = -1},
		{.struct_bytes = sizeof(bad[0]), .len_bytes = SIZE_MAX, .numa_node = -1},
		{.struct_bytes = sizeof(bad[0]),
		 .len_bytes = 4096,
		 .page_bytes = 12345,
		 .numa_node = -1},
		{.struct_bytes = sizeof(bad[0]), .len_bytes = 4096, .flags = 8, .numa_node = -1},
		{.struct_bytes = sizeof(bad[0]), .len_bytes = 4096, .numa_node = -2},
	};
	struct weir_region *region = NULL;

	(void)state;
	for (size_t i = 0; i < RTE_DIM(bad); i++) {
		assert_int_equal(weir_region_create(&bad[i], &region), -EINVAL);
		assert_null(region);
	}
	/* Without NUMA, the node has no effect. */
	if (numa_available() >= 0) {
		struct weir_region_options options = {.struct_bytes = sizeof(options),
						      .len_bytes = 4096,
						      .numa_node = numa_max_node() + 1};

		assert_int_equal(weir_region_create(&options, &region), -EINVAL);
		options.numa_node = numa_max_node();
		assert_int_equal(weir_region_create(&options, &region), 0);
		weir_region_destroy(region);
	}
}

static void create__more_than_there_is(void **state)
{
	struct weir_region_options options = {.struct_bytes = sizeof(options),
					      .len_bytes = 1ul << 48,
					      .flags = WEIR_REGION_PRIVATE,
					      .numa_node = -1};
	struct weir_region *region = NULL;

	(void)state;
	assert_int_equal(weir_region_create(&options, &region), -ENOMEM);
	assert_null(region);
}

/*
 * Returns the number of free 2 MiB pages. It determines the kind of pages that a region must get.
 */
static unsigned long hugepages_free(void)
{
	FILE *file = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "r");
	unsigned long n = 0;

	if (file) {
		if (fscanf(file, "%lu", &n) != 1)
			n = 0;
		fclose(file);
	}
	return n;
}

static void create__hugepages_where_they_are_free(void **state)
{
	static const uint32_t flags[] = {0, WEIR_REGION_PRIVATE};

	(void)state;
	for (size_t f = 0; f < RTE_DIM(flags); f++) {
		unsigned long free_pages = hugepages_free();
		struct weir_region *region = create(PAGE_2M + 1, PAGE_2M, flags[f]);

		if (free_pages >= 2) {
			assert_int_equal(region->page_bytes, PAGE_2M);
			assert_int_equal(region->len_bytes, 2 * PAGE_2M);
			assert_int_equal(hugepages_free(), free_pages - 2);
		} else {
			assert_int_equal(region->page_bytes, page_ordinary());
		}
		memset(region->base, 1, region->len_bytes);
		weir_region_destroy(region);
		assert_int_equal(hugepages_free(), free_pages);
	}
}

/*
 * Checks that a lack of hugepages is an error of mmap(), after which smaller pages are used, and
 * not a SIGBUS at the first access.
 */
static void create__too_few_hugepages_fall_back(void **state)
{
	unsigned long free_pages = hugepages_free();
	size_t len = (free_pages + 1) * PAGE_2M;
	struct weir_region *region;

	(void)state;
	if (len > 64 * PAGE_2M)
		skip();
	region = create(len, PAGE_2M, 0);
	assert_int_equal(region->page_bytes, page_ordinary());
	memset(region->base, 1, region->len_bytes);
	assert_int_equal(hugepages_free(), free_pages);
	weir_region_destroy(region);
}

static void create__no_page_that_is_mostly_wasted(void **state)
{
	unsigned long free_pages = hugepages_free();
	struct weir_region *region = create(PAGE_2M / 2 - 1, 0, 0);

	(void)state;
	assert_int_equal(region->page_bytes, page_ordinary());
	weir_region_destroy(region);
	region = create(PAGE_2M / 2, 0, 0);
	assert_int_equal(region->page_bytes, free_pages ? PAGE_2M : page_ordinary());
	weir_region_destroy(region);
}

/*
 * Returns true if the kernel is allowed to join the pages at 'base' into large ones, which the flag
 * 'hg' of the mapping says.
 */
static bool is_joinable(const void *base)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	bool is_here = false, found = false;
	char line[512];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		unsigned long begin, end;

		if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
			is_here = (uintptr_t)base >= begin && (uintptr_t)base < end;
		else if (is_here && strncmp(line, "VmFlags:", 8) == 0)
			found = strstr(line, " hg") != NULL;
	}
	fclose(file);
	return found;
}

static void create__ordinary_pages_may_be_joined_unless_small_ones_are_asked_for(void **state)
{
	static const struct {
		uint64_t page;
		uint32_t flags;
		bool may;
	} cases[] = {
		{PAGE_2M, WEIR_REGION_PRIVATE, true},
		{WEIR_PAGES_THP, WEIR_REGION_PRIVATE, true},
		{WEIR_PAGES_THP, WEIR_REGION_UNSHARED, true},
		{4096, WEIR_REGION_PRIVATE, false},
		{PAGE_2M, WEIR_REGION_PRIVATE | WEIR_REGION_NO_HUGE, false},
	};

	(void)state;
	if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0)
		skip();
	for (size_t i = 0; i < RTE_DIM(cases); i++) {
		struct weir_region *region =
			create((hugepages_free() + 2) * PAGE_2M, cases[i].page, cases[i].flags);

		assert_int_equal(region->page_bytes, page_ordinary());
		assert_int_equal(is_joinable(region->base), cases[i].may);
		weir_region_destroy(region);
		/*
		 * Linux aligns a mapping with joinable pages only if its length is a multiple of a
		 * large page.
		 */
		region = create(PAGE_2M + PAGE_2M / 4, WEIR_PAGES_THP, cases[i].flags);
		assert_int_equal(region->len_bytes % PAGE_2M == 0,
				 !(cases[i].flags & WEIR_REGION_NO_HUGE));
		weir_region_destroy(region);
	}
}

/* Returns the number of lines in the log that contain 'word'. */
static size_t log_lines(FILE *log, const char *word)
{
	char line[512];
	size_t n = 0;

	rewind(log);
	while (fgets(line, sizeof(line), log))
		n += strstr(line, word) != NULL;
	return n;
}

static void create__one_notice_says_how_to_get_hugepages(void **state)
{
	size_t len = (hugepages_free() + 1) * PAGE_2M;
	FILE *log = tmpfile();

	(void)state;
	assert_non_null(log);
	if (len > 64 * PAGE_2M)
		skip();
	rte_openlog_stream(log);
	weir_region_destroy(create(len, PAGE_2M, WEIR_REGION_NO_HUGE));
	weir_region_destroy(create(len, 4096, 0));
	assert_int_equal(log_lines(log, "hugepages"), 0); /* the region did not ask for hugepages */
	weir_region_destroy(create(len, PAGE_2M, 0));
	weir_region_destroy(create(len, 0, WEIR_REGION_PRIVATE));
	fflush(log);
	rte_openlog_stream(NULL);
	assert_int_equal(log_lines(log, "/proc/sys/vm/nr_hugepages"), 1);
	fclose(log);
}

static void adopt__with_and_without_a_file(void **state)
{
	int fd = memfd_create("embedder", MFD_CLOEXEC);
	struct weir_region_info info = {.struct_bytes = sizeof(info)};
	struct weir_region *region;
	void *base;

	(void)state;
	assert_int_equal(ftruncate(fd, 65536), 0);
	base = mmap(NULL, 32768, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 16384);
	assert_ptr_not_equal(base, MAP_FAILED);

	assert_int_equal(weir_region_adopt(base, 32768, -1, 0, &region), 0);
	weir_region_info(region, &info);
	assert_ptr_equal(info.base, base);
	assert_int_equal(info.len_bytes, 32768);
	assert_true(info.is_adopted);
	assert_int_equal(region->fd, -1);
	weir_region_destroy(region);

	assert_int_equal(weir_region_adopt(base, 32768, fd, 16384, &region), 0);
	close(fd);
	/* The region has a descriptor of its own, which is still open. */
	assert_int_not_equal(fcntl(region->fd, F_GETFD), -1);
	assert_int_equal(region->fd_offset, 16384);
	weir_region_destroy(region);
	memset(base, 1, 32768); /* the memory is still mapped after the region was destroyed */
	munmap(base, 32768);
}

static void adopt__bad_arguments(void **state)
{
	int fd = memfd_create("embedder", MFD_CLOEXEC), closed = dup(fd);
	struct weir_region *region = NULL;
	uint8_t *base;

	(void)state;
	close(closed);
	assert_int_equal(ftruncate(fd, 16384), 0);
	base = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(base, MAP_FAILED);
	assert_int_equal(weir_region_adopt(NULL, 4096, -1, 0, &region), -EINVAL);
	assert_int_equal(weir_region_adopt(base, 0, -1, 0, &region), -EINVAL);
	assert_int_equal(weir_region_adopt(base + 1, 4096, -1, 0, &region), -EINVAL);
	assert_int_equal(weir_region_adopt(base, SIZE_MAX, -1, 0, &region), -EINVAL);
	assert_int_equal(weir_region_adopt(base, 16384, fd, 1, &region), -EINVAL);
	assert_int_equal(weir_region_adopt(base, 16384, fd, page_ordinary(), &region),
			 -EINVAL); /* the range exceeds the region */
	assert_int_equal(weir_region_adopt(base, 16384, fd, UINT64_MAX - 4095, &region), -EINVAL);
	assert_int_equal(weir_region_adopt(base, 16384, closed, 0, &region), -EINVAL);
	assert_int_equal(weir_region_adopt(base, 16384, -2, 0, &region), -EINVAL);
	assert_null(region);
	munmap(base, 16384);
	close(fd);
}

/* A registrar that counts its calls and records the arguments. */
struct recorder {
	unsigned regs, deregs;
	int error;
	bool remote;
};

static int recorder_reg(void *ctx, void *base, size_t len, bool remote, int fd, uint64_t fd_offset,
			struct mem_keys *keys)
{
	struct recorder *r = ctx;

	(void)base, (void)len, (void)fd, (void)fd_offset;
	r->regs++;
	r->remote = remote;
	if (r->error)
		return r->error;
	keys->lkey = 11;
	keys->rkey = remote ? 12 : 0;
	return 0;
}

static void recorder_dereg(void *ctx, struct mem_keys *keys)
{
	struct recorder *r = ctx;

	assert_int_equal(keys->lkey, 11);
	r->deregs++;
}

static void register__once_per_slot(void **state)
{
	struct recorder a = {0}, b = {0};
	struct mem_registrar ra = {
		.ctx = &a, .slot = 0, .reg = recorder_reg, .dereg = recorder_dereg};
	struct mem_registrar rb = {
		.ctx = &b, .slot = MEM_SLOTS_MAX - 1, .reg = recorder_reg, .dereg = recorder_dereg};
	struct weir_region *region = create(4096, 4096, 0);

	(void)state;
	assert_int_equal(mem_region_register(region, &ra), 0);
	assert_int_equal(mem_region_register(region, &ra), 0);
	assert_int_equal(a.regs, 1);
	assert_true(a.remote);
	assert_int_equal(region->keys[0].rkey, 12);
	assert_int_equal(region->keys[MEM_SLOTS_MAX - 1].lkey, 0);
	assert_int_equal(mem_region_register(region, &rb), 0);
	mem_region_deregister(region, &ra);
	mem_region_deregister(region, &ra);
	assert_int_equal(a.deregs, 1);
	assert_int_equal(region->keys[0].lkey, 0);
	assert_int_equal(region->keys[MEM_SLOTS_MAX - 1].lkey, 11);
	mem_region_deregister(region, &rb);
	weir_region_destroy(region);
}

static void register__private_memory_is_not_exposed_and_errors_leave_no_key(void **state)
{
	struct recorder r = {0};
	struct mem_registrar registrar = {
		.ctx = &r, .slot = 1, .reg = recorder_reg, .dereg = recorder_dereg};
	struct weir_region *region = create(4096, 4096, WEIR_REGION_PRIVATE);

	(void)state;
	r.error = -ENOSPC;
	assert_int_equal(mem_region_register(region, &registrar), -ENOSPC);
	assert_int_equal(region->keys[1].lkey, 0);
	r.error = 0;
	assert_int_equal(mem_region_register(region, &registrar), 0);
	assert_false(r.remote);
	mem_region_deregister(region, &registrar);
	weir_region_destroy(region);
	weir_region_destroy(NULL);
}

static void covers__bounds(void **state)
{
	struct weir_region *region = create(8192, 4096, WEIR_REGION_PRIVATE);

	(void)state;
	assert_true(mem_region_covers(region, region->base, 8192));
	assert_true(mem_region_covers(region, region->base + 8191, 1));
	assert_true(mem_region_covers(region, region->base + 8192, 0));
	assert_false(mem_region_covers(region, region->base, 8193));
	assert_false(mem_region_covers(region, region->base + 1, SIZE_MAX));
	assert_false(mem_region_covers(region, region->base - 1, 1));
	assert_false(mem_region_covers(region, region->base + 8193, 0));
	weir_region_destroy(region);
}

/*
 * Checks that a peer of another user which received a read-only descriptor cannot open the file
 * again for writing.
 */
static void create__file_is_for_its_owner_only(void **state)
{
	const struct weir_region_options options = {.struct_bytes = sizeof(options),
						    .len_bytes = 4096,
						    .flags = WEIR_REGION_NO_HUGE,
						    .numa_node = -1};
	struct weir_region *region;
	struct stat st;

	(void)state;
	assert_int_equal(weir_region_create(&options, &region), 0);
	assert_int_equal(fstat(region->fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, S_IRUSR);
	weir_region_destroy(region);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/*
		 * This must be the first test, because the notice is printed only once in a
		 * process.
		 */
		cmocka_unit_test(create__file_is_for_its_owner_only),
		cmocka_unit_test(create__one_notice_says_how_to_get_hugepages),
		cmocka_unit_test(create__is_zeroed_faulted_in_and_rounded_up),
		cmocka_unit_test(create__a_shared_one_is_the_file_and_a_private_one_has_none),
		cmocka_unit_test(create__the_size_is_sealed),
		cmocka_unit_test(create__bad_options),
		cmocka_unit_test(create__more_than_there_is),
		cmocka_unit_test(create__hugepages_where_they_are_free),
		cmocka_unit_test(create__too_few_hugepages_fall_back),
		cmocka_unit_test(
			create__ordinary_pages_may_be_joined_unless_small_ones_are_asked_for),
		cmocka_unit_test(create__no_page_that_is_mostly_wasted),
		cmocka_unit_test(adopt__with_and_without_a_file),
		cmocka_unit_test(adopt__bad_arguments),
		cmocka_unit_test(register__once_per_slot),
		cmocka_unit_test(register__private_memory_is_not_exposed_and_errors_leave_no_key),
		cmocka_unit_test(covers__bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
