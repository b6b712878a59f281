/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of memory and threads that belong to the application: memory of malloc() and of mmap() that
 * is not of a memfd, as memory of the requester and of the responder; a thread that the application
 * has registered with EAL; and the signals of the application.
 */
#include "pair_main.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_lcore.h>
#include <rte_log.h>

#define BYTES	   (256u << 10) /* size of the memory */
#define DATA_BYTES 32768u	/* length of an item */
#define PLACE	   65536u	/* where the responder stores the data of WRITE */

enum kind { HEAP, ANONYMOUS, SHARED, NKINDS };

/* Memory of the application, and its region. */
struct foreign {
	enum kind kind;
	uint8_t *base;
	struct weir_region *region;
};

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

static uint8_t *allocate(enum kind kind)
{
	void *base = NULL;

	if (kind == HEAP) {
		assert_int_equal(posix_memalign(&base, 4096, BYTES), 0);
	} else {
		base = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			    MAP_ANONYMOUS | (kind == SHARED ? MAP_SHARED : MAP_PRIVATE), -1, 0);
		assert_ptr_not_equal(base, MAP_FAILED);
	}
	memset(base, 0, BYTES);
	return base;
}

/* Allocates memory and adds it to an engine. Returns what weir logs meanwhile, for free(). */
static char *foreign_make(struct foreign *foreign, enum kind kind, struct weir_engine *engine)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *log = open_memstream(&text, &bytes);

	assert_non_null(log);
	foreign->kind = kind;
	foreign->base = allocate(kind);
	assert_int_equal(weir_region_adopt(foreign->base, BYTES, -1, 0, &foreign->region), 0);
	rte_openlog_stream(log);
	assert_int_equal(weir_engine_add_region(engine, foreign->region), 0);
	rte_openlog_stream(NULL);
	fclose(log);
	return text;
}

static void foreign_end(struct foreign *foreign, struct weir_engine *engine)
{
	weir_engine_remove_region(engine, foreign->region);
	weir_region_destroy(foreign->region);
	if (foreign->kind == HEAP)
		free(foreign->base);
	else
		munmap(foreign->base, BYTES);
}

static void fill(uint8_t *base)
{
	for (uint32_t i = 0; i < DATA_BYTES; i++)
		base[i] = pair_byte(i);
}

static void expect_filled(const uint8_t *base)
{
	for (uint32_t i = 0; i < DATA_BYTES; i++)
		assert_int_equal(base[i], pair_byte(i));
}

/* Makes a call of WRITE whose data are in 'region', and waits for its end. */
static void write_from(const struct weir_region *region, const uint8_t *base)
{
	struct outcome outcome;
	struct weir_call_params params;
	struct weir_call *call;
	uint32_t checksum = 0; /* that of the responder */

	for (uint32_t i = 0; i < DATA_BYTES; i++)
		checksum = checksum * 33 + pair_byte(i);
	outcome_init(&outcome, &pair);
	params = pair_params(PAIR_WRITE, &outcome);
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), 1);
	assert_int_equal(weir_call_arg_item(call, region, base, DATA_BYTES), 0);
	weir_xdr_put_u32(weir_call_args(call), 2);
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(outcome.words[0], 3);
	assert_int_equal(outcome.words[1], DATA_BYTES);
	assert_int_equal(outcome.words[2], checksum);
}

/*
 * Makes a call of READ whose result is stored in 'region', and waits for its end. Returns 0, or the
 * error if the region cannot be offered.
 */
static int read_into(const struct weir_region *region, uint8_t *base)
{
	struct outcome outcome;
	struct weir_call_params params;
	struct weir_call *call;
	int rc;

	outcome_init(&outcome, &pair);
	params = pair_params(PAIR_READ, &outcome);
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), DATA_BYTES);
	rc = weir_call_result_item(call, region, base, DATA_BYTES);
	if (rc != 0) {
		weir_call_abandon(call);
		return rc;
	}
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	return 0;
}

/*
 * Checks memory of the requester. The driver shm cannot expose it: it copies arguments, it refuses
 * memory for results, and the log says which memory it needs.
 */
static void requester__uses_memory_of_the_application(void **state)
{
	const bool is_shm = strcmp(pair.driver, "shm") == 0;

	(void)state;
	pair_connect(&pair);
	pair.place_writes = true;
	for (enum kind kind = HEAP; kind < NKINDS; kind++) {
		struct foreign foreign;
		char *text = foreign_make(&foreign, kind, pair.client);

		assert_int_equal(strstr(text, "not of a memfd") != NULL, is_shm);
		assert_int_equal(strstr(text, "weir_region_create()") != NULL, is_shm);
		free(text);
		fill(foreign.base);
		memset(pair.server_mem + PLACE, 0, DATA_BYTES);
		write_from(foreign.region, foreign.base);
		/* Copied arguments are in the message, and have no place of their own. */
		if (!is_shm)
			expect_filled(pair.server_mem + PLACE);
		memset(foreign.base, 0, DATA_BYTES);
		assert_int_equal(read_into(foreign.region, foreign.base), is_shm ? -EOPNOTSUPP : 0);
		if (!is_shm)
			expect_filled(foreign.base);
		pair_settle(&pair);
		foreign_end(&foreign, pair.client);
	}
}

