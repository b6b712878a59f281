/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of names: objects are created, looked up, listed, renamed and removed. */
#include <stdio.h>

#include "fixture.h"

static bool is_same(const struct nfs3_fh *a, const struct nfs3_fh *b)
{
	return a->len_bytes == b->len_bytes && memcmp(a->data, b->data, a->len_bytes) == 0;
}

static void lookup__finds_what_was_made(void **state)
{
	struct nfs3_fh dir, file, found;

	(void)state;
	assert_int_equal(client_mkdir(c, &root, "dir", &dir), NFS3_OK);
	assert_true(c->res.create.dir_wcc.after.is_set);
	/*
	 * A directory of the host can change at any time. Therefore 'dir' returns no attributes
	 * from before the call.
	 */
	assert_int_equal(c->res.create.dir_wcc.has_before, strcmp(client_backend, "ram") == 0);
	assert_int_equal(client_create(c, &dir, "file", &file), NFS3_OK);
	assert_int_equal(client_lookup(c, &dir, "file", &found), NFS3_OK);
	assert_true(is_same(&found, &file));
	assert_true(c->res.lookup.attr.is_set && c->res.lookup.dir_attr.is_set);
	assert_int_equal(c->res.lookup.attr.attr.type, NFS3_REG);
	assert_int_equal(client_lookup(c, &dir, "no", &found), NFS3ERR_NOENT);
	assert_int_equal(client_lookup(c, &file, "x", &found), NFS3ERR_NOTDIR);
	assert_int_equal(client_lookup(c, &dir, ".", &found), NFS3_OK);
	assert_true(is_same(&found, &dir));
	assert_int_equal(client_lookup(c, &dir, "..", &found), NFS3_OK);
	assert_true(is_same(&found, &root));
	/* The parent of the root is the root, so that a client cannot leave the export. */
	assert_int_equal(client_lookup(c, &root, "..", &found), NFS3_OK);
	assert_true(is_same(&found, &root));
}

static void names__dot_and_dot_dot(void **state)
{
	(void)state;
	assert_int_equal(client_create(c, &root, ".", NULL), NFS3ERR_EXIST);
	assert_int_equal(client_mkdir(c, &root, "..", NULL), NFS3ERR_EXIST);
	assert_int_equal(client_remove(c, NFS3_REMOVE, &root, "."), NFS3ERR_ISDIR);
	assert_int_equal(client_remove(c, NFS3_RMDIR, &root, "."), NFS3ERR_INVAL);
	assert_int_equal(client_remove(c, NFS3_RMDIR, &root, ".."), NFS3ERR_EXIST);
	assert_int_equal(client_rename(c, &root, ".", &root, "x"), NFS3ERR_INVAL);
	assert_int_equal(client_create(c, &root, "x", NULL), NFS3_OK);
	assert_int_equal(client_rename(c, &root, "x", &root, ".."), NFS3ERR_INVAL);
}

static void create__unchecked_guarded_exclusive(void **state)
{
	struct nfs3_fh first;

	(void)state;
	assert_int_equal(client_create(c, &root, "f", &first), NFS3_OK);
	assert_int_equal(client_create(c, &root, "f", NULL), NFS3ERR_EXIST);
	memset(c->mem, 'a', 100);
	assert_int_equal(client_write(c, &first, 0, 100, NFS3_FILE_SYNC), NFS3_OK);
	memset(&c->args, 0, sizeof(c->args));
	c->args.create.where.dir = root;
	client_name(&c->args.create.where.name, "f");
	c->args.create.mode = NFS3_UNCHECKED;
	c->args.create.attr.set_size = true;
	assert_int_equal(client_call(c, NFS3_CREATE), NFS3_OK);
	assert_true(is_same(&c->res.create.fh.fh, &first));
	assert_int_equal(c->res.create.attr.attr.size, 0);
	/* With EXCLUSIVE, the same verifier means that the same client sent the call again. */
	client_name(&c->args.create.where.name, "e");
	c->args.create.mode = NFS3_EXCLUSIVE;
	memcpy(c->args.create.verf, "verifier", NFS3_VERF_BYTES);
	assert_int_equal(client_call(c, NFS3_CREATE), NFS3_OK);
	first = c->res.create.fh.fh;
	assert_int_equal(client_call(c, NFS3_CREATE), NFS3_OK);
	assert_true(is_same(&c->res.create.fh.fh, &first));
	memcpy(c->args.create.verf, "another!", NFS3_VERF_BYTES);
	assert_int_equal(client_call(c, NFS3_CREATE), NFS3ERR_EXIST);
	client_name(&c->args.create.where.name, "f");
	assert_int_equal(client_call(c, NFS3_CREATE), NFS3ERR_EXIST);
	assert_int_equal(client_mkdir(c, &root, "d", NULL), NFS3_OK);
	assert_int_equal(client_create(c, &root, "d", NULL), NFS3ERR_EXIST);
	assert_int_equal(client_mkdir(c, &root, "f", NULL), NFS3ERR_EXIST);
}

