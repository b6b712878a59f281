/* SPDX-License-Identifier: BSD-3-Clause */
/* Describes runtimes, listens for their threads, and waits for their end. */
#include "runtime.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "engine.h"
#include "helper.h"
#include "owner.h"
#include "responder.h"

uint32_t weir_runtime_threads(const struct weir_runtime *runtime)
{
	return runtime->nthreads;
}

struct weir_engine *weir_runtime_engine(const struct weir_runtime *runtime, uint32_t thread)
{
	return thread < runtime->nthreads ? runtime->threads[thread].engine : NULL;
}

int weir_runtime_cpu(const struct weir_runtime *runtime, uint32_t thread)
{
	return thread < runtime->nthreads ? runtime->threads[thread].cpu : -1;
}

int weir_runtime_find(const struct weir_runtime *runtime, const struct weir_engine *engine)
{
	for (uint32_t i = 0; engine && i < runtime->nthreads; i++)
		if (runtime->threads[i].engine == engine)
			return (int)i;
	return -ENOENT;
}

/* Copies the options, and names the engines of all threads if the application names none. Returns
 * 0, -EINVAL or -E2BIG. */
static int complete_listen_options(const struct weir_runtime *runtime,
				   const struct weir_listen_options *options,
				   struct weir_listen_options *own, struct weir_engine **engines)
{
	int rc = responder_read_listen_options(options, own);

	if (rc != 0 || own->engines)
		return rc;
	for (uint32_t i = 0; i < runtime->nthreads; i++)
		engines[i] = runtime->threads[i].engine;
	own->engines = engines;
	own->nengines = runtime->nthreads;
	return 0;
}

int weir_runtime_listen(struct weir_runtime *runtime, const char *addr,
			const struct weir_listen_options *options)
{
	struct weir_engine *engines[WEIR_RUNTIME_THREADS_MAX];
	struct weir_listen_options own;
	int rc;

	if (OTHER_THREAD(runtime->threads[0].engine))
		return -EPERM;
	if (weir_runtime_is_stopping(runtime))
		return -ECANCELED;
	if (runtime->nlisteners == RUNTIME_LISTENERS_MAX)
		return -ENOSPC;
	rc = complete_listen_options(runtime, options, &own, engines);
	if (rc == 0)
		rc = weir_listen(runtime->threads[0].engine, addr, &own,
				 &runtime->listeners[runtime->nlisteners]);
	if (rc == 0)
		runtime->nlisteners++;
	return rc;
}

void weir_runtime_wait(struct weir_runtime *runtime)
{
	struct pollfd pfd = {.fd = runtime->quit_fd, .events = POLLIN};

	if (OTHER_CREATOR(runtime))
		return;
	while (poll(&pfd, 1, -1) <= 0)
		;
}

void weir_runtime_quit(struct weir_runtime *runtime)
{
	uint64_t one = 1;
	int error = errno;

	/* write(2) fails only if the counter is full. Then the descriptor is readable already. */
	(void)!write(runtime->quit_fd, &one, sizeof(one));
	errno = error;
}

bool weir_runtime_is_stopping(const struct weir_runtime *runtime)
{
	return runtime_phase(runtime) >= RUNTIME_DRAINING;
}

int weir_runtime_watch(struct weir_runtime *runtime, uint32_t thread, int fd)
{
	if (thread >= runtime->nthreads)
		return -EINVAL;
	if (OTHER_THREAD(runtime->threads[thread].engine))
		return -EPERM;
	return engine_watch(runtime->threads[thread].engine, fd);
}

int weir_runtime_keep_off(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return -errno;
	if (!helper_subtract_reserved(&set))
		return -ENODEV;
	return sched_setaffinity(0, sizeof(set), &set) == 0 ? 0 : -errno;
}
