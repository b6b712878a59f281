/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of access control lists on a 'dir' export: a caller can do what the same user can do on the
 * host, and no more. They need root.
 */
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "fixture.h"

#define OWNER 1000u /* owner of all files; also the number of the owner's group */
#define GROUP 3000u /* the group of all files */
#define NAMED 4000u /* a user that has an entry in lists; also the number of the user's group */
#define OTHER 5000u

/* seconds; the server caches a decision only after a shorter time without changes */
#define UNCHANGED_S 4

/*
 * Copied from <linux/posix_acl_xattr.h>, which cannot be included here because it needs types of
 * the kernel.
 */
enum { USER_OBJ = 1, USER = 2, GROUP_OBJ = 4, GROUP_NAMED = 8, MASK = 16, OTHERS = 32 };

struct acl_entry {
	uint16_t tag, perm;
	uint32_t id;
};

struct acl {
	uint32_t version;
	struct acl_entry entries[6];
};

static char exported[96];

static const char *path_of(const char *name)
{
	static char path[160];

	snprintf(path, sizeof(path), "%s/%s", exported, name);
	return path;
}

/*
 * Sets an access control list, such as "u::rw,u:4000:r". Each permission has 3 bits. 'named' is
 * that of the user NAMED. With -1 the list has no entry for NAMED and no mask. Returns 0, or -1
 * with errno.
 */
static int set_acl(const char *name, bool is_default, int user, int named, int group, int mask,
		   int other)
{
	struct acl acl = {.version = 2};
	const char *key = is_default ? "system.posix_acl_default" : "system.posix_acl_access";
	size_t n = 0;

	acl.entries[n++] = (struct acl_entry){USER_OBJ, (uint16_t)user, UINT32_MAX};
	if (named >= 0)
		acl.entries[n++] = (struct acl_entry){USER, (uint16_t)named, NAMED};
	acl.entries[n++] = (struct acl_entry){GROUP_OBJ, (uint16_t)group, UINT32_MAX};
	if (mask >= 0)
		acl.entries[n++] = (struct acl_entry){MASK, (uint16_t)mask, UINT32_MAX};
	acl.entries[n++] = (struct acl_entry){OTHERS, (uint16_t)other, UINT32_MAX};
	return setxattr(path_of(name), key, &acl, 4 + n * sizeof(acl.entries[0]), 0);
}

static int setup_acl(void **state)
{
	static int serial;
	char exports[160];
	const char *args[] = {"--exports", exports, "--state", client_dir, NULL};
	FILE *file;

	(void)state;
	snprintf(exported, sizeof(exported), "%s/acl-%d", client_dir, serial++);
	assert_int_equal(mkdir(exported, 0777), 0);
	assert_int_equal(chmod(exported, 0777), 0);
	snprintf(exports, sizeof(exports), "%s.ini", exported);
	file = fopen(exports, "w");
	assert_non_null(file);
	fprintf(file, "[/vol]\nbackend = dir:%s\n", exported);
	fclose(file);
	start(args);
	return 0;
}

static void be(uint32_t uid, uint32_t gid)
{
	c->uid = uid;
	c->gid = gid;
}

/*
 * Creates a file with some content, or a directory with a file in it. Owner and group are OWNER and
 * GROUP.
 */
static void make(const char *name, bool is_dir, uint32_t mode)
{
	if (is_dir) {
		char inner[64];

		assert_int_equal(mkdir(path_of(name), 0700), 0);
		snprintf(inner, sizeof(inner), "%s/in", name);
		make(inner, false, 0666);
	} else {
		FILE *file = fopen(path_of(name), "w");

		assert_non_null(file);
		fputs("content", file);
		fclose(file);
	}
	assert_int_equal(chown(path_of(name), OWNER, GROUP), 0);
	assert_int_equal(chmod(path_of(name), mode), 0);
}

