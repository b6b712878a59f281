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

#include "mount3_msg.h"
#include "mount3_rpc.h"
#include "mount3_text.h"
#include "oncrpc_server.h"
#include "server.h"
#include "server_clock.h"
#include "walkers.h"

#define POLL_MS 200

#define REPLY_HEADER_MAX 64u /* maximum bytes of the header of a reply */

_Static_assert(MOUNT3_DUMP_3_RESULTS_MAX_BYTES + REPLY_HEADER_MAX <= ONCRPC_SERVER_REPLY_MAX,
	       "DUMP needs a larger buffer");
/* A reply of EXPORT has no groups, so that an entry is two booleans and a path. */
_Static_assert(MOUNT3_LIST_MAX *(8u + MOUNT3_PATH_MAX_BYTES) + 4u + REPLY_HEADER_MAX <=
		       ONCRPC_SERVER_REPLY_MAX,
	       "EXPORT needs a larger buffer");

_Static_assert(EXPORTS_MAX <= MOUNT3_LIST_MAX, "EXPORT lists all exports");

/* A mount that a client has made. */
struct mounted {
	char host[MOUNT3_NAME_MAX + 1];
	char path[MOUNT3_PATH_MAX + 1];
};

struct mountd {
	pthread_t thread;
	bool has_thread;
	atomic_bool stop;
	struct oncrpc_server *tcp;
	struct walkers *walkers;
	struct server *server;
	bool is_local; /* NFS is served over shm, and so only to this host */
	const struct oncrpc_server_call *call; /* the call that is being handled */
	bool is_later;			       /* that call is answered later */
	struct client client;		       /* the client of that call */
	struct mounted mounts[MOUNT3_LIST_MAX];
	uint32_t nmounts;
	/* The results of a call, from its handler until they are encoded. */
	struct mount3_mnt_res mnt;
	struct mount3_mount shown[MOUNT3_LIST_MAX];
	mount3_mounts first_shown;
	struct mount3_export exports[MOUNT3_LIST_MAX];
	mount3_exports first_export;
};

static bool has_mount(const struct mountd *mountd, const char *host, const char *path)
{
	for (uint32_t i = 0; i < mountd->nmounts; i++)
		if (strcmp(mountd->mounts[i].host, host) == 0 &&
		    strcmp(mountd->mounts[i].path, path) == 0)
			return true;
	return false;
}

/*
 * Adds a mount to the list, which only informs users (DUMP). If the list is full, the oldest entry
 * is removed.
 */
static void note_mount(struct mountd *mountd, const char *host, const char *path)
{
	struct mounted *mounts = mountd->mounts, *mount;

	if (has_mount(mountd, host, path))
		return;
	if (mountd->nmounts == MOUNT3_LIST_MAX)
		memmove(&mounts[0], &mounts[1], --mountd->nmounts * sizeof(*mounts));
	mount = &mounts[mountd->nmounts++];
	snprintf(mount->host, sizeof(mount->host), "%s", host);
	snprintf(mount->path, sizeof(mount->path), "%s", path);
}

/* Removes the mount of 'path' by the host 'host', or all mounts by that host if 'path' is NULL. */
static void forget_mounts(struct mountd *mountd, const char *host, const char *path)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < mountd->nmounts; i++) {
		struct mounted *mount = &mountd->mounts[i];

		if (strcmp(mount->host, host) != 0 || (path && strcmp(mount->path, path) != 0))
			mountd->mounts[n++] = *mount;
	}
	mountd->nmounts = n;
}

/*
 * Copies the path of a call to 'path' without the slashes at its end. Returns false if the path has
 * a NUL character inside.
 */
static bool get_path(const mount3_path *arg, char path[MOUNT3_PATH_MAX + 1])
{
	size_t n;

	if (!mount3_text(arg, path, MOUNT3_PATH_MAX + 1))
		return false;
	n = strlen(path);
	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
	return true;
}

