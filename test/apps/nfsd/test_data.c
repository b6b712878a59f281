/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of READ, WRITE, COMMIT and sizes of files: data that were written are read back, at each
 * offset and with each kind of WRITE.
 */
#include "fixture.h"

#define WTMAX (1u << 20)

static struct nfs3_fh file;

static int setup_file(void **state)
{
	setup(state);
	assert_int_equal(client_create(c, &root, "file", &file), NFS3_OK);
	return 0;
}

static uint8_t byte_at(uint64_t offset, uint32_t seed)
{
	return (uint8_t)(offset * 7 + (offset >> 9) * 13 + seed);
}

static void fill(uint64_t offset, uint32_t count, uint32_t seed)
{
	for (uint32_t i = 0; i < count; i++)
		c->mem[i] = byte_at(offset + i, seed);
}

static void write_seed(uint64_t offset, uint32_t count, uint32_t seed)
{
	uint32_t done = 0;

	while (done < count) {
		uint32_t n = count - done < WTMAX ? count - done : WTMAX;

		fill(offset + done, n, seed);
		assert_int_equal(client_write(c, &file, offset + done, n, NFS3_UNSTABLE), NFS3_OK);
		assert_true(c->res.write.count > 0 && c->res.write.count <= n);
		done += c->res.write.count;
	}
}

/*
 * Reads the bytes from 'offset' on, by several calls if necessary, and checks all 'count' bytes.
 * With seed 0, all must be zeros.
 */
static void expect_seed(uint64_t offset, uint32_t count, uint32_t seed)
{
	uint32_t done = 0;

	while (done < count) {
		assert_int_equal(client_read(c, &file, offset + done, count - done), NFS3_OK);
		assert_int_equal(c->res.read.count, c->data_bytes);
		assert_true(c->data_bytes > 0 && c->data_bytes <= count - done);
		for (uint32_t i = 0; i < c->data_bytes; i++) {
			uint8_t expected = seed ? byte_at(offset + done + i, seed) : 0;

			if (c->data[i] != expected)
				fail_msg("byte %llu is %u, not %u",
					 (unsigned long long)(offset + done + i), c->data[i],
					 expected);
		}
		done += c->data_bytes;
	}
}

static uint64_t size_of(const struct nfs3_fh *fh)
{
	struct nfs3_fattr attr;

	assert_int_equal(client_getattr(c, fh, &attr), NFS3_OK);
	return attr.size;
}

static void write__each_length_is_read_back(void **state)
{
	static const uint32_t lengths[] = {1,	 2,    3,    4,	   5,	  7,	 8,	  511,
					   1000, 4095, 4096, 4097, 65535, 65536, 1000000, 1048576};
	uint64_t offset = 0;

	(void)state;
	for (uint32_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		write_seed(offset, lengths[i], i + 1);
		expect_seed(offset, lengths[i], i + 1);
		offset += lengths[i];
		assert_int_equal(size_of(&file), offset);
	}
	/* Reads all ranges again, to check that no WRITE has changed another range. */
	offset = 0;
	for (uint32_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		expect_seed(offset, lengths[i], i + 1);
		offset += lengths[i];
	}
}

static void write__without_chunks_goes_in_the_message(void **state)
{
	(void)state;
	c->sends_inline = true;
	write_seed(3, 100, 1);
	write_seed(103, 50001, 2);
	expect_seed(3, 100, 1);
	expect_seed(103, 50001, 2);
	c->sends_inline = false;
	expect_seed(3, 100, 1);
	expect_seed(103, 50001, 2);
	expect_seed(0, 3, 0);
}

static void write__overwrites_leave_neighbours_alone(void **state)
{
	(void)state;
	write_seed(0, 100000, 1);
	/* The lengths are not multiples of 4. The XDR padding must not be written to the file. */
	write_seed(50001, 5, 2);
	write_seed(70003, 4097, 3);
	expect_seed(0, 50001, 1);
	expect_seed(50001, 5, 2);
	expect_seed(50006, 70003 - 50006, 1);
	expect_seed(70003, 4097, 3);
	expect_seed(74100, 100000 - 74100, 1);
	assert_int_equal(size_of(&file), 100000);
}

