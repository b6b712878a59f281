/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the memory of peers: when it is mapped, how much of it can be mapped, and what happens
 * if its pages cannot be allocated.
 *
 * The tests simulate a page that cannot be allocated with userfaultfd(2) and UFFD_FEATURE_SIGBUS on
 * a hole in a file. An access raises SIGBUS, as it does under strict overcommit or without a free
 * hugepage.
 */
#include "shm_raw.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "eal.h"

#define KEY (5u << KEY_INDEX_BITS | 9)
#define GIB (UINT64_C(1) << 30)
#define TIB (1ull << 40)

#define SPARSE_BYTES (256u << 20)

static struct end a, b;
static struct raw raw;

static void open_with(uint64_t map_bytes, uint32_t mappings)
{
	const struct fabric_dev_config config = {.options = "",
						 .max_connections = 64,
						 .max_regions = 16,
						 .numa_node = -1,
						 .map_bytes_peer = map_bytes,
						 .mappings_peer = mappings};

	end_open_as(&b, &config);
}

static int setup(void **state)
{
	(void)state;
	end_open(&a, "", 64);
	raw_init(&raw);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	munlockall(); /* if a failed test has not done this */
	raw_fini(&raw);
	end_close(&b);
	end_close(&a);
	return 0;
}

/*
 * Returns the number of mappings of the file 'name'. Stores address and length of the last such
 * mapping that is not 'except' in *at and *len.
 */
static uint32_t maps_of(const char *name, const void *except, uint8_t **at, size_t *len)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	uint32_t n = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		unsigned long from, to;

		if (!strstr(line, name) || sscanf(line, "%lx-%lx", &from, &to) != 2 ||
		    (void *)from == except)
			continue;
		n++;
		if (at) {
			*at = (uint8_t *)from;
			*len = to - from;
		}
	}
	fclose(maps);
	return n;
}

static int named_memfd(const char *name, size_t len)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	return fd;
}

/* Replaces the region of the raw peer by a file of 'len' bytes. The peer offers all of it. */
static void set_region(const char *name, uint64_t len)
{
	close(raw.region_fd);
	raw.region_fd = named_memfd(name, len);
	raw.hello.region.len = len;
}

static void set_key(uint64_t len)
{
	const struct key_entry entry = {.key = KEY,
					.access = FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE,
					.region = RAW_REGION_ID,
					.raddr = 4096,
					.len = len};

	memcpy(&raw.keys[9], &entry, sizeof(entry));
}

static void post_write(void)
{
	const struct fabric_wr wr = {
		.op = FABRIC_WRITE, .flags = FABRIC_SIGNALED, .rkey = KEY, .raddr = 4096};

	end_post(&b, wr, end_sge(&b, 0, 4096));
}

static void region__is_mapped_when_a_key_first_refers_to_it(void **state)
{
	(void)state;
	open_with(0, 0);
	set_region("asked-for", RAW_REGION_BYTES);
	raw_pair(&raw, &b);
	set_key(RAW_REGION_BYTES);
	end_recv(&b, b.qp, 1, 0, 4096);
	assert_int_equal(ring_put(&raw.tx, &(struct fabric_sge){raw.region, 8, 0}, 1, 8, 0), 1);
	end_wc(&b, NULL, FABRIC_RECV, FABRIC_OK);
	assert_int_equal(maps_of("asked-for", NULL, NULL, NULL), 0);
	post_write();
	raw_give_region(&raw, &b);
	end_wc(&b, NULL, FABRIC_WRITE, FABRIC_OK);
	assert_int_equal(maps_of("asked-for", NULL, NULL, NULL), 1);
}

/*
 * Checks a peer that sends a region without a request. The driver would have to close the
 * descriptors of such messages, and the peer would choose their number.
 */
static void region__that_was_not_asked_for_ends_the_connection(void **state)
{
	(void)state;
	open_with(0, 0);
	set_region("unasked", RAW_REGION_BYTES);
	raw_pair(&raw, &b);
	raw_send_region(&raw);
	assert_int_equal(end_event(&b, NULL, FABRIC_CM_DISCONNECTED).error, -EPROTO);
	assert_int_equal(maps_of("unasked", NULL, NULL, NULL), 0);
}

/* Checks a peer that sends a region twice after one request. */
static void region__that_is_sent_twice_ends_the_connection(void **state)
{
	(void)state;
	open_with(0, 0);
	set_region("twice", RAW_REGION_BYTES);
	raw_pair(&raw, &b);
	set_key(RAW_REGION_BYTES);
	post_write();
	raw_give_region(&raw, &b);
	end_wc(&b, NULL, FABRIC_WRITE, FABRIC_OK);
	raw_send_region(&raw);
	assert_int_equal(end_event(&b, NULL, FABRIC_CM_DISCONNECTED).error, -EPROTO);
}

