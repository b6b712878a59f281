/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel decides on a caller's rights to a file, by access control lists and mode bits. A
 * worker thread acts as the caller and asks the kernel. The poller never asks, because a thread
 * that has an RDMA device open must not change its credentials. Instead, the poller uses the
 * decision that a worker has made for the same caller, as long as the file's ctime does not change.
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
 * A change of an access control list or of mode bits changes the file's ctime. But two changes can
 * get the same ctime, because the clock ticks every 10 ms, or because the file system stores whole
 * seconds. If a ctime is at least this many seconds old, no later change gets the same ctime.
 */
#define UNCHANGED_S 2

int dir_ask(int fd, uint32_t want)
{
	long rc = syscall(SYS_faccessat2, fd, "", want, AT_EACCESS | AT_EMPTY_PATH);

	return rc == 0 ? 0 : -errno;
}

int dir_check(const struct cred *cred, int fd, uint32_t want)
{
	int rc = dir_set_creds(cred);

	if (rc != 0)
		return rc;
	rc = dir_ask(fd, want);
	dir_reset_creds();
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
	struct timespec now;
	int rc = 0;

	/*
	 * The time is read before the decision. The file can change without a new ctime until the
	 * clock has ticked.
	 */
	clock_gettime(CLOCK_REALTIME, &now);
	op->is_decided = true;
	op->is_cacheable = now.tv_sec - st->st_ctim.tv_sec > UNCHANGED_S;
	op->decided_ctime = st->st_ctim;
	if (!dir_is_exempt(op, st))
		rc = dir_check(&op->cred, fd, want);
	if (rc == -EACCES && want == MAY_READ && op->cred.reads_to_execute)
		rc = dir_check(&op->cred, fd, MAY_EXEC);
	return rc;
}

static bool is_same_cred(const struct cred *a, const struct cred *b)
{
	return a->uid == b->uid && a->gid == b->gid && a->ngids == b->ngids &&
	       a->reads_to_execute == b->reads_to_execute &&
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
	if (!op->is_cacheable)
		return;
	if (file->ngrants < DIR_GRANTS)
		file->ngrants++;
	/* The latest grant is put first. If there are DIR_GRANTS, the oldest grant is dropped. */
	memmove(&file->grants[1], &file->grants[0], (file->ngrants - 1) * sizeof(file->grants[0]));
	file->grants[0] = (struct dir_grant){op->cred, dir_want(op), op->decided_ctime};
}
