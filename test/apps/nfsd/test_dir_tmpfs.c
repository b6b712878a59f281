/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of READDIR of a 'dir' export on tmpfs. Before Linux 6.6, the offsets of entries in tmpfs
 * change when entries are removed, so that the server uses hashes of names as cookies. With the
 * personality UNAME26, any kernel reports an older release. The tests need root.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "fixture.h"

#define NFILES	  1500u
#define NMANY	  5000u /* more entries than a call can return */
#define TRIES	  10u
#define CALLS_MAX 4000u

static char exported[96];
static uint8_t seen[NMANY];
static bool is_hashed; /* cookies are hashes whatever the kernel is */

static int setup_tmpfs(void **state)
{
	static int serial;
	char export[160];
	const char *args[] = {"--export", export, "--state", client_dir, NULL};

	(void)state;
	snprintf(exported, sizeof(exported), "%s/tmpfs-%d", client_dir, serial++);
	assert_int_equal(mkdir(exported, 0777), 0);
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	assert_int_equal(mount("none", exported, "tmpfs", 0, "size=32m,mode=777"), 0);
	snprintf(export, sizeof(export), "vol=dir:%s", exported);
	start(args);
	memset(seen, 0, sizeof(seen));
	is_hashed = false;
	return 0;
}

static int setup_hashed(void **state)
{
	assert_true(personality(PER_LINUX | UNAME26) >= 0);
	setup_tmpfs(state);
	assert_true(personality(PER_LINUX) >= 0);
	is_hashed = true;
	return 0;
}

static int teardown_tmpfs(void **state)
{
	teardown(state);
	umount2(exported, MNT_DETACH);
	return 0;
}

static char *path_of(uint32_t number)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/file-%u", exported, number);
	return path;
}

static void make_files(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		int fd = open(path_of(i), O_WRONLY | O_CREAT | O_EXCL, 0666);

		assert_true(fd >= 0);
		close(fd);
	}
}

/*
 * Counts how often each entry was listed. Returns the cookie of the last entry, or 'cookie' if
 * there is no entry.
 */
static uint64_t count(uint64_t cookie, bool plus)
{
	for (uint32_t i = 0; i < c->nentries; i++) {
		const struct nfs3_entryplus *e = &c->entries[i];
		char text[NFS3_NAME_MAX + 1];

		cookie = e->cookie;
		if (e->name.data[0] == '.')
			continue;
		memcpy(text, e->name.data, e->name.len_bytes);
		text[e->name.len_bytes] = '\0';
		assert_int_equal(strncmp(text, "file-", 5), 0);
		seen[atoi(text + 5)]++;
		if (plus) {
			assert_true(e->fh.is_set && e->attr.is_set);
			assert_int_equal(e->attr.attr.fileid, e->fileid);
		}
	}
	return cookie;
}

static void expect_seen(uint32_t n)
{
	uint32_t once = 0;

	for (uint32_t i = 0; i < n; i++)
		once += seen[i] == 1;
	assert_int_equal(once, n);
}

/*
 * Lists the root. If the server asks the client to try again, which a busy machine can cause, tries
 * again.
 */
static enum nfs3_status list(bool plus, uint64_t cookie, uint32_t bytes)
{
	enum nfs3_status status;
	uint32_t tries = 0;

	do
		status = client_readdir(c, &root, plus, cookie, bytes);
	while (status == NFS3ERR_JUKEBOX && ++tries < TRIES);
	return status;
}

/*
 * Lists and removes entries, as 'rm -r' does: the entries of an answer are removed before the next
 * call.
 */
static void readdir__with_removals_sees_each_entry(void **state)
{
	uint64_t cookie = 0;
	uint32_t calls = 0;

	(void)state;
	make_files(NFILES);
	do {
		assert_int_equal(list(calls % 2, cookie, 4096), NFS3_OK);
		cookie = count(cookie, calls % 2);
		for (uint32_t i = 0; i < NFILES; i++)
			if (seen[i] && access(path_of(i), F_OK) == 0)
				assert_int_equal(unlink(path_of(i)), 0);
		assert_true(++calls < CALLS_MAX);
	} while (!c->eof);
	expect_seen(NFILES);
}

