/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests captures of a pair: which connections they include, what ends them, and that
 * the connections then have no taps. If the environment variable WEIR_CAPTURE_FOLDER names a
 * folder, the capture of all procedures stays there, for another test that reads it by tshark.
 */
#include "pair_main.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/capture.h>

#include "conn.h"

static struct pair pair;
static char folder[64];
static char path[256];

static int setup(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "%s/capture.pcapng", folder);
	pair_start(&pair, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)weir_capture_stop(NULL);
	pair_stop(&pair);
	(void)unlink(path);
	return 0;
}

static struct weir_capture_options options_of(const char *name)
{
	return (struct weir_capture_options){
		.struct_bytes = sizeof(struct weir_capture_options),
		.path = name,
	};
}

static void start(struct weir_capture_options options)
{
	assert_int_equal(weir_capture_start(&options), 0);
}

static struct weir_capture_status stop(void)
{
	struct weir_capture_status status = {.struct_bytes = sizeof(status)};

	assert_int_equal(weir_capture_stop(&status), 0);
	return status;
}

static uint64_t file_bytes(void)
{
	struct stat stat_of;

	assert_int_equal(stat(path, &stat_of), 0);
	return (uint64_t)stat_of.st_size;
}

static void echo(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct outcome outcome;
		uint32_t words[] = {4, i};

		outcome_init(&outcome, &pair);
		pair_call(&pair, PAIR_ECHO, words, 2, &outcome);
		assert_int_equal(outcome.status, 0);
	}
}

static struct weir_call *begin_call(uint32_t proc, uint32_t results_max_bytes,
				    struct outcome *outcome)
{
	struct weir_call_params params;

	outcome_init(outcome, &pair);
	params = pair_params(proc, outcome);
	params.results_max_bytes = results_max_bytes;
	return weir_call_begin(pair.conn, &params);
}

static void finish_call(struct weir_call *call, struct outcome *outcome)
{
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &outcome->done, 1);
	assert_int_equal(outcome->status, 0);
}

/* Makes a call that reads 'len' bytes into a Write chunk. */
static void read_chunk(uint32_t len)
{
	struct outcome outcome;
	struct weir_call *call = begin_call(PAIR_READ, 4, &outcome);

	weir_xdr_put_u32(weir_call_args(call), len);
	assert_int_equal(weir_call_result_item(call, pair.client_region, pair.client_mem, len), 0);
	finish_call(call, &outcome);
}

/* Makes a call whose argument of 'len' bytes is a Read chunk. */
static void write_chunk(uint32_t len)
{
	struct outcome outcome;
	struct weir_call *call = begin_call(PAIR_WRITE, 12, &outcome);

	weir_xdr_put_u32(weir_call_args(call), 1);
	weir_xdr_put_u32(weir_call_args(call), len);
	assert_int_equal(weir_call_arg_item(call, pair.client_region, pair.client_mem, len), 0);
	weir_xdr_put_u32(weir_call_args(call), 2);
	finish_call(call, &outcome);
}

static void make_all_calls(void)
{
	echo(3);
	for (uint32_t len = 5000; len < 60000; len += 9001) {
		read_chunk(len);
		write_chunk(len);
	}
}

/* The first engine starts EAL, which goes on in later runs of the process. */
static void capture__before_the_first_engine(void **state)
{
	static bool is_later;
	struct weir_capture_options options = options_of("/none/capture.pcapng");

	(void)state;
	assert_int_equal(weir_capture_start(&options), is_later ? -ENOENT : -EAGAIN);
	is_later = true;
}

static void options__that_are_invalid(void **state)
{
	struct weir_capture_options options = options_of(NULL);
	struct weir_capture_status status = {.struct_bytes = sizeof(status)};

	(void)state;
	assert_int_equal(weir_capture_start(NULL), -EINVAL);
	assert_int_equal(weir_capture_start(&options), -EINVAL);
	options = options_of(path);
	options.max_bytes = 4095;
	assert_int_equal(weir_capture_start(&options), -EINVAL);
	options = options_of(path);
	options.ring_bytes = 65535;
	assert_int_equal(weir_capture_start(&options), -EINVAL);
	options = options_of(path);
	options.side = (enum weir_capture_side)3;
	assert_int_equal(weir_capture_start(&options), -EINVAL);
	options = options_of("/none/capture.pcapng");
	assert_int_equal(weir_capture_start(&options), -ENOENT);
	options = options_of(folder);
	assert_int_equal(weir_capture_start(&options), -EEXIST);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(weir_capture_stop(NULL), -ENOENT);
	assert_int_equal(weir_capture_status(&status), -ENOENT);
	assert_int_equal(weir_capture_engine(pair.client), -ENOENT);
}