static void remove__and_rmdir(void **state)
{
	struct nfs3_fh dir, file;
	struct nfs3_fattr attr;

	(void)state;
	assert_int_equal(client_mkdir(c, &root, "d", &dir), NFS3_OK);
	assert_int_equal(client_create(c, &dir, "f", &file), NFS3_OK);
	assert_int_equal(client_remove(c, NFS3_RMDIR, &root, "d"), NFS3ERR_NOTEMPTY);
	assert_int_equal(client_remove(c, NFS3_REMOVE, &root, "d"), NFS3ERR_ISDIR);
	assert_int_equal(client_remove(c, NFS3_RMDIR, &dir, "f"), NFS3ERR_NOTDIR);
	assert_int_equal(client_remove(c, NFS3_REMOVE, &dir, "no"), NFS3ERR_NOENT);
	assert_int_equal(client_remove(c, NFS3_REMOVE, &dir, "f"), NFS3_OK);
	assert_int_equal(client_getattr(c, &file, NULL), NFS3ERR_STALE);
	assert_int_equal(client_remove(c, NFS3_RMDIR, &root, "d"), NFS3_OK);
	assert_int_equal(client_getattr(c, &dir, NULL), NFS3ERR_STALE);
	assert_int_equal(client_lookup(c, &dir, ".", NULL), NFS3ERR_STALE);
	assert_int_equal(client_getattr(c, &root, &attr), NFS3_OK);
	/* A new file has another handle, even if it reuses the inode number of a removed file. */
	assert_int_equal(client_create(c, &root, "g", NULL), NFS3_OK);
	assert_int_equal(client_getattr(c, &file, NULL), NFS3ERR_STALE);
	assert_int_equal(client_read(c, &file, 0, 1), NFS3ERR_STALE);
	assert_int_equal(client_write(c, &file, 0, 1, NFS3_UNSTABLE), NFS3ERR_STALE);
}

static void rename__moves_and_replaces(void **state)
{
	struct nfs3_fh a, b, sub, fa, found;
	struct nfs3_fattr attr;

	(void)state;
	assert_int_equal(client_mkdir(c, &root, "a", &a), NFS3_OK);
	assert_int_equal(client_mkdir(c, &root, "b", &b), NFS3_OK);
	assert_int_equal(client_mkdir(c, &a, "sub", &sub), NFS3_OK);
	assert_int_equal(client_create(c, &a, "f", &fa), NFS3_OK);
	assert_int_equal(client_create(c, &b, "g", NULL), NFS3_OK);
	assert_int_equal(client_rename(c, &a, "f", &b, "g"), NFS3_OK);
	assert_int_equal(client_lookup(c, &a, "f", NULL), NFS3ERR_NOENT);
	assert_int_equal(client_lookup(c, &b, "g", &found), NFS3_OK);
	assert_true(is_same(&found, &fa));
	assert_int_equal(client_rename(c, &b, "g", &b, "g"), NFS3_OK);
	assert_int_equal(client_lookup(c, &b, "g", &found), NFS3_OK);
	assert_int_equal(client_rename(c, &b, "no", &b, "x"), NFS3ERR_NOENT);
	/* A directory cannot be moved into itself, and can replace only an empty directory. */
	assert_int_equal(client_rename(c, &root, "a", &sub, "x"), NFS3ERR_INVAL);
	assert_int_equal(client_rename(c, &root, "a", &a, "x"), NFS3ERR_INVAL);
	assert_int_equal(client_rename(c, &root, "a", &root, "b"), NFS3ERR_NOTEMPTY);
	assert_int_not_equal(client_rename(c, &b, "g", &root, "a"), NFS3_OK);
	assert_int_not_equal(client_rename(c, &root, "a", &b, "g"), NFS3_OK);
	assert_int_equal(client_rename(c, &a, "sub", &b, "sub"), NFS3_OK);
	assert_int_equal(client_lookup(c, &sub, "..", &found), NFS3_OK);
	assert_true(is_same(&found, &b));
	assert_int_equal(client_getattr(c, &a, &attr), NFS3_OK);
	assert_int_equal(attr.nlink, 2);
	assert_int_equal(client_getattr(c, &b, &attr), NFS3_OK);
	assert_int_equal(attr.nlink, 3);
	assert_int_equal(client_rename(c, &root, "a", &b, "sub"), NFS3_OK);
	assert_int_equal(client_getattr(c, &sub, &attr), NFS3ERR_STALE);
}

