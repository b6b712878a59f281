/* SPDX-License-Identifier: BSD-3-Clause */
/* Serves the MOUNT protocol in a thread of its own. */
#include "mountd.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mount3.h"
#include "oncrpc_server.h"
#include "server.h"
#include "server_clock.h"
#include "walkers.h"

#define POLL_MS 200

struct mountd {
	pthread_t thread;
	bool has_thread;
	atomic_bool stop;
	struct oncrpc_server *tcp;
	struct walkers *walkers;
	struct server *server;
	bool is_local;			      /* NFS is served over shm, and so only to this host */
	struct client client;		      /* the client of the call that is being handled */
	struct mount3_dump_res mounts, shown; /* all mounts that clients have made, and the part of
						 them that a reply of DUMP contains */
	struct mount3_mnt_res mnt;
	struct mount3_export_res exports;
};

static struct mount3_mount *find_mount(struct mount3_dump_res *mounts, const char *host,
				       const char *path)
{
	for (uint32_t i = 0; i < mounts->n; i++)
		if (strcmp(mounts->mounts[i].host, host) == 0 &&
		    strcmp(mounts->mounts[i].path, path) == 0)
			return &mounts->mounts[i];
	return NULL;
}

/*
 * Adds a mount to the list, which only informs users (DUMP). If the list is full, the oldest entry
 * is removed.
 */
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

/* Removes the mount of 'path' by the host 'host', or all mounts by that host if 'path' is NULL. */
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

/* Removes slashes from the end of a path. */
static void mountd_trim(struct mount3_path *path)
{
	size_t n = strlen(path->path);

	while (n > 1 && path->path[n - 1] == '/')
		path->path[--n] = '\0';
}

/* Converts a status of NFS to one of MOUNT. Statuses that both have are equal in number. */
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

/*
 * Returns the credential with which the client walks to the directory. If NFS is served over shm,
 * the kernel reports the users of NFS connections, but not those of MOUNT connections, and any user
 * of this host can claim to be another. If only root can use the client's port, root makes the
 * claim and the claim is accepted. Otherwise the user is anonymous.
 */
static const struct weir_rpc_auth *believed(const struct mountd *mountd,
					    const struct weir_rpc_auth *auth)
{
	static const struct weir_rpc_auth anonymous = {.flavor = WEIR_RPC_AUTH_NONE};

	return mountd->is_local && !mountd->client.is_privileged ? &anonymous : auth;
}

/* Sets *results to the results of MNT. *fh is only used if the status is NFS3_OK. */
static void set_mnt(struct mountd *mountd, enum nfs3_status status, const struct nfs3_fh *fh,
		    struct oncrpc_server_results *results)
{
	struct mount3_mnt_res *res = &mountd->mnt;

	*res = (struct mount3_mnt_res){.nflavors = 2, .flavors = {AUTH_SYS, AUTH_NONE}};
	res->status = status_of(status);
	if (status == NFS3_OK)
		res->fh = *fh;
	*results = (struct oncrpc_server_results){(xdrproc_t)mount3_xdr_mnt_res, res, false};
}

/* Passes the call to a walker. Returns false if there is no memory for that. */
static bool have_walked(struct mountd *mountd, const struct oncrpc_server_call *call,
			struct walkers_call *walk)
{
	walk->id = call->id;
	walk->client = client_key(&mountd->client);
	memcpy(walk->host, call->peer->host, sizeof(walk->host));
	return walkers_add(mountd->walkers, walk) == 0;
}

/*
 * Answers MNT. The handle of an export's root is known. For any other directory a walker is needed,
 * because the walk can reach a file system that does not answer.
 */
static enum accept_stat do_mnt(struct mountd *mountd, const struct oncrpc_server_call *call,
			       struct oncrpc_server_results *results)
{
	struct server *server = mountd->server;
	struct walkers_call walk;
	struct mount3_path path;
	enum nfs3_status status;
	struct nfs3_fh fh;

	if (!mount3_xdr_path(call->args, &path))
		return GARBAGE_ARGS;
	mountd_trim(&path);
	status = walk_begin(&walk.walk, server, &mountd->client, believed(mountd, call->auth),
			    path.path);
	if (status == NFS3_OK && !walk_is_to_root(&walk.walk)) {
		results->is_later = have_walked(mountd, call, &walk);
		if (results->is_later)
			return SUCCESS;
		status = NFS3ERR_SERVERFAULT;
	}
	if (status == NFS3_OK) {
		server_root(server, walk.walk.export, &fh);
		note_mount(&mountd->mounts, call->peer->host, path.path);
	}
	set_mnt(mountd, status, &fh, results);
	return SUCCESS;
}

/* These functions are the callbacks of walkers.h and of oncrpc_server.h. */
static void on_walked(void *arg, const struct walkers_call *call, enum nfs3_status status,
		      const struct nfs3_fh *fh)
{
	struct mountd *mountd = arg;
	struct oncrpc_server_results results;

	set_mnt(mountd, status, fh, &results);
	if (oncrpc_server_reply(mountd->tcp, call->id, &results) && status == NFS3_OK)
		note_mount(&mountd->mounts, call->host, call->walk.path);
}

static void on_walker(void *arg)
{
	oncrpc_server_wake(((struct mountd *)arg)->tcp);
}

static void on_dropped(void *arg, uint64_t id)
{
	walkers_drop(((struct mountd *)arg)->walkers, id);
}

static enum accept_stat do_umnt(struct mountd *mountd, XDR *args, const char *host)
{
	struct mount3_path path;

	if (!mount3_xdr_path(args, &path))
		return GARBAGE_ARGS;
	mountd_trim(&path);
	forget_mounts(&mountd->mounts, host, path.path);
	return SUCCESS;
}

