/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of arguments that no client should send, in each procedure and for each argument. */
#include <stdio.h>
#include <unistd.h>

#include "fixture.h"

/* ---- names ---- */

static const uint32_t named[] = {NFS3_LOOKUP, NFS3_CREATE, NFS3_MKDIR,	NFS3_SYMLINK, NFS3_MKNOD,
				 NFS3_REMOVE, NFS3_RMDIR,  NFS3_RENAME, NFS3_LINK};

#define NNAMED (sizeof(named) / sizeof(named[0]))

static void put_zeros(struct weir_xdr_out *out, uint32_t n)
{
	while (n-- > 0)
		weir_xdr_put_u32(out, 0);
}

/*
 * Calls 'proc' in the root, with a name that the encoder of the client would refuse. RENAME also
 * has the name 'second'.
 */
static void call_named(uint32_t proc, const void *name, uint32_t len, const void *second,
		       uint32_t second_len)
{
	static uint8_t raw[8192];
	struct weir_xdr_out out;

	weir_xdr_out_init(&out, raw, sizeof(raw));
	nfs3_fh_put(&out, &root);
	if (proc == NFS3_LINK)
		nfs3_fh_put(&out, &root);
	weir_xdr_put_opaque(&out, name, len);
	if (proc == NFS3_CREATE)
		put_zeros(&out, 1); /* UNCHECKED */
	else if (proc == NFS3_MKNOD)
		weir_xdr_put_u32(&out, NFS3_FIFO);
	if (proc == NFS3_CREATE || proc == NFS3_MKDIR || proc == NFS3_SYMLINK || proc == NFS3_MKNOD)
		put_zeros(&out, 6); /* no attributes */
	if (proc == NFS3_SYMLINK) {
		weir_xdr_put_opaque(&out, "to", 2);
	} else if (proc == NFS3_RENAME) {
		nfs3_fh_put(&out, &root);
		weir_xdr_put_opaque(&out, second, second_len);
	}
	assert_false(out.failed);
	client_call_raw(c, proc, raw, (uint32_t)weir_xdr_out_len(&out));
	assert_int_equal(c->status, 0);
}

static void expect_named(const void *name, uint32_t len, enum nfs3_status status)
{
	for (uint32_t i = 0; i < NNAMED; i++) {
		call_named(named[i], name, len, "good", 4);
		assert_int_equal(c->accept_stat, WEIR_RPC_SUCCESS);
		assert_int_equal(c->res.status, status);
	}
	call_named(NFS3_RENAME, "file", 4, name, len);
	assert_int_equal(c->accept_stat, WEIR_RPC_SUCCESS);
	assert_int_equal(c->res.status, status);
}

static void names__that_are_none_do_nothing(void **state)
{
	static const struct {
		const char *name;
		uint32_t len;
	} bad[] = {{"", 0},	   {"/", 1},  {"/etc", 4},   {"a/", 2},
		   {"../file", 7}, {"\0", 1}, {"file\0", 5}, {"a\0b", 3}};
	char name[255];

	(void)state;
	assert_int_equal(client_create(c, &root, "file", NULL), NFS3_OK);
	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_named(bad[i].name, bad[i].len, NFS3ERR_INVAL);
	/* The invalid byte is the last byte of the longest name. */
	memset(name, 'n', sizeof(name));
	name[254] = '/';
	expect_named(name, 255, NFS3ERR_INVAL);
	name[254] = '\0';
	expect_named(name, 255, NFS3ERR_INVAL);
	assert_int_equal(client_readdir(c, &root, false, 0, 8192), NFS3_OK);
	assert_int_equal(c->nentries, 3);
	assert_int_equal(client_lookup(c, &root, "file", NULL), NFS3_OK);
}

static void names__that_are_too_long_do_nothing(void **state)
{
	static char name[NFS3_PATH_MAX + 1];

	(void)state;
	memset(name, 'n', sizeof(name));
	assert_int_equal(client_create(c, &root, "file", NULL), NFS3_OK);
	expect_named(name, 256, NFS3ERR_NAMETOOLONG);
	expect_named(name, 257, NFS3ERR_NAMETOOLONG);
	expect_named(name, 3000, NFS3ERR_NAMETOOLONG);
	/* The name is longer than any name that the server decodes. */
	for (uint32_t i = 0; i < NNAMED; i++) {
		call_named(named[i], name, sizeof(name), "good", 4);
		assert_int_equal(c->accept_stat, WEIR_RPC_GARBAGE_ARGS);
	}
	assert_int_equal(client_readdir(c, &root, false, 0, 8192), NFS3_OK);
	assert_int_equal(c->nentries, 3);
}

