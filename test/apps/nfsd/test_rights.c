/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the rights of callers, and of changes of a file's mode when callers use these rights. */
#include <stdio.h>

#include "fixture.h"

#define ANONYMOUS 65534u

/* Starts a server with an export in which root is not squashed. */
static int setup_root(void **state)
{
	char export[128], path[96];
	const char *args[] = {"--exports", path, "--state", client_dir, NULL};
	FILE *file;

	(void)state;
	client_export(export, sizeof(export));
	snprintf(path, sizeof(path), "%s/root.ini", client_dir);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "[/vol]\nbackend = %s\nroot_squash = no\n", strchr(export, '=') + 1);
	fclose(file);
	start(args);
	return 0;
}

static enum nfs3_status set_mode(const struct nfs3_fh *fh, uint32_t mode)
{
	memset(&c->args, 0, sizeof(c->args));
	c->args.setattr.fh = *fh;
	c->args.setattr.attr.set_mode = true;
	c->args.setattr.attr.mode = mode;
	return client_call(c, NFS3_SETATTR);
}

static enum nfs3_status set_owner(const struct nfs3_fh *fh, uint32_t uid)
{
	memset(&c->args, 0, sizeof(c->args));
	c->args.setattr.fh = *fh;
	c->args.setattr.attr.set_uid = true;
	c->args.setattr.attr.uid = uid;
	return client_call(c, NFS3_SETATTR);
}

static uint32_t mode_of(const struct nfs3_fh *fh)
{
	struct nfs3_fattr attr;

	assert_int_equal(client_getattr(c, fh, &attr), NFS3_OK);
	return attr.mode;
}

/* Checks the IDs 2^32 - 1. The kernel treats them as "unchanged", and this server runs as root. */
static void rights__of_ids_that_are_none(void **state)
{
	struct nfs3_fh file, dir;

	(void)state;
	assert_int_equal(client_mkdir(c, &root, "d", &dir), NFS3_OK);
	assert_int_equal(client_create(c, &dir, "f", &file), NFS3_OK);
	assert_int_equal(set_mode(&file, 0600), NFS3_OK);
	c->uid = UINT32_MAX;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(client_read(c, &file, 0, 10), NFS3ERR_ACCES);
		assert_int_equal(client_write(c, &file, 0, 10, NFS3_UNSTABLE), NFS3ERR_ACCES);
		assert_int_equal(client_truncate(c, &file, 0), NFS3ERR_ACCES);
		assert_int_equal(set_mode(&file, 0666), NFS3ERR_PERM);
		assert_int_equal(set_owner(&file, 1), NFS3ERR_PERM);
		assert_int_equal(client_create(c, &dir, "g", NULL), NFS3ERR_ACCES);
		assert_int_equal(client_mkdir(c, &dir, "e", NULL), NFS3ERR_ACCES);
		assert_int_equal(client_remove(c, NFS3_REMOVE, &dir, "f"), NFS3ERR_ACCES);
		assert_int_equal(client_rename(c, &dir, "f", &root, "f"), NFS3ERR_ACCES);
		c->gid = UINT32_MAX;
	}
	assert_int_equal(client_create(c, &root, "anonymous", NULL), NFS3_OK);
	assert_int_equal(c->res.create.attr.attr.uid, ANONYMOUS);
	assert_int_equal(c->res.create.attr.attr.gid, ANONYMOUS);
	/* The group is invalid, and the user is valid. */
	c->uid = 1000;
	assert_int_equal(client_create(c, &root, "groupless", &file), NFS3_OK);
	assert_int_equal(c->res.create.attr.attr.uid, 1000);
	assert_int_equal(c->res.create.attr.attr.gid, ANONYMOUS);
	assert_int_equal(client_read(c, &file, 0, 10), NFS3_OK);
}

/*
 * Checks that set-ID bits are cleared when a file's data change, whoever changes them, because the
 * program is then no longer that of its owner (write() and ftruncate() of POSIX).
 */
static void rights__a_change_takes_set_id_bits(void **state)
{
	struct nfs3_fh file;

	(void)state;
	assert_int_equal(client_create(c, &root, "f", &file), NFS3_OK);
	for (uint32_t uid = 1000; uid <= 2000; uid += 1000) {
		for (enum nfs3_stable stable = NFS3_UNSTABLE; stable <= NFS3_FILE_SYNC; stable++) {
			c->uid = c->gid = 1000;
			assert_int_equal(set_mode(&file, 06777), NFS3_OK);
			assert_int_equal(mode_of(&file), 06777);
			c->uid = c->gid = uid;
			assert_int_equal(client_write(c, &file, 0, 10, stable), NFS3_OK);
			assert_int_equal(c->res.write.wcc.after.attr.mode, 0777);
			assert_int_equal(mode_of(&file), 0777);
		}
		c->uid = c->gid = 1000;
		assert_int_equal(set_mode(&file, 06777), NFS3_OK);
		c->uid = c->gid = uid;
		assert_int_equal(client_truncate(c, &file, 3), NFS3_OK);
		assert_int_equal(mode_of(&file), 0777);
	}
	/* A READ does not clear these bits. */
	c->uid = c->gid = 1000;
	assert_int_equal(set_mode(&file, 06755), NFS3_OK);
	c->uid = c->gid = 2000;
	assert_int_equal(client_read(c, &file, 0, 3), NFS3_OK);
	assert_int_equal(mode_of(&file), 06755);
}

