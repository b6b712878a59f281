/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registration with rpcbind (RFC 1833 section 2.2.1) over its local socket, on which rpcbind knows
 * the caller's user. libtirpc's rpcb_set() cannot be used, because it knows only the netids in its
 * own table and makes no universal address for other netids.
 */
#include "rpcbind.h"

#include <stdio.h>
#include <string.h>

#include <rpc/rpc.h>
#include <rpc/rpcb_prot.h>

#include "export.h"
#include "mount3_rpc.h"
#include "nfs3_rpc.h"
#include "oncrpc_client.h"
#include "oncrpc_void.h"
#include "server_clock.h"
#include "terminal.h"
#include "uaddr.h"

#define VERSION 3u /* version of NFS and of MOUNT */

/* A connection to rpcbind, and the time until which this server waits for all answers together. */
struct session {
	struct oncrpc_client rpc;
	uint64_t deadline_ns;
};

static void add(struct rpcbind *rpcbind, uint32_t prog, const char *netid, const char *host,
		uint16_t port)
{
	struct rpcbind_entry *entry = &rpcbind->entries[rpcbind->n++];

	*entry = (struct rpcbind_entry){.prog = prog};
	snprintf(entry->netid, sizeof(entry->netid), "%s", netid);
	uaddr_print(host, port, entry->uaddr, sizeof(entry->uaddr));
}

/*
 * Adds the entries of a program for both address families. The universal addresses (RFC 5665
 * section 5.2.3) of the netids rdma and rdma6 have the form of IP addresses (RFC 8166 section 7.1).
 * If the address of an entry is a wildcard, rpcbind reports to a client the address at which the
 * client asked rpcbind.
 */
static void add_families(struct rpcbind *rpcbind, uint32_t prog, const char *netid,
			 const char *netid6, const char *host, uint16_t port)
{
	bool is_v6 = strchr(host, ':') != NULL;

	if (!is_v6 || strcmp(host, "::") == 0)
		add(rpcbind, prog, netid, is_v6 ? "0.0.0.0" : host, port);
	if (is_v6)
		add(rpcbind, prog, netid6, host, port);
}

void rpcbind_init(struct rpcbind *rpcbind, const char *path, const char *listen,
		  const char *mount_host, uint32_t mount_port)
{
	char host[HOST_NUMERIC_MAX];
	uint16_t port;

	*rpcbind = (struct rpcbind){.path = path, .mount_port = mount_port};
	if (listen && address_split_numeric(listen, NFS3_PORT_RDMA, host, &port)) {
		bool is_v6 = strchr(host, ':') != NULL;
		bool is_any = strcmp(host, "::") == 0 || strcmp(host, "0.0.0.0") == 0;

		add_families(rpcbind, NFS3_PROGRAM, "rdma", "rdma6", host, port);
		rpcbind->nfs_port = port;
		snprintf(rpcbind->host, sizeof(rpcbind->host),
			 is_v6 && !is_any ? "[%.45s]" : "%.45s", is_any ? "HOST" : host);
	}
	if (mount_port > 0 && address_split_numeric(mount_host, (uint16_t)mount_port, host, &port))
		add_families(rpcbind, MOUNT3_PROGRAM, "tcp", "tcp6", host, (uint16_t)mount_port);
}

/* Returns true if a shell takes the text as it is. */
static bool is_plain(const char *text)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,@%";

	return text[strspn(text, letters)] == '\0';
}

void rpcbind_advice(const struct rpcbind *rpcbind, char *text, size_t size)
{
	bool has_export = rpcbind->export && is_plain(rpcbind->export);

	if (rpcbind->nfs_port == 0)
		snprintf(text, size, "weir-nfs --mount-port %u", rpcbind->mount_port);
	else if (rpcbind->mount_port == 0)
		snprintf(text, size, "weir-nfs --server %s:%u --handle @FILE", rpcbind->host,
			 rpcbind->nfs_port);
	else
		snprintf(text, size,
			 "mount -t nfs -o "
			 "vers=3,proto=rdma,port=%u,nolock,mountproto=tcp%s,mountport=%u "
			 "%s:%s DIRECTORY",
			 rpcbind->nfs_port, rpcbind->host[0] == '[' ? "6" : "", rpcbind->mount_port,
			 rpcbind->host, has_export ? rpcbind->export : "/EXPORT");
}

static bool open_session(struct session *session, const char *path)
{
	session->deadline_ns = server_now_ns() + RPCBIND_PATIENCE_MS * 1000000ull;
	return oncrpc_client_open_local(&session->rpc, path, RPCBPROG, RPCBVERS,
					RPCBIND_PATIENCE_MS) == 0;
}

static bool call(struct session *session, uint32_t proc, xdrproc_t put, void *args, xdrproc_t get,
		 void *results)
{
	uint64_t now = server_now_ns(), left_us;
	char why[ONCRPC_CLIENT_TEXT];

	if (now >= session->deadline_ns)
		return false;
	left_us = (session->deadline_ns - now) / 1000u + 1u;
	session->rpc.timeout =
		(struct timeval){(time_t)(left_us / 1000000u), (suseconds_t)(left_us % 1000000u)};
	return oncrpc_client_call(&session->rpc, proc, put, args, get, results, why) == 0;
}

