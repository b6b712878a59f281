/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the size at the start of structures that the program fills in: each function reads the
 * structures of programs that were built with older or newer headers, and refuses sizes that were
 * not set, and members that this version does not know.
 */
#include "pair_main.h"

#include <errno.h>

#include <rte_log.h>

#include <weir/memory.h>

#include "pair_program.h"

#define EXTRA_BYTES 16u

/* Structures of a program with newer headers: the known part, and members that are not known. */
#define NEWER(tag)                                                                                 \
	struct {                                                                                   \
		struct tag known;                                                                  \
		uint8_t extra[EXTRA_BYTES];                                                        \
	}

static struct pair pair;

static int setup(void **state)
{
	(void)state;
	pair_start(&pair, NULL);
	pair_connect(&pair);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

/* The size of the profile in the first version, which had no later members. */
#define PROFILE_FIRST offsetof(struct weir_profile, telemetry)

/* The sizes that no version has, for a structure that had 'first' bytes in its first version. */
static size_t wrong_size(size_t first, uint32_t which)
{
	const size_t sizes[] = {0, 8, first - 1, SIZE_MAX};

	return sizes[which];
}
#define WRONG_SIZES 4u

/*
 * Tries a structure with each size. 'try_it' passes the structure to a function of weir, and
 * returns 0 or the negative errno of the function. 'bytes' is the size of the known part, and
 * 'first' its size in the first version.
 */
static void try_sizes(void *structure, size_t first, size_t bytes, int (*try_it)(void *structure))
{
	uint8_t *extra = (uint8_t *)structure + bytes;
	size_t size;

	for (uint32_t i = 0; i < WRONG_SIZES; i++) {
		size = wrong_size(first, i);
		memcpy(structure, &size, sizeof(size));
		assert_int_equal(try_it(structure), -EINVAL);
	}
	size = bytes + EXTRA_BYTES;
	memcpy(structure, &size, sizeof(size));
	memset(extra, 0, EXTRA_BYTES);
	assert_int_equal(try_it(structure), 0);
	for (uint32_t i = 0; i < EXTRA_BYTES; i++) {
		extra[i] = 1;
		assert_int_equal(try_it(structure), -E2BIG);
		extra[i] = 0;
	}
	memcpy(structure, &bytes, sizeof(bytes));
	memset(extra, 1, EXTRA_BYTES); /* not a part of the structure */
	assert_int_equal(try_it(structure), 0);
}

static int try_region(void *structure)
{
	struct weir_region *region = NULL;
	int rc = weir_region_create(structure, &region);

	if (rc == 0)
		weir_region_destroy(region);
	else
		assert_null(region);
	return rc;
}

static void struct_bytes__region_options(void **state)
{
	NEWER(weir_region_options)
	newer = {.known = {.len_bytes = 4096, .flags = WEIR_REGION_NO_HUGE, .numa_node = -1}};

	(void)state;
	try_sizes(&newer, sizeof(newer.known), sizeof(newer.known), try_region);
}

static int try_check(void *structure)
{
	char err[400] = "";
	int rc = weir_profile_check(structure, err, sizeof(err));

	if (rc != 0)
		assert_non_null(strstr(err, "weir_profile.struct_bytes is "));
	return rc;
}

static void struct_bytes__profile_check(void **state)
{
	NEWER(weir_profile) newer;

	(void)state;
	weir_profile_defaults(&newer.known);
	try_sizes(&newer, PROFILE_FIRST, sizeof(newer.known), try_check);
}

static int try_engine(void *structure)
{
	struct weir_engine *engine = NULL;
	int rc = weir_engine_create(structure, &engine);

	if (rc == 0)
		weir_engine_destroy(engine);
	else
		assert_null(engine);
	return rc;
}

static void struct_bytes__engine_create(void **state)
{
	NEWER(weir_profile) newer = {.known = pair.profile};

	(void)state;
	try_sizes(&newer, PROFILE_FIRST, sizeof(newer.known), try_engine);
}

/* A profile gets its defaults whatever size it has, and nothing is written after its end. */
static void struct_bytes__profile_init(void **state)
{
	NEWER(weir_profile) newer;
	struct weir_profile defaults;

	(void)state;
	weir_profile_defaults(&defaults);
	assert_int_equal(defaults.struct_bytes, sizeof(defaults));
	memset(&newer, 0x5a, sizeof(newer));
	assert_int_equal(weir_profile_init(&newer.known, PROFILE_FIRST - 1), -EINVAL);
	assert_int_equal(weir_profile_init(&newer.known, 0), -EINVAL);
	assert_int_equal(((const uint8_t *)&newer)[0], 0x5a);
	assert_int_equal(weir_profile_init(&newer.known, sizeof(newer.known)), 0);
	assert_memory_equal(&newer.known, &defaults, sizeof(defaults));
	for (uint32_t i = 0; i < EXTRA_BYTES; i++)
		assert_int_equal(newer.extra[i], 0x5a);
	assert_int_equal(weir_profile_init(&newer.known, sizeof(newer)), 0);
	assert_int_equal(newer.known.struct_bytes, sizeof(newer));
	for (uint32_t i = 0; i < EXTRA_BYTES; i++)
		assert_int_equal(newer.extra[i], 0);
}

static void struct_bytes__profile_load(void **state)
{
	NEWER(weir_profile) newer;
	char err[400] = "";

	(void)state;
	memset(&newer, 0x5a, sizeof(newer));
	for (uint32_t i = 0; i < WRONG_SIZES; i++) {
		newer.known.struct_bytes = wrong_size(PROFILE_FIRST, i);
		assert_int_equal(weir_profile_load("/nonexistent", &newer.known, err, sizeof(err)),
				 -EINVAL);
		assert_non_null(strstr(err, "weir_profile.struct_bytes is "));
		assert_int_equal(newer.known.credits, 0x5a5a5a5a);
	}
}

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	(void)conn;
	(void)error;
	(void)arg;
	assert_int_equal(event, WEIR_CONN_CLOSED);
}

