/* SPDX-License-Identifier: BSD-3-Clause */

/* The FUSE file system of fuse.h: answers the kernel's requests, and withholds answers. */

#include "fuse.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPCODES	    64u
#define REQUEST_MAX (256u << 10)
#define ANSWER_MAX  (64u << 10)

#define NODE_DIR  2u
#define NODE_FILE 3u /* node of the file f0; f1 and the others follow */

struct request {
	struct request *next;
	struct fuse_in_header header;
	uint8_t body[256]; /* sufficient for all requests whose content is read */
};

static int fuse_fd = -1;
static pthread_t thread;
static char mounted[160];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the following variables */
static bool is_withheld[OPCODES];
static uint32_t nanswered[OPCODES];
static struct request *withheld;
static uint32_t nwithheld;

static void fill_attr(uint64_t node, struct fuse_attr *attr)
{
	bool is_file = node >= NODE_FILE;

	*attr = (struct fuse_attr){
		.ino = node,
		.size = is_file ? FUSE_BYTES : 0,
		.mode = is_file ? S_IFREG | 0666 : S_IFDIR | 0777,
		.nlink = is_file ? 1 : 2,
		.ctime = 1000000000,
		.mtime = 1000000000,
		.blksize = 4096,
	};
}

/* Returns the node of a name, or 0 if there is no such file. */
static uint64_t node_of(const char *name)
{
	uint32_t i;
	char end;

	if (strcmp(name, "d") == 0)
		return NODE_DIR;
	if (sscanf(name, "f%u%c", &i, &end) == 1 && i < FUSE_FILES)
		return NODE_FILE + i;
	return 0;
}

static void answer(const struct request *req, int error, const void *body, uint32_t bytes)
{
	static uint8_t out[sizeof(struct fuse_out_header) + ANSWER_MAX];
	struct fuse_out_header header = {(uint32_t)sizeof(header) + bytes, error,
					 req->header.unique};

	memcpy(out, &header, sizeof(header));
	if (bytes > 0)
		memcpy(out + sizeof(header), body, bytes);
	/*
	 * write() fails with ENOENT if the process that made the request was killed, because the
	 * kernel then has dropped the request.
	 */
	if (write(fuse_fd, out, header.len) < 0)
		return;
	nanswered[req->header.opcode % OPCODES]++;
}

static void answer_init(const struct request *req)
{
	struct fuse_init_in in;
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_background = 256,
		.congestion_threshold = 256,
		.max_write = 64u << 10,
		.time_gran = 1,
	};

	memcpy(&in, req->body, sizeof(in));
	out.max_readahead = in.max_readahead;
	out.flags = in.flags & (FUSE_EXPORT_SUPPORT | FUSE_BIG_WRITES | FUSE_ASYNC_READ |
				FUSE_PARALLEL_DIROPS);
	answer(req, 0, &out, sizeof(out));
}

static void answer_lookup(const struct request *req)
{
	const char *name = (const char *)req->body;
	struct fuse_entry_out out = {.generation = 1};

	if (strcmp(name, ".") == 0)
		out.nodeid = req->header.nodeid;
	else
		out.nodeid = strcmp(name, "..") == 0 ? FUSE_ROOT_ID : node_of(name);
	if (out.nodeid == 0) {
		answer(req, -ENOENT, NULL, 0);
		return;
	}
	fill_attr(out.nodeid, &out.attr);
	answer(req, 0, &out, sizeof(out));
}

static void answer_read(const struct request *req)
{
	static uint8_t data[FUSE_BYTES];
	struct fuse_read_in in;
	uint32_t left;

	memcpy(&in, req->body, sizeof(in));
	left = in.offset < FUSE_BYTES ? FUSE_BYTES - (uint32_t)in.offset : 0;
	memset(data, '0' + (int)((req->header.nodeid - NODE_FILE) % 10), sizeof(data));
	answer(req, 0, data, in.size < left ? in.size : left);
}

static void answer_write(const struct request *req)
{
	struct fuse_write_in in;
	struct fuse_write_out out = {0};

	memcpy(&in, req->body, sizeof(in));
	out.size = in.size;
	answer(req, 0, &out, sizeof(out));
}

