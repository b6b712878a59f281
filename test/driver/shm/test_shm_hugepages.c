/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of a peer whose files consist of hugepages. The peer can remove pages from such a file
 * while other processes have it mapped. If this machine has no free hugepage, each case that needs
 * one reports that and is skipped.
 */
#include "shm_raw.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "eal.h"

#define HUGE_BYTES (2u << 20)

static struct end b;
static struct raw raw;

static int setup(void **state)
{
	(void)state;
	end_open(&b, "", 16);
	raw_init(&raw);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	raw_fini(&raw);
	end_close(&b);
	return 0;
}

/* Returns a sealed file of hugepages, or -1 if the kernel has no file system for hugepages. */
static int huge_memfd(size_t len)
{
	int fd = memfd_create("huge", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB | MFD_HUGE_2MB);

	if (fd >= 0) {
		assert_int_equal(ftruncate(fd, (off_t)len), 0);
		assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	}
	return fd;
}

static uint64_t huge_free(void)
{
	FILE *file = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "re");
	unsigned long long n = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%llu", &n) != 1)
		n = 0;
	fclose(file);
	return n;
}

/*
 * Maps all free hugepages, so that no process gets one until this mapping is removed. Returns the
 * mapping.
 */
static void *take_all_hugepages(size_t *len)
{
	void *p = MAP_FAILED;

	*len = 0;

	/* Meanwhile other processes can allocate and free hugepages. */
	for (uint64_t n = huge_free() + 1; p == MAP_FAILED && n > 0; n--) {
		*len = n * HUGE_BYTES;
		p = mmap(NULL, *len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	}
	return p;
}

static void skip_without_hugepages(void)
{
	if (huge_free() >= 4)
		return;
	print_message(
		"SKIPPED: fewer than 4 hugepages are free: echo 64 > /proc/sys/vm/nr_hugepages\n");
	skip();
}

static void hello__rings_or_keys_of_hugepages_are_refused(void **state)
{
	const char *addr = end_address();

	(void)state;
	end_listen(&b, addr);
	for (uint32_t index = 0; index < 2; index++) {
		int fd = huge_memfd(HUGE_BYTES);

		if (fd < 0)
			skip();
		close(raw.fds[index]);
		raw.fds[index] = fd;
		raw_connect(&raw, addr);
		raw_send(&raw, &raw.hello, sizeof(raw.hello), raw.fds, raw.nfds);
		assert_false(raw_recv(&raw, &b));
		END_WAIT(&b, NULL, b.dev->stats.protocol_errors > index);
		raw_fini(&raw);
		raw_init(&raw);
	}
}

/* Connects to a peer whose region is a hugepage. The peer offers 'offered' bytes of it. */
static void pair_with_huge_region(uint32_t offered)
{
	const struct key_entry entry = {.key = 5u << KEY_INDEX_BITS | 9,
					.access = FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE,
					.region = RAW_REGION_ID,
					.raddr = 4096,
					.len = offered};

	close(raw.region_fd);
	raw.region_fd = huge_memfd(HUGE_BYTES);
	assert_true(raw.region_fd >= 0);
	raw.hello.region.len = offered;
	raw_pair(&raw, &b);
	memcpy(&raw.keys[9], &entry, sizeof(entry));
}

static void write_to_peer(void)
{
	const struct fabric_wr wr = {.op = FABRIC_WRITE,
				     .flags = FABRIC_SIGNALED,
				     .rkey = 5u << KEY_INDEX_BITS | 9,
				     .raddr = 4096};

	end_post(&b, wr, end_sge(&b, 0, 4096));
}

static void punch(int fd)
{
	assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, HUGE_BYTES),
			 0);
}

static void region__of_part_of_a_hugepage_is_unmapped_again(void **state)
{
	struct end_holdings before;

	(void)state;
	skip_without_hugepages();
	before = end_count();
	for (unsigned i = 0; i < 3; i++) {
		struct fabric_listener *listener;

		pair_with_huge_region(RAW_REGION_BYTES);
		write_to_peer();
		raw_give_region(&raw, &b);
		end_wc(&b, NULL, FABRIC_WRITE, FABRIC_OK);
		listener = b.listener;
		raw_fini(&raw);
		end_event(&b, NULL, FABRIC_CM_DISCONNECTED);
		b.ops->qp_destroy(b.qp);
		b.ops->unlisten(listener);
		b.qp = NULL;
		b.listener = NULL;
		raw_init(&raw);
	}
	end_until_released(&b, before);
}

static void region__whose_hugepage_is_gone_ends_its_connection(void **state)
{
	size_t len;
	void *all;

	(void)state;
	skip_without_hugepages();
	pair_with_huge_region(HUGE_BYTES);
	write_to_peer();
	raw_give_region(&raw, &b);
	end_wc(&b, NULL, FABRIC_WRITE, FABRIC_OK);
	punch(raw.region_fd);
	all = take_all_hugepages(&len);
	assert_ptr_not_equal(all, MAP_FAILED);
	write_to_peer();
	end_event(&b, NULL, FABRIC_CM_DISCONNECTED);
	assert_false(raw_recv(&raw, &b));
	assert_int_equal(b.dev->stats.protocol_errors, 1);
	munmap(all, len);
}

/*
 * Checks a hugepage of this side's memory that was removed, as a peer can do that may write to the
 * file.
 */
static void own__hugepage_that_is_gone_ends_all_connections(void **state)
{
	struct fabric_mr mr;
	size_t len;
	uint8_t *own;
	void *all;
	int fd;

	(void)state;
	skip_without_hugepages();
	fd = huge_memfd(HUGE_BYTES);
	own = mmap(NULL, HUGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(own, MAP_FAILED);
	own[0] = 1;
	assert_int_equal(b.ops->mr_register(b.dev, own, HUGE_BYTES,
					    FABRIC_LOCAL_WRITE | FABRIC_REMOTE_WRITE, fd, 0, &mr),
			 0);
	raw_pair(&raw, &b);
	punch(fd);
	all = take_all_hugepages(&len);
	assert_ptr_not_equal(all, MAP_FAILED);
	own[1] = 1;
	assert_int_equal(own[1], 1);
	end_event(&b, NULL, FABRIC_CM_DISCONNECTED);
	munmap(all, len);
	b.ops->mr_deregister(b.dev, &mr);
	munmap(own, HUGE_BYTES);
	close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(hello__rings_or_keys_of_hugepages_are_refused),
		TEST(region__of_part_of_a_hugepage_is_unmapped_again),
		TEST(region__whose_hugepage_is_gone_ends_its_connection),
		TEST(own__hugepage_that_is_gone_ends_all_connections),
	};

	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