static void names__of_255_bytes_work_everywhere(void **state)
{
	char names[8][255];
	struct nfs3_fh file;

	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		memset(names[i], (int)('a' + i), 255);
	call_named(NFS3_CREATE, names[0], 255, NULL, 0);
	assert_int_equal(c->res.status, NFS3_OK);
	file = c->res.create.fh.fh;
	call_named(NFS3_MKDIR, names[1], 255, NULL, 0);
	assert_int_equal(c->res.status, NFS3_OK);
	call_named(NFS3_SYMLINK, names[2], 255, NULL, 0);
	assert_int_equal(c->res.status, NFS3_OK);
	call_named(NFS3_MKNOD, names[3], 255, NULL, 0);
	assert_int_equal(c->res.status, NFS3_OK);
	memset(&c->args, 0, sizeof(c->args));
	c->args.link.fh = file;
	c->args.link.link.dir = root;
	c->args.link.link.name.len_bytes = 255;
	memcpy(c->args.link.link.name.data, names[4], 255);
	assert_int_equal(client_call(c, NFS3_LINK), NFS3_OK);
	call_named(NFS3_RENAME, names[4], 255, names[5], 255);
	assert_int_equal(c->res.status, NFS3_OK);
	call_named(NFS3_LOOKUP, names[5], 255, NULL, 0);
	assert_int_equal(c->res.status, NFS3_OK);
	assert_int_equal(client_readdir(c, &root, true, 0, 16384), NFS3_OK);
	assert_int_equal(c->nentries, 7);
	call_named(NFS3_RMDIR, names[1], 255, NULL, 0);
	assert_int_equal(c->res.status, NFS3_OK);
	call_named(NFS3_REMOVE, names[5], 255, NULL, 0);
	assert_int_equal(c->res.status, NFS3_OK);
}

/* ---- handles ---- */

/* Sets arguments of 'proc' that are valid except for the handles 'first' and 'second'. */
static void set_args(uint32_t proc, const struct nfs3_fh *first, const struct nfs3_fh *second)
{
	memset(&c->args, 0, sizeof(c->args));
	c->args.fh = *first;
	c->data_bytes = 1;
	if (proc == NFS3_LINK) {
		c->args.link.link.dir = *second;
		client_name(&c->args.link.link.name, "name");
		return;
	}
	for (uint32_t i = 0; i < NNAMED; i++)
		if (named[i] == proc)
			client_name(&c->args.dirop.name, "name");
	if (proc == NFS3_RENAME) {
		c->args.rename.to.dir = *second;
		client_name(&c->args.rename.to.name, "other");
	} else if (proc == NFS3_MKNOD) {
		c->args.mknod.type = NFS3_FIFO;
	} else if (proc == NFS3_READ) {
		c->args.read.count = 10;
	} else if (proc == NFS3_WRITE) {
		c->args.write.count = 10;
	} else if (proc == NFS3_READDIR || proc == NFS3_READDIRPLUS) {
		c->args.readdir.dircount = c->args.readdir.maxcount = 4096;
	}
}

static void handle__each_procedure_knows_a_stale_one(void **state)
{
	struct nfs3_fh stale[2];

	(void)state;
	assert_int_equal(client_create(c, &root, "f", &stale[0]), NFS3_OK);
	assert_int_equal(client_mkdir(c, &root, "d", &stale[1]), NFS3_OK);
	assert_int_equal(client_remove(c, NFS3_REMOVE, &root, "f"), NFS3_OK);
	assert_int_equal(client_remove(c, NFS3_RMDIR, &root, "d"), NFS3_OK);
	for (uint32_t i = 0; i < 2; i++) {
		for (uint32_t proc = NFS3_GETATTR; proc < NFS3_NPROCS; proc++) {
			set_args(proc, &stale[i], &root);
			assert_int_equal(client_call(c, proc), NFS3ERR_STALE);
		}
	}
}