/*
 * Checks that a region which exceeds the limit of its peer ends the connection of that peer, and no
 * other.
 */
static void map_bytes_peer__one_past_it_ends_the_connection(void **state)
{
	struct fabric_qp *honest;

	(void)state;
	open_with(64 * TIB >> 10, 0);
	end_pair(&a, &b);
	honest = b.qp;
	b.ops->unlisten(b.listener);
	set_region("too-large", TIB);
	raw_pair(&raw, &b);
	set_key(TIB);
	post_write();
	raw_give_region(&raw, &b);
	assert_int_equal(end_event(&b, NULL, FABRIC_CM_DISCONNECTED).error, -EDQUOT);
	END_WAIT(&b, NULL, b.dev->stats.maps_refused == 1);
	assert_int_equal(maps_of("too-large", NULL, NULL, NULL), 0);
	b.nwcs = 0;
	b.ops->qp_destroy(b.qp);
	b.qp = honest;
	end_works(&a, &b);
}

/*
 * Limits the address space of this process to its present size and 'more' bytes. Returns the
 * previous limit.
 */
static struct rlimit limit_address_space(uint64_t more)
{
	struct rlimit before, limit;
	unsigned long pages;
	FILE *statm = fopen("/proc/self/statm", "r");

	assert_non_null(statm);
	assert_int_equal(fscanf(statm, "%lu", &pages), 1);
	fclose(statm);
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	limit = before;
	limit.rlim_cur = pages * (uint64_t)sysconf(_SC_PAGESIZE) + more;
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
	return before;
}

/*
 * Checks that a region for which this process has no address space ends its connection and no
 * other.
 */
static void region__that_cannot_be_mapped_ends_the_connection_and_counts(void **state)
{
	struct fabric_qp *honest;
	struct rlimit before;

	(void)state;
	open_with(64 * TIB >> 10, 0);
	end_pair(&a, &b);
	honest = b.qp;
	b.ops->unlisten(b.listener);
	set_region("no-room", 2 * GIB);
	raw_pair(&raw, &b);
	set_key(2 * GIB);
	post_write();
	before = limit_address_space(GIB);
	raw_give_region(&raw, &b);
	assert_int_equal(end_event(&b, NULL, FABRIC_CM_DISCONNECTED).error, -ENOMEM);
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	END_WAIT(&b, NULL, b.dev->stats.maps_refused == 1);
	b.nwcs = 0;
	b.ops->qp_destroy(b.qp);
	b.qp = honest;
	end_works(&a, &b);
}

/*
 * Checks many connections of a peer that each offer regions of any size. The total number of bytes
 * that is mapped for the peer is bounded.
 */
static void map_bytes_peer__of_many_connections_together(void **state)
{
	struct raw raws[20];
	struct fabric_qp *qps[20], *honest;
	uint32_t nmapped = 0;

	(void)state;
	open_with(8 * TIB, 0);
	end_pair(&a, &b);
	honest = b.qp;
	for (uint32_t i = 0; i < 20; i++) {
		b.ops->unlisten(b.listener);
		raw_init(&raws[i]);
		close(raws[i].region_fd);
		raws[i].region_fd = named_memfd("sparse", TIB);
		raws[i].hello.region.len = TIB;
		raw_pair(&raws[i], &b);
		qps[i] = b.qp;
		memcpy(&raws[i].keys[9],
		       &(struct key_entry){.key = KEY,
					   .access = FABRIC_REMOTE_WRITE,
					   .region = RAW_REGION_ID,
					   .raddr = 4096,
					   .len = TIB},
		       sizeof(struct key_entry));
		post_write();
		raw_give_region(&raws[i], &b);
		END_WAIT(&b, NULL, b.nwcs > 0 || b.nevents > 0);
		nmapped += b.nevents == 0 && b.wcs[0].status == FABRIC_OK;
		b.nwcs = b.nevents = 0;
	}
	assert_int_equal(nmapped, 7); /* the limit includes rings and key tables */
	assert_int_equal(maps_of("sparse", NULL, NULL, NULL), 7);
	for (uint32_t i = 0; i < 20; i++) {
		b.ops->qp_destroy(qps[i]);
		raw_fini(&raws[i]);
	}
	b.nwcs = b.nevents = 0;
	b.qp = honest;
	end_works(&a, &b);
}

