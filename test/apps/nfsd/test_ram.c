/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of properties that only the back end 'ram' has: files that are much longer than their
 * export, whose blocks are counted, and an export that is full.
 */
#include <stdio.h>

#include "fixture.h"

#define MIB	   (1ull << 20)
#define FILE_MAX   (1ull << 40) /* the longest file (doc/weir-nfsd.rst) */
#define HOLES_MANY 300u

static struct nfs3_fh file;

static int setup_small(void **state)
{
	const char *args[] = {"--export", "vol=ram:8m", "--state", client_dir, NULL};

	(void)state;
	start(args);
	assert_int_equal(client_create(c, &root, "file", &file), NFS3_OK);
	return 0;
}

static uint64_t free_bytes(void)
{
	c->args.fh = root;
	assert_int_equal(client_call(c, NFS3_FSSTAT), NFS3_OK);
	assert_int_equal(c->res.fsstat.tbytes, 8 * MIB);
	assert_int_equal(c->res.fsstat.abytes, c->res.fsstat.fbytes);
	return c->res.fsstat.fbytes;
}

static uint64_t used_by(const struct nfs3_fh *fh)
{
	struct nfs3_fattr attr;

	assert_int_equal(client_getattr(c, fh, &attr), NFS3_OK);
	return attr.used;
}

static enum nfs3_status write_byte(const struct nfs3_fh *fh, uint64_t offset, uint8_t byte)
{
	c->mem[0] = byte;
	return client_write(c, fh, offset, 1, NFS3_UNSTABLE);
}

static void expect_byte(const struct nfs3_fh *fh, uint64_t offset, uint8_t byte)
{
	assert_int_equal(client_read(c, fh, offset, 1), NFS3_OK);
	assert_int_equal(c->data_bytes, 1);
	assert_int_equal(c->data[0], byte);
}

static void file__of_the_maximum_size(void **state)
{
	uint64_t free_before = free_bytes();

	(void)state;
	c->args.fh = root;
	assert_int_equal(client_call(c, NFS3_FSINFO), NFS3_OK);
	assert_int_equal(c->res.fsinfo.maxfilesize, FILE_MAX);
	assert_int_equal(client_truncate(c, &file, FILE_MAX + 1), NFS3ERR_FBIG);
	assert_int_equal(write_byte(&file, FILE_MAX, 1), NFS3ERR_FBIG);
	assert_int_equal(client_write(c, &file, FILE_MAX - 1, 2, NFS3_UNSTABLE), NFS3ERR_FBIG);
	assert_int_equal(client_truncate(c, &file, FILE_MAX), NFS3_OK);
	assert_int_equal(used_by(&file), 0);
	assert_int_equal(free_bytes(), free_before);
	assert_int_equal(write_byte(&file, FILE_MAX - 1, 7), NFS3_OK);
	assert_int_equal(used_by(&file), free_before - free_bytes());
	assert_in_range(used_by(&file), 1, MIB);
	expect_byte(&file, FILE_MAX - 1, 7);
	assert_true(c->res.read.eof);
	expect_byte(&file, FILE_MAX - 2, 0);
	expect_byte(&file, FILE_MAX / 2, 0);
	assert_int_equal(client_truncate(c, &file, FILE_MAX - 1), NFS3_OK);
	assert_int_equal(client_truncate(c, &file, 5), NFS3_OK);
	assert_int_equal(used_by(&file), 0);
	assert_int_equal(free_bytes(), free_before);
}

/* Checks that many files of 1 TiB without data take only their inodes. */
static void holes__of_many_files_take_nothing(void **state)
{
	uint64_t free_before = free_bytes();
	struct nfs3_fh fh;
	char name[16];

	(void)state;
	for (uint32_t i = 0; i < HOLES_MANY; i++) {
		snprintf(name, sizeof(name), "%u", i);
		assert_int_equal(client_create(c, &root, name, &fh), NFS3_OK);
		assert_int_equal(client_truncate(c, &fh, FILE_MAX), NFS3_OK);
		/* A truncation over many chunks of a file takes no longer than over one. */
		assert_int_equal(client_truncate(c, &fh, 1), NFS3_OK);
		assert_int_equal(client_truncate(c, &fh, FILE_MAX), NFS3_OK);
		expect_byte(&fh, FILE_MAX - 1, 0);
	}
	assert_int_equal(free_bytes(), free_before);
}

/*
 * Checks that a full export refuses only WRITEs that need another block, and that written data
 * stay.
 */
static void space__that_ends_loses_nothing(void **state)
{
	const uint64_t step = 2 * MIB;
	uint64_t n = 0, free_before = free_bytes();
	struct nfs3_fh other;

	(void)state;
	assert_int_equal(client_create(c, &root, "other", &other), NFS3_OK);
	assert_int_equal(client_truncate(c, &file, FILE_MAX), NFS3_OK);
	while (write_byte(&file, n * step, (uint8_t)(n + 1)) == NFS3_OK)
		n++;
	assert_int_equal(c->res.status, NFS3ERR_NOSPC);
	assert_int_equal(n, free_before / 4096);
	assert_int_equal(free_bytes(), 0);
	assert_int_equal(used_by(&file), free_before);
	assert_int_equal(write_byte(&other, 0, 1), NFS3ERR_NOSPC);
	assert_int_equal(write_byte(&file, 4096, 1), NFS3ERR_NOSPC);
	assert_int_equal(write_byte(&file, 1, 99), NFS3_OK);
	assert_int_equal(client_truncate(c, &other, FILE_MAX), NFS3_OK);
	expect_byte(&other, FILE_MAX - 1, 0);
	for (uint64_t i = 0; i < n; i++) {
		expect_byte(&file, i * step, (uint8_t)(i + 1));
		expect_byte(&file, i * step + 4096, 0);
	}
	expect_byte(&file, 1, 99);
	/* Space that a truncation freed can be used again. */
	assert_int_equal(client_truncate(c, &file, step), NFS3_OK);
	assert_int_equal(free_bytes(), free_before - 4096);
	assert_int_equal(write_byte(&other, FILE_MAX - 4096, 5), NFS3_OK);
	expect_byte(&other, FILE_MAX - 4096, 5);
	expect_byte(&file, 0, 1);
	assert_int_equal(client_remove(c, NFS3_REMOVE, &root, "file"), NFS3_OK);
	assert_int_equal(client_remove(c, NFS3_REMOVE, &root, "other"), NFS3_OK);
	assert_int_equal(free_bytes(), free_before);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_small, teardown)
	const struct CMUnitTest tests[] = {
		TEST(file__of_the_maximum_size),
		TEST(holes__of_many_files_take_nothing),
		TEST(space__that_ends_loses_nothing),
	};

	client_main(argc, argv);
	return cmocka_run_group_tests_name("nfsd_ram", tests, NULL, NULL);
}