/* Sets *results to those mounts of the list that the client could make itself. */
static void do_dump(struct mountd *mountd, struct oncrpc_server_results *results)
{
	const struct mount3_dump_res *all = &mountd->mounts;
	struct mount3_dump_res *res = &mountd->shown;

	res->n = 0;
	for (uint32_t i = 0; i < all->n; i++)
		if (walk_may_mount(mountd->server, &mountd->client, all->mounts[i].path))
			res->mounts[res->n++] = all->mounts[i];
	*results = (struct oncrpc_server_results){(xdrproc_t)mount3_xdr_dump_res, res, false};
}

static void do_export(struct mountd *mountd, struct oncrpc_server_results *results)
{
	const struct exports *exports = &mountd->server->exports;
	struct mount3_export_res *res = &mountd->exports;

	res->n = 0;
	for (uint32_t i = 0; i < exports->n; i++)
		if (mountd->client.rules[i])
			snprintf(res->exports[res->n++].path, sizeof(res->exports[0].path), "%s",
				 exports->all[i].name);
	*results = (struct oncrpc_server_results){(xdrproc_t)mount3_xdr_export_res, res, false};
}

static bool mountd_may_connect(void *arg, const struct oncrpc_server_peer *peer)
{
	struct mountd *mountd = arg;
	struct client client;

	client_of_tcp(&client, peer->host, peer->port, mountd->is_local, &mountd->server->exports);
	return client_may_connect(&client, &mountd->server->exports);
}

static enum accept_stat mountd_handle(void *arg, const struct oncrpc_server_call *call,
				      struct oncrpc_server_results *results)
{
	struct mountd *mountd = arg;
	const char *host = call->peer->host;

	client_of_tcp(&mountd->client, host, call->peer->port, mountd->is_local,
		      &mountd->server->exports);

	switch (call->proc) {
	case MOUNT3_NULL:
		return SUCCESS;
	case MOUNT3_MNT:
		return do_mnt(mountd, call, results);
	case MOUNT3_DUMP:
		do_dump(mountd, results);
		return SUCCESS;
	case MOUNT3_UMNT:
		return do_umnt(mountd, call->args, host);
	case MOUNT3_UMNTALL:
		forget_mounts(&mountd->mounts, host, NULL);
		return SUCCESS;
	case MOUNT3_EXPORT:
		do_export(mountd, results);
		return SUCCESS;
	default:
		return PROC_UNAVAIL;
	}
}

static void *mountd_run(void *arg)
{
	struct mountd *mountd = arg;

	(void)pthread_setname_np(pthread_self(), "nfsd-mountd");
	while (!mountd->stop) {
		oncrpc_server_poll(mountd->tcp, POLL_MS);
		walkers_poll(mountd->walkers);
	}
	return NULL;
}

int mountd_open(struct server *server, const char *host, uint32_t port, bool is_local,
		struct mountd **mountd)
{
	struct mountd *m = calloc(1, sizeof(*m));
	const struct oncrpc_server_program program = {
		MOUNT3_PROGRAM, MOUNT3_VERSION, mountd_may_connect, mountd_handle, on_dropped, m};
	const struct walkers_user user = {on_walked, on_walker, m};
	int rc = -ENOMEM;

	if (m)
		m->walkers = walkers_create(server, &user);
	if (m && m->walkers)
		rc = oncrpc_server_create(host, port, &program, &m->tcp);
	if (rc != 0) {
		fprintf(stderr, "weir-nfsd: MOUNT can't listen on %s, port %u: %s\n", host, port,
			strerror(-rc));
		if (m)
			walkers_destroy(m->walkers);
		free(m);
		return rc;
	}
	m->server = server;
	m->is_local = is_local;
	*mountd = m;
	return 0;
}

int mountd_start(struct mountd *mountd)
{
	int rc = mountd ? pthread_create(&mountd->thread, NULL, mountd_run, mountd) : 0;

	if (rc != 0)
		fprintf(stderr, "weir-nfsd: can't create a thread for MOUNT: %s\n", strerror(rc));
	else if (mountd)
		mountd->has_thread = true;
	return -rc;
}

/*
 * Returns true if no thread of MOUNT runs. Otherwise returns false, and *export is an export in
 * which such a thread walks, or NULL if only the thread of MOUNT itself runs.
 */
static bool has_ended(struct mountd *mountd, const struct export **export)
{
	*export = NULL;
	if (mountd->has_thread && pthread_tryjoin_np(mountd->thread, NULL) != 0)
		return false;
	mountd->has_thread = false;
	*export = walkers_end(mountd->walkers);
	return !*export;
}

bool mountd_stop(struct mountd *mountd)
{
	uint64_t end_ns = server_now_ns() + SERVER_DRAIN_S * 1000000000ull;
	const struct export *export;

	if (!mountd)
		return true;
	mountd->stop = true;
	oncrpc_server_wake(mountd->tcp);
	/* The loop polls, because a walker might wait for a poller. */
	while (!has_ended(mountd, &export)) {
		if (server_now_ns() >= end_ns) {
			fprintf(stderr,
				"weir-nfsd: MOUNT looks for a directory of export %s in a file "
				"system that has not answered for %u seconds: the server ends "
				"without waiting for it. See 'dmesg' for the disk, host or process "
				"that it waits for\n",
				export ? export->name : "?", SERVER_DRAIN_S);
			return false;
		}
		server_poll(mountd->server);
		sched_yield();
	}
	oncrpc_server_destroy(mountd->tcp);
	walkers_destroy(mountd->walkers);
	free(mountd);
	return true;
}

uint32_t mountd_port(const struct mountd *mountd)
{
	return mountd ? oncrpc_server_port(mountd->tcp) : 0;
}