/* Checks the second handle of the procedures that have two. */
static void handle__the_second_is_checked_as_well(void **state)
{
	struct nfs3_fh file, stale, forged = root, none = {0};

	(void)state;
	assert_int_equal(client_create(c, &root, "name", &file), NFS3_OK);
	assert_int_equal(client_mkdir(c, &root, "d", &stale), NFS3_OK);
	assert_int_equal(client_remove(c, NFS3_RMDIR, &root, "d"), NFS3_OK);
	forged.data[forged.len_bytes - 1] ^= 1;
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t proc = i ? NFS3_RENAME : NFS3_LINK;
		const struct nfs3_fh *first = i ? &root : &file;

		set_args(proc, first, &stale);
		assert_int_equal(client_call(c, proc), NFS3ERR_STALE);
		set_args(proc, first, &forged);
		assert_int_equal(client_call(c, proc), NFS3ERR_BADHANDLE);
		set_args(proc, first, &none);
		assert_int_equal(client_call(c, proc), NFS3ERR_BADHANDLE);
		set_args(proc, first, &file);
		assert_int_equal(client_call(c, proc), NFS3ERR_NOTDIR);
	}
	assert_int_equal(client_lookup(c, &root, "name", NULL), NFS3_OK);
	assert_int_equal(client_lookup(c, &root, "other", NULL), NFS3ERR_NOENT);
}

/* ---- counts ---- */

static void write__counts_that_differ_are_garbage(void **state)
{
	static const uint32_t counts[] = {0, 9, 11, 1u << 20, UINT32_MAX};
	struct nfs3_fh file;
	uint8_t raw[256];

	(void)state;
	assert_int_equal(client_create(c, &root, "f", &file), NFS3_OK);
	for (uint32_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct nfs3_write_head args = {file, 0, counts[i], NFS3_FILE_SYNC};
		struct weir_xdr_out out;

		weir_xdr_out_init(&out, raw, sizeof(raw));
		nfs3_write_head_put(&out, &args);
		weir_xdr_put_opaque(&out, "0123456789", 10);
		client_call_raw(c, NFS3_WRITE, raw, (uint32_t)weir_xdr_out_len(&out));
		assert_int_equal(c->status, 0);
		assert_int_equal(c->accept_stat, WEIR_RPC_GARBAGE_ARGS);
	}
	assert_int_equal(client_getattr(c, &file, NULL), NFS3_OK);
	assert_int_equal(c->res.getattr.attr.size, 0);
}

/* Checks a server whose profile permits fewer bytes than a READ or WRITE can ask for. */
static void counts__above_wtmax_are_cut(void **state)
{
	char path[96];
	char export[128];
	const char *args[] = {"--export", export, "--state", client_dir, "--profile", path, NULL};
	const uint32_t wtmax = 64u << 10, count = 200000;
	struct nfs3_fh file;
	FILE *profile;

	(void)state;
	snprintf(path, sizeof(path), "%s/small.ini", client_dir);
	profile = fopen(path, "w");
	assert_non_null(profile);
	fputs("[limits]\nwrite_bytes = 64k\n", profile);
	fclose(profile);
	client_export(export, sizeof(export));
	start(args);
	c->args.fh = root;
	assert_int_equal(client_call(c, NFS3_FSINFO), NFS3_OK);
	assert_int_equal(c->res.fsinfo.wtmax, wtmax);
	assert_int_equal(client_create(c, &root, "f", &file), NFS3_OK);
	for (uint32_t round = 0; round < 2; round++) {
		c->sends_inline = round == 1;
		memset(c->mem, 'x', count);
		assert_int_equal(client_write(c, &file, 1000, count, NFS3_UNSTABLE), NFS3_OK);
		assert_int_equal(c->res.write.count, wtmax);
		assert_int_equal(client_getattr(c, &file, NULL), NFS3_OK);
		assert_int_equal(c->res.getattr.attr.size, 1000 + wtmax);
		/* Data that arrived but were not accepted must not be in the file when it grows. */
		assert_int_equal(client_truncate(c, &file, 300000), NFS3_OK);
		c->sends_inline = false;
		for (uint32_t at = 1000; at < 250000; at += c->data_bytes) {
			assert_int_equal(client_read(c, &file, at, 60000), NFS3_OK);
			assert_true(c->data_bytes > 0);
			for (uint32_t i = 0; i < c->data_bytes; i++)
				assert_int_equal(c->data[i], at + i < 1000 + wtmax ? 'x' : 0);
		}
		assert_int_equal(client_truncate(c, &file, 0), NFS3_OK);
	}
	assert_int_equal(c->closed, 0);
}