static void capture__is_one_and_has_its_own_file(void **state)
{
	struct weir_capture_options options = options_of(path);
	struct stat stat_of;

	(void)state;
	start(options);
	assert_int_equal(weir_capture_start(&options), -EBUSY);
	stop();
	assert_int_equal(weir_capture_start(&options), -EEXIST);
	assert_int_equal(stat(path, &stat_of), 0);
	assert_int_equal(stat_of.st_mode & 0777, 0600);
}

static void capture__includes_both_sides(void **state)
{
	const char *kept = getenv("WEIR_CAPTURE_FOLDER");
	struct weir_capture_status status;

	(void)state;
	if (kept)
		snprintf(path, sizeof(path), "%s/%s.pcapng", kept, pair.driver);
	start(options_of(path));
	pair_connect(&pair);
	make_all_calls();
	status = stop();
	assert_int_equal(status.conns, 2);
	assert_int_equal(status.dropped, 0);
	assert_int_equal(status.end, 0);
	assert_int_equal(status.is_running, 0);
	assert_int_equal(status.bytes, file_bytes());
	/* the set-up of both connections, and each message twice */
	assert_true(status.frames >= 6 + 2 * 2 * 17);
	if (kept)
		path[0] = '\0';
}

/* Returns how many connections a capture of these options has. */
static uint64_t conns_of(struct weir_capture_options options)
{
	uint64_t n;

	(void)unlink(path);
	start(options);
	assert_int_equal(weir_capture_engine(pair.client), 0);
	assert_int_equal(weir_capture_engine(pair.server), 0);
	echo(2);
	n = stop().conns;
	return n;
}

static void capture__of_chosen_connections(void **state)
{
	struct weir_capture_options options = options_of(path);

	(void)state;
	pair_connect(&pair);
	assert_int_equal(conns_of(options), 2);
	options.side = WEIR_CAPTURE_REQUESTERS;
	assert_int_equal(conns_of(options), 1);
	options.side = WEIR_CAPTURE_RESPONDERS;
	assert_int_equal(conns_of(options), 1);
	options.conn_id = pair.conn->id;
	assert_int_equal(conns_of(options), 0);
	options.side = WEIR_CAPTURE_BOTH;
	assert_int_equal(conns_of(options), 1);
}

static void capture__without_the_engine_has_new_connections_only(void **state)
{
	struct weir_capture_status status;

	(void)state;
	pair_connect(&pair);
	start(options_of(path));
	echo(2);
	status = stop();
	assert_int_equal(status.conns, 0);
	assert_int_equal(status.frames, 0);
}

static void expect_untapped(const struct weir_engine *engine, const struct weir_conn *conn)
{
	const struct fabric_ops *driver = engine->dev->ops;

	assert_null(engine->capture);
	assert_null(conn->tap);
	assert_ptr_equal(conn->ep.on_wc, conn_on_wc);
	assert_ptr_equal(conn->ep.receiver.deliver, conn->role->deliver);
	assert_ptr_equal(engine->driver.post_send, driver->post_send);
	assert_ptr_equal(engine->driver.send_direct, driver->send_direct);
	assert_ptr_equal(engine->driver.write_direct, driver->write_direct);
	assert_ptr_equal(engine->driver.read_direct, driver->read_direct);
}

static void capture__that_has_ended_leaves_no_tap(void **state)
{
	(void)state;
	start(options_of(path));
	pair_connect(&pair);
	echo(2);
	assert_non_null(pair.conn->tap);
	assert_ptr_not_equal(pair.client->driver.post_send, pair.client->dev->ops->post_send);
	stop();
	echo(2);
	expect_untapped(pair.client, pair.conn);
	expect_untapped(pair.server, pair.server_conn);
}

static void engine__leaves_an_old_capture_for_a_new_one(void **state)
{
	(void)state;
	start(options_of(path));
	pair_connect(&pair);
	echo(1);
	stop();
	/* No message removes the taps between the two captures. */
	assert_int_equal(conns_of(options_of(path)), 2);
}

