/* SPDX-License-Identifier: BSD-3-Clause */
/* Begins and ends listeners, on the engine's thread. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "verbs.h"

/*
 * Returns the error of a failed bind or listen at 'addr'. 'rc' is the error that librdmacm has
 * reported. librdmacm has one code, -EADDRNOTAVAIL, for these cases:
 * - No device has the address.
 * - The port is in use on all addresses.
 * - The port is in use on one address, and the bind is for all addresses.
 *
 * The function tries to bind to the address with any port. If this succeeds, it is not the first
 * case, and the function returns -EADDRINUSE.
 */
static int why_not_bound(const struct sockaddr_storage *addr, int rc)
{
	struct sockaddr_storage any_port = *addr;
	struct rdma_cm_id *id;

	if (rc != -EADDRNOTAVAIL)
		return rc;
	((struct sockaddr_in *)&any_port)->sin_port = 0; /* sin6_port has the same offset */
	if (rdma_create_id(verbs_hub_channel(), &id, NULL, RDMA_PS_TCP) != 0)
		return rc;
	if (rdma_bind_addr(id, (struct sockaddr *)&any_port) == 0)
		rc = -EADDRINUSE;
	rdma_destroy_id(id);
	return rc;
}

static const char *what_to_do(int rc)
{
	switch (rc) {
	case -EADDRINUSE:
		return ": 'rdma resource show cm_id' says who listens there (nfsd is the kernel's "
		       "NFS server). End it, or name another port, as ADDR:PORT";
	case -ENODEV:
	case -EADDRNOTAVAIL:
		return ": no RDMA device has that address";
	default:
		return "";
	}
}

/* Converts a GID to an IP address, which the GIDs of RoCE devices have. Returns false if the GID is
 * empty or link-local. */
static bool addr_of(const union ibv_gid *gid, struct sockaddr_storage *addr)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)addr;
	struct sockaddr_in *in = (struct sockaddr_in *)addr;

	memset(addr, 0, sizeof(*addr));
	if (gid->global.interface_id == 0 || (gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80))
		return false; /* a link-local address would need the interface */
	if (memcmp(gid->raw, mapped, sizeof(mapped)) == 0) {
		in->sin_family = AF_INET;
		memcpy(&in->sin_addr, gid->raw + sizeof(mapped), sizeof(in->sin_addr));
	} else {
		in6->sin6_family = AF_INET6;
		memcpy(&in6->sin6_addr, gid->raw, sizeof(in6->sin6_addr));
	}
	return true;
}

/*
 * Returns an identifier that is bound to the device, or NULL. Only identifiers that are bound to a
 * device get the event of its removal. An identifier that listens at all addresses does not get it.
 * The event matters, because the removal waits until no process has the device open.
 */
static struct rdma_cm_id *watch_device(struct fabric_listener *listener)
{
	struct ibv_context *context = listener->dev->context;
	struct sockaddr_storage addr;
	struct ibv_port_attr port;
	struct rdma_cm_id *id;
	union ibv_gid gid;

	if (ibv_query_port(context, listener->dev->port, &port) != 0)
		return NULL;
	for (int i = 0; i < port.gid_tbl_len; i++) {
		if (ibv_query_gid(context, listener->dev->port, i, &gid) != 0 ||
		    !addr_of(&gid, &addr))
			continue;
		if (rdma_create_id(verbs_hub_channel(), &id, listener, RDMA_PS_TCP) != 0)
			return NULL;
		if (rdma_bind_addr(id, (struct sockaddr *)&addr) == 0 && id->verbs == context)
			return id;
		rdma_destroy_id(id);
	}
	return NULL;
}

int verbs_listen(struct fabric_dev *fdev, const char *text, uint32_t backlog, void *ctx,
		 struct fabric_listener **out)
{
	struct verbs_dev *dev = (struct verbs_dev *)fdev;
	struct sockaddr_storage addr;
	struct fabric_listener *listener;
	int rc = verbs_addr_parse(text, &addr);

	if (rc != 0)
		return rc;
	listener = mem_zalloc(sizeof(*listener));
	if (!listener)
		return -ENOMEM;
	listener->is_listener = true;
	listener->dev = dev;
	listener->ctx = ctx;
	backlog_init(&listener->backlog, backlog ? backlog : 1);
	if (rdma_create_id(verbs_hub_channel(), &listener->id, listener, RDMA_PS_TCP) != 0) {
		rc = -errno;
		mem_free(listener);
		return rc;
	}
	verbs_lock();
	TAILQ_INSERT_TAIL(&dev->listeners, listener, entry);
	verbs_unlock();
	if (rdma_bind_addr(listener->id, (struct sockaddr *)&addr) != 0 ||
	    rdma_listen(listener->id, (int)listener->backlog.max) != 0) {
		rc = why_not_bound(&addr, -errno);
		VERBS_LOG(ERROR, "can't listen at %s: %s%s", text, strerror(-rc), what_to_do(rc));
		verbs_unlisten(listener);
		return rc;
	}
	if (!listener->id->verbs)
		listener->watch = watch_device(listener);
	*out = listener;
	return 0;
}

void verbs_unlisten(struct fabric_listener *listener)
{
	struct verbs_links refused = TAILQ_HEAD_INITIALIZER(refused);
	struct verbs_link *link, *next;

	if (!listener)
		return;
	verbs_lock();
	listener->is_closing = true;
	TAILQ_REMOVE(&listener->dev->listeners, listener, entry);
	if (listener->lost.is_queued) {
		TAILQ_REMOVE(&listener->dev->events, &listener->lost, entry);
		atomic_fetch_sub(&listener->dev->nevents, 1);
	}
	for (link = TAILQ_FIRST(&listener->dev->links); link; link = next) {
		next = TAILQ_NEXT(link, entry);
		if (link->listener != listener)
			continue;
		verbs_event_drop_all(link);
		TAILQ_REMOVE(&listener->dev->links, link, entry);
		TAILQ_INSERT_TAIL(&refused, link, entry);
	}
	verbs_unlock();
	while ((link = TAILQ_FIRST(&refused))) {
		TAILQ_REMOVE(&refused, link, entry);
		rdma_reject(link->id, NULL, 0);
		verbs_link_free(link);
	}
	if (listener->watch)
		rdma_destroy_id(listener->watch);
	rdma_destroy_id(listener->id);
	mem_free(listener);
}
