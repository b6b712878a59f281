/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of messages between the threads of a runtime, and of what wakes a thread. */
#include <errno.h>
#include <pthread.h>
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

#include <weir/runtime.h>

#define THREADS 2u
#define MAILS	5000u /* more than a mailbox has room for */
#define LAPS	2000u

struct numbered {
	struct weir_runtime_mail mail;
	uint32_t number, from;
};

static struct weir_runtime *runtime;
static _Thread_local uint32_t self = UINT32_MAX;
static struct numbered mails[THREADS][MAILS];
/* received[i] and last[i] belong to thread i; posted[i], too */
static uint32_t received[THREADS], posted[THREADS];
static _Atomic bool is_complete[THREADS];
static _Atomic uint32_t npolls[THREADS], nlaps, nwoken;
static int woken_fd = -1;

static int on_init(struct weir_runtime *of, uint32_t thread, void *arg)
{
	(void)of;
	(void)arg;
	self = thread;
	return 0;
}

static uint32_t on_poll(struct weir_runtime *of, uint32_t thread, uint64_t now_ns, void *arg)
{
	uint64_t count;

	(void)of;
	(void)arg;
	assert_true(now_ns > 0);
	atomic_fetch_add(&npolls[thread], 1);
	if (thread != 1 || woken_fd < 0 || read(woken_fd, &count, sizeof(count)) < 0)
		return 0;
	atomic_fetch_add(&nwoken, 1);
	return 1;
}

static int setup(void **state)
{
	struct weir_profile profile;
	struct weir_runtime_options options = {
		.struct_bytes = sizeof(options),
		.nthreads = THREADS,
		.init = on_init,
		.poll = on_poll,
	};

	(void)state;
	memset(received, 0, sizeof(received));
	memset(posted, 0, sizeof(posted));
	for (uint32_t i = 0; i < THREADS; i++)
		is_complete[i] = false;
	nlaps = nwoken = npolls[0] = npolls[1] = 0;
	weir_profile_defaults(&profile);
	snprintf(profile.driver, sizeof(profile.driver), "%s", "shm");
	snprintf(profile.lcores, sizeof(profile.lcores), "%s", "any");
	profile.send_buffers = profile.recv_buffers = 128;
	profile.long_buffers = profile.bulk_buffers = 1;
	profile.idle = WEIR_IDLE_EVENT;
	return weir_runtime_create(&profile, &options, &runtime);
}

static int teardown(void **state)
{
	(void)state;
	weir_runtime_destroy(runtime);
	return 0;
}

static void on_posted(struct weir_runtime_mail *mail)
{
	const struct numbered *numbered = (struct numbered *)mail;

	/* Messages leave in order, on the thread that sent them. */
	if (self != UINT32_MAX)
		assert_int_equal(self, numbered->from);
	assert_int_equal(posted[numbered->from]++, numbered->number);
}

static void on_received(struct weir_engine *engine, void *arg)
{
	const struct numbered *numbered = arg;
	uint32_t to = 1 - numbered->from;

	assert_int_equal(weir_runtime_find(runtime, engine), to);
	if (self != UINT32_MAX)
		assert_int_equal(self, to);
	assert_int_equal(received[to]++, numbered->number);
	if (received[to] == MAILS) {
		atomic_store(&is_complete[to], true);
		if (atomic_load(&is_complete[1 - to]))
			weir_runtime_quit(runtime);
	}
}

/* Runs on each thread, and sends all messages at once. */
static void send_all(struct weir_engine *engine, void *arg)
{
	uint32_t from = (uint32_t)weir_runtime_find(runtime, engine);

	(void)arg;
	for (uint32_t i = 0; i < MAILS; i++) {
		struct numbered *numbered = &mails[from][i];

		*numbered = (struct numbered){
			.mail = {.fn = on_received, .arg = numbered, .posted = on_posted},
			.number = i,
			.from = from};
		weir_runtime_send(runtime, from, 1 - from, &numbered->mail);
	}
}

static void post_send_all(void)
{
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(weir_engine_post(weir_runtime_engine(runtime, i), send_all, NULL),
				 0);
}

static void mail__arrives_in_order(void **state)
{
	(void)state;
	assert_int_equal(weir_runtime_start(runtime), 0);
	post_send_all();
	weir_runtime_wait(runtime);
	assert_int_equal(weir_runtime_stop(runtime, 10000), 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		assert_int_equal(received[i], MAILS);
		assert_int_equal(posted[i], MAILS);
	}
}

/* The stop waits for messages that are under way. */
static void mail__arrives_before_the_stop(void **state)
{
	(void)state;
	assert_int_equal(weir_runtime_start(runtime), 0);
	post_send_all();
	assert_int_equal(weir_runtime_stop(runtime, 60000), 0);
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(received[i], MAILS);
	assert_true(weir_runtime_is_stopping(runtime));
}

/* Without threads, the caller polls. */
static void mail__arrives_without_threads(void **state)
{
	(void)state;
	post_send_all();
	while (weir_runtime_poll(runtime) > 0)
		;
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(received[i], MAILS);
}