static void answer_all(const struct request *req)
{
	struct fuse_attr_out attr = {0};
	struct fuse_open_out opened = {.open_flags = FOPEN_DIRECT_IO};
	struct fuse_statfs_out statfs = {.st = {.bsize = 4096, .frsize = 4096, .namelen = 255}};

	switch (req->header.opcode) {
	case FUSE_INIT:
		answer_init(req);
		break;
	case FUSE_LOOKUP:
		answer_lookup(req);
		break;
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		fill_attr(req->header.nodeid, &attr.attr);
		answer(req, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		answer(req, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		answer_read(req);
		break;
	case FUSE_WRITE:
		answer_write(req);
		break;
	case FUSE_STATFS:
		answer(req, 0, &statfs, sizeof(statfs));
		break;
	case FUSE_READDIR:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_FLUSH:
	case FUSE_FSYNC:
	case FUSE_FSYNCDIR:
		answer(req, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	/* an interrupt needs no answer, unless the kernel must send it again */
	case FUSE_INTERRUPT:
		break;
	default:
		answer(req, -ENOSYS, NULL, 0);
	}
}

static void take(const uint8_t *in, size_t bytes)
{
	struct request *req = calloc(1, sizeof(*req));
	size_t body;

	if (!req)
		abort();
	memcpy(&req->header, in, sizeof(req->header));
	body = bytes - sizeof(req->header);
	memcpy(req->body, in + sizeof(req->header),
	       body < sizeof(req->body) ? body : sizeof(req->body) - 1);
	pthread_mutex_lock(&lock);
	if (is_withheld[req->header.opcode % OPCODES] &&
	    req->header.nodeid < NODE_FILE + FUSE_HANGS) {
		req->next = withheld;
		withheld = req;
		nwithheld++;
	} else {
		answer_all(req);
		free(req);
	}
	pthread_mutex_unlock(&lock);
}

/* Reads and answers requests until the file system is unmounted. */
static void *serve(void *arg)
{
	static uint8_t in[REQUEST_MAX];

	(void)arg;
	for (;;) {
		ssize_t n = read(fuse_fd, in, sizeof(in));

		if (n >= (ssize_t)sizeof(struct fuse_in_header))
			take(in, (size_t)n);
		else if (n < 0 && (errno == ENOENT || errno == EINTR || errno == EAGAIN))
			continue;
		else
			return NULL;
	}
}

bool fuse_mount(const char *path)
{
	char options[96];

	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return false;
	fuse_fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions",
		 fuse_fd);
	if (fuse_fd < 0 || mount("hangs", path, "fuse", 0, options) != 0)
		return false;
	snprintf(mounted, sizeof(mounted), "%s", path);
	return pthread_create(&thread, NULL, serve, NULL) == 0;
}

void fuse_withhold(uint32_t opcode)
{
	pthread_mutex_lock(&lock);
	is_withheld[opcode % OPCODES] = true;
	pthread_mutex_unlock(&lock);
}

uint32_t fuse_withheld(void)
{
	uint32_t n;

	pthread_mutex_lock(&lock);
	n = nwithheld;
	pthread_mutex_unlock(&lock);
	return n;
}

void fuse_release(void)
{
	struct request *req;

	pthread_mutex_lock(&lock);
	memset(is_withheld, 0, sizeof(is_withheld));
	while ((req = withheld)) {
		withheld = req->next;
		answer_all(req);
		free(req);
	}
	nwithheld = 0;
	pthread_mutex_unlock(&lock);
}

uint32_t fuse_answered(uint32_t opcode)
{
	uint32_t n;

	pthread_mutex_lock(&lock);
	n = nanswered[opcode % OPCODES];
	pthread_mutex_unlock(&lock);
	return n;
}

void fuse_unmount(void)
{
	fuse_release();
	umount2(mounted, MNT_DETACH | MNT_FORCE);
	pthread_join(thread, NULL);
	close(fuse_fd);
	fuse_fd = -1;
}