static void readdir__lists_each_entry_once(void **state)
{
	(void)state;
	make_files(NMANY);
	for (uint32_t bytes = 2048; bytes <= 65536; bytes *= 32) {
		uint64_t cookie = 0, last = 0;
		uint32_t calls = 0;

		memset(seen, 0, sizeof(seen));
		do {
			assert_int_equal(list(false, cookie, bytes), NFS3_OK);
			for (uint32_t i = 0; i < c->nentries; i++) {
				if (is_hashed)
					assert_true(c->entries[i].cookie > last);
				last = c->entries[i].cookie;
			}
			cookie = count(cookie, false);
			assert_true(++calls < CALLS_MAX);
		} while (!c->eof);
		expect_seen(NMANY);
	}
}

/*
 * Creates files during a listing. These files can be in the listing or not. All other files are in
 * it exactly once.
 */
static void readdir__with_new_entries_sees_the_old_ones(void **state)
{
	uint64_t cookie = 0;
	uint32_t calls = 0;

	(void)state;
	make_files(NFILES);
	do {
		int fd = open(path_of(NFILES + calls), O_WRONLY | O_CREAT | O_EXCL, 0666);

		assert_true(fd >= 0);
		close(fd);
		assert_int_equal(list(false, cookie, 4096), NFS3_OK);
		cookie = count(cookie, false);
		assert_true(++calls < CALLS_MAX - NFILES);
	} while (!c->eof);
	expect_seen(NFILES);
	for (uint32_t i = NFILES; i < NMANY; i++)
		assert_true(seen[i] <= 1);
}

/* Returns the offset after the entry 'name' in the file system, or -1 if there is no such entry. */
static int64_t offset_behind(const char *name)
{
	DIR *dir = opendir(exported);
	struct dirent *d;
	int64_t offset = -1;

	assert_non_null(dir);
	while (offset < 0 && (d = readdir(dir)))
		if (strcmp(d->d_name, name) == 0)
			offset = d->d_off;
	closedir(dir);
	return offset;
}

/*
 * Checks that cookies are offsets of the file system if these are stable. With hashes as cookies,
 * each call would have to read and sort the whole directory.
 */
static void readdir__goes_on_at_the_offsets_of_the_file_system(void **state)
{
	struct utsname host;
	unsigned major = 0, minor = 0;

	(void)state;
	assert_int_equal(uname(&host), 0);
	sscanf(host.release, "%u.%u", &major, &minor);
	if (major < 6 || (major == 6 && minor < 6)) {
		printf("note: Linux %s has no steady offsets of tmpfs\n", host.release);
		/*
		 * Before Linux 6.6 the cookies are hashes, and the other tests check them on such
		 * kernels.
		 */
		return;
	}
	make_files(20);
	assert_int_equal(list(false, 0, 4096), NFS3_OK);
	assert_int_equal(c->nentries, 22);
	for (uint32_t i = 0; i < c->nentries; i++) {
		char text[NFS3_NAME_MAX + 1];

		memcpy(text, c->entries[i].name.data, c->entries[i].name.len_bytes);
		text[c->entries[i].name.len_bytes] = '\0';
		assert_int_equal((int64_t)c->entries[i].cookie, offset_behind(text));
	}
}

static void readdir__behind_the_last_entry(void **state)
{
	(void)state;
	make_files(3);
	if (is_hashed) {
		assert_int_equal(list(false, UINT64_MAX, 4096), NFS3_OK);
		assert_true(c->eof);
		assert_int_equal(c->nentries, 0);
	}
	assert_int_equal(list(false, 0, 4096), NFS3_OK);
	assert_true(c->eof);
	assert_int_equal(c->nentries, 5);
	assert_int_equal(list(false, c->entries[4].cookie, 4096), NFS3_OK);
	assert_true(c->eof);
	assert_int_equal(c->nentries, 0);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_tmpfs, teardown_tmpfs)
#define HASHED(name)                                                                               \
	{                                                                                          \
#name "_hashed", name, setup_hashed, teardown_tmpfs, NULL                          \
	}
	const struct CMUnitTest tests[] = {
		TEST(readdir__with_removals_sees_each_entry),
		TEST(readdir__lists_each_entry_once),
		TEST(readdir__with_new_entries_sees_the_old_ones),
		TEST(readdir__goes_on_at_the_offsets_of_the_file_system),
		TEST(readdir__behind_the_last_entry),
		HASHED(readdir__with_removals_sees_each_entry),
		HASHED(readdir__lists_each_entry_once),
		HASHED(readdir__with_new_entries_sees_the_old_ones),
		HASHED(readdir__behind_the_last_entry),
	};

	client_main(argc, argv);
	return cmocka_run_group_tests_name("nfsd_dir_tmpfs", tests, NULL, NULL);
}
