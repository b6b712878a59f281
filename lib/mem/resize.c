/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets the length of a memfd, without SIGXFSZ for the host process if the length exceeds
 * RLIMIT_FSIZE.
 */
#include "resize.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "log.h"

/* Logs that 'len' bytes exceed RLIMIT_FSIZE, and how to raise that limit. */
static void log_limit(size_t len)
{
	struct rlimit limit = {0};

	getrlimit(RLIMIT_FSIZE, &limit);
	LOG(MEMORY, ERROR,
	    "memory of %zu bytes exceeds the limit for the files of this process: RLIMIT_FSIZE "
	    "is %llu. Lift it by 'ulimit -f unlimited', or by LimitFSIZE=infinity of a systemd "
	    "unit",
	    len, (unsigned long long)limit.rlim_cur);
}

int mem_file_resize(int fd, size_t len)
{
	static const struct timespec now = {0};
	sigset_t xfsz, before, pending;
	bool was_pending;
	int rc;

	sigemptyset(&xfsz);
	sigaddset(&xfsz, SIGXFSZ);
	sigpending(&pending);
	was_pending = sigismember(&pending, SIGXFSZ) == 1;
	pthread_sigmask(SIG_BLOCK, &xfsz, &before);
	rc = ftruncate(fd, (off_t)len) == 0 ? 0 : -errno;
	/* If the length exceeds the limit, ftruncate() fails with EFBIG, and the kernel sends
	 * SIGXFSZ to this thread. The signal is blocked at this point, so that it is pending.
	 * sigtimedwait() removes it. If a SIGXFSZ was pending before ftruncate(), that one belongs
	 * to the host process and stays pending. */
	if (rc == -EFBIG && !was_pending)
		(void)sigtimedwait(&xfsz, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc == -EFBIG)
		log_limit(len);
	return rc;
}
