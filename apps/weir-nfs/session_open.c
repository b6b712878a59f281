/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens and closes a session. Opening finds the port, calls MOUNT, creates the engine and its
 * memory, and connects.
 */
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <weir/binding_nfs.h>

#include "listener.h"
#include "rpcbind_query.h"
#include "session.h"
#include "connect_hint.h"

#define NOBODY_LISTENS UINT32_MAX /* stands for no user; no user has this number */

static int complain(const struct nfs_options *options, int rc, const char *what, const char *why)
{
	session_message(options, "%s: %s", what, why);
	return rc;
}

/*
 * Resolves the server's name to a numeric address, which drivers need, and its address family.
 * Returns 0, or -EHOSTUNREACH with an error message in 'why'.
 */
static int resolve(const char *host, char *numeric, size_t bytes, int *family,
		   char why[ONCRPC_CLIENT_TEXT])
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
	int rc = getaddrinfo(host, NULL, &hints, &list);

	if (rc == 0) {
		rc = getnameinfo(list->ai_addr, list->ai_addrlen, numeric, (socklen_t)bytes, NULL,
				 0, NI_NUMERICHOST);
		*family = list->ai_family;
		freeaddrinfo(list);
	}
	if (rc != 0)
		snprintf(why, ONCRPC_CLIENT_TEXT, "%s", gai_strerror(rc));
	return rc == 0 ? 0 : -EHOSTUNREACH;
}

/*
 * Sets the address of the server in 'session'. Finds its port in one of the three ways of RFC 8267
 * section 5. Returns 0, or -errno after it has printed the reason.
 */
static int find_address(struct session *session)
{
	const struct nfs_options *o = session->options;
	static const char *const from[] = {
		[PORT_WELL_KNOWN] = "the well-known port",
		[PORT_GIVEN] = "the port that was given",
		[PORT_RPCBIND] = "the port that rpcbind gave",
	};
	uint16_t port = o->port_from == PORT_GIVEN ? o->port : NFS3_PORT_RDMA;
	char numeric[HOST_MAX], why[ONCRPC_CLIENT_TEXT];
	int family = AF_INET, rc;

	if (!o->has_ports) {
		snprintf(session->addr, sizeof(session->addr), "%s", o->server);
		snprintf(session->where, sizeof(session->where), "'%s'", o->server);
		return 0;
	}
	rc = resolve(o->host, numeric, sizeof(numeric), &family, why);
	if (rc != 0)
		return complain(o, rc, o->host, why);
	if (o->port_from == PORT_RPCBIND) {
		rc = rpcbind_find(numeric, o->mount.rpcbind_port, NFS3_PROGRAM, NFS3_V3,
				  family == AF_INET6 ? WEIR_NFS_RDMA6_NETID : WEIR_NFS_RDMA_NETID,
				  o->mount.timeout_ms, &port, why);
		if (rc != 0)
			return complain(o, rc, "rpcbind", why);
		if (o->verbose)
			session_message(o, "rpcbind at %s says port %u", o->host, port);
	}
	if (!address_join(numeric, port, session->addr, sizeof(session->addr)))
		return complain(o, -EINVAL, o->host, "the address is too long");
	snprintf(session->where, sizeof(session->where), "%s (%s)", session->addr,
		 from[o->port_from]);
	return 0;
}

/*
 * Finds the user who listens on MOUNT's port, if NFS is over shm. The server is then a process of
 * this host, and MOUNT is called on a port of this host. This function is called before the call of
 * MNT (is_after: false) and after the call (is_after: true). The owner must be the same both times.
 * check_mount_owner() later compares the owner with the server's user. Over a network, MOUNT is as
 * trustworthy as the network, so there is no check. Returns 0, or -EACCES after it has printed the
 * reason.
 */
