/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of mappings of a peer's memory in a program that locks its memory. These mappings are not
 * locked, no pages are allocated for them, and the limit does not include them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "unlocked.h"

#define LEN	   (256u << 20)
#define LIMIT	   (16u << 20) /* bytes; sufficient for a few transparent hugepages */
#define LOCK_LIMIT (1u << 20)
#define SKIP	   77
#define NOBODY	   65534

static struct unlocked sparse(int fd)
{
	return (struct unlocked){
		.len = LEN, .prot = PROT_READ | PROT_WRITE, .flags = MAP_SHARED, .fd = fd};
}

static uint64_t bytes_of(int fd)
{
	struct stat st = {0};

	return fstat(fd, &st) == 0 ? (uint64_t)st.st_blocks * 512 : UINT64_MAX;
}

static int file_of(size_t len)
{
	int fd = memfd_create("unlocked", MFD_CLOEXEC);

	return fd >= 0 && ftruncate(fd, (off_t)len) == 0 ? fd : -1;
}

/* Returns the number of bytes that this process has locked. */
static uint64_t locked(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	unsigned long long kib = 0;
	char line[256];

	while (status && fgets(line, sizeof(line), status))
		(void)sscanf(line, "VmLck: %llu", &kib);
	if (status)
		fclose(status);
	return kib << 10;
}

/* Runs a function in a child process, so that no memory stays locked. */
static void in_child(int (*run)(void))
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(run());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == SKIP) {
		print_message("skipped: mlockall(2) is not permitted (RLIMIT_MEMLOCK)\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int map_where_all_is_locked(void)
{
	int fd = file_of(LEN);
	const struct unlocked what = sparse(fd);
	uint64_t before;
	uint8_t *p;

	if (mlockall(MCL_FUTURE) != 0)
		return SKIP;
	before = locked();
	p = unlocked_map(&what);
	if (p == MAP_FAILED || bytes_of(fd) != 0)
		return 1;
	if (locked() >= before + LIMIT)
		return 2;
	p[LEN - 1] = 1;
	return bytes_of(fd) > 0 && bytes_of(fd) < LIMIT ? 0 : 3;
}

static void map__takes_no_memory_where_all_is_locked(void **state)
{
	(void)state;
	in_child(map_where_all_is_locked);
}

static int map_past_the_limit(void)
{
	const struct rlimit limit = {LOCK_LIMIT, LOCK_LIMIT};
	int fd = file_of(LEN);
	const struct unlocked what = sparse(fd);
	uint8_t *p;

	/* Root has no limit, and therefore becomes another user. */
	if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || (geteuid() == 0 && setuid(NOBODY) != 0) ||
	    mlockall(MCL_FUTURE) != 0)
		return SKIP;
	if (mmap(NULL, LEN, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED)
		return SKIP; /* under a sanitizer, mlockall() can have no effect */
	for (unsigned i = 0; i < 4; i++) {
		p = unlocked_map(&what);
		if (p == MAP_FAILED)
			return 1;
		p[LEN / 2] = 1;
	}
	return bytes_of(fd) < LIMIT ? 0 : 2;
}

static void map__may_be_larger_than_what_may_be_locked(void **state)
{
	(void)state;
	in_child(map_past_the_limit);
}

static int replace_where_all_is_locked(void)
{
	int fd = file_of(LEN), other = file_of(LEN);
	const struct unlocked what = sparse(fd), instead = sparse(other);
	uint8_t *p;

	if (mlockall(MCL_FUTURE) != 0)
		return SKIP;
	p = unlocked_map(&what);
	if (p == MAP_FAILED)
		return 1;
	p[0] = 1;
	if (!unlocked_replace(p, &instead) || p[0] != 0)
		return 2;
	p[0] = 2;
	return pwrite(fd, "x", 1, 0) == 1 && p[0] == 2 && bytes_of(other) < LIMIT ? 0 : 3;
}

static void replace__takes_no_memory_where_all_is_locked(void **state)
{
	(void)state;
	in_child(replace_where_all_is_locked);
}

/* Checks a mapping that fails: nothing of it is left, and the old mapping stays. */
static void map__that_is_refused(void **state)
{
	const int fd = file_of(LEN);
	struct unlocked what = sparse(fd);
	char path[64];
	uint8_t *p;
	int reader;

	(void)state;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	p = unlocked_map(&what);
	assert_ptr_not_equal(p, MAP_FAILED);
	p[0] = 5;
	reader = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(reader >= 0);
	what.fd = reader; /* the descriptor is only for reading */
	assert_ptr_equal(unlocked_map(&what), MAP_FAILED);
	assert_int_equal(errno, EACCES);
	assert_false(unlocked_replace(p, &what));
	assert_int_equal(p[0], 5);
	what.prot = PROT_READ;
	assert_true(unlocked_replace(p, &what));
	assert_int_equal(p[0], 5);
	munmap(p, LEN);
	close(reader);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(map__takes_no_memory_where_all_is_locked),
		cmocka_unit_test(map__may_be_larger_than_what_may_be_locked),
		cmocka_unit_test(replace__takes_no_memory_where_all_is_locked),
		cmocka_unit_test(map__that_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