static void write__behind_the_end_leaves_zeros(void **state)
{
	(void)state;
	write_seed(10, 10, 1);
	write_seed(5000000, 10, 2);
	expect_seed(0, 10, 0);
	expect_seed(10, 10, 1);
	expect_seed(20, 5000000 - 20, 0);
	expect_seed(5000000, 10, 2);
	write_seed(3000000, 100, 3);
	expect_seed(2000000, 1000000, 0);
	expect_seed(3000000, 100, 3);
	expect_seed(3000100, 5000000 - 3000100, 0);
}

static void truncate__what_comes_back_is_zeros(void **state)
{
	(void)state;
	write_seed(0, 3000000, 1);
	assert_int_equal(client_truncate(c, &file, 1500001), NFS3_OK);
	assert_int_equal(size_of(&file), 1500001);
	assert_int_equal(c->res.getattr.attr.size, 1500001);
	assert_int_equal(client_truncate(c, &file, 4000000), NFS3_OK);
	expect_seed(0, 1500001, 1);
	expect_seed(1500001, 4000000 - 1500001, 0);
	assert_int_equal(client_truncate(c, &file, 0), NFS3_OK);
	assert_int_equal(client_truncate(c, &file, 70000), NFS3_OK);
	expect_seed(0, 70000, 0);
}

/*
 * Checks files with holes. Holes read as zeros and take no space. Data near 2 GiB and 4 GiB are at
 * the offsets where they were written.
 */