static void need_acl(const char *name)
{
	if (set_acl(name, false, 6, 6, 0, 6, 0) == 0)
		return;
	print_message("no access control lists on this file system: not tested\n");
	skip();
}

static void find(const char *name, struct nfs3_fh *fh)
{
	uint32_t uid = c->uid, gid = c->gid;

	be(OWNER, OWNER);
	assert_int_equal(client_lookup(c, &root, name, fh), NFS3_OK);
	be(uid, gid);
}

static uint32_t access_to(const struct nfs3_fh *fh)
{
	c->args.access = (struct nfs3_access_args){*fh, 0x3f};
	assert_int_equal(client_call(c, NFS3_ACCESS), NFS3_OK);
	return c->res.access.access;
}

static enum nfs3_status set_times(const struct nfs3_fh *fh)
{
	memset(&c->args, 0, sizeof(c->args));
	c->args.setattr.fh = *fh;
	c->args.setattr.attr.atime_how = NFS3_SET_TO_SERVER_TIME;
	c->args.setattr.attr.mtime_how = NFS3_SET_TO_SERVER_TIME;
	return client_call(c, NFS3_SETATTR);
}

static enum nfs3_status commit(const struct nfs3_fh *fh)
{
	c->args.commit = (struct nfs3_commit_args){*fh, 0, 0};
	return client_call(c, NFS3_COMMIT);
}

static void expect_nothing(const struct nfs3_fh *fh)
{
	assert_int_equal(access_to(fh), 0);
	assert_int_equal(client_read(c, fh, 0, 10), NFS3ERR_ACCES);
	assert_true(c->res.read.attr.is_set);
	assert_int_equal(client_write(c, fh, 0, 1, NFS3_UNSTABLE), NFS3ERR_ACCES);
	assert_true(c->res.write.wcc.after.is_set);
	assert_int_equal(commit(fh), NFS3ERR_ACCES);
	assert_int_equal(client_truncate(c, fh, 0), NFS3ERR_ACCES);
	assert_int_equal(set_times(fh), NFS3ERR_ACCES);
}

/*
 * Checks a list whose mode bits are rw-rw----. The middle bits are the mask of the list, not the
 * rights of the group.
 */
static void acl__that_denies_the_owning_group(void **state)
{
	struct nfs3_fh fh;

	(void)state;
	make("f", false, 0600);
	need_acl("f");
	find("f", &fh);
	be(OTHER, GROUP);
	expect_nothing(&fh);
	/*
	 * The result is the same if the server has the file open for reading and writing for
	 * another user.
	 */
	be(OWNER, OWNER);
	assert_int_equal(client_read(c, &fh, 0, 10), NFS3_OK);
	assert_int_equal(client_write(c, &fh, 0, 1, NFS3_UNSTABLE), NFS3_OK);
	be(OTHER, GROUP);
	expect_nothing(&fh);
	be(OTHER, OTHER);
	expect_nothing(&fh);
}

static void acl__that_names_a_user(void **state)
{
	struct nfs3_fh fh;

	(void)state;
	make("f", false, 0600);
	need_acl("f");
	find("f", &fh);
	be(NAMED, NAMED);
	assert_int_equal(access_to(&fh),
			 NFS3_ACCESS_READ | NFS3_ACCESS_MODIFY | NFS3_ACCESS_EXTEND);
	assert_int_equal(client_read(c, &fh, 0, 10), NFS3_OK);
	assert_int_equal(client_write(c, &fh, 0, 1, NFS3_UNSTABLE), NFS3_OK);
	assert_int_equal(commit(&fh), NFS3_OK);
	assert_int_equal(client_truncate(c, &fh, 3), NFS3_OK);
	assert_int_equal(set_times(&fh), NFS3_OK);
	/*
	 * The mask limits the list. If the list grants less than the mode bits of others, the list
	 * applies.
	 */
	assert_int_equal(set_acl("f", false, 6, 6, 6, 4, 6), 0);
	assert_int_equal(access_to(&fh), NFS3_ACCESS_READ);
	assert_int_equal(client_read(c, &fh, 0, 10), NFS3_OK);
	assert_int_equal(client_write(c, &fh, 0, 1, NFS3_UNSTABLE), NFS3ERR_ACCES);
	assert_int_equal(set_acl("f", false, 6, 0, 6, 6, 6), 0);
	expect_nothing(&fh);
}

