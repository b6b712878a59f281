/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets up the io_uring ring for READ, WRITE and COMMIT, its registered memory, and the credentials
 * with which the ring writes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dir.h"
#include "region.h"

struct writer {
	struct dir_fs *fs;
	int rc; /* number of the registered credentials (personality), or -errno */
};

static void *become_writer(void *arg)
{
	const struct cred nobody = {.uid = 65534, .gid = 65534};
	struct writer *writer = arg;

	writer->rc = dir_obey_quotas();
	if (writer->rc == 0)
		writer->rc = dir_set_creds(&nobody);
	if (writer->rc == 0)
		writer->rc = io_uring_register_personality(&writer->fs->ring);
	return NULL;
}

/*
 * Registers the credentials with which the ring carries out the WRITEs of all users except root.
 * Any user without root's privileges is suitable, because the file is open already. Root's
 * privileges would keep set-user-ID bits, and would fill blocks that are reserved for root.
 *
 * A new thread registers them. The thread that opened the RDMA device must never change its
 * credentials, not even temporarily, because the kernel then refuses it the device. Returns 0 or
 * -errno.
 */
static int register_writer(struct dir_fs *fs)
{
	struct writer writer = {.fs = fs};
	pthread_t thread;
	int rc = pthread_create(&thread, NULL, become_writer, &writer);

	if (rc != 0)
		return -rc;
	pthread_join(thread, NULL);
	if (writer.rc < 0)
		return writer.rc;
	fs->personality = (uint16_t)writer.rc;
	return 0;
}

/*
 * Limits the number of kernel threads that carry out operations which can wait. All rings of one
 * poller share these threads. By default the kernel makes up to four of them per CPU for operations
 * on files, and up to RLIMIT_NPROC for operations that might not be on files, which include
 * operations with IOSQE_ASYNC. If four calls per CPU hung, they would stop all other calls,
 * including those of other exports. Therefore the limit of both kinds is the number of calls that
 * all exports can have in the kernel. A thread exists only while calls wait. Returns 0 or -errno.
 */
static int limit_threads(struct dir_fs *fs)
{
	unsigned limit = DIR_CALLS_MAX * fs->server->exports.n;
	unsigned limits[2] = {limit, limit};

	return io_uring_register_iowq_max_workers(&fs->ring, limits);
}

/*
 * Returns true if 'rc' is -EINVAL, with which a kernel answers a registration for which it is too
 * old. Then prints 'consequence', once and not for each export.
 */
static bool is_unknown(int rc, bool *is_logged, const char *consequence)
{
	if (rc != -EINVAL)
		return false;
	if (!*is_logged)
		fprintf(stderr, "weir-nfsd: %s\n", consequence);
	*is_logged = true;
	return true;
}

/*
 * Registers something with the ring. Returns 0 or -errno. The function makes the system call
 * directly, because liburing 2.3 declares io_uring_register_restrictions() and
 * io_uring_enable_rings(), but its library lacks them.
 */
static int ring_register(struct io_uring *ring, unsigned what, const void *arg, unsigned n)
{
	return syscall(SYS_io_uring_register, ring->ring_fd, what, arg, n) == 0 ? 0 : -errno;
}

/*
 * Makes a ring that accepts only the operations that dir/submit.c submits. A seccomp filter does
 * not see the operations of a ring, and an unrestricted ring accepts any operation, such as one
 * that makes a socket. After the ring is enabled, the kernel refuses all other operations and
 * flags, and all registrations, with EACCES.
 */
static int make_restricted(struct io_uring *ring)
{
	static const struct io_uring_restriction allowed[] = {
		{.opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_READ_FIXED},
		{.opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_WRITE_FIXED},
		{.opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_WRITE},
		{.opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_FSYNC},
		{.opcode = IORING_RESTRICTION_SQE_FLAGS_ALLOWED, .sqe_flags = IOSQE_ASYNC},
	};
	int rc = io_uring_queue_init(DIR_RING, ring, IORING_SETUP_R_DISABLED);

	if (rc != 0)
		return rc;
	rc = ring_register(ring, IORING_REGISTER_RESTRICTIONS, allowed,
			   sizeof(allowed) / sizeof(allowed[0]));
	if (rc != 0)
		io_uring_queue_exit(ring);
	return rc;
}

static int make_ring(struct dir_fs *fs)
{
	static bool is_logged;
	int rc = make_restricted(&fs->ring);

	if (is_unknown(rc, &is_logged,
		       "this kernel can't restrict io_uring to the operations that exports need, "
		       "so the sandbox does not cover io_uring. Use Linux 5.10 or later"))
		rc = io_uring_queue_init(DIR_RING, &fs->ring, 0);
	fs->has_ring = rc == 0;
	return rc;
}

int dir_io_start(struct dir_fs *fs)
{
	void *base;
	int rc = region_make(fs->server, DIR_MEMORY, &fs->region, &base);

	return rc != 0 ? rc : block_pool_init(&fs->pool, base, DIR_MEMORY);
}

int dir_ring_start(struct dir_fs *fs)
{
	static bool is_logged;
	struct weir_region_info info = {.struct_bytes = sizeof(info)};
	struct iovec memory;
	int rc = make_ring(fs);

	if (rc != 0)
		return rc;
	weir_region_info(fs->region, &info);
	memory = (struct iovec){info.base, DIR_MEMORY};
	rc = io_uring_register_buffers(&fs->ring, &memory, 1);
	if (rc == 0)
		rc = limit_threads(fs);
	if (is_unknown(rc, &is_logged,
		       "this kernel can't set the number of io_uring's threads, so calls that hang "
		       "may delay those of all exports. Use Linux 5.15 or later"))
		rc = 0;
	if (rc == 0)
		rc = register_writer(fs);
	/* The ring is enabled last, because nothing can be registered afterwards. */
	if (rc == 0 && (fs->ring.flags & IORING_SETUP_R_DISABLED))
		rc = ring_register(&fs->ring, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
	return rc;
}

void dir_io_stop(struct dir_fs *fs)
{
	struct dir_io *io;

	if (fs->has_ring)
		io_uring_queue_exit(&fs->ring);
	fs->has_ring = false;
	while ((io = LIST_FIRST(&fs->free_ios))) {
		LIST_REMOVE(io, entry);
		free(io);
	}
	dir_fds_close(fs);
	dir_users_free(fs);
	block_pool_fini(&fs->pool);
	weir_region_destroy(fs->region);
}
