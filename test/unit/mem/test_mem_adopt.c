/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of adopted memory. It must be what the owner says: a shared mapping of the file. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <rte_log.h>

#include "mem.h"

#define PAGES	4u
#define RW	(PROT_READ | PROT_WRITE)
#define PAGE_2M (2ul << 20)
#define MANY	3000u
#define SKIPPED 77

static size_t page;

/* An address range of PAGES pages. Nothing else is mapped before or after it. */
struct space {
	uint8_t *all;
	uint8_t *base;
};

static int file_new(size_t pages)
{
	int fd = memfd_create("adopted", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)(pages * page)), 0);
	return fd;
}

static struct space space_new(void)
{
	struct space space = {.all = mmap(NULL, (PAGES + 2) * page, PROT_NONE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};

	assert_ptr_not_equal(space.all, MAP_FAILED);
	space.base = space.all + page;
	munmap(space.base, PAGES * page);
	return space;
}

static void space_free(struct space space)
{
	munmap(space.all, (PAGES + 2) * page);
}

/* Maps 'pages' pages of the file, from its page 'from' on, at page 'at' of the space. */
static void map(struct space space, size_t at, size_t pages, int prot, int flags, int fd,
		size_t from)
{
	void *want = space.base + at * page;

	assert_ptr_equal(
		mmap(want, pages * page, prot, flags | MAP_FIXED, fd, (off_t)(from * page)), want);
}

static int adopt(struct space space, int fd, size_t from)
{
	struct weir_region *region = NULL;
	int rc = weir_region_adopt(space.base, PAGES * page, fd, from * page, &region);

	if (rc == 0) {
		assert_int_equal(region->fd >= 0, fd >= 0);
		weir_region_destroy(region);
	} else {
		assert_null(region);
	}
	return rc;
}

/*
 * Checks that the memory is refused, and that the log says that it is 'what', and how to correct
 * that.
 */
static void refused(struct space space, int fd, size_t from, const char *what)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *log = open_memstream(&text, &bytes);

	assert_non_null(log);
	rte_openlog_stream(log);
	assert_int_equal(adopt(space, fd, from), -EINVAL);
	rte_openlog_stream(NULL);
	fclose(log);
	assert_non_null(strstr(text, what));
	assert_non_null(strstr(text, "MAP_SHARED"));
	free(text);
	assert_int_equal(adopt(space, -1, 0), 0); /* the log also names this alternative */
}

static void adopt__a_private_mapping_is_refused(void **state)
{
	struct space space = space_new();
	int fd = file_new(PAGES);

	(void)state;
	map(space, 0, PAGES, RW, MAP_PRIVATE, fd, 0);
	refused(space, fd, 0, "a private mapping");
	/*
	 * Memory of which only a part is private is refused as well, even if its pages were written
	 * to.
	 */
	map(space, 0, PAGES, RW, MAP_SHARED, fd, 0);
	map(space, 2, 1, RW, MAP_PRIVATE, fd, 2);
	memset(space.base, 1, PAGES * page);
	refused(space, fd, 0, "a private mapping");
	map(space, 0, PAGES, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	refused(space, fd, 0, "not of that file");
	close(fd);
	space_free(space);
}

static void adopt__what_is_no_file_is_refused(void **state)
{
	struct space space = space_new();
	int fds[4], null = open("/dev/null", O_RDWR);

	(void)state;
	map(space, 0, PAGES, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(null >= 0);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds + 2), 0);
	refused(space, null, 0, "is no file");
	for (uint32_t i = 0; i < 4; i++)
		refused(space, fds[i], 0, "is no file");
	for (uint32_t i = 0; i < 4; i++)
		close(fds[i]);
	close(null);
	space_free(space);
}