static int try_connect(void *structure)
{
	struct weir_conn *conn = NULL;
	int rc = weir_connect(pair.client, pair.addr, structure, &conn);

	if (rc == 0)
		weir_conn_close(conn);
	else
		assert_null(conn);
	pair_settle(&pair);
	return rc;
}

static void struct_bytes__connect_options(void **state)
{
	NEWER(weir_connect_options) newer = {.known = {.on_event = on_event}};

	(void)state;
	try_sizes(&newer, sizeof(newer.known), sizeof(newer.known), try_connect);
}

static void handle(struct weir_request *req, void *arg)
{
	(void)arg;
	weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
}

static const struct weir_program program = {.struct_bytes = sizeof(program),
					    .prog = PAIR_PROG,
					    .vers_low = 1,
					    .vers_high = 1,
					    .nprocs = 1,
					    .handle = handle};

static int try_listen(void *structure)
{
	struct weir_listener *listener = NULL;
	char addr[64];
	int rc;

	pair_new_addr(addr, sizeof(addr));
	rc = weir_listen(pair.server, addr, structure, &listener);
	if (rc == 0)
		weir_listener_close(listener);
	else
		assert_null(listener);
	pair_settle(&pair);
	return rc;
}

static void struct_bytes__listen_options(void **state)
{
	NEWER(weir_listen_options) newer = {.known = {.programs = &program, .nprograms = 1}};

	(void)state;
	try_sizes(&newer, sizeof(newer.known), sizeof(newer.known), try_listen);
}

static int try_program(void *structure)
{
	struct weir_listen_options options = {
		.struct_bytes = sizeof(options), .programs = structure, .nprograms = 1};

	return try_listen(&options);
}

static void struct_bytes__program(void **state)
{
	NEWER(weir_program) newer = {.known = program};

	(void)state;
	try_sizes(&newer, sizeof(newer.known), sizeof(newer.known), try_program);
}

