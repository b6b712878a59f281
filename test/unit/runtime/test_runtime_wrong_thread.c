/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of calls of the functions of a runtime from a wrong thread, in a build with checks of
 * threads. Each function says so and changes nothing. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include <weir/log.h>
#include <weir/runtime.h>

#define THREADS 2u

static struct weir_runtime *runtime;
static struct weir_runtime_mail mail;
static _Atomic uint32_t npolls[THREADS];
static _Atomic uint32_t nposted, nowners, ncreators;
static int watched_fd;

/* the results of the functions, and errno after each of them, of the latest try_all() */
static struct {
	int listen, start, watch;
	uint32_t poll;
	int errors[6];
} got;

static void count_line(void *arg, enum weir_log_level level, enum weir_log_category category,
		       const char *line)
{
	(void)arg, (void)level, (void)category;
	nowners += strstr(line, "owns the engine") != NULL;
	ncreators += strstr(line, "created the runtime") != NULL;
}

static uint32_t on_poll(struct weir_runtime *of, uint32_t thread, uint64_t now_ns, void *arg)
{
	(void)of, (void)now_ns, (void)arg;
	npolls[thread]++;
	return 0;
}

static void on_posted(struct weir_runtime_mail *posted)
{
	(void)posted;
	nposted++;
}

static void receive(struct weir_engine *engine, void *arg)
{
	(void)engine, (void)arg;
}

static int create(void)
{
	struct weir_profile profile;
	struct weir_runtime_options options = {
		.struct_bytes = sizeof(options), .nthreads = THREADS, .poll = on_poll};

	weir_profile_defaults(&profile);
	snprintf(profile.driver, sizeof(profile.driver), "%s", "shm");
	snprintf(profile.lcores, sizeof(profile.lcores), "%s", "any");
	profile.send_buffers = profile.recv_buffers = 128;
	profile.long_buffers = profile.bulk_buffers = 1;
	profile.idle = WEIR_IDLE_EVENT;
	return weir_runtime_create(&profile, &options, &runtime);
}

static void *create_here(void *result)
{
	*(int *)result = create();
	return NULL;
}

static int setup(void **state)
{
	(void)state;
	mail = (struct weir_runtime_mail){.fn = receive, .posted = on_posted};
	nposted = nowners = ncreators = 0;
	npolls[0] = npolls[1] = 0;
	watched_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return watched_fd < 0 || weir_log_set(count_line, NULL, WEIR_LOG_ERROR) != 0 ? -1 : 0;
}

static int setup_created(void **state)
{
	return setup(state) != 0 ? -1 : create();
}

static int teardown(void **state)
{
	(void)state;
	weir_runtime_destroy(runtime);
	close(watched_fd);
	return weir_log_set(NULL, NULL, WEIR_LOG_OFF);
}

/* Calls each function whose thread is checked. The wait ends at once in any case, because
 * weir_runtime_quit() was called. */
static void *try_all(void *arg)
{
	const struct weir_listen_options options = {.struct_bytes = sizeof(options)};

	memset(&got, 0, sizeof(got));
	errno = 0;
	got.listen = weir_runtime_listen(runtime, "weir-test-wrong-thread", &options);
	got.errors[0] = errno;
	errno = 0;
	got.start = weir_runtime_start(runtime);
	got.errors[1] = errno;
	errno = 0;
	weir_runtime_wait(runtime);
	got.errors[2] = errno;
	errno = 0;
	got.poll = weir_runtime_poll(runtime);
	got.errors[3] = errno;
	errno = 0;
	weir_runtime_send(runtime, 1, 0, &mail);
	got.errors[4] = errno;
	errno = 0;
	got.watch = weir_runtime_watch(runtime, 1, watched_fd);
	got.errors[5] = errno;
	return arg;
}

static void on_other_thread(void *(*body)(void *), void *arg)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, body, arg), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void runtime__each_function_refuses_another_thread(void **state)
{
	uint32_t before;

	(void)state;
	weir_runtime_quit(runtime);
	weir_runtime_poll(runtime); /* this thread owns all engines from here on */
	before = npolls[0];
	on_other_thread(try_all, NULL);
	assert_int_equal(got.listen, -EPERM);
	assert_int_equal(got.start, -EPERM);
	assert_int_equal(got.poll, 0);
	assert_int_equal(got.watch, -EPERM);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(got.errors[i], EPERM);
	assert_int_equal(ncreators, 2);
	assert_int_equal(nowners, 4);

	/* Nothing has changed: no thread has polled, the descriptor is not watched, no message
	 * was sent, and the threads have not started. */
	assert_int_equal(npolls[0], before);
	assert_int_equal(nposted, 0);
	assert_int_equal(weir_runtime_watch(runtime, 1, watched_fd), 0);
	assert_int_equal(weir_runtime_start(runtime), 0);
	assert_int_equal(weir_runtime_stop(runtime, 0), 0);
}

/* After the start, the engines belong to the threads of the runtime. */
static void runtime__running_engines_belong_to_their_threads(void **state)
{
	const struct weir_listen_options options = {.struct_bytes = sizeof(options)};

	(void)state;
	assert_int_equal(weir_runtime_start(runtime), 0);
	while (npolls[0] == 0 || npolls[1] == 0)
		sched_yield();
	assert_int_equal(weir_runtime_listen(runtime, "weir-test-wrong-thread", &options), -EPERM);
	assert_int_equal(weir_runtime_watch(runtime, 0, watched_fd), -EPERM);
	errno = 0;
	weir_runtime_send(runtime, 0, 1, &mail);
	assert_int_equal(errno, EPERM);
	assert_int_equal(nowners, 3);
	assert_int_equal(weir_runtime_stop(runtime, 1000), 0);
	assert_int_equal(nposted, 0);
	/* They belong to this thread again. */
	assert_int_equal(weir_runtime_watch(runtime, 0, watched_fd), 0);
}

/* After the creator has ended, any thread can use the runtime. */
static void runtime__its_creator_has_ended(void **state)
{
	int rc = -1;

	(void)state;
	on_other_thread(create_here, &rc);
	assert_int_equal(rc, 0);
	assert_int_equal(weir_runtime_start(runtime), 0);
	weir_runtime_quit(runtime);
	errno = 0;
	weir_runtime_wait(runtime);
	assert_int_not_equal(errno, EPERM);
	assert_int_equal(ncreators, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(runtime__each_function_refuses_another_thread,
						setup_created, teardown),
		cmocka_unit_test_setup_teardown(runtime__running_engines_belong_to_their_threads,
						setup_created, teardown),
		cmocka_unit_test_setup_teardown(runtime__its_creator_has_ended, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
