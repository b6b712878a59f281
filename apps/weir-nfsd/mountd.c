/* SPDX-License-Identifier: BSD-3-Clause */
#include "mountd.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mount3.h"
#include "server.h"

#define BUFFER_BYTES 4096u
#define POLL_MS	     200
#define FDS_MAX	     64 /* connections at a time: MOUNT is a call or two for each mount */

struct mountd {
	pthread_t thread;
	atomic_bool stop;
	uint32_t port;
	struct server *server;
	struct mount3_dump_res mounts;
};

/* xdr_void() is not of the form that is asked for. */
static bool_t xdr_nothing(XDR *xdrs, void *nothing)
{
	(void)xdrs;
	(void)nothing;
	return TRUE;
}

/* Callbacks of libtirpc have no argument. */
static struct mountd *mountd_here;

/* Who calls, as text. */
static void caller_name(SVCXPRT *xprt, char *text, size_t bytes)
{
	const struct netbuf *from = svc_getrpccaller(xprt);

	if (getnameinfo(from->buf, from->len, text, (socklen_t)bytes, NULL, 0, NI_NUMERICHOST) != 0)
		snprintf(text, bytes, "?");
}

static struct mount3_mount *find_mount(struct mount3_dump_res *mounts, const char *host, const char *path)
{
	for (uint32_t i = 0; i < mounts->n; i++)
		if (strcmp(mounts->mounts[i].host, host) == 0 && strcmp(mounts->mounts[i].path, path) == 0)
			return &mounts->mounts[i];
	return NULL;
}

/* The list is for people: when it is full, the first goes. */
static void note_mount(struct mount3_dump_res *mounts, const char *host, const char *path)
{
	struct mount3_mount *mount;

	if (find_mount(mounts, host, path))
		return;
	if (mounts->n == MOUNT3_LIST_MAX)
		memmove(&mounts->mounts[0], &mounts->mounts[1], --mounts->n * sizeof(*mount));
	mount = &mounts->mounts[mounts->n++];
	snprintf(mount->host, sizeof(mount->host), "%s", host);
	snprintf(mount->path, sizeof(mount->path), "%s", path);
}

/* 'path' NULL: all of this host's. */
static void forget_mounts(struct mount3_dump_res *mounts, const char *host, const char *path)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < mounts->n; i++) {
		struct mount3_mount *mount = &mounts->mounts[i];

		if (strcmp(mount->host, host) != 0 || (path && strcmp(mount->path, path) != 0))
			mounts->mounts[n++] = *mount;
	}
	mounts->n = n;
}

/* A path, with or without slashes at its end. */
static void trim(struct mount3_path *path)
{
	size_t n = strlen(path->path);

	while (n > 1 && path->path[n - 1] == '/')
		path->path[--n] = '\0';
}

/* Of NFS, as MOUNT has it: most are the same. */
static uint32_t status_of(enum nfs3_status status)
{
	switch (status) {
	case NFS3_OK:
	case NFS3ERR_NOENT:
	case NFS3ERR_IO:
	case NFS3ERR_ACCES:
	case NFS3ERR_NOTDIR:
	case NFS3ERR_NAMETOOLONG:
		return status;
	default:
		return MOUNT3ERR_SERVERFAULT;
	}
}

static void do_mnt(struct mountd *mountd, SVCXPRT *xprt, const char *host)
{
	struct mount3_mnt_res res = {.nflavors = 2, .flavors = {AUTH_SYS, AUTH_NONE}};
	static struct mount3_path path;

	if (!svc_getargs(xprt, (xdrproc_t)mount3_xdr_path, (char *)&path)) {
		svcerr_decode(xprt);
		return;
	}
	trim(&path);
	res.status = status_of(server_find(mountd->server, path.path, &res.fh));
	if (res.status == MOUNT3_OK)
		note_mount(&mountd->mounts, host, path.path);
	svc_sendreply(xprt, (xdrproc_t)mount3_xdr_mnt_res, (char *)&res);
}

static void do_umnt(struct mountd *mountd, SVCXPRT *xprt, const char *host)
{
	static struct mount3_path path;

	if (!svc_getargs(xprt, (xdrproc_t)mount3_xdr_path, (char *)&path)) {
		svcerr_decode(xprt);
		return;
	}
	trim(&path);
	forget_mounts(&mountd->mounts, host, path.path);
	svc_sendreply(xprt, (xdrproc_t)xdr_nothing, NULL);
}

