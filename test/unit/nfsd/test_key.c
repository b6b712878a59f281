/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of handle_key_load(): the file of the secret that signs handles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "handle.h"

#define NSTARTS 8
#define NROUNDS 20

static char base[64], state_dir[80], secret[96], said[2000];

/* Called directly before a new file gets its name. */
static void (*before_link)(void);

int __real_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags);
int __wrap_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags);

int __wrap_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	void (*fn)(void) = before_link;

	before_link = NULL;
	if (fn)
		fn();
	return __real_linkat(from_dir, from, to_dir, to, flags);
}

static int setup(void **state)
{
	(void)state;
	snprintf(base, sizeof(base), "/tmp/weir-nfsd-key-XXXXXX");
	assert_non_null(mkdtemp(base));
	snprintf(state_dir, sizeof(state_dir), "%s/state", base);
	snprintf(secret, sizeof(secret), "%s/secret", state_dir);
	before_link = NULL;
	return 0;
}

static int teardown(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", base);
	assert_int_equal(system(command), 0);
	return 0;
}

/* Loads the key. Stores the text that was written to standard error in 'said'. */
static int load(struct handle_key *key)
{
	int error = dup(STDERR_FILENO), fd = open(base, O_TMPFILE | O_RDWR, 0600), rc;
	ssize_t n;

	assert_true(fd >= 0);
	dup2(fd, STDERR_FILENO);
	handle_key_init(key);
	rc = handle_key_load(key, state_dir);
	fflush(stderr);
	dup2(error, STDERR_FILENO);
	n = pread(fd, said, sizeof(said) - 1, 0);
	said[n > 0 ? n : 0] = '\0';
	close(error);
	close(fd);
	return rc;
}

static uint32_t count_files(void)
{
	struct dirent *entry;
	uint32_t n = 0;
	DIR *dir = opendir(state_dir);

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	closedir(dir);
	return n;
}

static void write_secret(const char *path, size_t bytes, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "0123456789abcdefg", bytes), bytes);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void expect_refused(const char *word)
{
	struct handle_key key;

	assert_int_equal(load(&key), -EPERM);
	assert_non_null(strstr(said, state_dir));
	if (!strstr(said, word))
		fail_msg("'%s' is not in: %s", word, said);
}

/* ---- one start, and several ---- */