static enum nfs3_status make(uint32_t proc, const struct nfs3_fh *dir, const char *name,
			     const struct nfs3_sattr *attr, struct nfs3_fh *fh)
{
	enum nfs3_status status;

	memset(&c->args, 0, sizeof(c->args));
	c->args.dirop.dir = *dir;
	client_name(&c->args.dirop.name, name);
	if (proc == NFS3_CREATE) {
		c->args.create.mode = NFS3_UNCHECKED;
		c->args.create.attr = *attr;
	} else if (proc == NFS3_MKNOD) {
		c->args.mknod.type = NFS3_FIFO;
		c->args.mknod.attr = *attr;
	} else {
		c->args.mkdir.attr = *attr;
	}
	status = client_call(c, proc);
	if (status == NFS3_OK)
		*fh = c->res.create.fh.fh;
	return status;
}

static void expect_made(uint32_t proc, const struct nfs3_fh *dir, const struct nfs3_sattr *attr,
			uint32_t mode)
{
	struct nfs3_fh fh;

	assert_int_equal(make(proc, dir, "new", attr, &fh), NFS3_OK);
	assert_int_equal(c->res.create.attr.attr.mode, mode);
	assert_int_equal(mode_of(&fh), mode);
	if (attr->set_uid)
		assert_int_equal(c->res.getattr.attr.uid, attr->uid);
	if (attr->set_gid)
		assert_int_equal(c->res.getattr.attr.gid, attr->gid);
	assert_int_equal(
		client_remove(c, proc == NFS3_MKDIR ? NFS3_RMDIR : NFS3_REMOVE, dir, "new"),
		NFS3_OK);
}

/*
 * Checks that a new file gets its mode after its owner and its size, because a change of owner or
 * size clears the set-ID bits.
 */
static void rights__of_a_new_file_include_its_set_id_bits(void **state)
{
	static const uint32_t procs[] = {NFS3_CREATE, NFS3_MKDIR, NFS3_MKNOD};
	struct nfs3_sattr attr = {.set_mode = true, .mode = 06755};
	struct nfs3_fh shared;

	(void)state;
	/* CREATE sets size 0, and then also a group of which the user is a member. */
	attr.set_size = true;
	expect_made(NFS3_CREATE, &root, &attr, 06755);
	attr.set_gid = true;
	attr.gid = c->gid;
	expect_made(NFS3_CREATE, &root, &attr, 06755);
	/* The new file gets another owner, which only root can set. */
	c->uid = c->gid = 0;
	attr.set_uid = true;
	attr.uid = 1000;
	attr.gid = 2000;
	for (uint32_t i = 0; i < 3; i++) {
		attr.mode = 06755;
		attr.set_size = procs[i] == NFS3_CREATE;
		expect_made(procs[i], &root, &attr, 06755);
		attr.mode = 02710;
		expect_made(procs[i], &root, &attr, 02710);
		attr.mode = 0644;
		expect_made(procs[i], &root, &attr, 0644);
	}
	/*
	 * New objects in a set-group-ID directory get its group. Only a member of a file's group
	 * can set the set-group-ID bit of the file.
	 */
	attr = (struct nfs3_sattr){.set_mode = true, .mode = 02777, .set_gid = true, .gid = 3000};
	assert_int_equal(make(NFS3_MKDIR, &root, "shared", &attr, &shared), NFS3_OK);
	c->uid = c->gid = 1000;
	attr = (struct nfs3_sattr){.set_mode = true, .mode = 06755, .set_size = true};
	expect_made(NFS3_CREATE, &shared, &attr, 04755);
	attr.set_gid = true;
	attr.gid = 1000;
	expect_made(NFS3_CREATE, &shared, &attr, 06755);
	attr = (struct nfs3_sattr){.set_mode = true, .mode = 0755};
	expect_made(NFS3_MKDIR, &shared, &attr, 02755);
}

/*
 * Checks that a caller with the right to list a directory gets its names. To use the objects, the
 * caller needs the right to search the directory.
 */