static enum nfs3_status make_link(const struct nfs3_fh *fh, const struct nfs3_fh *dir,
				  const char *name)
{
	memset(&c->args, 0, sizeof(c->args));
	c->args.link.fh = *fh;
	c->args.link.link.dir = *dir;
	client_name(&c->args.link.link.name, name);
	return client_call(c, NFS3_LINK);
}

static void link__shares_the_file(void **state)
{
	struct nfs3_fh file, dir, found;
	struct nfs3_fattr attr;

	(void)state;
	assert_int_equal(client_create(c, &root, "f", &file), NFS3_OK);
	assert_int_equal(client_mkdir(c, &root, "d", &dir), NFS3_OK);
	assert_int_equal(make_link(&file, &dir, "h"), NFS3_OK);
	assert_int_equal(c->res.link.attr.attr.nlink, 2);
	assert_int_equal(client_lookup(c, &dir, "h", &found), NFS3_OK);
	assert_true(is_same(&found, &file));
	assert_int_equal(make_link(&file, &dir, "h"), NFS3ERR_EXIST);
	assert_int_equal(make_link(&file, &file, "h"), NFS3ERR_NOTDIR);
	assert_int_not_equal(make_link(&dir, &root, "hd"), NFS3_OK);
	assert_int_equal(make_link(&file, &dir, ""), NFS3ERR_INVAL);
	assert_int_equal(client_remove(c, NFS3_REMOVE, &root, "f"), NFS3_OK);
	assert_int_equal(client_getattr(c, &file, &attr), NFS3_OK);
	assert_int_equal(attr.nlink, 1);
	assert_int_equal(client_rename(c, &dir, "h", &dir, "i"), NFS3_OK);
	assert_int_equal(client_remove(c, NFS3_REMOVE, &dir, "i"), NFS3_OK);
	assert_int_equal(client_getattr(c, &file, &attr), NFS3ERR_STALE);
}

static void mknod__kinds(void **state)
{
	(void)state;
	for (enum nfs3_ftype type = NFS3_REG; type <= NFS3_FIFO; type++) {
		bool can = type == NFS3_SOCK || type == NFS3_FIFO;
		char name[8] = "n0";

		name[1] = (char)('0' + type);
		memset(&c->args, 0, sizeof(c->args));
		c->args.mknod.where.dir = root;
		client_name(&c->args.mknod.where.name, name);
		c->args.mknod.type = type;
		c->args.mknod.rdev = (struct nfs3_specdata){1, 3};
		c->args.mknod.attr.set_mode = true;
		c->args.mknod.attr.mode = 0600;
		if (can) {
			assert_int_equal(client_call(c, NFS3_MKNOD), NFS3_OK);
			assert_int_equal(c->res.create.attr.attr.type, type);
			assert_int_equal(c->res.create.attr.attr.mode, 0600);
		} else if (type == NFS3_CHR || type == NFS3_BLK) {
			assert_int_equal(client_call(c, NFS3_MKNOD), NFS3ERR_PERM);
		} else {
			assert_int_equal(client_call(c, NFS3_MKNOD), NFS3ERR_BADTYPE);
		}
	}
}

/*
 * Checks that a size for a new directory or special file is ignored, because such an object has no
 * size to set.
 */
