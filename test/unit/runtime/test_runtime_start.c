/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the start of a runtime. Each step of the start fails in turn, on each thread. All steps
 * before must be undone: as many engines are destroyed as were created, and 'fini' runs for each
 * 'init' that succeeded.
 */
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

#include <weir/runtime.h>

#define THREADS 3u
#define NEVER	UINT32_MAX

/* The steps that can fail. */
enum step { ALLOCATION, DESCRIPTOR, THREAD, ENGINE, INIT, REGISTRATION, NSTEPS };

static enum step failing;
static _Atomic uint32_t left = NEVER; /* calls of the failing step that succeed */
static _Atomic bool is_creating;      /* the steps of the runtime itself are counted */
static _Atomic uint32_t nengines, ninits, nfinis;

int __real_eventfd(unsigned count, int flags);
void *__real_mem_zalloc(size_t bytes);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg);
int __real_pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *set);
int __real_rte_thread_register(void);
int __real_weir_engine_create(const struct weir_profile *profile, struct weir_engine **engine);
void __real_weir_engine_destroy(struct weir_engine *engine);
int __wrap_eventfd(unsigned count, int flags);
void *__wrap_mem_zalloc(size_t bytes);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg);
int __wrap_pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *set);
int __wrap_rte_thread_register(void);
int __wrap_weir_engine_create(const struct weir_profile *profile, struct weir_engine **engine);
void __wrap_weir_engine_destroy(struct weir_engine *engine);

static bool fails(enum step step)
{
	uint32_t n = atomic_load(&left);

	if (!atomic_load(&is_creating) || step != failing || n == NEVER)
		return false;
	if (n == 0)
		return true;
	atomic_store(&left, n - 1);
	return false;
}

int __wrap_eventfd(unsigned count, int flags)
{
	if (!fails(DESCRIPTOR))
		return __real_eventfd(count, flags);
	errno = EMFILE;
	return -1;
}

void *__wrap_mem_zalloc(size_t bytes)
{
	return fails(ALLOCATION) ? NULL : __real_mem_zalloc(bytes);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg)
{
	return fails(THREAD) ? EAGAIN : __real_pthread_create(thread, attr, fn, arg);
}

static _Atomic bool pins_fail;

int __wrap_pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *set)
{
	return pins_fail ? EINVAL : __real_pthread_setaffinity_np(thread, bytes, set);
}

int __wrap_rte_thread_register(void)
{
	return fails(REGISTRATION) ? -1 : __real_rte_thread_register();
}

/* The steps of the engine are those of other tests. */
int __wrap_weir_engine_create(const struct weir_profile *profile, struct weir_engine **engine)
{
	int rc;

	if (fails(ENGINE))
		return -ENODEV;
	atomic_store(&is_creating, false);
	rc = __real_weir_engine_create(profile, engine);
	atomic_store(&is_creating, true);
	atomic_fetch_add(&nengines, rc == 0);
	return rc;
}

void __wrap_weir_engine_destroy(struct weir_engine *engine)
{
	if (engine)
		atomic_fetch_sub(&nengines, 1);
	__real_weir_engine_destroy(engine);
}

static int on_init(struct weir_runtime *runtime, uint32_t thread, void *arg)
{
	(void)arg;
	assert_non_null(weir_runtime_engine(runtime, thread));
	if (fails(INIT))
		return -EDOM;
	atomic_fetch_add(&ninits, 1);
	return 0;
}

static void on_fini(struct weir_runtime *runtime, uint32_t thread, void *arg)
{
	(void)arg;
	assert_non_null(weir_runtime_engine(runtime, thread));
	atomic_fetch_add(&nfinis, 1);
}

static struct weir_profile profile_of(const char *lcores)
{
	struct weir_profile profile;

	weir_profile_defaults(&profile);
	snprintf(profile.driver, sizeof(profile.driver), "%s", "shm");
	snprintf(profile.lcores, sizeof(profile.lcores), "%s", lcores);
	profile.send_buffers = profile.recv_buffers = 128;
	profile.long_buffers = profile.bulk_buffers = 1;
	profile.idle = WEIR_IDLE_EVENT;
	return profile;
}