static void wait_until_cacheable(const char *name)
{
	struct timespec now;
	struct stat st;

	assert_int_equal(stat(path_of(name), &st), 0);
	do {
		usleep(100000);
		clock_gettime(CLOCK_REALTIME, &now);
	} while (now.tv_sec - st.st_ctim.tv_sec <= UNCHANGED_S);
}

/* Checks that cached rights of a caller are dropped when the list changes. */
static void acl__that_changes_holds_for_the_next_call(void **state)
{
	struct nfs3_fh fh;

	(void)state;
	make("f", false, 0600);
	need_acl("f");
	find("f", &fh);
	wait_until_cacheable("f");
	for (int i = 0; i < 3; i++) {
		be(NAMED, NAMED);
		assert_int_equal(client_read(c, &fh, 0, 10), NFS3_OK);
		/* A cached decision applies only to one caller. */
		be(OTHER, NAMED);
		assert_int_equal(client_read(c, &fh, 0, 10), NFS3ERR_ACCES);
		be(NAMED, GROUP);
		assert_int_equal(client_read(c, &fh, 0, 10), NFS3_OK);
	}
	/*
	 * A cached decision applies only to one purpose. COMMIT uses a file that is open for
	 * reading, but needs other rights.
	 */
	assert_int_equal(set_acl("f", false, 6, 4, 0, 6, 0), 0);
	wait_until_cacheable("f");
	assert_int_equal(client_read(c, &fh, 0, 10), NFS3_OK);
	assert_int_equal(client_read(c, &fh, 0, 10), NFS3_OK);
	assert_int_equal(commit(&fh), NFS3ERR_ACCES);
	assert_int_equal(set_acl("f", false, 6, 0, 0, 6, 0), 0);
	assert_int_equal(client_read(c, &fh, 0, 10), NFS3ERR_ACCES);
	/* Changed mode bits have the same effect. */
	assert_int_equal(removexattr(path_of("f"), "system.posix_acl_access"), 0);
	assert_int_equal(chmod(path_of("f"), 0644), 0);
	wait_until_cacheable("f");
	assert_int_equal(client_read(c, &fh, 0, 10), NFS3_OK);
	assert_int_equal(client_read(c, &fh, 0, 10), NFS3_OK);
	assert_int_equal(chmod(path_of("f"), 0600), 0);
	assert_int_equal(client_read(c, &fh, 0, 10), NFS3ERR_ACCES);
}

static const struct nfs3_entryplus *entry_of(const char *name)
{
	for (uint32_t i = 0; i < c->nentries; i++)
		if (c->entries[i].name.len_bytes == strlen(name) &&
		    memcmp(c->entries[i].name.data, name, strlen(name)) == 0)
			return &c->entries[i];
	fail_msg("%s is not listed", name);
	return NULL;
}

/*
 * Checks directories. The rights to list a directory and to search it are separate, and a list can
 * grant one without the other.
 */
