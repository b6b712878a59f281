/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads of a runtime. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rte_lcore.h>

#include <weir/inspect.h>

#include "log.h"
#include "profile_engines.h"
#include "runtime.h"

uint64_t runtime_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

printf_like(3, 4) static int fail(struct runtime_thread *thread, int rc, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(thread->why, sizeof(thread->why), format, args);
	va_end(args);
	return rc;
}

static int pin(struct runtime_thread *thread)
{
	cpu_set_t set;
	int rc;

	if (thread->cpu < 0)
		return 0;
	CPU_ZERO(&set);
	CPU_SET((unsigned)thread->cpu, &set);
	rc = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	return rc == 0 ? 0
		       : fail(thread, -rc, "can't pin a thread to CPU %d: %s", thread->cpu,
			      strerror(rc));
}

/* Gives the thread a name that has at most 15 bytes. */
static void set_name(const struct runtime_thread *thread)
{
	uint32_t number = thread->cpu >= 0 ? (uint32_t)thread->cpu : thread->index;
	char name[16];

	snprintf(name, sizeof(name), "%.10s-%u", thread->runtime->name, number % 10000);
	(void)pthread_setname_np(pthread_self(), name);
}

/* Blocks the signals that other threads of the application handle. A signal that an instruction of
 * this thread causes must not be blocked. */
static void block_signals(void)
{
	static const int own[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
	sigset_t set;

	sigfillset(&set);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		sigdelset(&set, own[i]);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* Makes the thread known to DPDK, whose pools then have a cache for it. The thread also works
 * without. Returns whether the thread must be unregistered. */
static bool make_known(void)
{
	if (rte_lcore_id() != LCORE_ID_ANY)
		return false;
	if (rte_thread_register() == 0)
		return true;
	LOG(ENGINE, WARNING,
	    "DPDK has no lcore id for a thread of the runtime, so that its pools are slower: use "
	    "fewer threads, or another EAL");
	return false;
}

static int begin(struct runtime_thread *thread)
{
	struct weir_runtime *runtime = thread->runtime;
	struct weir_profile own = runtime->profile;
	int rc = pin(thread);

	if (rc != 0)
		return rc;
	profile_for_cpu(&own, thread->cpu);
	rc = weir_engine_create(&own, &thread->engine);
	if (rc != 0)
		return fail(thread, rc, "can't create an engine (driver %s): %s",
			    runtime->profile.driver, strerror(-rc));
	if (runtime->options.init)
		rc = runtime->options.init(runtime, thread->index, runtime->options.arg);
	/* 'init' can have polled. Until the start, the creating thread owns the engine. */
	weir_engine_disown(thread->engine);
	thread->has_init = rc == 0;
	return rc == 0 ? 0
		       : fail(thread, rc, "'init' of thread %u failed: %s", thread->index,
			      strerror(-rc));
}

/* Reports the result of the start, and waits for the next phase. */
static void report_and_wait(struct runtime_thread *thread, int rc)
{
	struct weir_runtime *runtime = thread->runtime;

	pthread_mutex_lock(&runtime->lock);
	thread->rc = rc;
	thread->has_started = true;
	pthread_cond_broadcast(&runtime->changed);
	while (rc == 0 && runtime_phase(runtime) == RUNTIME_PARKED)
		pthread_cond_wait(&runtime->changed, &runtime->lock);
	pthread_mutex_unlock(&runtime->lock);
}

uint32_t runtime_thread_poll(struct runtime_thread *thread, uint64_t now_ns)
{
	const struct weir_runtime_options *options = &thread->runtime->options;
	uint32_t work = weir_engine_poll(thread->engine, 0, now_ns);

	if (options->poll)
		work += options->poll(thread->runtime, thread->index, now_ns, options->arg);
	if (unlikely(thread->first_mail))
		work += runtime_mail_flush(thread);
	return work;
}

static bool is_busy(struct runtime_thread *thread)
{
	const struct weir_runtime_options *options = &thread->runtime->options;

	if (options->is_busy)
		return options->is_busy(thread->runtime, thread->index, options->arg);
	return weir_engine_calls(thread->engine, NULL, 0) > 0 ||
	       weir_engine_requests(thread->engine, NULL, 0) > 0;
}

/* Reports a poll while the runtime drains. Gives up the CPU if there was no work. */
static void report_drain(struct runtime_thread *thread, uint32_t work)
{
	if (work > 0 || is_busy(thread))
		atomic_fetch_add(&thread->nbusy, 1);
	atomic_fetch_add(&thread->npolls, 1);
	if (work == 0)
		sched_yield();
}

static void poll_until_end(struct runtime_thread *thread)
{
	enum runtime_phase phase;

	while ((phase = runtime_phase(thread->runtime)) != RUNTIME_ENDING) {
		uint64_t now_ns = runtime_now_ns();
		uint32_t work = runtime_thread_poll(thread, now_ns);

		if (unlikely(phase == RUNTIME_DRAINING))
			report_drain(thread, work);
		else
			weir_engine_idle(thread->engine, work, now_ns);
	}
}

/* Calls 'run', and ends weir_runtime_wait() if 'run' has returned on all threads. */
static void call_run(struct runtime_thread *thread)
{
	struct weir_runtime *runtime = thread->runtime;
	bool is_last;

	runtime->options.run(runtime, thread->index, runtime->options.arg);
	pthread_mutex_lock(&runtime->lock);
	is_last = ++runtime->nreturned == runtime->nthreads;
	pthread_mutex_unlock(&runtime->lock);
	if (is_last)
		weir_runtime_quit(runtime);
}

/* the runtime of the calling thread */
static _Thread_local const struct weir_runtime *own_runtime;

bool runtime_is_own_thread(const struct weir_runtime *runtime)
{
	return own_runtime == runtime;
}

static void *run_thread(void *arg)
{
	struct runtime_thread *thread = arg;
	struct weir_runtime *runtime = thread->runtime;
	bool is_known;

	own_runtime = runtime;
	block_signals();
	set_name(thread);
	is_known = make_known();
	report_and_wait(thread, begin(thread));
	if (thread->rc == 0 && runtime_phase(runtime) != RUNTIME_ENDING) {
		if (runtime->options.run)
			call_run(thread);
		else
			poll_until_end(thread);
	}
	if (thread->has_init && runtime->options.fini)
		runtime->options.fini(runtime, thread->index, runtime->options.arg);
	thread->has_init = false;
	if (is_known)
		rte_thread_unregister();
	return NULL;
}

int runtime_thread_create(struct runtime_thread *thread)
{
	struct weir_runtime *runtime = thread->runtime;
	int rc = -pthread_create(&thread->id, NULL, run_thread, thread);

	if (rc != 0)
		return fail(thread, rc, "can't create a thread: %s", strerror(-rc));
	thread->has_thread = true;
	pthread_mutex_lock(&runtime->lock);
	while (!thread->has_started)
		pthread_cond_wait(&runtime->changed, &runtime->lock);
	rc = thread->rc;
	pthread_mutex_unlock(&runtime->lock);
	return rc;
}

void runtime_thread_join(struct runtime_thread *thread)
{
	if (thread->has_thread)
		pthread_join(thread->id, NULL);
	thread->has_thread = false;
}