static void mappings_peer__one_past_it_ends_the_connection(void **state)
{
	const char *addr = end_address();
	struct raw raws[8];
	uint32_t n;

	(void)state;
	open_with(0, 8);
	end_listen(&b, addr);
	for (n = 0; n < 8 && b.dev->stats.maps_refused == 0; n++) {
		raw_init(&raws[n]);
		raw_connect(&raws[n], addr);
		raw_send(&raws[n], &raws[n].hello, sizeof(raws[n].hello), raws[n].fds,
			 raws[n].nfds);
		END_WAIT(&b, NULL, b.nevents == n + 1 || b.dev->stats.maps_refused == 1);
	}
	/* each connection has rings and a key table; the fifth connection exceeds the limit */
	assert_int_equal(n, 5);
	assert_false(raw_recv(&raws[4], &b));
	while (b.nevents > 0)
		b.ops->reject(b.dev, b.events[--b.nevents].req, NULL, 0);
	while (n > 0)
		raw_fini(&raws[--n]);
}

/*
 * Makes each access to a missing page of the memory raise SIGBUS. Returns a descriptor, whose close
 * restores normal accesses. Returns -1 if the kernel does not support that.
 */
static int break_memory(void *base, size_t len)
{
	struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_SIGBUS};
	struct uffdio_register range = {.range = {(uintptr_t)base, len},
					.mode = UFFDIO_REGISTER_MODE_MISSING};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

	if (fd < 0)
		return -1;
	assert_int_equal(ioctl(fd, UFFDIO_API, &api), 0);
	assert_int_equal(ioctl(fd, UFFDIO_REGISTER, &range), 0);
	return fd;
}

static void punch(int fd, size_t len)
{
	assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)len),
			 0);
}

/*
 * Punches a hole into a file of the raw peer, so that the driver's mapping of the file has no
 * pages. Returns the descriptor of break_memory().
 */
static int lose_file(int file, const char *name, const void *own)
{
	uint8_t *at = NULL;
	size_t len = 0;
	int fd;

	assert_int_equal(maps_of(name, own, &at, &len), 1);
	fd = break_memory(at, len);
	if (fd < 0) {
		print_message("skipped: userfaultfd(2): %s; sysctl vm.unprivileged_userfaultfd\n",
			      strerror(errno));
		skip();
	}
	punch(file, len);
	return fd;
}

/*
 * Replaces a file and a mapping of the raw peer by others with the name 'name', by which the
 * driver's mapping can be found.
 */
static void rename_file(uint32_t index, const char *name, uint8_t **own, size_t len)
{
	close(raw.fds[index]);
	munmap(*own, len);
	raw.fds[index] = named_memfd(name, len);
	*own = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, raw.fds[index], 0);
	assert_ptr_not_equal(*own, MAP_FAILED);
}

static void expect_end(void)
{
	assert_false(raw_recv(&raw, &b));
	b.nwcs = b.nevents = 0;
	b.ops->qp_destroy(b.qp);
	b.ops->unlisten(b.listener);
	end_pair(&a, &b);
	end_works(&a, &b);
}

static void expect_lost(void)
{
	END_WAIT(&b, NULL, b.dev->stats.protocol_errors > 0 && b.nevents > 0);
	assert_int_equal(b.events[0].kind, FABRIC_CM_DISCONNECTED);
	expect_end();
}

static void hole__in_a_ring_ends_its_connection(void **state)
{
	const size_t len = 2 * ring_footprint(RAW_RING_BYTES);
	int fd;

	(void)state;
	open_with(0, 0);
	rename_file(0, "holey-rings", &raw.rings, len);
	raw.mark = (struct ring_shared *)(raw.rings + ring_footprint(RAW_RING_BYTES));
	ring_writer_init(&raw.tx, raw.rings, RAW_RING_BYTES);
	raw_pair(&raw, &b);
	fd = lose_file(raw.fds[0], "holey-rings", raw.rings);
	end_poll(&b);
	expect_lost();
	close(fd);
}

static void hole__in_a_key_table_ends_its_connection(void **state)
{
	uint8_t *keys = (uint8_t *)raw.keys;
	int fd;

	(void)state;
	open_with(0, 0);
	rename_file(1, "holey-keys", &keys, sizeof(struct key_table_memory));
	raw.keys = (struct key_entry *)(void *)keys;
	raw_pair(&raw, &b);
	set_key(4096);
	fd = lose_file(raw.fds[1], "holey-keys", raw.keys);
	post_write();
	/* The hole reads as zeros, and a key table of zeros contains no key. */
	end_wc(&b, NULL, FABRIC_WRITE, FABRIC_ERR_REMOTE_ACCESS);
	expect_end();
	close(fd);
}