static void acl__of_a_directory(void **state)
{
	struct nfs3_fh fh, in;

	(void)state;
	make("d", true, 0700);
	need_acl("d");
	find("d", &fh);
	for (int bits = 0; bits < 8; bits++) {
		bool lists = bits & 4, searches = bits & 1, changes = searches && bits & 2;
		enum nfs3_status status;
		uint32_t want =
			(lists ? NFS3_ACCESS_READ : 0) | (searches ? NFS3_ACCESS_LOOKUP : 0);

		if (changes)
			want |= NFS3_ACCESS_MODIFY | NFS3_ACCESS_EXTEND | NFS3_ACCESS_DELETE;
		assert_int_equal(set_acl("d", false, 7, bits, 0, 7, 0), 0);
		be(OTHER, GROUP);
		assert_int_equal(access_to(&fh), 0);
		assert_int_equal(client_lookup(c, &fh, "in", &in), NFS3ERR_ACCES);
		assert_int_equal(client_lookup(c, &fh, ".", &in), NFS3ERR_ACCES);
		assert_int_equal(client_lookup(c, &fh, "..", &in), NFS3ERR_ACCES);
		assert_int_equal(client_readdir(c, &fh, false, 0, 4096), NFS3ERR_ACCES);
		assert_int_equal(client_readdir(c, &fh, true, 0, 4096), NFS3ERR_ACCES);
		be(NAMED, NAMED);
		assert_int_equal(access_to(&fh), want);
		status = searches ? NFS3_OK : NFS3ERR_ACCES;
		assert_int_equal(client_lookup(c, &fh, "in", &in), status);
		assert_int_equal(client_lookup(c, &fh, ".", &in), status);
		assert_int_equal(client_create(c, &fh, "new", NULL),
				 changes ? NFS3_OK : NFS3ERR_ACCES);
		if (changes)
			assert_int_equal(client_remove(c, NFS3_REMOVE, &fh, "new"), NFS3_OK);
		status = lists ? NFS3_OK : NFS3ERR_ACCES;
		assert_int_equal(client_readdir(c, &fh, false, 0, 4096), status);
		assert_int_equal(client_readdir(c, &fh, true, 0, 4096), status);
		if (lists) {
			assert_int_equal(entry_of("in")->fh.is_set, searches);
			assert_int_equal(entry_of("in")->attr.is_set, searches);
		}
	}
}

/*
 * Checks that the mode which a client gives to a new file grants nothing that the directory's
 * default list denies.
 */
static void acl__that_is_inherited(void **state)
{
	struct stat st;

	(void)state;
	make("d", true, 0777);
	need_acl("d");
	assert_int_equal(set_acl("d", false, 7, -1, 7, -1, 7), 0);
	assert_int_equal(set_acl("d", true, 6, -1, 4, -1, 0), 0);
	for (uint32_t proc = NFS3_CREATE; proc <= NFS3_MKNOD; proc++) {
		struct nfs3_fh fh;

		if (proc == NFS3_SYMLINK)
			continue;
		find("d", &fh);
		be(OWNER, OWNER);
		memset(&c->args, 0, sizeof(c->args));
		c->args.dirop.dir = fh;
		client_name(&c->args.dirop.name, "new");
		if (proc == NFS3_CREATE) {
			c->args.create.mode = NFS3_UNCHECKED;
			c->args.create.attr = (struct nfs3_sattr){.set_mode = true, .mode = 06777};
		} else if (proc == NFS3_MKNOD) {
			c->args.mknod.type = NFS3_FIFO;
			c->args.mknod.attr = (struct nfs3_sattr){.set_mode = true, .mode = 06777};
		} else {
			c->args.mkdir.attr = (struct nfs3_sattr){.set_mode = true, .mode = 06777};
		}
		assert_int_equal(client_call(c, proc), NFS3_OK);
		assert_int_equal(c->res.create.attr.attr.mode, 06640);
		assert_int_equal(stat(path_of("d/new"), &st), 0);
		assert_int_equal(st.st_mode & 07777, 06640);
		assert_int_equal(remove(path_of("d/new")), 0);
	}
}

/* ---- comparison with the kernel ---- */

/*
 * Returns the access that the kernel grants to a process of the user: 1 to read, 2 to write, 4 to
 * execute.
 */