static void make__leaves_a_size_out(void **state)
{
	(void)state;
	memset(&c->args, 0, sizeof(c->args));
	c->args.mkdir.where.dir = root;
	client_name(&c->args.mkdir.where.name, "d");
	c->args.mkdir.attr =
		(struct nfs3_sattr){.set_mode = true, .mode = 0755, .set_size = true, .size = 5};
	assert_int_equal(client_call(c, NFS3_MKDIR), NFS3_OK);
	assert_int_equal(c->res.create.attr.attr.type, NFS3_DIR);
	memset(&c->args, 0, sizeof(c->args));
	c->args.mknod.where.dir = root;
	client_name(&c->args.mknod.where.name, "p");
	c->args.mknod.type = NFS3_FIFO;
	c->args.mknod.attr = (struct nfs3_sattr){.set_size = true};
	assert_int_equal(client_call(c, NFS3_MKNOD), NFS3_OK);
	assert_int_equal(c->res.create.attr.attr.type, NFS3_FIFO);
}

/* Attributes with an invalid time. */
static const struct nfs3_sattr bad_time = {.mtime_how = NFS3_SET_TO_CLIENT_TIME,
					   .mtime = {.nseconds = 1000000000u}};

static void expect_none_made(uint32_t proc, enum nfs3_status status)
{
	c->args.dirop.dir = root;
	client_name(&c->args.dirop.name, "new");
	assert_int_equal(client_call(c, proc), status);
	assert_int_equal(client_lookup(c, &root, "new", NULL), NFS3ERR_NOENT);
	memset(&c->args, 0, sizeof(c->args));
}

/* Checks that invalid attributes are detected before the object is created. */
static void make__of_bad_values_makes_nothing(void **state)
{
	(void)state;
	memset(&c->args, 0, sizeof(c->args));
	for (enum nfs3_createmode mode = NFS3_UNCHECKED; mode <= NFS3_GUARDED; mode++) {
		c->args.create.mode = mode;
		c->args.create.attr = (struct nfs3_sattr){.set_size = true, .size = 1ull << 63};
		expect_none_made(NFS3_CREATE, NFS3ERR_FBIG);
		c->args.create.mode = mode;
		c->args.create.attr = bad_time;
		expect_none_made(NFS3_CREATE, NFS3ERR_INVAL);
	}
	c->args.mkdir.attr = bad_time;
	expect_none_made(NFS3_MKDIR, NFS3ERR_INVAL);
	c->args.mkdir.attr = bad_time;
	memcpy(c->mem, "path", 4);
	c->data_bytes = 4;
	expect_none_made(NFS3_SYMLINK, NFS3ERR_INVAL);
	c->args.mknod.type = NFS3_FIFO;
	c->args.mknod.attr = bad_time;
	expect_none_made(NFS3_MKNOD, NFS3ERR_INVAL);
}

/* ---- listing ---- */

#define NFILES 1000u

static void make_files(const struct nfs3_fh *dir)
{
	char name[32];

	for (uint32_t i = 0; i < NFILES; i++) {
		snprintf(name, sizeof(name), "file-%u", i);
		assert_int_equal(client_create(c, dir, name, NULL), NFS3_OK);
	}
}

static void list(const struct nfs3_fh *dir, bool plus, uint32_t count)
{
	static bool seen[NFILES];
	uint32_t n = 0, dots = 0, calls = 0;
	uint64_t cookie = 0;

	memset(seen, 0, sizeof(seen));
	do {
		assert_int_equal(client_readdir(c, dir, plus, cookie, count), NFS3_OK);
		assert_true(c->nentries > 0 || c->eof);
		for (uint32_t i = 0; i < c->nentries; i++) {
			const struct nfs3_entryplus *e = &c->entries[i];
			unsigned number = NFILES;

			if (e->name.data[0] == '.') {
				dots++;
				continue;
			}
			for (uint32_t j = 5, v = 0; j < e->name.len_bytes; j++)
				number = v = v * 10 + (uint32_t)(e->name.data[j] - '0');
			assert_in_range(number, 0, NFILES - 1);
			assert_false(seen[number]);
			seen[number] = true;
			n++;
			if (plus) {
				assert_true(e->attr.is_set && e->fh.is_set);
				assert_int_equal(e->attr.attr.fileid, e->fileid);
			}
		}
		if (c->nentries > 0)
			cookie = c->entries[c->nentries - 1].cookie;
		assert_true(++calls < 4 * NFILES);
	} while (!c->eof);
	assert_int_equal(n, NFILES);
	assert_int_equal(dots, 2);
}

static void readdir__lists_each_once(void **state)
{
	struct nfs3_fh dir;

	(void)state;
	assert_int_equal(client_mkdir(c, &root, "dir", &dir), NFS3_OK);
	make_files(&dir);
	list(&dir, false, 65536);
	list(&dir, false, 4096);
	list(&dir, false, 512);
	list(&dir, true, 65536);
	list(&dir, true, 1024);
}