static void rights__to_list_are_not_rights_to_search(void **state)
{
	struct nfs3_fh dir;

	(void)state;
	assert_int_equal(client_mkdir(c, &root, "d", &dir), NFS3_OK);
	assert_int_equal(client_create(c, &dir, "f", NULL), NFS3_OK);
	for (uint32_t bits = 0; bits < 8; bits++) {
		bool lists = (bits & 4) != 0, searches = (bits & 1) != 0;
		uint32_t seen = 0;

		c->uid = c->gid = 1000;
		assert_int_equal(set_mode(&dir, 0700 | bits), NFS3_OK);
		c->uid = c->gid = 2000;
		assert_int_equal(client_lookup(c, &dir, "f", NULL),
				 searches ? NFS3_OK : NFS3ERR_ACCES);
		assert_int_equal(client_readdir(c, &dir, false, 0, 4096),
				 lists ? NFS3_OK : NFS3ERR_ACCES);
		assert_int_equal(client_readdir(c, &dir, true, 0, 4096),
				 lists ? NFS3_OK : NFS3ERR_ACCES);
		for (uint32_t i = 0; lists && i < c->nentries; i++) {
			const struct nfs3_entryplus *entry = &c->entries[i];

			assert_true(searches || (!entry->fh.is_set && !entry->attr.is_set));
			if (entry->name.data[0] == 'f')
				assert_true(entry->fh.is_set == searches &&
					    entry->attr.is_set == searches);
			seen++;
		}
		assert_int_equal(seen, lists ? 3 : 0);
	}
}

/*
 * Checks RENAME of a directory to another parent. This changes the directory itself, so that the
 * caller needs the right to write to it.
 */
static void rights__to_move_a_directory(void **state)
{
	struct nfs3_fh from, to, dir;

	(void)state;
	assert_int_equal(client_mkdir(c, &root, "from", &from), NFS3_OK);
	assert_int_equal(client_mkdir(c, &root, "to", &to), NFS3_OK);
	assert_int_equal(set_mode(&from, 0777), NFS3_OK);
	assert_int_equal(set_mode(&to, 0777), NFS3_OK);
	assert_int_equal(client_mkdir(c, &from, "d", &dir), NFS3_OK);
	assert_int_equal(client_create(c, &from, "f", NULL), NFS3_OK);
	c->uid = c->gid = 2000;
	assert_int_equal(client_rename(c, &from, "d", &to, "d"), NFS3ERR_ACCES);
	assert_int_equal(client_rename(c, &from, "d", &from, "e"), NFS3_OK);
	assert_int_equal(client_rename(c, &from, "f", &to, "f"), NFS3_OK);
	c->uid = c->gid = 1000;
	assert_int_equal(set_mode(&dir, 0777), NFS3_OK);
	c->uid = c->gid = 2000;
	assert_int_equal(client_rename(c, &from, "e", &to, "d"), NFS3_OK);
}

/*
 * Checks a SETATTR with two changes, of which the caller has the right to make one. Neither is
 * made.
 */
static void rights__a_refused_group_leaves_the_data(void **state)
{
	struct nfs3_fattr attr;
	struct nfs3_fh file;

	(void)state;
	c->uid = c->gid = 1000;
	assert_int_equal(client_create(c, &root, "f", &file), NFS3_OK);
	assert_int_equal(client_write(c, &file, 0, 10, NFS3_UNSTABLE), NFS3_OK);
	memset(&c->args, 0, sizeof(c->args));
	c->args.setattr.fh = file;
	c->args.setattr.attr.set_size = c->args.setattr.attr.set_gid = true;
	c->args.setattr.attr.gid = 4;
	assert_int_equal(client_call(c, NFS3_SETATTR), NFS3ERR_PERM);
	assert_int_equal(client_getattr(c, &file, &attr), NFS3_OK);
	assert_int_equal(attr.size, 10);
	/*
	 * If both changes are allowed, the file has the requested mode, although the truncation
	 * clears set-ID bits.
	 */
	memset(&c->args, 0, sizeof(c->args));
	c->args.setattr.fh = file;
	c->args.setattr.attr.set_size = c->args.setattr.attr.set_mode = true;
	c->args.setattr.attr.mode = 04755;
	assert_int_equal(client_call(c, NFS3_SETATTR), NFS3_OK);
	assert_int_equal(mode_of(&file), 04755);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rights__of_ids_that_are_none, setup, teardown),
		cmocka_unit_test_setup_teardown(rights__a_change_takes_set_id_bits, setup,
						teardown),
		cmocka_unit_test_setup_teardown(rights__of_a_new_file_include_its_set_id_bits,
						setup_root, teardown),
		cmocka_unit_test_setup_teardown(rights__to_list_are_not_rights_to_search, setup,
						teardown),
		cmocka_unit_test_setup_teardown(rights__to_move_a_directory, setup, teardown),
		cmocka_unit_test_setup_teardown(rights__a_refused_group_leaves_the_data, setup,
						teardown),
	};

	client_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
