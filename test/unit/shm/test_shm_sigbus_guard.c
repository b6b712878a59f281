/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that guarded memory reads as zeros after its pages were lost, and that the guard handles no
 * other SIGBUS. Pages are lost when their file is truncated.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/memfd.h>
#include <signal.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sigbus_guard.h"

#define PAGE 4096u
#define LEN  (4 * PAGE)
#define TAG  77u
#define SKIP 77

#define HUGE_BYTES   (2u << 20)
#define SPARSE_BYTES (256u << 20)

static uint8_t *memory;
static int file, wake;

static int setup(void **state)
{
	(void)state;
	file = memfd_create("guard", MFD_CLOEXEC);
	wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_int_equal(ftruncate(file, LEN), 0);
	memory = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	memset(memory, 0x5a, LEN);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	munmap(memory, LEN);
	close(file);
	close(wake);
	return 0;
}

static void cut_off(void)
{
	assert_int_equal(ftruncate(file, PAGE), 0);
}

static uint64_t wakes(void)
{
	uint64_t n = 0;

	(void)!read(wake, &n, sizeof(n));
	return n;
}

static void lost_memory_is_zeros(void **state)
{
	int guard = guard_set(memory, LEN, PAGE, wake, TAG);
	uint64_t tag = 0;

	(void)state;
	assert_int_not_equal(guard, GUARD_NONE);
	assert_false(guard_is_lost(guard));
	cut_off();
	assert_int_equal(memory[0], 0x5a);
	assert_false(guard_take_loss(wake, &tag));
	assert_false(guard_is_lost(guard));
	assert_int_equal(wakes(), 0);
	assert_int_equal(memory[LEN - 1], 0);
	assert_true(guard_is_lost(guard));
	assert_int_equal(wakes(), 1);
	assert_true(guard_take_loss(wake, &tag));
	assert_int_equal(tag, TAG);
	assert_false(guard_take_loss(wake, &tag));
	memory[PAGE] = 1; /* the memory can be written */
	assert_int_equal(memory[PAGE], 1);
	guard_clear(guard);
}

static void all_guards_of_a_place_go_together(void **state)
{
	int one = guard_set(memory, LEN, PAGE, wake, TAG),
	    two = guard_set(memory, LEN, PAGE, wake, TAG);

	(void)state;
	assert_int_not_equal(one, two);
	cut_off();
	memory[LEN - 1] = 1;
	assert_true(guard_is_lost(one));
	assert_true(guard_is_lost(two));
	guard_clear(one);
	guard_clear(two);
}

/*
 * Runs a function in a child process, which has its own guards. Returns the exit status of the
 * child.
 */
static int exit_of_child(int (*run)(void))
{
	int status;
	pid_t child;

	guard_fork_begin();
	child = fork();
	guard_fork_end(child == 0);
	assert_true(child >= 0);
	if (child == 0) {
		signal(SIGBUS, SIG_DFL); /* replaces the handler of cmocka */
		_exit(run());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Loses all pages of a file, one after the other, while the process cannot map other memory. */
static int lose_without_memory(int big, size_t len, size_t page)
{
	const struct rlimit none = {0, 0};
	uint8_t *p;
	int guard;

	if (ftruncate(big, (off_t)len) != 0)
		return 1;
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, big, 0);
	guard = guard_set(p, len, page, wake, TAG);
	if (p == MAP_FAILED || guard == GUARD_NONE || ftruncate(big, 0) != 0 ||
	    setrlimit(RLIMIT_DATA, &none) != 0)
		return 2;
	/* Verifies that the process cannot map other memory. */
	if (mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		 0) != MAP_FAILED)
		return 3;
	for (size_t at = 0; at < len; at += PAGE)
		p[at] = 1;
	return guard_is_lost(guard) ? 0 : 4;
}

static int lose_pages(void)
{
	return lose_without_memory(memfd_create("guard-big", MFD_CLOEXEC), 64 * LEN, PAGE);
}