static void adopt__a_mapping_of_another_file_is_refused(void **state)
{
	struct space space = space_new();
	int fd = file_new(PAGES), other = file_new(PAGES);

	(void)state;
	map(space, 0, PAGES, RW, MAP_SHARED, other, 0);
	refused(space, fd, 0, "not of that file");
	assert_int_equal(adopt(space, other, 0), 0);
	map(space, 0, 1, RW, MAP_SHARED, fd, 0);
	refused(space, fd, 0, "not of that file");
	refused(space, other, 0, "not of that file");
	map(space, 0, PAGES, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	refused(space, fd, 0, "not of that file");
	close(fd);
	close(other);
	space_free(space);
}

static void adopt__another_offset_is_refused(void **state)
{
	struct space space = space_new();
	int fd = file_new(PAGES + 1);

	(void)state;
	map(space, 0, PAGES, RW, MAP_SHARED, fd, 1);
	refused(space, fd, 0, "at another offset");
	assert_int_equal(adopt(space, fd, 1), 0);
	/* One page is mapped from another offset. */
	map(space, 2, 1, RW, MAP_SHARED, fd, 1);
	refused(space, fd, 1, "at another offset");
	close(fd);
	space_free(space);
}

static void adopt__memory_that_is_mapped_only_in_part_is_refused(void **state)
{
	struct space space = space_new();
	int fd = file_new(PAGES);

	(void)state;
	for (size_t hole = 0; hole < PAGES; hole++) {
		map(space, 0, PAGES, RW, MAP_SHARED, fd, 0);
		munmap(space.base + hole * page, page);
		refused(space, fd, 0, "not mapped");
	}
	close(fd);
	space_free(space);
}

/* Checks that a region must be writable, because data are received into it. */
static void adopt__a_read_only_mapping_is_refused(void **state)
{
	struct space space = space_new();
	int fd = file_new(PAGES);

	(void)state;
	map(space, 0, PAGES, PROT_READ, MAP_SHARED, fd, 0);
	refused(space, fd, 0, "reading and writing");
	map(space, 0, PAGES, RW, MAP_SHARED, fd, 0);
	assert_int_equal(mprotect(space.base + page, page, PROT_NONE), 0);
	refused(space, fd, 0, "reading and writing");
	close(fd);
	space_free(space);
}

static void adopt__adjacent_mappings_serve_as_one(void **state)
{
	struct space space = space_new();
	int fd = file_new(PAGES);

	(void)state;
	for (size_t at = PAGES; at-- > 0;)
		map(space, at, 1, RW, MAP_SHARED, fd, at);
	assert_int_equal(adopt(space, fd, 0), 0);
	/* The kernel keeps these mappings separate. */
	map(space, 1, 1, RW | PROT_EXEC, MAP_SHARED, fd, 1);
	assert_int_equal(madvise(space.base + 2 * page, page, MADV_DONTFORK), 0);
	assert_int_equal(adopt(space, fd, 0), 0);
	close(fd);
	space_free(space);
}

/* Checks adoption of the middle of a mapping, with another descriptor of the file. */
static void adopt__a_part_of_a_mapping(void **state)
{
	int fd = file_new(PAGES + 2), again = dup(fd);
	uint8_t *base = mmap(NULL, (PAGES + 2) * page, RW, MAP_SHARED, fd, 0);

	(void)state;
	assert_ptr_not_equal(base, MAP_FAILED);
	assert_true(again >= 0);
	assert_int_equal(adopt((struct space){.base = base + page}, again, 1), 0);
	assert_int_equal(adopt((struct space){.base = base}, again, 0), 0);
	munmap(base, (PAGES + 2) * page);
	close(fd);
	close(again);
}

/*
 * Checks a process with thousands of mappings. The kernel returns /proc/self/maps in many pieces.
 */
static void adopt__among_thousands_of_mappings(void **state)
{
	int fd = file_new(PAGES);
	uint8_t *many = mmap(NULL, MANY * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct space space = {.base = many + MANY / 2 * page};

	(void)state;
	assert_ptr_not_equal(many, MAP_FAILED);
	for (size_t at = 0; at < MANY; at += 2)
		assert_int_equal(mprotect(many + at * page, page, PROT_NONE), 0);
	map(space, 0, PAGES, RW, MAP_SHARED, fd, 0);
	assert_int_equal(adopt(space, fd, 0), 0);
	map(space, PAGES - 1, 1, RW, MAP_PRIVATE, fd, PAGES - 1);
	refused(space, fd, 0, "a private mapping");
	munmap(many, MANY * page);
	close(fd);
}

/*
 * Checks names of files on a disk. They can contain newlines, and can be longer than one read of
 * /proc/self/maps.
 */
static void adopt__a_file_with_an_odd_name(void **state)
{
	char path[] =
		"weir-adopt\n00000000-ffffffffffff rw-s 00000000 00:01 1 "
		".................................................................................."
		"......................................................................XXXXXX";
	struct space space = space_new();
	int fd = mkstemp(path), other = file_new(PAGES);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)(PAGES * page)), 0);
	map(space, 0, PAGES, RW, MAP_SHARED, fd, 0);
	assert_int_equal(adopt(space, fd, 0), 0);
	refused(space, other, 0, "not of that file");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(adopt(space, fd, 0), 0);
	close(fd);
	close(other);
	space_free(space);
}