static int find_mount_owner(struct session *session, uint16_t port, bool is_after)
{
	uint32_t uid;
	int rc;

	if (session->options->has_ports)
		return 0;
	rc = listener_find(port, &uid);
	/* If nobody listens before the call, the connect to MOUNT fails and reports that. */
	if (rc == -ENOENT && !is_after)
		uid = NOBODY_LISTENS;
	else if (rc != 0 || (is_after && uid != session->mount_uid))
		return complain(session->options, -EACCES, "MOUNT",
				"can't determine which user listens on its port. Give the handle "
				"(--handle @FILE)");
	session->mount_uid = uid;
	return 0;
}

/*
 * Returns 0 if the handle can be trusted, because MOUNT's port belongs to root, to this user, or to
 * the user of the server. Otherwise prints the reason and returns -EACCES.
 */
static int check_mount_owner(const struct session *session)
{
	char why[ONCRPC_CLIENT_TEXT];
	struct weir_peer peer = {.struct_bytes = sizeof(peer)};

	if (session->mount_port == 0 || session->options->has_ports || session->mount_uid == 0 ||
	    session->mount_uid == geteuid())
		return 0;
	if (weir_conn_peer(session->conn, &peer) == 0 && peer.has_credentials &&
	    peer.uid == session->mount_uid)
		return 0;
	snprintf(why, sizeof(why),
		 "user %u listens on TCP port %u, but only root, this user and the server's user "
		 "are trusted. Give the handle (--handle @FILE), or start the server with a "
		 "--mount-port below 1024",
		 session->mount_uid, session->mount_port);
	return complain(session->options, -EACCES, "MOUNT", why);
}

static int find_root(struct session *session)
{
	struct mount_options mount = session->options->mount;
	const struct nfs_options *o = session->options;
	struct mount3_mnt_res res;
	char why[ONCRPC_CLIENT_TEXT];
	bool allows = false;
	int rc;

	session->root = o->handle;
	if (o->handle.len_bytes > 0 || !o->export)
		return 0;
	rc = mount_find_port(&mount, &mount.port, why);
	if (rc != 0)
		return complain(o, rc, "MOUNT's port, from rpcbind", why);
	rc = find_mount_owner(session, mount.port, false);
	if (rc != 0)
		return rc;
	rc = mount_mnt(&mount, o->export, &res, why);
	if (rc != 0)
		return complain(o, rc, "MOUNT", why);
	rc = find_mount_owner(session, mount.port, true);
	if (rc != 0)
		return rc;
	if (res.status != MOUNT3_OK)
		return complain(o, EXIT_NFS, o->export, mount_status_text(res.status));
	/* If the answer lists no flavor, it does not say which flavors the server accepts. */
	for (uint32_t i = 0; i < res.flavors.len; i++)
		allows |= res.flavors.items[i] == AUTH_SYS;
	if (!allows && res.flavors.len > 0 && !o->quiet)
		session_message(o, "the export does not list AUTH_SYS, but it is tried");
	session->root.len_bytes = res.fh.len_bytes;
	memcpy(session->root.data, res.fh.data, res.fh.len_bytes);
	session->mount_port = mount.port;
	if (o->verbose)
		session_message(o, "MOUNT at TCP port %u of %s", mount.port, mount.host);
	return 0;
}

/*
 * Makes the AUTH_SYS credential of NFS calls: the user, its group, and its supplementary groups.
 * MOUNT calls have a credential with the same content. Returns 0 or an error of weir.
 */
static int make_cred(struct session *session)
{
	struct weir_rpc_auth_sys sys = {
		.stamp = (uint32_t)time(NULL),
		.uid = session->options->uid,
		.gid = session->options->gid,
	};
	const struct mount_options *mount = &session->options->mount;
	char name[65] = "";

	gethostname(name, sizeof(name) - 1);
	sys.name = name;
	sys.name_len_bytes = (uint32_t)strnlen(name, sizeof(name));
	for (; sys.ngids < mount->ngids; sys.ngids++)
		sys.gids[sys.ngids] = mount->gids[sys.ngids];
	return weir_rpc_auth_sys_encode(&sys, session->cred_body, &session->cred);
}