/* Converts a status of NFS to one of MOUNT. Statuses that both have are equal in number. */
static enum mount3_status status_of(enum nfs3_status status)
{
	switch (status) {
	case NFS3_OK:
	case NFS3ERR_NOENT:
	case NFS3ERR_IO:
	case NFS3ERR_ACCES:
	case NFS3ERR_NOTDIR:
	case NFS3ERR_NAMETOOLONG:
		return (enum mount3_status)status;
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

/* Sets mountd->mnt to the results of MNT. *fh is only used if the status is NFS3_OK. */
static void set_mnt(struct mountd *mountd, enum nfs3_status status, const struct nfs3_fh *fh)
{
	struct mount3_mnt_res *res = &mountd->mnt;

	*res = (struct mount3_mnt_res){.status = status_of(status),
				       .flavors = {2, {AUTH_SYS, AUTH_NONE}}};
	if (status != NFS3_OK)
		return;
	res->fh.len_bytes = fh->len_bytes;
	memcpy(res->fh.data, fh->data, fh->len_bytes);
}

/* Passes the call to a walker. Returns false if there is no memory for that. */
static bool have_walked(struct mountd *mountd, struct walkers_call *walk)
{
	walk->id = mountd->call->id;
	walk->client = client_key(&mountd->client);
	memcpy(walk->host, mountd->call->peer->host, sizeof(walk->host));
	return walkers_add(mountd->walkers, walk) == 0;
}

/*
 * Answers MNT. The handle of an export's root is known. For any other directory a walker is needed,
 * because the walk can reach a file system that does not answer.
 */
static enum weir_rpc_accept_stat do_mnt(void *arg, const mount3_path *args,
					const struct mount3_mnt_res **results)
{
	struct mountd *mountd = arg;
	struct server *server = mountd->server;
	char path[MOUNT3_PATH_MAX + 1];
	struct walkers_call walk;
	enum nfs3_status status;
	struct nfs3_fh fh;

	if (!get_path(args, path))
		return WEIR_RPC_GARBAGE_ARGS;
	status = walk_begin(&walk.walk, server, &mountd->client,
			    believed(mountd, mountd->call->auth), path);
	if (status == NFS3_OK && !walk_is_to_root(&walk.walk)) {
		mountd->is_later = have_walked(mountd, &walk);
		if (mountd->is_later)
			return WEIR_RPC_SUCCESS;
		status = NFS3ERR_SERVERFAULT;
	}
	if (status == NFS3_OK) {
		server_root(server, walk.walk.export, &fh);
		note_mount(mountd, mountd->call->peer->host, path);
	}
	set_mnt(mountd, status, &fh);
	*results = &mountd->mnt;
	return WEIR_RPC_SUCCESS;
}

/* These functions are the callbacks of walkers.h and of oncrpc_server.h. */
static void on_walked(void *arg, const struct walkers_call *call, enum nfs3_status status,
		      const struct nfs3_fh *fh)
{
	struct mountd *mountd = arg;
	struct weir_xdr_out *out = oncrpc_server_begin_reply(mountd->tcp, call->id);
	bool is_encoded;

	if (!out)
		return;
	set_mnt(mountd, status, fh);
	is_encoded = mount3_mnt_res_put(out, &mountd->mnt) == 0;
	if (oncrpc_server_end_reply(mountd->tcp, call->id, is_encoded) && status == NFS3_OK)
		note_mount(mountd, call->host, call->walk.path);
}

static void on_walker(void *arg)
{
	oncrpc_server_wake(((struct mountd *)arg)->tcp);
}

static void on_dropped(void *arg, uint64_t id)
{
	walkers_drop(((struct mountd *)arg)->walkers, id);
}

static enum weir_rpc_accept_stat do_umnt(void *arg, const mount3_path *args)
{
	struct mountd *mountd = arg;
	char path[MOUNT3_PATH_MAX + 1];

	if (!get_path(args, path))
		return WEIR_RPC_GARBAGE_ARGS;
	forget_mounts(mountd, mountd->call->peer->host, path);
	return WEIR_RPC_SUCCESS;
}

static enum weir_rpc_accept_stat do_umntall(void *arg)
{
	struct mountd *mountd = arg;

	forget_mounts(mountd, mountd->call->peer->host, NULL);
	return WEIR_RPC_SUCCESS;
}

/* Returns those mounts of the list that the client could make itself. */
static enum weir_rpc_accept_stat do_dump(void *arg, mount3_mounts const **results)
{
	struct mountd *mountd = arg;
	mount3_mounts *link = &mountd->first_shown;
	uint32_t n = 0;

	for (uint32_t i = 0; i < mountd->nmounts; i++) {
		const struct mounted *mount = &mountd->mounts[i];

		if (!walk_may_mount(mountd->server, &mountd->client, mount->path))
			continue;
		*link = &mountd->shown[n++];
		(*link)->host = mount3_string(mount->host);
		(*link)->path = mount3_string(mount->path);
		link = &(*link)->next;
	}
	*link = NULL;
	*results = &mountd->first_shown;
	return WEIR_RPC_SUCCESS;
}

/* Returns the exports that the client may mount. Their lists of groups are empty. */
static enum weir_rpc_accept_stat do_export(void *arg, mount3_exports const **results)
{
	struct mountd *mountd = arg;
	const struct exports *exports = &mountd->server->exports;
	mount3_exports *link = &mountd->first_export;
	uint32_t n = 0;

	for (uint32_t i = 0; i < exports->n; i++) {
		if (!client_rules(&mountd->client, exports, &exports->all[i]))
			continue;
		*link = &mountd->exports[n++];
		(*link)->path = mount3_string(exports->all[i].name);
		(*link)->groups = NULL;
		link = &(*link)->next;
	}
	*link = NULL;
	*results = &mountd->first_export;
	return WEIR_RPC_SUCCESS;
}

static bool mountd_may_connect(void *arg, const struct oncrpc_server_peer *peer)
{
	struct mountd *mountd = arg;
	struct client client;

	client_of_tcp(&client, peer->host, peer->port, mountd->is_local, &mountd->server->exports);
	return client_may_connect(&client, &mountd->server->exports);
}

static enum weir_rpc_accept_stat mountd_handle(void *arg, const struct oncrpc_server_call *call,
					       bool *is_later)
{
	/* The generated code answers NULL. */
	static const struct mount3_v3_calls handlers = {
		.mount3_mnt = do_mnt,
		.mount3_dump = do_dump,
		.mount3_umnt = do_umnt,
		.mount3_umntall = do_umntall,
		.mount3_export = do_export,
	};
	struct mountd *mountd = arg;
	enum weir_rpc_accept_stat stat;

	client_of_tcp(&mountd->client, call->peer->host, call->peer->port, mountd->is_local,
		      &mountd->server->exports);
	mountd->call = call;
	mountd->is_later = false;
	stat = mount3_v3_serve(&handlers, mountd, call->proc, call->args, call->results);
	mountd->call = NULL;
	*is_later = mountd->is_later;
	return stat;
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
		MOUNT3_PROGRAM, MOUNT3_V3, mountd_may_connect, mountd_handle, on_dropped, m};
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