static void adopt__hugepages(void **state)
{
	int fd = memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB | MFD_HUGE_2MB);
	struct weir_region *region = NULL;
	uint8_t *base;

	(void)state;
	if (fd < 0 || ftruncate(fd, PAGE_2M) != 0)
		skip();
	base = mmap(NULL, PAGE_2M, RW, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		skip();
	assert_int_equal(weir_region_adopt(base, PAGE_2M, fd, 0, &region), 0);
	assert_true(region->fd >= 0);
	assert_int_equal(region->page_bytes, PAGE_2M);
	weir_region_destroy(region);
	munmap(base, PAGE_2M);
	close(fd);
}

/*
 * Checks the case that weir cannot verify the file of the mapping, because /proc is missing. Then
 * it passes the file to no peer.
 */
static void adopt__without_proc_no_file_is_kept(void **state)
{
	struct weir_region *region = NULL;
	struct space space = space_new();
	int fd = file_new(PAGES), status;
	pid_t pid;

	(void)state;
	map(space, 0, PAGES, RW, MAP_SHARED, fd, 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
			_exit(SKIPPED);
		if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		    mount("none", "/proc", "tmpfs", 0, NULL) != 0)
			_exit(SKIPPED);
		if (weir_region_adopt(space.base, PAGES * page, fd, 0, &region) != 0)
			_exit(1);
		_exit(region->fd == -1 ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(fd);
	space_free(space);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == SKIPPED)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static struct {
	struct space space;
	int fd;
} lasting;

static bool process_has_maps(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	bool has = file && getc(file) != EOF;

	if (file)
		fclose(file);
	return has;
}

static void *adopt_alone(void *arg)
{
	struct weir_region *region = NULL;

	alarm(60);
	while (process_has_maps())
		sched_yield();
	if (weir_region_adopt(lasting.space.base, PAGES * page, lasting.fd, 0, &region) != 0)
		_exit(2);
	_exit(region->fd >= 0 ? 0 : 3);
	return arg;
}

/* Checks a process whose first thread has ended. Then /proc/self lists no memory. */
static void adopt__after_the_first_thread_has_ended(void **state)
{
	pthread_t thread;
	int status;
	pid_t pid;

	(void)state;
	lasting.space = space_new();
	lasting.fd = file_new(PAGES);
	map(lasting.space, 0, PAGES, RW, MAP_SHARED, lasting.fd, 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (pthread_create(&thread, NULL, adopt_alone, NULL) != 0)
			_exit(4);
		pthread_exit(NULL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(lasting.fd);
	space_free(lasting.space);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/*
 * Checks that a process without free descriptors gets an error, and not a region that cannot be
 * passed to peers.
 */
static void adopt__without_descriptors(void **state)
{
	struct space space = space_new();
	struct rlimit before, none;
	int fd = file_new(PAGES);

	(void)state;
	map(space, 0, PAGES, RW, MAP_SHARED, fd, 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(adopt(space, fd, 0), -ENOMEM);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(adopt(space, fd, 0), 0);
	close(fd);
	space_free(space);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adopt__a_private_mapping_is_refused),
		cmocka_unit_test(adopt__what_is_no_file_is_refused),
		cmocka_unit_test(adopt__a_mapping_of_another_file_is_refused),
		cmocka_unit_test(adopt__another_offset_is_refused),
		cmocka_unit_test(adopt__memory_that_is_mapped_only_in_part_is_refused),
		cmocka_unit_test(adopt__a_read_only_mapping_is_refused),
		cmocka_unit_test(adopt__adjacent_mappings_serve_as_one),
		cmocka_unit_test(adopt__a_part_of_a_mapping),
		cmocka_unit_test(adopt__among_thousands_of_mappings),
		cmocka_unit_test(adopt__a_file_with_an_odd_name),
		cmocka_unit_test(adopt__hugepages),
		cmocka_unit_test(adopt__without_proc_no_file_is_kept),
		cmocka_unit_test(adopt__after_the_first_thread_has_ended),
		cmocka_unit_test(adopt__without_descriptors),
	};

	page = (size_t)sysconf(_SC_PAGESIZE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