static char error[512];

static int create(const char *lcores, struct weir_runtime **runtime)
{
	struct weir_profile profile = profile_of(lcores);
	struct weir_runtime_options options = {
		.struct_bytes = sizeof(options),
		.nthreads = THREADS,
		.init = on_init,
		.fini = on_fini,
		.err = error,
		.err_bytes = sizeof(error),
	};
	int rc;

	error[0] = '\0';
	atomic_store(&is_creating, true);
	rc = weir_runtime_create(&profile, &options, runtime);
	atomic_store(&is_creating, false);
	return rc;
}

static void expect_undone(void)
{
	assert_int_equal(atomic_load(&nengines), 0);
	assert_int_equal(atomic_load(&ninits), atomic_load(&nfinis));
}

/* Lets a step fail after 'after' times. The start must fail with 'rc' and a reason. */
static void expect_failure(enum step step, uint32_t after, int rc, const char *reason)
{
	struct weir_runtime *runtime = NULL;

	failing = step;
	atomic_store(&left, after);
	assert_int_equal(create("any", &runtime), rc);
	atomic_store(&left, NEVER);
	assert_null(runtime);
	assert_non_null(strstr(error, reason));
	expect_undone();
}

static int setup(void **state)
{
	(void)state;
	ninits = nfinis = 0;
	return 0;
}

static void start__without_memory_or_descriptor(void **state)
{
	(void)state;
	expect_failure(ALLOCATION, 0, -ENOMEM, "no memory");
	expect_failure(DESCRIPTOR, 0, -EMFILE, "descriptor");
	assert_int_equal(ninits, 0);
}