static void do_export(struct mountd *mountd, SVCXPRT *xprt)
{
	const struct exports *exports = &mountd->server->exports;
	static struct mount3_export_res res;

	res.n = exports->n;
	for (uint32_t i = 0; i < res.n; i++)
		snprintf(res.exports[i].path, sizeof(res.exports[i].path), "%s", exports->all[i].name);
	svc_sendreply(xprt, (xdrproc_t)mount3_xdr_export_res, (char *)&res);
}

static void dispatch(struct svc_req *req, SVCXPRT *xprt)
{
	struct mountd *mountd = mountd_here;
	char host[MOUNT3_NAME_MAX + 1];

	caller_name(xprt, host, sizeof(host));
	switch (req->rq_proc) {
	case MOUNT3_NULL:
		svc_sendreply(xprt, (xdrproc_t)xdr_nothing, NULL);
		break;
	case MOUNT3_MNT:
		do_mnt(mountd, xprt, host);
		break;
	case MOUNT3_DUMP:
		svc_sendreply(xprt, (xdrproc_t)mount3_xdr_dump_res, (char *)&mountd->mounts);
		break;
	case MOUNT3_UMNT:
		do_umnt(mountd, xprt, host);
		break;
	case MOUNT3_UMNTALL:
		forget_mounts(&mountd->mounts, host, NULL);
		svc_sendreply(xprt, (xdrproc_t)xdr_nothing, NULL);
		break;
	case MOUNT3_EXPORT:
		do_export(mountd, xprt);
		break;
	default:
		svcerr_noproc(xprt);
	}
}

/* libtirpc keeps the descriptors in svc_pollfd; those it can't take any more wait in the kernel. */
static void *run(void *arg)
{
	struct mountd *mountd = arg;
	struct pollfd fds[FDS_MAX];

	while (!mountd->stop) {
		int n = svc_max_pollfd < FDS_MAX ? svc_max_pollfd : FDS_MAX;
		int ready;

		for (int i = 0; i < n; i++)
			fds[i] = (struct pollfd){.fd = svc_pollfd[i].fd, .events = svc_pollfd[i].events};
		ready = poll(fds, (nfds_t)n, POLL_MS);
		if (ready > 0)
			svc_getreq_poll(fds, ready);
	}
	return NULL;
}

/* A socket for both address families, or for IPv4 where there is no other. */
static int make_socket(uint32_t port)
{
	struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
	struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int one = 1, zero = 0, fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;
	bool is_v6 = fd >= 0;

	if (!is_v6)
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (is_v6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	rc = is_v6 ? bind(fd, (struct sockaddr *)&any6, sizeof(any6))
		   : bind(fd, (struct sockaddr *)&any4, sizeof(any4));
	if (rc != 0 || listen(fd, FDS_MAX) != 0) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

static uint32_t port_of(int fd)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);

	if (getsockname(fd, (struct sockaddr *)&addr, &len) != 0)
		return 0;
	if (addr.ss_family == AF_INET6)
		return ntohs(((struct sockaddr_in6 *)&addr)->sin6_port);
	return ntohs(((struct sockaddr_in *)&addr)->sin_port);
}

int mountd_start(struct server *server, uint32_t port, struct mountd **mountd)
{
	struct mountd *m = calloc(1, sizeof(*m));
	int fd = m ? make_socket(port) : -ENOMEM;
	SVCXPRT *xprt;
	int rc;

	if (fd < 0) {
		fprintf(stderr, "weir-nfsd: MOUNT can't listen on port %u: %s\n", port, strerror(-fd));
		free(m);
		return fd;
	}
	m->server = server;
	m->port = port_of(fd);
	mountd_here = m;
	xprt = svc_vc_create(fd, BUFFER_BYTES, BUFFER_BYTES);
	if (!xprt || !svc_reg(xprt, MOUNT3_PROGRAM, MOUNT3_VERSION, dispatch, NULL)) {
		fprintf(stderr, "weir-nfsd: libtirpc can't serve MOUNT\n");
		close(fd);
		free(m);
		return -EIO;
	}
	rc = pthread_create(&m->thread, NULL, run, m);
	if (rc != 0) {
		fprintf(stderr, "weir-nfsd: no thread for MOUNT: %s\n", strerror(rc));
		svc_destroy(xprt);
		free(m);
		return -rc;
	}
	*mountd = m;
	return 0;
}

void mountd_stop(struct mountd *mountd)
{
	if (!mountd)
		return;
	mountd->stop = true;
	/* It may wait for an answer of a poller's. */
	while (pthread_tryjoin_np(mountd->thread, NULL) != 0) {
		server_poll(mountd->server);
		sched_yield();
	}
	svc_exit();
	free(mountd);
}

uint32_t mountd_port(const struct mountd *mountd)
{
	return mountd ? mountd->port : 0;
}
