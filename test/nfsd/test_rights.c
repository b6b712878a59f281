/* SPDX-License-Identifier: BSD-3-Clause */
/* What callers may do, and what becomes of a file's mode when they do it. */
#include "fixture.h"

#define ANONYMOUS 65534u

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

/* 2^32 - 1: a kernel takes it for "as before", and this server is root. */
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
	/* A group that is none, of one who is. */
	c->uid = 1000;
	assert_int_equal(client_create(c, &root, "groupless", &file), NFS3_OK);
	assert_int_equal(c->res.create.attr.attr.uid, 1000);
	assert_int_equal(c->res.create.attr.attr.gid, ANONYMOUS);
	assert_int_equal(client_read(c, &file, 0, 10), NFS3_OK);
}

/* A program that anyone changes is no longer its owner's word (POSIX's write() and ftruncate()). */
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
	/* Reading is no change. */
	c->uid = c->gid = 1000;
	assert_int_equal(set_mode(&file, 06755), NFS3_OK);
	c->uid = c->gid = 2000;
	assert_int_equal(client_read(c, &file, 0, 3), NFS3_OK);
	assert_int_equal(mode_of(&file), 06755);
}

/* Names are for who may list a directory; what they lead to is for who may search it. */
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
		assert_int_equal(client_lookup(c, &dir, "f", NULL), searches ? NFS3_OK : NFS3ERR_ACCES);
		assert_int_equal(client_readdir(c, &dir, false, 0, 4096), lists ? NFS3_OK : NFS3ERR_ACCES);
		assert_int_equal(client_readdir(c, &dir, true, 0, 4096), lists ? NFS3_OK : NFS3ERR_ACCES);
		for (uint32_t i = 0; lists && i < c->nentries; i++) {
			const struct nfs3_entry *entry = &c->entries[i];

			assert_true(searches || (!entry->fh.is_set && !entry->attr.is_set));
			if (entry->name.data[0] == 'f')
				assert_true(entry->fh.is_set == searches && entry->attr.is_set == searches);
			seen++;
		}
		assert_int_equal(seen, lists ? 3 : 0);
	}
}

/* A directory that gets another parent is changed itself, which takes the right to write to it. */
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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rights__of_ids_that_are_none, setup, teardown),
		cmocka_unit_test_setup_teardown(rights__a_change_takes_set_id_bits, setup, teardown),
		cmocka_unit_test_setup_teardown(rights__to_list_are_not_rights_to_search, setup, teardown),
		cmocka_unit_test_setup_teardown(rights__to_move_a_directory, setup, teardown),
	};

	client_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
