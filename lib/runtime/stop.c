/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts, stops and destroys a runtime, and polls for it while its threads do not run. */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "helper.h"
#include "log.h"
#include "owner.h"
#include "runtime.h"

#define DRAIN_LOOK_NS 500000 /* interval between two looks at the threads while they drain */

static void do_nothing(struct weir_engine *engine, void *arg)
{
	(void)engine;
	(void)arg;
}

void runtime_set_phase(struct weir_runtime *runtime, enum runtime_phase phase)
{
	pthread_mutex_lock(&runtime->lock);
	atomic_store(&runtime->phase, phase);
	pthread_cond_broadcast(&runtime->changed);
	pthread_mutex_unlock(&runtime->lock);
	/* If the mailbox of a thread is full, the thread does not sleep. */
	for (uint32_t i = 0; i < runtime->nthreads; i++)
		if (runtime->threads[i].has_thread && runtime->threads[i].engine)
			(void)weir_engine_post(runtime->threads[i].engine, do_nothing, NULL);
}

int weir_runtime_start(struct weir_runtime *runtime)
{
	if (OTHER_CREATOR(runtime))
		return -EPERM;
	if (runtime->is_stopped || runtime_phase(runtime) != RUNTIME_PARKED)
		return -EALREADY;
	for (uint32_t i = 0; i < runtime->nthreads; i++)
		weir_engine_disown(runtime->threads[i].engine);
	runtime_set_phase(runtime, RUNTIME_RUNNING);
	return 0;
}

/* Closes the listeners, on the thread that owns engine 0. */
static void close_listeners(struct weir_engine *engine, void *arg)
{
	struct weir_runtime *runtime = arg;

	(void)engine;
	while (runtime->nlisteners > 0)
		weir_listener_close(runtime->listeners[--runtime->nlisteners]);
}

/* Waits for DRAIN_LOOK_NS. */
static void look_later(void)
{
	const struct timespec time = {.tv_nsec = DRAIN_LOOK_NS};

	nanosleep(&time, NULL);
}

/* Adds up the busy polls of all threads. */
static uint32_t count_busy(const struct weir_runtime *runtime)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < runtime->nthreads; i++)
		sum += atomic_load(&runtime->threads[i].nbusy);
	return sum;
}

/* Waits until each thread has made two more polls. The second one began after this function did.
 * Returns false if 'until_ns' is over before. */
static bool wait_for_polls(const struct weir_runtime *runtime, uint64_t until_ns)
{
	uint32_t before[WEIR_RUNTIME_THREADS_MAX];

	for (uint32_t i = 0; i < runtime->nthreads; i++)
		before[i] = atomic_load(&runtime->threads[i].npolls);
	for (uint32_t i = 0; i < runtime->nthreads; i++)
		while (atomic_load(&runtime->threads[i].npolls) - before[i] < 2) {
			if (runtime_now_ns() >= until_ns)
				return false;
			look_later();
		}
	return true;
}

/*
 * Waits until all threads are idle and no message is under way. A message that is under way when a
 * round begins is received by a poll of the round, which is busy then. A message that is sent later
 * is sent by a busy poll. So after a round without a busy poll there is no message.
 */
static int drain(struct weir_runtime *runtime, uint32_t drain_ms)
{
	uint64_t until_ns = runtime_now_ns() + (uint64_t)drain_ms * 1000000u;

	for (;;) {
		uint32_t busy = count_busy(runtime);

		if (!wait_for_polls(runtime, until_ns))
			return -ETIMEDOUT;
		if (count_busy(runtime) == busy)
			return 0;
		if (runtime_now_ns() >= until_ns)
			return -ETIMEDOUT;
	}
}

/* Has thread 0 close the listeners. */
static void post_close(struct weir_runtime *runtime)
{
	while (weir_engine_post(runtime->threads[0].engine, close_listeners, runtime) == -EAGAIN)
		look_later();
}

/* Logs that 'function' can't be called where it is. Returns -EDEADLK. */
static int refuse_deadlock(const char *function)
{
	LOG(ENGINE, ERROR,
	    "%s() was called on a thread of the runtime or in weir_runtime_poll(), which it would "
	    "have to wait for: call weir_runtime_quit() there, and this function after "
	    "weir_runtime_wait()",
	    function);
	errno = EDEADLK;
	return -EDEADLK;
}

int weir_runtime_stop(struct weir_runtime *runtime, uint32_t drain_ms)
{
	bool was_running = runtime_phase(runtime) == RUNTIME_RUNNING;
	int rc = 0;

	if (runtime_is_own_thread(runtime))
		return refuse_deadlock(__func__);
	if (runtime->is_stopped)
		return 0;
	runtime->is_stopped = true;
	if (was_running && !runtime->options.run)
		post_close(runtime);
	if (was_running && !runtime->options.run && drain_ms > 0) {
		runtime_set_phase(runtime, RUNTIME_DRAINING);
		rc = drain(runtime, drain_ms);
	}
	runtime_set_phase(runtime, RUNTIME_ENDING);
	for (uint32_t i = 0; i < runtime->nthreads; i++)
		runtime_thread_join(&runtime->threads[i]);
	/* All engines belong to this thread now. */
	close_listeners(NULL, runtime);
	return rc;
}

uint32_t weir_runtime_poll(struct weir_runtime *runtime)
{
	uint64_t now_ns = runtime_now_ns();
	uint32_t work = 0;
	bool runs = runtime_phase(runtime) != RUNTIME_PARKED && !runtime->is_stopped;

	if (runs)
		return 0;
	for (uint32_t i = 0; i < runtime->nthreads; i++)
		if (OTHER_THREAD(runtime->threads[i].engine))
			return 0;
	runtime->is_polling = true;
	for (uint32_t i = 0; i < runtime->nthreads; i++)
		work += runtime_thread_poll(&runtime->threads[i], now_ns);
	runtime->is_polling = false;
	return work;
}

void weir_runtime_destroy(struct weir_runtime *runtime)
{
	if (!runtime)
		return;
	if (runtime_is_own_thread(runtime) || runtime->is_polling) {
		(void)refuse_deadlock(__func__);
		return;
	}
	(void)weir_runtime_stop(runtime, 0);
	for (uint32_t i = runtime->nthreads; i-- > 0;)
		weir_engine_destroy(runtime->threads[i].engine);
	if (runtime->is_pinned)
		helper_allow(&runtime->pinned);
	if (runtime->quit_fd >= 0)
		close(runtime->quit_fd);
	pthread_cond_destroy(&runtime->changed);
	pthread_mutex_destroy(&runtime->lock);
	mem_free(runtime);
}