/* Makes calls until the capture has ended. */
static int wait_end(struct weir_capture_status *status)
{
	uint32_t polls = 0;

	do {
		echo(1);
		assert_true(pair_wait(&pair, polls++));
		assert_int_equal(weir_capture_status(status), 0);
	} while (status->is_running);
	return status->end;
}

static void capture__ends_at_the_length_of_its_file(void **state)
{
	struct weir_capture_status status = {.struct_bytes = sizeof(status)};
	struct weir_capture_options options = options_of(path);

	(void)state;
	options.max_bytes = 20000;
	start(options);
	pair_connect(&pair);
	assert_int_equal(wait_end(&status), -EOVERFLOW);
	assert_true(status.frames > 20);
	assert_true(file_bytes() <= 20000);
	assert_int_equal(status.bytes, file_bytes());
	assert_int_equal(weir_capture_stop(NULL), 0);
}

static void capture__ends_at_its_time_limit(void **state)
{
	struct weir_capture_status status = {.struct_bytes = sizeof(status)};
	struct weir_capture_options options = options_of(path);

	(void)state;
	options.max_seconds = 1;
	start(options);
	do {
		usleep(10000);
		assert_int_equal(weir_capture_status(&status), 0);
	} while (status.is_running);
	assert_int_equal(status.end, -ETIME);
	assert_int_equal(weir_capture_stop(NULL), 0);
}

/* A limit of the process stands for a full disk. */
static void capture__ends_if_the_file_cannot_be_written(void **state)
{
	struct weir_capture_status status = {.struct_bytes = sizeof(status)};
	struct rlimit before, limit;
	void (*handler)(int);

	(void)state;
	pair_connect(&pair);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = (struct rlimit){.rlim_cur = 8192, .rlim_max = before.rlim_max};
	handler = signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	start(options_of(path));
	assert_int_equal(weir_capture_engine(pair.client), 0);
	assert_int_equal(weir_capture_engine(pair.server), 0);
	assert_int_equal(wait_end(&status), -EFBIG);
	assert_int_equal(weir_capture_stop(NULL), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	(void)signal(SIGXFSZ, handler);
	assert_true(file_bytes() <= 8192);
	echo(2); /* the connection goes on */
}

static void payload__is_cut_off(void **state)
{
	struct weir_capture_options options = options_of(path);
	struct weir_capture_status status;

	(void)state;
	options.payload_bytes = 64;
	start(options);
	pair_connect(&pair);
	read_chunk(50000);
	status = stop();
	assert_int_equal(status.conns, 2);
	assert_true(status.frames >= 6 + 2 * 2 + 13);
	assert_true(status.bytes < 10000);
}

static void child__has_no_capture(void **state)
{
	struct weir_capture_status status;
	int wait_status;
	pid_t child;

	(void)state;
	start(options_of(path));
	pair_connect(&pair);
	child = fork();
	if (child == 0)
		_exit(weir_capture_stop(NULL) == -ENOENT ? 0 : 1);
	assert_int_equal(waitpid(child, &wait_status, 0), child);
	assert_int_equal(wait_status, 0);
	echo(2);
	status = stop();
	assert_int_equal(status.conns, 2);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		cmocka_unit_test(capture__before_the_first_engine),
		TEST(options__that_are_invalid),
		TEST(capture__is_one_and_has_its_own_file),
		TEST(capture__includes_both_sides),
		TEST(capture__of_chosen_connections),
		TEST(capture__without_the_engine_has_new_connections_only),
		TEST(capture__that_has_ended_leaves_no_tap),
		TEST(engine__leaves_an_old_capture_for_a_new_one),
		TEST(capture__ends_at_the_length_of_its_file),
		TEST(capture__ends_at_its_time_limit),
		TEST(capture__ends_if_the_file_cannot_be_written),
		TEST(payload__is_cut_off),
		TEST(child__has_no_capture),
	};
	int rc;

	snprintf(folder, sizeof(folder), "/tmp/weir-capture-XXXXXX");
	if (!mkdtemp(folder))
		return 1;
	rc = cmocka_run_group_tests_name("capture", tests, NULL, NULL);
	(void)rmdir(folder);
	return rc;
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