/* ---- cookies ---- */

static void cookie__of_a_directory_that_is_gone(void **state)
{
	struct nfs3_fh dir;
	uint64_t cookie;

	(void)state;
	for (uint32_t plus = 0; plus < 2; plus++) {
		assert_int_equal(client_mkdir(c, &root, "d", &dir), NFS3_OK);
		assert_int_equal(client_readdir(c, &dir, plus, 0, 4096), NFS3_OK);
		assert_int_equal(c->nentries, 2);
		cookie = c->entries[0].cookie;
		assert_int_equal(client_remove(c, NFS3_RMDIR, &root, "d"), NFS3_OK);
		assert_int_equal(client_readdir(c, &dir, plus, cookie, 4096), NFS3ERR_STALE);
	}
}

static void cookie__of_an_entry_that_is_gone_goes_on_behind_it(void **state)
{
	struct nfs3_readdir_head res;
	uint32_t before, seen;
	uint64_t cookie;
	char name[16];

	(void)state;
	for (uint32_t i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		assert_int_equal(client_create(c, &root, name, NULL), NFS3_OK);
	}
	for (uint32_t plus = 0; plus < 2; plus++) {
		assert_int_equal(client_readdir(c, &root, plus, 0, 16384), NFS3_OK);
		res = c->res.readdir;
		before = c->nentries;
		/*
		 * The first entry that can be removed is removed. Later listings contain the
		 * entries after it, but not this one.
		 */
		for (seen = 0; c->entries[seen].name.data[0] != 'f'; seen++)
			;
		cookie = c->entries[seen].cookie;
		snprintf(name, sizeof(name), "%.*s", (int)c->entries[seen].name.len_bytes,
			 c->entries[seen].name.data);
		assert_int_equal(client_remove(c, NFS3_REMOVE, &root, name), NFS3_OK);
		c->res.readdir = res;
		assert_int_equal(client_readdir(c, &root, plus, cookie, 16384), NFS3_OK);
		assert_int_equal(c->nentries, before - seen - 1);
		assert_true(c->eof);
	}
}

static void cookie__that_never_was(void **state)
{
	static const uint64_t cookies[] = {UINT64_MAX, UINT64_MAX - 1, 1ull << 63, INT64_MAX};

	(void)state;
	for (uint32_t i = 0; i < sizeof(cookies) / sizeof(cookies[0]); i++) {
		for (uint32_t plus = 0; plus < 2; plus++) {
			assert_int_equal(client_readdir(c, &root, plus, 0, 4096), NFS3_OK);
			client_readdir(c, &root, plus, cookies[i], 4096);
			assert_true(c->res.status == NFS3ERR_BAD_COOKIE ||
				    (c->res.status == NFS3_OK && c->nentries == 0 && c->eof));
		}
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names__that_are_none_do_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(names__that_are_too_long_do_nothing, setup,
						teardown),
		cmocka_unit_test_setup_teardown(names__of_255_bytes_work_everywhere, setup,
						teardown),
		cmocka_unit_test_setup_teardown(handle__each_procedure_knows_a_stale_one, setup,
						teardown),
		cmocka_unit_test_setup_teardown(handle__the_second_is_checked_as_well, setup,
						teardown),
		cmocka_unit_test_setup_teardown(write__counts_that_differ_are_garbage, setup,
						teardown),
		cmocka_unit_test_setup_teardown(counts__above_wtmax_are_cut, setup_none, teardown),
		cmocka_unit_test_setup_teardown(cookie__of_a_directory_that_is_gone, setup,
						teardown),
		cmocka_unit_test_setup_teardown(cookie__of_an_entry_that_is_gone_goes_on_behind_it,
						setup, teardown),
		cmocka_unit_test_setup_teardown(cookie__that_never_was, setup, teardown),
	};

	client_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