/* The programs of an array are as far apart as the first one says, and all say the same. */
static void struct_bytes__programs(void **state)
{
	NEWER(weir_program) newer[2] = {{.known = program}, {.known = program}};
	struct weir_listen_options options = {
		.struct_bytes = sizeof(options), .programs = &newer[0].known, .nprograms = 2};
	const struct weir_program *second = &newer[1].known;

	(void)state;
	newer[0].known.struct_bytes = newer[1].known.struct_bytes = sizeof(newer[0]);
	newer[1].known.vers_low = newer[1].known.vers_high = 2;
	assert_int_equal(try_listen(&options), 0);
	newer[1].known.struct_bytes = sizeof(*second);
	assert_int_equal(try_listen(&options), -EINVAL);
	newer[1].known.struct_bytes = sizeof(newer[0]);
	newer[1].extra[EXTRA_BYTES - 1] = 1;
	assert_int_equal(try_listen(&options), -E2BIG);
	options.programs = NULL;
	assert_int_equal(try_listen(&options), -EINVAL);
	assert_int_equal(try_listen(NULL), -EINVAL);
}

static int try_binding_of_program(void *structure)
{
	struct weir_program bound = program;

	bound.ulb = structure;
	return try_program(&bound);
}

static int try_begin(void *structure)
{
	struct weir_call *call;

	errno = 0;
	call = weir_call_begin(pair.conn, structure);
	if (!call)
		return -errno;
	weir_call_abandon(call);
	return 0;
}

static int try_binding_of_call(void *structure)
{
	struct outcome outcome;
	struct weir_call_params params;

	outcome_init(&outcome, &pair);
	params = pair_params(PAIR_NULL, &outcome);
	params.ulb = structure;
	return try_begin(&params);
}

static void struct_bytes__binding(void **state)
{
	NEWER(weir_ulb) newer = {.known = {.name = "test", .prog = PAIR_PROG}};

	(void)state;
	try_sizes(&newer, sizeof(newer.known), sizeof(newer.known), try_binding_of_program);
	try_sizes(&newer, sizeof(newer.known), sizeof(newer.known), try_binding_of_call);
}

static void struct_bytes__call_params(void **state)
{
	NEWER(weir_call_params) newer;
	struct outcome outcome;

	(void)state;
	outcome_init(&outcome, &pair);
	newer.known = pair_params(PAIR_NULL, &outcome);
	try_sizes(&newer, sizeof(newer.known), sizeof(newer.known), try_begin);
}

/* Calls with parameters of a program with newer headers do what they say. */
static void struct_bytes__call_runs(void **state)
{
	NEWER(weir_call_params) newer = {0};
	NEWER(weir_ulb) binding = {.known = pair_ulb};
	struct outcome outcome;
	struct weir_call *call;

	(void)state;
	binding.known.struct_bytes = sizeof(binding);
	outcome_init(&outcome, &pair);
	newer.known = pair_params(PAIR_NULL, &outcome);
	newer.known.struct_bytes = sizeof(newer);
	newer.known.ulb = &binding.known;
	call = weir_call_begin(pair.conn, &newer.known);
	assert_non_null(call);
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
}

/* The log says which structure is wrong, and what to do. */
static void struct_bytes__log(void **state)
{
	struct weir_connect_options options = {.on_event = on_event};
	struct weir_conn *conn;
	char *text = NULL;
	size_t bytes = 0;
	FILE *log = open_memstream(&text, &bytes);

	(void)state;
	assert_non_null(log);
	assert_int_equal(rte_openlog_stream(log), 0);
	assert_int_equal(weir_connect(pair.client, pair.addr, &options, &conn), -EINVAL);
	rte_openlog_stream(NULL);
	fclose(log);
	assert_non_null(strstr(text, "weir_connect_options.struct_bytes is 0"));
	assert_non_null(strstr(text, "to sizeof(struct weir_connect_options)"));
	free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int run(void)
{
	const struct CMUnitTest tests[] = {
		TEST(struct_bytes__region_options),
		TEST(struct_bytes__profile_check),
		TEST(struct_bytes__engine_create),
		TEST(struct_bytes__profile_init),
		TEST(struct_bytes__profile_load),
		TEST(struct_bytes__connect_options),
		TEST(struct_bytes__listen_options),
		TEST(struct_bytes__program),
		TEST(struct_bytes__programs),
		TEST(struct_bytes__binding),
		TEST(struct_bytes__call_params),
		TEST(struct_bytes__call_runs),
		TEST(struct_bytes__log),
	};

	return cmocka_run_group_tests_name("struct_bytes", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