static uint32_t what_the_host_grants(const char *name, uint32_t uid, uint32_t gid)
{
	int fd = open(path_of(name), O_PATH), status;
	char path[64];
	pid_t child;

	assert_true(fd >= 0);
	child = fork();
	if (child == 0) {
		int granted = 0;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 ||
		    setresuid(uid, uid, uid) != 0)
			_exit(255);
		granted |= open(path, O_RDONLY) >= 0 ? 1 : 0;
		granted |= open(path, O_WRONLY) >= 0 ? 2 : 0;
		granted |= faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0 ? 4 : 0;
		_exit(granted);
	}
	close(fd);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 8);
	return (uint32_t)WEXITSTATUS(status);
}

static void compare(const struct nfs3_fh *fh, uint32_t uid, uint32_t gid)
{
	uint32_t host = what_the_host_grants("f", uid, gid), access;
	bool is_owner = uid == OWNER;

	be(uid, gid);
	access = access_to(fh);
	assert_int_equal((access & NFS3_ACCESS_READ) != 0, host & 1);
	assert_int_equal((access & NFS3_ACCESS_MODIFY) != 0, (host & 2) != 0);
	assert_int_equal((access & NFS3_ACCESS_EXTEND) != 0, (host & 2) != 0);
	assert_int_equal((access & NFS3_ACCESS_EXECUTE) != 0, (host & 4) != 0);
	/*
	 * The owner can continue to use a file after a change of its mode, and a caller with the
	 * right to execute can read (RFC 1813 section 4.4).
	 */
	assert_int_equal(client_read(c, fh, 0, 10), is_owner || host & 5 ? NFS3_OK : NFS3ERR_ACCES);
	assert_int_equal(client_write(c, fh, 0, 1, NFS3_UNSTABLE),
			 is_owner || host & 2 ? NFS3_OK : NFS3ERR_ACCES);
	assert_int_equal(client_truncate(c, fh, 5), is_owner || host & 2 ? NFS3_OK : NFS3ERR_ACCES);
}

static void rights__are_what_the_host_grants(void **state)
{
	static const uint32_t modes[] = {0,    0777, 0400, 0040, 0004, 0200, 0020, 0002,
					 0640, 0066, 0711, 0070, 0007, 0754, 0111};
	static const uint32_t callers[][2] = {{OWNER, OWNER}, {OWNER, GROUP}, {OTHER, GROUP},
					      {OTHER, OTHER}, {NAMED, NAMED}, {NAMED, GROUP}};
	struct nfs3_fh fh;

	(void)state;
	make("f", false, 0600);
	need_acl("f");
	find("f", &fh);
	for (uint32_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		int user = (int)(modes[i] >> 6), group = modes[i] >> 3 & 7, other = modes[i] & 7;

		/* The file has no list, or a list whose permissions contradict the mode bits. */
		for (int acl = 0; acl < 4; acl++) {
			if (acl == 0)
				assert_int_equal(set_acl("f", false, user, -1, group, -1, other),
						 0);
			else if (acl == 1)
				assert_int_equal(
					set_acl("f", false, user, other, group, 7, 7 - other), 0);
			else if (acl == 2)
				assert_int_equal(
					set_acl("f", false, user, 7 - group, group, other, 0), 0);
			else
				assert_int_equal(
					set_acl("f", false, user, group, 0, 7 - user, other), 0);
			for (uint32_t j = 0; j < sizeof(callers) / sizeof(callers[0]); j++)
				compare(&fh, callers[j][0], callers[j][1]);
		}
	}
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_acl, teardown)
	const struct CMUnitTest tests[] = {
		TEST(acl__that_denies_the_owning_group),
		TEST(acl__that_names_a_user),
		TEST(acl__that_changes_holds_for_the_next_call),
		TEST(acl__of_a_directory),
		TEST(acl__that_is_inherited),
		TEST(rights__are_what_the_host_grants),
	};

	client_main(argc, argv);
	return cmocka_run_group_tests_name("nfsd_dir_acl", tests, NULL, NULL);
}