static int make_memory(struct session *session, uint32_t nslots, uint32_t slot_bytes)
{
	struct weir_region_options options = {
		.struct_bytes = sizeof(options),
		.len_bytes = (size_t)nslots * slot_bytes + NFS3_PATH_MAX,
		.page_bytes = session->options->profile.page_bytes,
		.numa_node = -1,
	};
	struct weir_region_info info = {.struct_bytes = sizeof(info)};
	int rc;

	/*
	 * A hugepage would be wasted on a small region, and is worthwhile only for long-lived
	 * memory.
	 */
	if (options.len_bytes < 1u << 20)
		options.flags |= WEIR_REGION_NO_HUGE;
	rc = weir_region_create(&options, &session->region);
	if (rc == 0)
		rc = weir_engine_add_region(session->engine, session->region);
	if (rc != 0)
		return complain(session->options, rc, "no memory for data", strerror(-rc));
	weir_region_info(session->region, &info);
	session->path = info.base;
	session->slots = session->path + NFS3_PATH_MAX;
	session->nslots = nslots;
	session->slot_bytes = slot_bytes;
	return 0;
}

static int pin(const struct nfs_options *options)
{
	cpu_set_t set;
	int rc;

	if (!options->is_pinned)
		return 0;
	CPU_ZERO(&set);
	CPU_SET(options->lcore, &set);
	rc = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	return rc == 0 ? 0 : complain(options, -rc, "--lcore", strerror(rc));
}

static int connect_first(struct session *session)
{
	session->error = session_connect(session);
	while (!session->is_up && session->error == 0)
		session_poll(session);
	if (session->error != 0) {
		char why[256];

		snprintf(why, sizeof(why), "%s%s", strerror(-session->error),
			 connect_hint(session->options->profile.driver, session->addr,
				      session->error));
		return complain(session->options, session->error, session->where, why);
	}
	if (session->options->verbose)
		session_message(session->options, "connected to %s by driver %s", session->where,
				session->options->profile.driver);
	return 0;
}

int session_open(const struct nfs_options *options, uint32_t nslots, uint32_t slot_bytes,
		 struct session **out)
{
	struct session *session = calloc(1, sizeof(*session));
	int rc;

	if (!session)
		return -ENOMEM;
	session->options = options;
	TAILQ_INIT(&session->waiting);
	TAILQ_INIT(&session->flying);
	rc = find_address(session);
	if (rc == 0)
		rc = find_root(session);
	if (rc == 0)
		rc = make_cred(session);
	if (rc == 0)
		rc = pin(options);
	if (rc == 0) {
		rc = weir_engine_create(&options->profile, &session->engine);
		if (rc != 0)
			complain(options, rc, "can't create an engine", strerror(-rc));
	}
	if (rc == 0)
		rc = make_memory(session, nslots, slot_bytes);
	if (rc == 0) {
		bench_clock_init(&session->clock);
		rc = connect_first(session);
	}
	if (rc == 0)
		rc = check_mount_owner(session);
	if (rc != 0) {
		session_close(session);
		return rc;
	}
	*out = session;
	return 0;
}

void session_close(struct session *session)
{
	struct mount_options mount;

	if (!session)
		return;
	session->is_closing = true;
	if (session->conn && session->error == 0)
		weir_conn_shutdown(session->conn);
	for (uint32_t polls = 0; session->conn && session->error == 0 && polls < 1000; polls++) {
		session->now_ns = bench_clock_ns(&session->clock);
		weir_engine_poll(session->engine, 0, session->now_ns);
	}
	weir_engine_destroy(session->engine);
	weir_region_destroy(session->region);
	if (session->mount_port != 0 && session->error == 0) {
		mount = session->options->mount;
		mount.port = session->mount_port;
		mount_umnt(&mount, session->options->export);
	}
	free(session);
}
