/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Logs which limit of the process an error comes from. Each explain function logs at most one line
 * per process, and none if the process has no such limit.
 */
#include "limit.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "log.h"

/* Returns whether the process has a limit for 'resource' (an RLIMIT_ constant). If it has, *value
 * is that limit. */
static bool is_limited(int resource, unsigned long long *value)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)resource, &limit) != 0 ||
	    limit.rlim_cur == RLIM_INFINITY)
		return false;
	*value = limit.rlim_cur;
	return true;
}

static void explain_descriptors(void)
{
	static atomic_flag done = ATOMIC_FLAG_INIT;
	unsigned long long value;

	if (is_limited(RLIMIT_NOFILE, &value) && !atomic_flag_test_and_set(&done))
		LOG(MEMORY, ERROR,
		    "this process has reached its limit of %llu open descriptors "
		    "(RLIMIT_NOFILE): raise it by 'ulimit -n', or by LimitNOFILE= of a systemd "
		    "unit",
		    value);
}

/* RLIMIT_AS limits the address space, of which the kernel counts all that is mapped, also pages
 * that were never touched. */
static void explain_memory(void)
{
	static atomic_flag done = ATOMIC_FLAG_INIT;
	unsigned long long value;

	if (is_limited(RLIMIT_AS, &value) && !atomic_flag_test_and_set(&done))
		LOG(MEMORY, ERROR,
		    "the address space of this process is limited to %llu MiB (RLIMIT_AS), "
		    "which can be too little: lift the limit by 'ulimit -v unlimited', or by "
		    "LimitAS=infinity of a systemd unit",
		    value >> 20);
}

static void explain_threads(void)
{
	static atomic_flag done = ATOMIC_FLAG_INIT;
	unsigned long long value;

	if (is_limited(RLIMIT_NPROC, &value) && !atomic_flag_test_and_set(&done))
		LOG(MEMORY, ERROR,
		    "this process's user may have %llu threads (RLIMIT_NPROC), which can be "
		    "too few: raise the limit by 'ulimit -u', or by LimitNPROC= and TasksMax= "
		    "of a systemd unit",
		    value);
}

void mem_explain_limit(int rc)
{
	switch (rc) {
	case -EMFILE:
		explain_descriptors();
		break;
	/* A thread could not be created. There are too many threads, or no memory for its stack. */
	case -EAGAIN:
		explain_threads();
		explain_memory();
		break;
	case -ENOMEM:
		explain_memory();
		break;
	default:
		break;
	}
}