static void key__is_made_and_kept(void **state)
{
	struct handle_key first, second;
	struct stat st;

	(void)state;
	assert_int_equal(load(&first), 0);
	assert_int_equal(count_files(), 1);
	assert_int_equal(stat(secret, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, SECRET_BYTES);
	assert_int_equal(stat(state_dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(load(&second), 0);
	assert_memory_equal(first.secret, second.secret, SECRET_BYTES);
	assert_string_equal(said, "");
}

static struct handle_key of_another;

static void start_another(void)
{
	handle_key_init(&of_another);
	assert_int_equal(handle_key_load(&of_another, state_dir), 0);
}

static void key__is_that_of_the_start_that_was_first(void **state)
{
	struct handle_key key;

	(void)state;
	before_link = start_another;
	assert_int_equal(load(&key), 0);
	assert_memory_equal(key.secret, of_another.secret, SECRET_BYTES);
	assert_int_equal(count_files(), 1);
}

/*
 * Starts a process that loads the key when the pipe 'go' is closed, and then sends the secret
 * through the pipe 'tell'.
 */
static void start_at(const int go[2], int tell)
{
	struct handle_key key;
	char byte;

	if (fork() != 0)
		return;
	close(go[1]);
	handle_key_init(&key);
	if (read(go[0], &byte, 1) != 0 || handle_key_load(&key, state_dir) != 0 ||
	    write(tell, key.secret, SECRET_BYTES) != (ssize_t)SECRET_BYTES)
		_exit(1);
	_exit(0);
}

static void key__is_the_same_for_all_that_start_at_once(void **state)
{
	uint8_t secrets[NSTARTS][SECRET_BYTES];
	int go[2], tell[2], status;

	(void)state;
	for (int round = 0; round < NROUNDS; round++) {
		assert_int_equal(pipe(go), 0);
		assert_int_equal(pipe(tell), 0);
		for (int i = 0; i < NSTARTS; i++)
			start_at(go, tell[1]);
		close(go[0]);
		close(go[1]);
		for (int i = 0; i < NSTARTS; i++) {
			assert_true(wait(&status) > 0);
			assert_int_equal(status, 0);
		}
		for (int i = 0; i < NSTARTS; i++) {
			assert_int_equal(read(tell[0], secrets[i], SECRET_BYTES), SECRET_BYTES);
			assert_memory_equal(secrets[i], secrets[0], SECRET_BYTES);
		}
		close(tell[0]);
		close(tell[1]);
		assert_int_equal(count_files(), 1);
		assert_int_equal(unlink(secret), 0);
	}
}

/* ---- what is refused ---- */

static void key__that_others_can_read_is_refused(void **state)
{
	static const mode_t modes[] = {0640, 0604, 0660, 0602, 0610, 0777};

	(void)state;
	assert_int_equal(mkdir(state_dir, 0700), 0);
	for (uint32_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		write_secret(secret, SECRET_BYTES, modes[i]);
		expect_refused("set its mode to 600");
	}
	write_secret(secret, SECRET_BYTES, 0600);
	assert_int_equal(load(&(struct handle_key){0}), 0);
}

static void key__of_another_user_is_refused(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		print_message("only root can give a file away: not tested\n");
		skip();
	}
	assert_int_equal(mkdir(state_dir, 0700), 0);
	write_secret(secret, SECRET_BYTES, 0600);
	assert_int_equal(chown(secret, 1000, 0), 0);
	expect_refused("belongs to another user");
	assert_int_equal(chown(secret, 0, 0), 0);
	assert_int_equal(chown(state_dir, 1000, 0), 0);
	expect_refused("set its mode to 700");
}

static void key__behind_a_symbolic_link_is_refused(void **state)
{
	char target[96];

	(void)state;
	assert_int_equal(mkdir(state_dir, 0700), 0);
	snprintf(target, sizeof(target), "%s/target", base);
	/* The file is a link: to a file that exists, and to a file that opening would create. */
	write_secret(target, SECRET_BYTES, 0600);
	assert_int_equal(symlink(target, secret), 0);
	expect_refused("is a symbolic link");
	assert_int_equal(unlink(target), 0);
	expect_refused("is a symbolic link");
	assert_int_equal(access(target, F_OK), -1);
	/* A link in place of the directory is refused as well. */
	assert_int_equal(unlink(secret), 0);
	assert_int_equal(rename(state_dir, target), 0);
	assert_int_equal(symlink(target, state_dir), 0);
	expect_refused("name the directory itself");
	assert_int_equal(count_files(), 0);
	assert_int_equal(unlink(state_dir), 0);
}

/*
 * Checks paths of a directory with different ends. Each of them names the link, which must be
 * refused.
 */
static void key__of_a_directory_by_any_end_of_its_path(void **state)
{
	static const char *const ends[] = {"/", "//", "/.", "/./", "/././/"};
	char dir[80], link[80], target[96];
	struct handle_key first, again;

	(void)state;
	snprintf(dir, sizeof(dir), "%s/dir", base);
	snprintf(link, sizeof(link), "%s/link", base);
	assert_int_equal(symlink("dir", link), 0);
	/* The directory is a link: to a directory that exists, and to one that would be created. */
	assert_int_equal(mkdir(dir, 0700), 0);
	for (uint32_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		snprintf(state_dir, sizeof(state_dir), "%s%s", link, ends[i]);
		expect_refused("name the directory itself");
		assert_int_equal(count_files(), 0);
	}
	assert_int_equal(rmdir(dir), 0);
	for (uint32_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		snprintf(state_dir, sizeof(state_dir), "%s%s", link, ends[i]);
		expect_refused("name the directory itself");
		assert_int_equal(access(dir, F_OK), -1);
	}
	/* A path with such an end that is no link is accepted. */
	for (uint32_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		snprintf(state_dir, sizeof(state_dir), "%s%s", dir, ends[i]);
		assert_int_equal(load(i == 0 ? &first : &again), 0);
		assert_memory_equal((i == 0 ? &first : &again)->secret, first.secret, SECRET_BYTES);
	}
	snprintf(target, sizeof(target), "%s/secret", dir);
	assert_int_equal(access(target, F_OK), 0);
}

static void key__that_is_none_is_refused(void **state)
{
	(void)state;
	assert_int_equal(mkdir(state_dir, 0700), 0);
	for (size_t bytes = 0; bytes <= SECRET_BYTES + 1; bytes++) {
		if (bytes == SECRET_BYTES)
			continue;
		write_secret(secret, bytes, 0600);
		expect_refused("Remove it");
	}
	assert_int_equal(unlink(secret), 0);
	assert_int_equal(mkfifo(secret, 0600), 0);
	expect_refused("is not a regular file");
	assert_int_equal(unlink(secret), 0);
	assert_int_equal(mkdir(secret, 0700), 0);
	expect_refused("is not a regular file");
}

/* Checks a directory that another user can change, and into which that user could put a file. */
static void key__in_a_directory_of_others_is_refused(void **state)
{
	static const mode_t modes[] = {0770, 0702, 01777, 0777};

	(void)state;
	assert_int_equal(mkdir(state_dir, 0700), 0);
	for (uint32_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(chmod(state_dir, modes[i]), 0);
		expect_refused("set its mode to 700");
		assert_int_equal(count_files(), 0);
	}
	assert_int_equal(chmod(state_dir, 0755), 0);
	assert_int_equal(load(&(struct handle_key){0}), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(key__is_made_and_kept),
		TEST(key__is_that_of_the_start_that_was_first),
		TEST(key__is_the_same_for_all_that_start_at_once),
		TEST(key__that_others_can_read_is_refused),
		TEST(key__of_another_user_is_refused),
		TEST(key__behind_a_symbolic_link_is_refused),
		TEST(key__of_a_directory_by_any_end_of_its_path),
		TEST(key__that_is_none_is_refused),
		TEST(key__in_a_directory_of_others_is_refused),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests_name("nfsd_key", tests, NULL, NULL);
}