/* Calls SET or UNSET for an entry. Returns true if rpcbind carried the call out. */
static bool change(struct session *session, uint32_t proc, struct rpcbind_entry *entry)
{
	char owner[] = ""; /* rpcbind determines the owner itself and ignores this argument */
	struct rpcb args = {.r_prog = entry->prog,
			    .r_vers = VERSION,
			    .r_netid = entry->netid,
			    .r_addr = entry->uaddr,
			    .r_owner = owner};
	bool_t is_done = FALSE;

	return call(session, proc, (xdrproc_t)xdr_rpcb, &args, (xdrproc_t)xdr_bool, &is_done) &&
	       is_done;
}

/* Returns the universal address that is registered for an entry's program and netid, or NULL. */
static const char *rpcbind_find_entry(rpcblist *list, const struct rpcbind_entry *entry)
{
	for (; list; list = list->rpcb_next) {
		const struct rpcb *map = &list->rpcb_map;

		if (map->r_prog == entry->prog && map->r_vers == VERSION &&
		    strcmp(map->r_netid, entry->netid) == 0)
			return map->r_addr;
	}
	return NULL;
}

/*
 * Returns true if another server uses the registered address 'uaddr'. An entry with this server's
 * own address was left by an earlier server, because only this server listens on that address now.
 * Only a TCP address can be tested for a listener. The address of an NFS entry is therefore assumed
 * to be in use.
 */
static bool is_anothers(const struct rpcbind_entry *entry, const char *uaddr)
{
	if (strcmp(uaddr, entry->uaddr) == 0)
		return false;
	return entry->prog == MOUNT3_PROGRAM ? uaddr_answers(uaddr) : true;
}

/*
 * Reports that another server's entry was kept. Unprintable characters of the address are escaped,
 * because any user of the host can register any text. For NFS the printed command names no netid,
 * because rpcinfo does not know rdma and rdma6, which are not in the system's table of netids.
 */
static void log_kept(const struct rpcbind_entry *entry, const char *uaddr)
{
	char text[128];

	terminal_text(uaddr, text, sizeof(text));
	fprintf(stderr,
		"weir-nfsd: rpcbind has another server's entry of %s for netid %s at %s, which "
		"stays. If that server has ended, remove the entry: ",
		entry->prog == MOUNT3_PROGRAM ? "MOUNT" : "NFS", entry->netid, text);
	if (entry->prog == MOUNT3_PROGRAM)
		fprintf(stderr, "rpcinfo -T %s -d %u 3\n", entry->netid, entry->prog);
	else
		fprintf(stderr, "rpcinfo -d %u 3 (of all netids)\n", entry->prog);
}

/*
 * Registers one entry. Returns true if this server is registered, or if another server's entry was
 * kept and a message was printed. Returns false if rpcbind failed or refused.
 */
static bool register_one(struct session *session, rpcblist *list, struct rpcbind_entry *entry)
{
	const char *uaddr = rpcbind_find_entry(list, entry);

	if (uaddr && is_anothers(entry, uaddr)) {
		log_kept(entry, uaddr);
		return true;
	}
	if (uaddr)
		change(session, RPCBPROC_UNSET, entry);
	entry->is_ours = change(session, RPCBPROC_SET, entry);
	return entry->is_ours;
}

static bool get_list(struct session *session, rpcblist **list)
{
	*list = NULL;
	return call(session, RPCBPROC_DUMP, (xdrproc_t)oncrpc_void, NULL,
		    (xdrproc_t)xdr_rpcblist_ptr, list);
}

void rpcbind_register(struct rpcbind *rpcbind)
{
	struct session session;
	rpcblist *list = NULL;
	bool is_good = true;
	char advice[256 + EXPORT_NAME_BYTES];

	if (rpcbind->n == 0)
		return;
	is_good = open_session(&session, rpcbind->path) && get_list(&session, &list);
	for (uint32_t i = 0; is_good && i < rpcbind->n; i++)
		is_good = register_one(&session, list, &rpcbind->entries[i]);
	xdr_free((xdrproc_t)xdr_rpcblist_ptr, &list);
	oncrpc_client_close(&session.rpc);
	if (is_good)
		return;
	rpcbind_advice(rpcbind, advice, sizeof(advice));
	fprintf(stderr,
		"weir-nfsd: rpcbind does not run, does not answer, or did not accept all entries. "
		"Give clients both ports: %s\n",
		advice);
}

void rpcbind_withdraw(struct rpcbind *rpcbind)
{
	struct session session;
	rpcblist *list = NULL;
	bool is_needed = false;

	for (uint32_t i = 0; i < rpcbind->n; i++)
		is_needed |= rpcbind->entries[i].is_ours;
	if (!is_needed)
		return;
	if (open_session(&session, rpcbind->path) && get_list(&session, &list)) {
		for (uint32_t i = 0; i < rpcbind->n; i++) {
			struct rpcbind_entry *entry = &rpcbind->entries[i];
			const char *uaddr = entry->is_ours ? rpcbind_find_entry(list, entry) : NULL;

			if (uaddr && strcmp(uaddr, entry->uaddr) == 0)
				change(&session, RPCBPROC_UNSET, entry);
			entry->is_ours = false;
		}
	}
	xdr_free((xdrproc_t)xdr_rpcblist_ptr, &list);
	oncrpc_client_close(&session.rpc);
}