static int lose_hugepages(void)
{
	int big = memfd_create("guard-huge", MFD_CLOEXEC | MFD_HUGETLB | MFD_HUGE_2MB);

	return big < 0 ? SKIP : lose_without_memory(big, 2 * HUGE_BYTES, HUGE_BYTES);
}

/*
 * Checks the case that no memory can be allocated to replace lost pages. Then a small reserve is
 * mapped repeatedly.
 */
static void lost_memory_needs_no_other(void **state)
{
	int rc = exit_of_child(lose_hugepages);

	(void)state;
	assert_int_equal(exit_of_child(lose_pages), 0);
	if (rc == SKIP) {
		print_message("skipped: hugepages: this kernel has no file system of them\n");
		skip();
	}
	assert_int_equal(rc, 0);
}

/* Returns the number of pages of a mapping that are present in memory. */
static size_t pages_of(void *p, size_t len)
{
	static unsigned char present[SPARSE_BYTES / PAGE];
	size_t n = 0;

	if (mincore(p, len, present) != 0)
		return SIZE_MAX;
	for (size_t i = 0; i < len / PAGE; i++)
		n += present[i] & 1;
	return n;
}

static int lose_where_all_is_locked(void)
{
	uint8_t *p = mmap(NULL, SPARSE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	int guard = guard_set(p, SPARSE_BYTES, PAGE, wake, TAG);

	if (p == MAP_FAILED || guard == GUARD_NONE)
		return 1;
	cut_off();
	if (mlockall(MCL_FUTURE) != 0)
		return SKIP;
	p[SPARSE_BYTES - 1] = 1;
	p[PAGE] = 1;
	if (!guard_is_lost(guard) || p[SPARSE_BYTES - 1] != 1)
		return 2;
	/* The guard can have used a transparent hugepage. */
	return pages_of(p, SPARSE_BYTES) <= 2 * HUGE_BYTES / PAGE ? 0 : 3;
}

/*
 * Checks that lost memory in a program that locks its memory uses only the pages that are accessed.
 */
static void lost_memory_is_not_locked(void **state)
{
	int rc = exit_of_child(lose_where_all_is_locked);

	(void)state;
	if (rc == SKIP) {
		print_message("skipped: mlockall(2) is not permitted (RLIMIT_MEMLOCK)\n");
		skip();
	}
	assert_int_equal(rc, 0);
}

#define CHANGES 50000u

static _Atomic bool changes_end;
static uint8_t *two[2];

/* Sets and clears guards at two addresses, with two lengths, until CHANGES were made. */
static void *change_guards(void *arg)
{
	(void)arg;
	for (uint32_t i = 0; i < CHANGES; i++)
		guard_clear(guard_set(two[i % 2], i % 2 ? PAGE : LEN, PAGE, wake, TAG));
	changes_end = true;
	return NULL;
}

/*
 * Checks lost pages while guards change: the base of one guard is never combined with the length of
 * another. The memory after a short guard must be unchanged.
 */
static void guards_that_change_are_read_whole(void **state)
{
	pthread_t thread;
	uint8_t *behind;

	(void)state;
	two[0] = mmap(NULL, LEN, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	two[1] = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(two[0] != MAP_FAILED && two[1] != MAP_FAILED);
	behind = two[1] + PAGE;
	memset(behind, 0x77, LEN - PAGE);
	changes_end = false;
	assert_int_equal(pthread_create(&thread, NULL, change_guards, NULL), 0);
	while (!changes_end) {
		int guard = guard_set(memory, LEN, PAGE, wake, TAG);

		/* Lost pages at another address make the handler read all guards. */
		assert_int_equal(ftruncate(file, PAGE), 0);
		memory[LEN - 1] = 1;
		assert_true(guard_is_lost(guard));
		guard_clear(guard);
		assert_int_equal(ftruncate(file, LEN), 0);
		assert_ptr_equal(
			mmap(memory, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0),
			memory);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	for (uint32_t i = 0; i < LEN - PAGE; i++)
		assert_int_equal(behind[i], 0x77);
	munmap(two[0], LEN);
	munmap(two[1], LEN);
}

/* Returns the status of a child process that accesses memory without a guard. */
static int status_of_child(void (*prepare)(void))
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		prepare();
		memory[LEN - 1] = 1;
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void by_the_application(int signal)
{
	(void)signal;
	_exit(42);
}

static void guarded_elsewhere(void)
{
	signal(SIGBUS, SIG_DFL); /* replaces the handler of cmocka */
	guard_set(memory, PAGE, PAGE, wake, TAG);
	cut_off();
}

static void guarded_no_more(void)
{
	signal(SIGBUS, SIG_DFL);
	guard_clear(guard_set(memory, LEN, PAGE, wake, TAG));
	cut_off();
}

static void handled_by_the_application(void)
{
	signal(SIGBUS, by_the_application);
	guard_set(memory, PAGE, PAGE, wake, TAG);
	cut_off();
}

static void sigbus_elsewhere_goes_where_it_went(void **state)
{
	int status = status_of_child(guarded_elsewhere);

	(void)state;
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	status = status_of_child(guarded_no_more);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	status = status_of_child(handled_by_the_application);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

/*
 * Checks a child process, which has its own guards. It maps memory at the address of a guard of its
 * parent, which must not apply.
 */
static void child_has_no_guard_of_its_parent(void **state)
{
	int guard = guard_set(memory, LEN, PAGE, wake, TAG), status;
	pid_t child;

	(void)state;
	assert_int_not_equal(guard, GUARD_NONE);
	cut_off();
	guard_fork_begin();
	child = fork();
	guard_fork_end(child == 0);
	assert_true(child >= 0);
	if (child == 0) {
		signal(SIGBUS, by_the_application);
		if (guard_set(memory, PAGE, PAGE, wake, TAG) == GUARD_NONE)
			_exit(1);
		*(volatile uint8_t *)&memory[LEN - 1] = 1;
		_exit(2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 42);
	assert_int_equal(wakes(), 0);
	assert_false(guard_is_lost(guard));
	memory[LEN - 1] = 1; /* the guard of the parent still applies */
	assert_true(guard_is_lost(guard));
	guard_clear(guard);
}

/*
 * Returns the inode number of the memory that is mapped in place of lost memory, or 0 if there is
 * none.
 */
static unsigned long spare_inode(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long inode = 0;
	char line[256];

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "/memfd:weir-shm-spare"))
			(void)sscanf(line, "%*s %*s %*s %*s %lu", &inode);
	if (maps)
		fclose(maps);
	return inode;
}

/*
 * Checks that a child has other replacement memory. Data that it writes there must not appear in
 * connections of its parent.
 */
static void child_has_a_spare_of_its_own(void **state)
{
	int guard = guard_set(memory, LEN, PAGE, wake, TAG), status;
	unsigned long inode = spare_inode();
	pid_t child;

	(void)state;
	assert_int_not_equal(guard, GUARD_NONE);
	assert_int_not_equal(inode, 0);
	guard_fork_begin();
	child = fork();
	guard_fork_end(child == 0);
	assert_true(child >= 0);
	if (child == 0) {
		if (spare_inode() != 0)
			_exit(1);
		if (guard_set(memory, LEN, PAGE, wake, TAG) == GUARD_NONE)
			_exit(2);
		_exit(spare_inode() == 0 ? 3 : spare_inode() == inode ? 4 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(spare_inode(), inode); /* the parent keeps its own memory */
	guard_clear(guard);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sigbus_elsewhere_goes_where_it_went, setup,
						teardown),
		cmocka_unit_test_setup_teardown(lost_memory_is_zeros, setup, teardown),
		cmocka_unit_test_setup_teardown(child_has_no_guard_of_its_parent, setup, teardown),
		cmocka_unit_test_setup_teardown(child_has_a_spare_of_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(all_guards_of_a_place_go_together, setup, teardown),
		cmocka_unit_test_setup_teardown(lost_memory_needs_no_other, setup, teardown),
		cmocka_unit_test_setup_teardown(lost_memory_is_not_locked, setup, teardown),
		cmocka_unit_test_setup_teardown(guards_that_change_are_read_whole, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
