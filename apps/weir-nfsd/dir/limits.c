/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Determines the limits of an export's file system and of this process. This is done once at the
 * start, because the poller must not wait for the file system.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dir.h"

/*
 * Returns the maximum size of a file, in bytes. The function searches for the highest offset that
 * lseek() accepts. lseek() writes nothing, and does not depend on RLIMIT_FSIZE or on free space. If
 * no unnamed file can be made, returns INT64_MAX. Then the file system itself refuses a WRITE
 * beyond its maximum.
 */
static uint64_t file_max(int root_fd)
{
	uint64_t good = 0, bad = (uint64_t)INT64_MAX + 1;
	int fd = openat(root_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return INT64_MAX;
	while (bad - good > 1) {
		uint64_t middle = good + (bad - good) / 2;

		if (lseek(fd, (off_t)middle, SEEK_SET) == (off_t)middle)
			good = middle;
		else
			bad = middle;
	}
	close(fd);
	return good;
}

static uint32_t link_max(int root_fd)
{
	long max = fpathconf(root_fd, _PC_LINK_MAX);

	return max > 0 && max < UINT32_MAX ? (uint32_t)max : UINT32_MAX;
}

/*
 * Prints the limit RLIMIT_FSIZE of this process if it is below the file system's maximum. FSINFO
 * does not report RLIMIT_FSIZE as the maximum size, because longer files can be read.
 */
static void log_process_limit(const struct dir_fs *fs)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < fs->file_max)
		fprintf(stderr,
			"weir-nfsd: export %s: this process may write to the first %llu bytes of a "
			"file (RLIMIT_FSIZE); more is answered NFS3ERR_FBIG. 'ulimit -f "
			"unlimited', or LimitFSIZE=infinity of a systemd unit, removes the limit\n",
			fs->export->name, (unsigned long long)limit.rlim_cur);
}

void dir_limits_find(struct dir_fs *fs)
{
	fs->file_max = file_max(fs->root_fd);
	fs->link_max = link_max(fs->root_fd);
	log_process_limit(fs);
}
