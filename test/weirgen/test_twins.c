/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the code of weirgen for two programs of one file with the same names (twins.x), between the
 * two engines of a pair. One listener has all of them. */
#include <string.h>

#include "pair_main.h"

#include "twins_rpc.h"

static struct pair pair;
static struct weir_listener *listener;
static struct weir_conn *conn;
static int opened;

/* How a call ended. */
struct ended {
	int done;
	int status; /* of the stub */
	int (*decode)(const struct weir_call *call, const struct weir_result *result,
		      int32_t *results);
	int32_t results;
};

static void on_left_read(struct weir_request *req, const int32_t *args, void *arg)
{
	int32_t results = *args + 1;

	(void)arg;
	assert_int_equal(twin_left_read_1_reply(req, &results), 0);
}

static void on_left_delete(struct weir_request *req, const struct twin_args *args, void *arg)
{
	int32_t results = args->class_ * args->word;

	(void)arg;
	assert_int_equal(delete_1_reply(req, &results), 0);
}

static void on_right_read(struct weir_request *req, const struct twin_args *args, void *arg)
{
	word results = args->class_ - args->word;

	(void)arg;
	assert_int_equal(twin_right_read_1_reply(req, &results), 0);
}

static void on_read_2(struct weir_request *req, const int32_t *args, void *arg)
{
	int32_t results = *args + 2;

	(void)arg;
	assert_int_equal(read_2_reply(req, &results), 0);
}

static void on_event(struct weir_conn *which, enum weir_conn_event event, int error, void *arg)
{
	(void)which;
	(void)error;
	(void)arg;
	if (event == WEIR_CONN_OPEN)
		opened++;
}

static int setup(void **state)
{
	static const struct twin_left_v1_handlers left_handlers = {
		.read = on_left_read,
		.delete_ = on_left_delete,
	};
	static const struct twin_right_v1_handlers right_handlers = {.read = on_right_read};
	static const struct v2_handlers handlers2 = {.read = on_read_2};
	static struct twin_left_v1_server left = {.handlers = &left_handlers};
	static struct twin_right_v1_server right = {.handlers = &right_handlers};
	static struct v2_server right2 = {.handlers = &handlers2};
	char addr[64];
	const struct weir_connect_options connect = {.struct_bytes = sizeof(connect),
						     .on_event = on_event};
	struct weir_program programs[] = {
		twin_left_v1_program(&left),
		twin_right_v1_program(&right),
		v2_program(&right2),
	};
	struct weir_listen_options listen = {
		.struct_bytes = sizeof(listen), .programs = programs, .nprograms = 3};

	(void)state;
	pair_start(&pair, NULL);
	pair_new_addr(addr, sizeof(addr));
	assert_int_equal(weir_listen(pair.server, addr, &listen, &listener), 0);
	opened = 0;
	assert_int_equal(weir_connect(pair.client, addr, &connect, &conn), 0);
	pair_until(&pair, &opened, 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	weir_listener_close(listener);
	pair_stop(&pair);
	return 0;
}

static void on_done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	struct ended *ended = arg;

	ended->status = ended->decode(call, result, &ended->results);
	ended->done = 1;
}

static struct weir_call_params params_of(struct ended *ended)
{
	struct weir_call_params params = {
		.struct_bytes = sizeof(params), .done = on_done, .arg = ended};

	return params;
}

static int32_t finish(struct weir_call *call, struct ended *ended)
{
	assert_non_null(call);
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &ended->done, 1);
	assert_int_equal(ended->status, 0);
	return ended->results;
}

static void programs__each_has_its_procedures(void **state)
{
	const int32_t number = 40;
	struct ended first = {.decode = twin_left_read_1_results};
	struct ended second = {.decode = twin_right_read_1_results};
	struct ended third = {.decode = read_2_results};
	struct weir_call_params params = params_of(&first);
	struct twin_args both = {.class_ = 5, .word = 7};

	(void)state;
	assert_int_equal(finish(twin_left_read_1_begin(conn, &params, &number), &first), 41);
	params = params_of(&second);
	assert_int_equal(finish(twin_right_read_1_begin(conn, &params, &both), &second), -2);
	params = params_of(&third);
	assert_int_equal(finish(read_2_begin(conn, &params, &number), &third), 42);
}

static void programs__members_are_renamed(void **state)
{
	struct ended ended = {.decode = delete_1_results};
	struct weir_call_params params = params_of(&ended);
	struct twin_args args = {.class_ = 6, .word = 7};

	(void)state;
	assert_int_equal(finish(delete_1_begin(conn, &params, &args), &ended), 42);
}

static int decode_left_null(const struct weir_call *call, const struct weir_result *result,
			    int32_t *results)
{
	(void)results;
	return twin_left_null_1_results(call, result);
}

static int decode_right_null(const struct weir_call *call, const struct weir_result *result,
			     int32_t *results)
{
	(void)results;
	return twin_right_null_1_results(call, result);
}

static void programs__null_is_answered(void **state)
{
	struct ended ended = {.decode = decode_left_null};
	struct weir_call_params params = params_of(&ended);

	(void)state;
	finish(twin_left_null_1_begin(conn, &params), &ended);
	ended = (struct ended){.decode = decode_right_null};
	finish(twin_right_null_1_begin(conn, &params), &ended);
}

static void programs__tables_are_their_own(void **state)
{
	(void)state;
	assert_int_equal(twin_left_v1_ulb.prog, TWIN_LEFT);
	assert_int_equal(twin_right_v1_ulb.prog, TWIN_RIGHT);
	assert_int_equal(v2_ulb.vers_low, V2);
	assert_string_equal(twin_left_v1_proc_name(TWIN_LEFT_READ), "READ");
	assert_string_equal(twin_left_v1_proc_name(TWIN_RIGHT_V1_READ), "?");
	assert_string_equal(twin_right_v1_proc_name(TWIN_RIGHT_V1_READ), "READ");
	assert_int_equal(TWIN_RIGHT_V2_READ, 1);
	assert_true(twin_right_v1_non_idempotent[TWIN_RIGHT_V1_READ]);
	assert_int_equal(DELETE, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int run(void)
{
	const struct CMUnitTest tests[] = {
		TEST(programs__each_has_its_procedures),
		TEST(programs__members_are_renamed),
		TEST(programs__null_is_answered),
		TEST(programs__tables_are_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
