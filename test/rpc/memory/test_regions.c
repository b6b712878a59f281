/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of regions: memory of the application that is registered with an engine. */
#include "pair_main.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_log.h>

static struct pair pair;

static int setup(void **state)
{
	(void)state;
	pair_start(&pair, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

/*
 * Checks that a region is accepted if the driver cannot expose its memory because the owner of the
 * file can shrink it. The log says so, and names the correction.
 */
static void add_region__says_when_memory_can_not_be_exposed(void **state)
{
	struct weir_region *region;
	char *text = NULL;
	size_t bytes = 0;
	FILE *log;
	void *base;
	int fd;

	(void)state;
	fd = memfd_create("shrinks", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 8192), 0);
	base = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(base != MAP_FAILED);
	assert_int_equal(weir_region_adopt(base, 8192, fd, 0, &region), 0);
	log = open_memstream(&text, &bytes);
	assert_non_null(log);
	rte_openlog_stream(log);
	assert_int_equal(weir_engine_add_region(pair.client, region), 0);
	rte_openlog_stream(NULL);
	fclose(log);
	assert_int_equal(strstr(text, "F_SEAL_SHRINK") != NULL, strcmp(pair.driver, "shm") == 0);
	free(text);
	weir_engine_remove_region(pair.client, region);
	weir_region_destroy(region);
	munmap(base, 8192);
	close(fd);
}

/*
 * Checks which files can be exposed. With a region that is part of a file, peers would get access
 * to more than the region. With a file that cannot be written to, their access would be useless.
 */
static void add_region__exposes_no_more_than_the_region(void **state)
{
	static const struct {
		size_t file_bytes;
		uint64_t offset;
		int seals;
		bool is_exposed;
	} files[] = {
		{8192, 0, F_SEAL_SHRINK | F_SEAL_GROW, true},
		/*
		 * not sealed against growth: peers would also get the bytes by which the file grows
		 */
		{8192, 0, F_SEAL_SHRINK, false},
		{8192 + 4096, 0, F_SEAL_SHRINK | F_SEAL_GROW, false},
		{8192 + 4096, 4096, F_SEAL_SHRINK | F_SEAL_GROW, false},
		{8192, 0, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE, false},
	};
	bool is_shm = strcmp(pair.driver, "shm") == 0;

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		int fd = memfd_create("part", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		struct weir_region *region;
		struct weir_call *call;
		struct outcome outcome;
		struct weir_call_params params;
		void *base;

		assert_true(fd >= 0);
		assert_int_equal(ftruncate(fd, (off_t)files[i].file_bytes), 0);
		base = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			    (off_t)files[i].offset);
		assert_true(base != MAP_FAILED);
		assert_int_equal(fcntl(fd, F_ADD_SEALS, files[i].seals), 0);
		assert_int_equal(weir_region_adopt(base, 8192, fd, files[i].offset, &region), 0);
		assert_int_equal(weir_engine_add_region(pair.client, region), 0);
		if (i == 0)
			pair_connect(&pair);
		outcome_init(&outcome, &pair);
		params = pair_params(PAIR_READ, &outcome);
		call = weir_call_begin(pair.conn, &params);
		assert_non_null(call);
		assert_int_equal(weir_call_result_item(call, region, base, 4096),
				 is_shm && !files[i].is_exposed ? -EOPNOTSUPP : 0);
		weir_call_abandon(call);
		weir_engine_remove_region(pair.client, region);
		weir_region_destroy(region);
		munmap(base, 8192);
		close(fd);
	}
}

/*
 * Checks an argument in memory that the driver cannot expose. It is copied and counted if that is
 * possible. Otherwise the call is refused with a message that names the correction.
 */
static void arg_item__in_memory_that_can_not_be_exposed(void **state)
{
	const size_t bytes = 4u << 20;
	bool is_shm = strcmp(pair.driver, "shm") == 0;
	struct engine_counters before = {0};
	struct engine_counters after = {0};
	struct weir_call_params params;
	struct weir_region *region;
	struct outcome outcome;
	struct weir_call *call;
	char *text = NULL;
	size_t size = 0;
	FILE *log;
	void *base;

	(void)state;
	base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(base != MAP_FAILED);
	assert_int_equal(weir_region_adopt(base, bytes, -1, 0, &region), 0);
	log = open_memstream(&text, &size);
	assert_non_null(log);
	rte_openlog_stream(log);
	assert_int_equal(weir_engine_add_region(pair.client, region), 0);
	pair_connect(&pair);

	/* A result cannot be written to such memory. */
	outcome_init(&outcome, &pair);
	params = pair_params(PAIR_READ, &outcome);
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	assert_int_equal(weir_call_result_item(call, region, base, 4096), is_shm ? -EOPNOTSUPP : 0);
	weir_call_abandon(call);

	/* The argument is longer than the inline threshold, and shorter than a long buffer. */
	test_counters(pair.client, &before);
	params = pair_params(PAIR_WRITE, &outcome);
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), 1);
	assert_int_equal(weir_call_arg_item(call, region, base, 8192), 0);
	weir_xdr_put_u32(weir_call_args(call), 2);
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	test_counters(pair.client, &after);
	/*
	 * The extension of version 2 sends the argument in messages, without a chunk. Therefore it
	 * needs no copy into a long buffer.
	 */
	if (pair_extension == WEIR_EXTENSION_OFF)
		assert_int_equal(after.bulk_copies - before.bulk_copies, is_shm ? 1 : 0);

	/* The argument is too long to be copied. */
	outcome_init(&outcome, &pair);
	params = pair_params(PAIR_WRITE, &outcome);
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), 1);
	assert_int_equal(weir_call_arg_item(call, region, base, (uint32_t)bytes), 0);
	weir_xdr_put_u32(weir_call_args(call), 2);
	if (is_shm)
		assert_int_equal(weir_call_submit(call), -EOPNOTSUPP);
	weir_call_abandon(call);
	rte_openlog_stream(NULL);
	fclose(log);
	if (is_shm) {
		assert_non_null(strstr(text, "not of a memfd"));
		assert_non_null(strstr(text, "too long to be copied"));
		assert_non_null(strstr(text, "weir_region_create()"));
	}
	free(text);
	pair_settle(&pair);
	weir_engine_remove_region(pair.client, region);
	weir_region_destroy(region);
	munmap(base, bytes);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(add_region__says_when_memory_can_not_be_exposed,
						setup, teardown),
		cmocka_unit_test_setup_teardown(add_region__exposes_no_more_than_the_region, setup,
						teardown),
		cmocka_unit_test_setup_teardown(arg_item__in_memory_that_can_not_be_exposed, setup,
						teardown),
	};

	return cmocka_run_group_tests_name("regions", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