static void readdir__cookies_of_entries_that_are_gone(void **state)
{
	uint64_t cookie;
	struct nfs3_fh dir;
	uint32_t listed = 0;
	char name[32];

	(void)state;
	assert_int_equal(client_mkdir(c, &root, "dir", &dir), NFS3_OK);
	make_files(&dir);
	/*
	 * Removes entries during a listing, as 'rm -r' does. The listing must contain each entry.
	 */
	cookie = 0;
	do {
		struct nfs3_readdir_head res;
		uint32_t n;
		static struct nfs3_entryplus entries[CLIENT_ENTRIES];

		assert_int_equal(client_readdir(c, &dir, false, cookie, 2048), NFS3_OK);
		res = c->res.readdir;
		n = c->nentries;
		memcpy(entries, c->entries, n * sizeof(entries[0]));
		for (uint32_t i = 0; i < n; i++) {
			cookie = entries[i].cookie;
			if (entries[i].name.data[0] == '.')
				continue;
			snprintf(name, sizeof(name), "%.*s", (int)entries[i].name.len_bytes,
				 entries[i].name.data);
			assert_int_equal(client_remove(c, NFS3_REMOVE, &dir, name), NFS3_OK);
			listed++;
		}
		c->res.readdir = res;
	} while (!c->eof);
	assert_int_equal(listed, NFILES);
	assert_int_equal(client_remove(c, NFS3_RMDIR, &root, "dir"), NFS3_OK);
}

static void readdir__bad_counts_and_cookies(void **state)
{
	struct nfs3_fh file;

	(void)state;
	assert_int_equal(client_create(c, &root, "f", &file), NFS3_OK);
	for (uint32_t count = 0; count < 120; count += 8)
		assert_int_equal(client_readdir(c, &root, false, 0, count), NFS3ERR_TOOSMALL);
	assert_int_equal(client_readdir(c, &root, true, 0, 130), NFS3ERR_TOOSMALL);
	assert_int_equal(client_readdir(c, &root, false, 0, UINT32_MAX), NFS3_OK);
	assert_true(c->eof);
	assert_int_equal(c->nentries, 3);
	/*
	 * The cookie is far after the last entry. For a directory of the host, the file system
	 * decides the answer.
	 */
	client_readdir(c, &root, false, (1ull << 62) + 1, 4096);
	assert_true(c->res.status == NFS3_OK || c->res.status == NFS3ERR_BAD_COOKIE);
	if (strcmp(client_backend, "ram") == 0)
		assert_true(c->nentries == 0 && c->eof);
	/* The cookie has a verifier that this server never issued. */
	memset(&c->args, 0, sizeof(c->args));
	c->args.readdir.dir = root;
	c->args.readdir.cookie = 3;
	c->args.readdir.maxcount = 4096;
	memset(c->args.readdir.verf, 0xee, NFS3_VERF_BYTES);
	assert_int_equal(client_call(c, NFS3_READDIR), NFS3ERR_BAD_COOKIE);
	assert_int_equal(client_readdir(c, &file, false, 0, 4096), NFS3ERR_NOTDIR);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lookup__finds_what_was_made, setup, teardown),
		cmocka_unit_test_setup_teardown(names__dot_and_dot_dot, setup, teardown),
		cmocka_unit_test_setup_teardown(create__unchecked_guarded_exclusive, setup,
						teardown),
		cmocka_unit_test_setup_teardown(remove__and_rmdir, setup, teardown),
		cmocka_unit_test_setup_teardown(rename__moves_and_replaces, setup, teardown),
		cmocka_unit_test_setup_teardown(link__shares_the_file, setup, teardown),
		cmocka_unit_test_setup_teardown(mknod__kinds, setup, teardown),
		cmocka_unit_test_setup_teardown(make__leaves_a_size_out, setup, teardown),
		cmocka_unit_test_setup_teardown(make__of_bad_values_makes_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(readdir__lists_each_once, setup, teardown),
		cmocka_unit_test_setup_teardown(readdir__cookies_of_entries_that_are_gone, setup,
						teardown),
		cmocka_unit_test_setup_teardown(readdir__bad_counts_and_cookies, setup, teardown),
	};

	client_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