static void run_never(struct weir_engine *engine, void *arg)
{
	(void)engine;
	(void)arg;
	fail();
}

/* A message from or to a thread that does not exist is dropped. */
static void mail__without_a_thread_is_dropped(void **state)
{
	static struct weir_runtime_mail mail = {.fn = run_never};

	(void)state;
	weir_runtime_send(runtime, 0, THREADS, &mail);
	weir_runtime_send(runtime, THREADS, 0, &mail);
	weir_runtime_send(runtime, UINT32_MAX, UINT32_MAX, &mail);
	while (weir_runtime_poll(runtime) > 0)
		;
}

static _Atomic int stop_result, destroy_error;

/* Runs on a thread of the runtime, which can't wait for its own end. */
static void stop_here(struct weir_engine *engine, void *arg)
{
	(void)engine;
	(void)arg;
	stop_result = weir_runtime_stop(runtime, 60000);
	errno = 0;
	weir_runtime_destroy(runtime);
	destroy_error = errno;
	weir_runtime_quit(runtime);
}

static void destroy_here(struct weir_engine *engine, void *arg)
{
	(void)engine;
	(void)arg;
	errno = 0;
	weir_runtime_destroy(runtime);
	destroy_error = errno;
}

static void destroy__in_a_poll_is_refused(void **state)
{
	(void)state;
	destroy_error = 0;
	assert_int_equal(weir_engine_post(weir_runtime_engine(runtime, 0), destroy_here, NULL), 0);
	while (weir_runtime_poll(runtime) > 0)
		;
	assert_int_equal(destroy_error, EDEADLK);
	assert_int_equal(weir_runtime_threads(runtime), THREADS);
}

static void stop__by_its_own_thread_is_refused(void **state)
{
	(void)state;
	stop_result = destroy_error = 0;
	assert_int_equal(weir_runtime_start(runtime), 0);
	assert_int_equal(weir_engine_post(weir_runtime_engine(runtime, 1), stop_here, NULL), 0);
	weir_runtime_wait(runtime);
	assert_int_equal(stop_result, -EDEADLK);
	assert_int_equal(destroy_error, EDEADLK);
	assert_false(weir_runtime_is_stopping(runtime));
	assert_int_equal(weir_runtime_stop(runtime, 10000), 0);
}

static void pass_on(struct weir_engine *engine, void *arg)
{
	uint32_t here = (uint32_t)weir_runtime_find(runtime, engine);

	if (atomic_fetch_add(&nlaps, 1) == LAPS)
		weir_runtime_quit(runtime);
	else
		weir_runtime_send(runtime, here, 1 - here, arg);
}

/* Each message wakes the thread that receives it, which then sleeps again. */
static void mail__wakes(void **state)
{
	static struct weir_runtime_mail mail;

	(void)state;
	mail = (struct weir_runtime_mail){.fn = pass_on, .arg = &mail};
	assert_int_equal(weir_runtime_start(runtime), 0);
	assert_int_equal(weir_runtime_poll(runtime), 0);
	assert_int_equal(weir_engine_post(weir_runtime_engine(runtime, 0), pass_on, &mail), 0);
	weir_runtime_wait(runtime);
	/* A thread that never sleeps polls far more often than once for each message. The latest
	 * poll might not be counted yet. */
	for (uint32_t i = 0; i < THREADS; i++)
		assert_in_range(npolls[i], LAPS / 2 - 1, LAPS * 20);
	assert_int_equal(weir_runtime_stop(runtime, 10000), 0);
}

/* A descriptor of the application wakes the thread that watches it. */
static void watch__wakes(void **state)
{
	uint64_t one = 1;
	uint32_t polls;

	(void)state;
	woken_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_true(woken_fd >= 0);
	assert_int_equal(weir_runtime_watch(runtime, 1, woken_fd), 0);
	assert_int_equal(weir_runtime_watch(runtime, 1, woken_fd), -EEXIST);
	assert_int_equal(weir_runtime_watch(runtime, THREADS, woken_fd), -EINVAL);
	assert_int_equal(weir_runtime_start(runtime), 0);
	polls = atomic_load(&npolls[1]);
	for (uint32_t i = 0; i < LAPS; i++) {
		assert_int_equal(write(woken_fd, &one, sizeof(one)), sizeof(one));
		while (atomic_load(&nwoken) == i)
			sched_yield();
	}
	assert_in_range(npolls[1] - polls, LAPS, LAPS * 20);
	assert_int_equal(weir_runtime_stop(runtime, 10000), 0);
	close(woken_fd);
	woken_fd = -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(mail__arrives_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(mail__arrives_before_the_stop, setup, teardown),
		cmocka_unit_test_setup_teardown(mail__arrives_without_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(mail__without_a_thread_is_dropped, setup, teardown),
		cmocka_unit_test_setup_teardown(destroy__in_a_poll_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(stop__by_its_own_thread_is_refused, setup,
						teardown),
		cmocka_unit_test_setup_teardown(mail__wakes, setup, teardown),
		cmocka_unit_test_setup_teardown(watch__wakes, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