/*
 * Checks memory of the responder. No driver has to expose it, so that shm uses it without a copy:
 * the responder itself moves the data from and to the memory of the requester.
 */
static void responder__uses_memory_of_the_application(void **state)
{
	struct weir_region *region = pair.server_region;
	uint8_t *mem = pair.server_mem;

	(void)state;
	pair_connect(&pair);
	pair.place_writes = true;
	for (enum kind kind = HEAP; kind < NKINDS; kind++) {
		struct engine_counters before, after;
		struct foreign foreign;

		free(foreign_make(&foreign, kind, pair.server));
		pair.server_region = foreign.region;
		pair.server_mem = foreign.base;
		fill(foreign.base);
		memset(pair.client_mem, 0, DATA_BYTES);
		test_counters(pair.server, &before);
		assert_int_equal(read_into(pair.client_region, pair.client_mem), 0);
		expect_filled(pair.client_mem);
		write_from(pair.client_region, pair.client_mem);
		expect_filled(foreign.base + PLACE);
		test_counters(pair.server, &after);
		assert_int_equal(after.bulk_copies, before.bulk_copies);
		pair_settle(&pair);
		pair.server_region = region;
		pair.server_mem = mem;
		foreign_end(&foreign, pair.server);
	}
}

/* Creates, polls and destroys engines on this thread. */
static void use_engines(void)
{
	pair_start(&pair, NULL);
	pair_connect(&pair);
	for (uint32_t i = 0; i < 20; i++) {
		memset(pair.client_mem, 0, DATA_BYTES);
		assert_int_equal(read_into(pair.client_region, pair.client_mem), 0);
		expect_filled(pair.client_mem);
		write_from(pair.client_region, pair.client_mem);
	}
	pair_stop(&pair);
}

static void *registered(void *arg)
{
	assert_int_equal(rte_lcore_id(), LCORE_ID_ANY);
	assert_int_equal(rte_thread_register(), 0);
	assert_int_not_equal(rte_lcore_id(), LCORE_ID_ANY);
	use_engines();
	*(unsigned int *)arg = rte_lcore_id();
	rte_thread_unregister();
	assert_int_equal(rte_lcore_id(), LCORE_ID_ANY);
	/* The thread can also create engines after that. */
	use_engines();
	return NULL;
}

/*
 * Checks engines of a thread that the application has registered with EAL. A second thread gets the
 * lcore ID of the first, with the caches of EAL's memory pools that belong to it.
 */
static void engine__of_a_registered_thread(void **state)
{
	unsigned int lcores[2];
	pthread_t thread;

	(void)state;
	/* The first engine of a process starts EAL, and rte_thread_register() needs EAL. */
	use_engines();
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(pthread_create(&thread, NULL, registered, &lcores[i]), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
	}
	assert_int_equal(lcores[0], lcores[1]);
}

/* Returns the signals that a thread of this process blocks, as the bits of /proc. */
static uint64_t blocked_by(const char *tid)
{
	char path[64], line[128];
	uint64_t mask = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", tid);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, "SigBlk:", 7) == 0)
			mask = strtoull(line + 7, NULL, 16);
	fclose(file);
	return mask;
}

/*
 * Checks that signals to the process do not reach helper threads. Then a program can block signals
 * and read them from a signalfd, before or after it creates an engine.
 */
static void helper_threads__block_signals(void **state)
{
	static const int signals[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGCHLD};
	uint64_t want = 0, before;
	const struct dirent *entry;
	uint32_t nthreads = 0;
	char own[16];
	DIR *dir;

	(void)state;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		want |= UINT64_C(1) << (signals[i] - 1);
	snprintf(own, sizeof(own), "%d", gettid());
	before = blocked_by(own);
	pair_start(&pair, NULL);
	assert_int_equal(blocked_by(own), before);
	assert_int_equal(before & want, 0);
	dir = opendir("/proc/self/task");
	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.' || strcmp(entry->d_name, own) == 0)
			continue;
		assert_int_equal(blocked_by(entry->d_name) & want, want);
		nthreads++;
	}
	closedir(dir);
	assert_true(nthreads > 0);
	pair_stop(&pair);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(requester__uses_memory_of_the_application, setup,
						teardown),
		cmocka_unit_test_setup_teardown(responder__uses_memory_of_the_application, setup,
						teardown),
		cmocka_unit_test(helper_threads__block_signals),
		cmocka_unit_test(engine__of_a_registered_thread),
	};

	return cmocka_run_group_tests_name("foreign", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
