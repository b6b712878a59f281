/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of the application, as engines take it. */
#include "pair_main.h"

#include <stdio.h>
#include <string.h>
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

/* Where a driver can't expose memory that its owner may take away, the log says so, and what to do. */
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

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(add_region__says_when_memory_can_not_be_exposed, setup,
						teardown),
	};

	return cmocka_run_group_tests_name("regions", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