static void start__fails_on_each_thread(void **state)
{
	static const struct {
		enum step step;
		int rc;
		const char *reason;
	} steps[] = {
		{THREAD, -EAGAIN, "can't create a thread"},
		{ENGINE, -ENODEV, "can't create an engine (driver shm)"},
		{INIT, -EDOM, "'init' of thread"},
	};
	struct weir_runtime *warm = NULL;

	(void)state;
	/* The first start also starts the threads of EAL, which are not those of the runtime. */
	assert_int_equal(create("any", &warm), 0);
	weir_runtime_destroy(warm);
	expect_undone();
	for (uint32_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		for (uint32_t thread = 0; thread < THREADS; thread++) {
			uint32_t before = ninits;

			expect_failure(steps[i].step, thread, steps[i].rc, steps[i].reason);
			assert_int_equal(ninits - before, thread);
		}
}

static void start__without_a_pin(void **state)
{
	struct weir_runtime *runtime = NULL;
	char cpu[16];
	cpu_set_t set;
	uint32_t first = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	while (!CPU_ISSET(first, &set))
		first++;
	snprintf(cpu, sizeof(cpu), "%u", first);
	pins_fail = true;
	assert_int_equal(create(cpu, &runtime), -EINVAL);
	pins_fail = false;
	assert_non_null(strstr(error, "can't pin a thread to CPU"));
	expect_undone();
}

static void start__works_unregistered(void **state)
{
	struct weir_runtime *runtime = NULL;

	(void)state;
	failing = REGISTRATION;
	atomic_store(&left, 0);
	assert_int_equal(create("any", &runtime), 0);
	atomic_store(&left, NEVER);
	assert_int_equal(weir_runtime_start(runtime), 0);
	assert_int_equal(weir_runtime_start(runtime), -EALREADY);
	assert_int_equal(weir_runtime_stop(runtime, 1000), 0);
	assert_int_equal(weir_runtime_start(runtime), -EALREADY);
	assert_int_equal(nfinis, THREADS);
	weir_runtime_destroy(runtime);
	expect_undone();
}

/* A runtime that was created, and was not started, runs 'fini', too. */
static void start__never(void **state)
{
	struct weir_runtime *runtime = NULL;

	(void)state;
	assert_int_equal(create("", &runtime), 0);
	assert_int_equal(ninits, THREADS);
	assert_int_equal(nfinis, 0);
	weir_runtime_destroy(runtime);
	assert_int_equal(nfinis, THREADS);
	expect_undone();
	weir_runtime_destroy(NULL);
}

static int stop_in_init(struct weir_runtime *runtime, uint32_t thread, void *arg)
{
	(void)thread;
	return weir_runtime_stop(runtime, 1000) == -EDEADLK ? *(const int *)arg : 0;
}

/* The threads of a runtime can't stop it, even before the function that creates it has returned. */
static void start__is_not_stopped_by_its_threads(void **state)
{
	struct weir_profile profile = profile_of("any");
	int refused = -EXDEV;
	struct weir_runtime_options options = {.struct_bytes = sizeof(options),
					       .nthreads = THREADS,
					       .init = stop_in_init,
					       .arg = &refused};
	struct weir_runtime *runtime = NULL;

	(void)state;
	assert_int_equal(weir_runtime_create(&profile, &options, &runtime), -EXDEV);
	expect_undone();
}

static void handle_nothing(struct weir_request *req, void *arg)
{
	(void)req;
	(void)arg;
}

/* A service with shards has a listener for each thread. */
static void start__with_a_listener_for_each_thread(void **state)
{
	struct weir_program program = {.struct_bytes = sizeof(program),
				       .prog = 1,
				       .vers_low = 1,
				       .vers_high = 1,
				       .nprocs = 1,
				       .handle = handle_nothing};
	const struct weir_listen_options listen = {
		.struct_bytes = sizeof(listen), .programs = &program, .nprograms = 1};
	struct weir_runtime *runtime = NULL;
	char addr[64];

	(void)state;
	assert_int_equal(create("any", &runtime), 0);
	for (uint32_t i = 0; i <= WEIR_RUNTIME_THREADS_MAX; i++) {
		snprintf(addr, sizeof(addr), "runtime-start-%d-%u", (int)getpid(), i);
		assert_int_equal(weir_runtime_listen(runtime, addr, &listen),
				 i < WEIR_RUNTIME_THREADS_MAX ? 0 : -ENOSPC);
	}
	weir_runtime_destroy(runtime);
	expect_undone();
}

static void start__refuses_options(void **state)
{
	struct weir_profile profile = profile_of("any");
	struct weir_runtime_options options = {.struct_bytes = sizeof(options)};
	struct weir_runtime *runtime = NULL;

	(void)state;
	assert_int_equal(weir_runtime_create(&profile, NULL, &runtime), -EINVAL);
	options.name = "eleven bytes";
	assert_int_equal(weir_runtime_create(&profile, &options, &runtime), -EINVAL);
	options.name = "";
	assert_int_equal(weir_runtime_create(&profile, &options, &runtime), -EINVAL);
	options.name = NULL;
	options.nthreads = WEIR_RUNTIME_THREADS_MAX + 1;
	assert_int_equal(weir_runtime_create(&profile, &options, &runtime), -E2BIG);
	options.nthreads = 0;
	options.struct_bytes = 8;
	assert_int_equal(weir_runtime_create(&profile, &options, &runtime), -EINVAL);
	options.struct_bytes = sizeof(options);
	profile.struct_bytes = 0;
	assert_int_equal(weir_runtime_create(&profile, &options, &runtime), -EINVAL);
	assert_null(runtime);
	expect_undone();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(start__fails_on_each_thread, setup),
		cmocka_unit_test_setup(start__without_memory_or_descriptor, setup),
		cmocka_unit_test_setup(start__without_a_pin, setup),
		cmocka_unit_test_setup(start__works_unregistered, setup),
		cmocka_unit_test_setup(start__never, setup),
		cmocka_unit_test_setup(start__is_not_stopped_by_its_threads, setup),
		cmocka_unit_test_setup(start__with_a_listener_for_each_thread, setup),
		cmocka_unit_test_setup(start__refuses_options, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