static void sparse__files_beyond_2_and_4_gib(void **state)
{
	static const uint64_t offsets[] = {(1ull << 31) - 5, (1ull << 32) - 5,
					   (6ull << 30) + 12345};
	static const uint64_t holes[] = {
		0,	    (1ull << 31) - 5000, (1ull << 31) + 5000,  3ull << 30,
		5ull << 30, 7ull << 30,		 (1ull << 38) - 100000};
	struct nfs3_fattr attr;

	(void)state;
	assert_int_equal(client_truncate(c, &file, 1ull << 38), NFS3_OK);
	assert_int_equal(client_getattr(c, &file, &attr), NFS3_OK);
	assert_int_equal(attr.size, 1ull << 38);
	assert_true(attr.used < 1u << 16);
	for (uint32_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
		write_seed(offsets[i], 10, i + 1);
	for (uint32_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
		expect_seed(offsets[i], 10, i + 1);
	for (uint32_t i = 0; i < sizeof(holes) / sizeof(holes[0]); i++)
		expect_seed(holes[i], 4000, 0);
	expect_seed(8ull << 30, 3u << 20, 0);
	assert_int_equal(client_getattr(c, &file, &attr), NFS3_OK);
	assert_int_equal(attr.size, 1ull << 38);
	assert_true(attr.used < 8u << 20);
	assert_int_equal(client_truncate(c, &file, (1ull << 32) + 2), NFS3_OK);
	expect_seed((1ull << 32) - 5, 7, 2);
	assert_true(c->res.read.eof);
	assert_int_equal(client_truncate(c, &file, 1ull << 33), NFS3_OK);
	expect_seed((1ull << 32) + 2, 100000, 0);
	expect_seed(offsets[2], 10, 0);
	expect_seed(offsets[0], 10, 1);
}

static void read__at_and_behind_the_end(void **state)
{
	(void)state;
	assert_int_equal(client_read(c, &file, 0, 100), NFS3_OK);
	assert_int_equal(c->data_bytes, 0);
	assert_true(c->res.read.eof);
	write_seed(0, 1000, 1);
	assert_int_equal(client_read(c, &file, 0, 1000), NFS3_OK);
	assert_int_equal(c->data_bytes, 1000);
	assert_true(c->res.read.eof);
	assert_int_equal(client_read(c, &file, 0, 999), NFS3_OK);
	assert_false(c->res.read.eof);
	assert_int_equal(client_read(c, &file, 990, 100), NFS3_OK);
	assert_int_equal(c->data_bytes, 10);
	assert_true(c->res.read.eof);
	assert_int_equal(client_read(c, &file, 1000, 100), NFS3_OK);
	assert_int_equal(c->data_bytes, 0);
	assert_true(c->res.read.eof);
	assert_int_equal(client_read(c, &file, UINT64_MAX, 100), NFS3_OK);
	assert_int_equal(c->data_bytes, 0);
	assert_true(c->res.read.eof);
	assert_int_equal(client_read(c, &file, UINT64_MAX - 3, UINT32_MAX), NFS3_OK);
	assert_int_equal(c->data_bytes, 0);
	assert_int_equal(client_read(c, &file, 0, 0), NFS3_OK);
	assert_int_equal(c->data_bytes, 0);
	assert_false(c->res.read.eof);
}

static void write__offsets_near_2_to_64_are_too_big(void **state)
{
	static const uint64_t offsets[] = {UINT64_MAX, UINT64_MAX - 9, UINT64_MAX - 10, 1ull << 63,
					   (1ull << 63) - 5};

	(void)state;
	for (uint32_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		assert_int_equal(client_write(c, &file, offsets[i], 10, NFS3_FILE_SYNC),
				 NFS3ERR_FBIG);
		assert_true(c->res.write.wcc.after.is_set);
	}
	assert_int_equal(client_truncate(c, &file, UINT64_MAX), NFS3ERR_FBIG);
	assert_int_equal(size_of(&file), 0);
}

static void counts__above_rtmax_and_wtmax_are_cut(void **state)
{
	uint32_t rtmax, wtmax;

	(void)state;
	c->args.fh = root;
	assert_int_equal(client_call(c, NFS3_FSINFO), NFS3_OK);
	rtmax = c->res.fsinfo.rtmax;
	wtmax = c->res.fsinfo.wtmax;
	assert_in_range(rtmax, 4096, 1u << 20);
	assert_in_range(wtmax, 4096, 1u << 20);
	write_seed(0, 3u << 20, 1);
	assert_int_equal(client_read(c, &file, 0, 2u << 20), NFS3_OK);
	assert_in_range(c->data_bytes, 1, rtmax);
	assert_int_equal(client_read(c, &file, 0, UINT32_MAX), NFS3_OK);
	assert_in_range(c->data_bytes, 1, rtmax);
	/*
	 * A Read chunk that is larger than a buffer is refused with an error. The connection stays
	 * open, and the file is unchanged.
	 */
	fill(0, 3u << 20, 2);
	c->args.write = (struct nfs3_write_head){file, 0, 3u << 20, NFS3_UNSTABLE};
	client_try(c, NFS3_WRITE);
	assert_int_equal(c->status, -EREMOTEIO);
	expect_seed(0, 3u << 20, 1);
	assert_int_equal(c->closed, 0);
}

static void commit__answers_the_writes_verifier(void **state)
{
	uint8_t verf[NFS3_VERF_BYTES];

	(void)state;
	write_seed(0, 10000, 1);
	memcpy(verf, c->res.write.verf, sizeof(verf));
	for (enum nfs3_stable stable = NFS3_UNSTABLE; stable <= NFS3_FILE_SYNC; stable++) {
		assert_int_equal(client_write(c, &file, 0, 100, stable), NFS3_OK);
		assert_true(c->res.write.committed >= stable);
		assert_memory_equal(c->res.write.verf, verf, sizeof(verf));
		assert_true(c->res.write.wcc.after.is_set);
	}
	c->args.commit = (struct nfs3_commit_args){file, 0, 0};
	assert_int_equal(client_call(c, NFS3_COMMIT), NFS3_OK);
	assert_memory_equal(c->res.commit.verf, verf, sizeof(verf));
	c->args.commit = (struct nfs3_commit_args){file, UINT64_MAX, UINT32_MAX};
	assert_true(client_call(c, NFS3_COMMIT) == NFS3_OK || c->res.status == NFS3ERR_INVAL);
	c->args.commit = (struct nfs3_commit_args){root, 0, 0};
	assert_int_not_equal(client_call(c, NFS3_COMMIT), NFS3_OK);
}

static void data__of_what_is_no_file(void **state)
{
	(void)state;
	assert_int_equal(client_read(c, &root, 0, 10), NFS3ERR_ISDIR);
	assert_int_equal(client_write(c, &root, 0, 10, NFS3_UNSTABLE), NFS3ERR_ISDIR);
	assert_int_equal(client_symlink(c, &root, "link", "x", 1), NFS3_OK);
	assert_int_equal(client_read(c, &c->res.create.fh.fh, 0, 10), NFS3ERR_INVAL);
}

static void readlink__short_and_long_paths(void **state)
{
	static char path[4097];
	static const uint32_t lengths[] = {1, 2, 3, 4, 100, 1023, 4000, 4095};
	char name[8] = "l0";
	struct nfs3_fh fh;

	(void)state;
	memset(path, 'p', sizeof(path));
	for (uint32_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		name[1] = (char)('0' + i);
		assert_int_equal(client_symlink(c, &root, name, path, lengths[i]), NFS3_OK);
		fh = c->res.create.fh.fh;
		c->args.fh = fh;
		assert_int_equal(client_call(c, NFS3_READLINK), NFS3_OK);
		assert_int_equal(c->data_bytes, lengths[i]);
		assert_memory_equal(c->data, path, lengths[i]);
		c->sends_inline = true;
		c->args.fh = fh;
		assert_int_equal(client_call(c, NFS3_READLINK), NFS3_OK);
		assert_memory_equal(c->data, path, lengths[i]);
		c->sends_inline = false;
	}
	c->args.fh = file;
	assert_int_equal(client_call(c, NFS3_READLINK), NFS3ERR_INVAL);
}

/* Makes random WRITEs, READs and truncations, and compares the file with a copy in memory. */
static void data__random_operations_match_a_copy(void **state)
{
	static uint8_t copy[3u << 20];
	uint64_t size = 0, r = 88172645463325252ull;

	(void)state;
	memset(copy, 0, sizeof(copy));
	for (uint32_t round = 0; round < 1500; round++) {
		uint32_t len, offset, done = 0;

		r ^= r << 13;
		r ^= r >> 7;
		r ^= r << 17;
		len = (uint32_t)(r >> 40) % (round % 7 ? 5000 : 300000) + 1;
		offset = (uint32_t)(r & 0xffffffff) % ((3u << 20) - len);
		if (round % 5 < 2) {
			fill(offset, len, round);
			memcpy(copy + offset, c->mem, len);
			assert_int_equal(client_write(c, &file, offset, len, round % 3), NFS3_OK);
			if (c->res.write.count < len) {
				uint32_t rest = len - c->res.write.count;

				memmove(c->mem, c->mem + c->res.write.count, rest);
				assert_int_equal(
					client_write(c, &file, offset + len - rest, rest, 0),
					NFS3_OK);
				assert_int_equal(c->res.write.count, rest);
			}
			size = offset + len > size ? offset + len : size;
		} else if (round % 31 == 30) {
			assert_int_equal(client_truncate(c, &file, offset), NFS3_OK);
			if (offset < size)
				memset(copy + offset, 0, size - offset);
			size = offset;
		} else {
			while (offset + done < size && done < len) {
				assert_int_equal(client_read(c, &file, offset + done, len - done),
						 NFS3_OK);
				assert_true(c->data_bytes > 0 &&
					    offset + done + c->data_bytes <= size);
				assert_memory_equal(c->data, copy + offset + done, c->data_bytes);
				done += c->data_bytes;
			}
		}
	}
	assert_int_equal(size_of(&file), size);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(write__each_length_is_read_back, setup_file,
						teardown),
		cmocka_unit_test_setup_teardown(write__without_chunks_goes_in_the_message,
						setup_file, teardown),
		cmocka_unit_test_setup_teardown(write__overwrites_leave_neighbours_alone,
						setup_file, teardown),
		cmocka_unit_test_setup_teardown(write__behind_the_end_leaves_zeros, setup_file,
						teardown),
		cmocka_unit_test_setup_teardown(truncate__what_comes_back_is_zeros, setup_file,
						teardown),
		cmocka_unit_test_setup_teardown(sparse__files_beyond_2_and_4_gib, setup_file,
						teardown),
		cmocka_unit_test_setup_teardown(read__at_and_behind_the_end, setup_file, teardown),
		cmocka_unit_test_setup_teardown(write__offsets_near_2_to_64_are_too_big, setup_file,
						teardown),
		cmocka_unit_test_setup_teardown(counts__above_rtmax_and_wtmax_are_cut, setup_file,
						teardown),
		cmocka_unit_test_setup_teardown(commit__answers_the_writes_verifier, setup_file,
						teardown),
		cmocka_unit_test_setup_teardown(data__of_what_is_no_file, setup_file, teardown),
		cmocka_unit_test_setup_teardown(readlink__short_and_long_paths, setup_file,
						teardown),
		cmocka_unit_test_setup_teardown(data__random_operations_match_a_copy, setup_file,
						teardown),
	};

	client_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