static void hole__in_a_region_ends_its_connection(void **state)
{
	int fd;

	(void)state;
	open_with(0, 0);
	set_region("holey-region", RAW_REGION_BYTES);
	raw_pair(&raw, &b);
	set_key(RAW_REGION_BYTES);
	post_write();
	raw_give_region(&raw, &b);
	end_wc(&b, NULL, FABRIC_WRITE, FABRIC_OK);
	fd = lose_file(raw.region_fd, "holey-region", NULL);
	post_write();
	expect_lost();
	close(fd);
}

static void hole__in_muxes_ends_their_connections(void **state)
{
	int fd;

	(void)state;
	open_with(0, 0);
	raw.fds[raw.nfds] = named_memfd("holey-muxes", sizeof(struct mux_memory));
	raw.nfds++;
	raw.hello.has_mux = 1;
	raw_pair(&raw, &b);
	assert_true(raw.answer.has_mux);
	fd = lose_file(raw.fds[2], "holey-muxes", NULL);
	end_poll(&b);
	expect_lost();
	close(fd);
}

/* Replaces the rings of the raw peer by large ones in another file. */
static void set_rings(const char *name, uint32_t ring_bytes)
{
	const size_t len = 2 * ring_footprint(ring_bytes);

	munmap(raw.rings, 2 * ring_footprint(RAW_RING_BYTES));
	close(raw.fds[0]);
	raw.fds[0] = named_memfd(name, len);
	/*
	 * The test maps only the length that raw_fini() unmaps, because it does not read the
	 * driver's answers.
	 */
	raw.rings = mmap(NULL, 2 * ring_footprint(RAW_RING_BYTES), PROT_READ | PROT_WRITE,
			 MAP_SHARED, raw.fds[0], 0);
	assert_ptr_not_equal(raw.rings, MAP_FAILED);
	raw.hello.ring_bytes = ring_bytes;
}

static uint64_t bytes_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

/*
 * Checks that sparse files of peers get no pages before they are used, in a program that has locked
 * its memory.
 */
static void files__take_no_memory_where_the_program_locks_its_own(void **state)
{
	(void)state;
	open_with(0, 0);
	set_rings("sparse-rings", SPARSE_BYTES / 4);
	set_region("sparse-region", SPARSE_BYTES);
	raw_offer_mux(&raw);
	set_key(SPARSE_BYTES);
	if (mlockall(MCL_FUTURE) != 0) {
		print_message("skipped: mlockall(2): %s; ulimit -l\n", strerror(errno));
		skip();
	}
	raw_pair(&raw, &b);
	assert_true(raw.answer.has_mux);
	post_write();
	raw_give_region(&raw, &b);
	end_wc(&b, NULL, FABRIC_WRITE, FABRIC_OK);
	assert_int_equal(munlockall(), 0);
	assert_int_equal(maps_of("sparse-region", NULL, NULL, NULL), 1);
	assert_in_range(bytes_of(raw.region_fd), 4096, SPARSE_BYTES / 8);
	assert_in_range(bytes_of(raw.fds[0]), 0, SPARSE_BYTES / 8);
	assert_in_range(bytes_of(raw.fds[2]), 0, sizeof(struct mux_memory) / 2);
}

/*
 * Checks a hole in this process's own memory, to which a peer may write and into which it can
 * therefore punch holes.
 */
static void hole__in_own_memory_ends_all_connections(void **state)
{
	int fd;

	(void)state;
	open_with(0, 0);
	end_pair(&a, &b);
	fd = break_memory(b.mem, END_MEM_BYTES);
	if (fd < 0)
		skip();
	punch(b.fd, END_MEM_BYTES);
	b.mem[0] = 1;
	assert_int_equal(b.mem[0], 1);
	assert_int_equal(end_event(&b, NULL, FABRIC_CM_DISCONNECTED).error, -EIO);
	close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(region__is_mapped_when_a_key_first_refers_to_it),
		TEST(region__that_was_not_asked_for_ends_the_connection),
		TEST(region__that_is_sent_twice_ends_the_connection),
		TEST(map_bytes_peer__one_past_it_ends_the_connection),
		TEST(region__that_cannot_be_mapped_ends_the_connection_and_counts),
		TEST(map_bytes_peer__of_many_connections_together),
		TEST(mappings_peer__one_past_it_ends_the_connection),
		TEST(hole__in_a_ring_ends_its_connection),
		TEST(hole__in_a_key_table_ends_its_connection),
		TEST(hole__in_a_region_ends_its_connection),
		TEST(hole__in_muxes_ends_their_connections),
		TEST(files__take_no_memory_where_the_program_locks_its_own),
		TEST(hole__in_own_memory_ends_all_connections),
	};

	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
