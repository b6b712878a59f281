/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a caller may do with a file, as the kernel decides it: access control lists, mode bits, read-only mounts, security
 * modules. Threads ask, as the caller. The poller never asks, as it must not change who it is: it goes by what a thread has
 * found for the same caller, for as long as the file's status has not changed since.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "dir.h"

_Static_assert(MAY_READ == R_OK && MAY_WRITE == W_OK && MAY_EXEC == X_OK,
	       "asked for as faccessat2() has them");

/*
 * A change of a list or of mode bits changes the file's ctime, but a clock that ticks every 10 ms, or a file system that
 * keeps whole seconds, may give two changes the same one. A ctime that is older than this is not given again.
 */
#define SETTLED_S 2

int dir_ask(int fd, uint32_t want)
{
	long rc = syscall(SYS_faccessat2, fd, "", want, AT_EACCESS | AT_EMPTY_PATH);

	return rc == 0 ? 0 : -errno;
}

int dir_check(const struct cred *cred, int fd, uint32_t want)
{
	int rc = dir_become(cred);

	if (rc != 0)
		return rc;
	rc = dir_ask(fd, want);
	dir_become_self();
	return rc;
}

uint32_t dir_want(const struct op *op)
{
	return op->proc == NFS3_READ ? MAY_READ : MAY_WRITE;
}

bool dir_is_exempt(const struct op *op, const struct stat *st)
{
	return op->cred.uid == 0 || op->cred.uid == st->st_uid;
}

int dir_decide(struct op *op, int fd, const struct stat *st)
{
	uint32_t want = dir_want(op);
	int rc = 0;

	op->is_decided = true;
	op->decided_ctime = st->st_ctim;
	if (!dir_is_exempt(op, st))
		rc = dir_check(&op->cred, fd, want);
	/* A client has to read a program in order to run it. */
	if (rc == -EACCES && want == MAY_READ)
		rc = dir_check(&op->cred, fd, MAY_EXEC);
	return rc;
}

static bool is_same_cred(const struct cred *a, const struct cred *b)
{
	return a->uid == b->uid && a->gid == b->gid && a->ngids == b->ngids &&
	       memcmp(a->gids, b->gids, a->ngids * sizeof(a->gids[0])) == 0;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool dir_is_granted(const struct dir_fd *file, const struct op *op, const struct stat *st)
{
	for (uint32_t i = 0; i < file->ngrants; i++) {
		const struct dir_grant *grant = &file->grants[i];

		if (grant->want == dir_want(op) && is_same_time(&grant->ctime, &st->st_ctim) &&
		    is_same_cred(&grant->cred, &op->cred))
			return true;
	}
	return false;
}

void dir_grant(struct dir_fd *file, const struct op *op)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (now.tv_sec - op->decided_ctime.tv_sec <= SETTLED_S)
		return;
	if (file->ngrants < DIR_GRANTS)
		file->ngrants++;
	/* The latest is the first, and the oldest falls out. */
	memmove(&file->grants[1], &file->grants[0], (file->ngrants - 1) * sizeof(file->grants[0]));
	file->grants[0] = (struct dir_grant){op->cred, dir_want(op), op->decided_ctime};
}
