/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory: ours, registered and shown to peers; and theirs, checked and mapped. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm.h"

/* The name of a region's first byte: nothing of our address space shows. */
static uint64_t region_raddr(uint32_t index)
{
	return (uint64_t)(index + 1) << 44;
}

void *shm_create(const char *name, size_t len, bool read_only_for_others, int *fd)
{
	int seals = F_SEAL_SHRINK | F_SEAL_GROW, saved;
	void *p;

	*fd = memfd_create(name, MFD_ALLOW_SEALING | MFD_CLOEXEC);
	if (*fd < 0)
		return NULL;
	if (ftruncate(*fd, (off_t)len) == 0) {
		p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
		if (read_only_for_others)
			seals |= F_SEAL_FUTURE_WRITE;
		if (p != MAP_FAILED && fcntl(*fd, F_ADD_SEALS, seals | F_SEAL_SEAL) == 0)
			return p;
		if (p != MAP_FAILED)
			munmap(p, len);
	}
	saved = errno;
	close(*fd);
	*fd = -1;
	errno = saved;
	return NULL;
}

/* A memfd that can shrink would let its owner turn our reads into SIGBUS. */
static bool is_sealed(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && seals & F_SEAL_SHRINK;
}

void *shm_map(int fd, uint64_t offset, uint64_t len, bool writable)
{
	struct stat st;
	void *p;

	if (!is_sealed(fd) || fstat(fd, &st) != 0 || st.st_size < 0)
		return NULL;
	if (len == 0 || offset > (uint64_t)st.st_size || len > (uint64_t)st.st_size - offset)
		return NULL;
	p = mmap(NULL, len, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, (off_t)offset);
	return p == MAP_FAILED ? NULL : p;
}

/* Whether a peer may ever have to write: by the region's own key, or by a window. */
static bool peers_write(uint32_t access)
{
	return access & FABRIC_REMOTE_WRITE || (access & FABRIC_BIND && access & FABRIC_LOCAL_WRITE);
}

/* What peers are given of a memfd: when they are to read only, a descriptor that can do no more. */
static int for_peers(int fd, uint32_t access)
{
	char path[32];
	int out = -1;

	if (!peers_write(access)) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		out = open(path, O_RDONLY | O_CLOEXEC);
	}
	return out >= 0 ? out : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static struct shm_mr *find_free(struct shm_dev *dev, uint32_t *index)
{
	for (*index = 0; *index < SHM_REGIONS_MAX; (*index)++)
		if (!dev->mrs[*index].in_use)
			return &dev->mrs[*index];
	return NULL;
}

int shm_mr_register(struct fabric_dev *fdev, void *addr, size_t len, uint32_t access, int fd,
		    uint64_t fd_offset, struct fabric_mr *mr)
{
	struct shm_dev *dev = (struct shm_dev *)fdev;
	bool has_key = access & (FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE);
	bool is_shared = has_key || access & FABRIC_BIND;
	struct key_range range = {.access = access, .conn_id = KEY_ANY_CONN, .len = len};
	struct shm_mr *m;
	uint32_t index;

	if (len == 0)
		return -EINVAL;
	if (is_shared && (fd < 0 || !is_sealed(fd)))
		return -EOPNOTSUPP;
	shm_lock(dev);
	m = find_free(dev, &index);
	if (m && is_shared) {
		m->fd = for_peers(fd, access);
		if (m->fd < 0 || (has_key && key_take(&dev->keys, &m->key) != 0)) {
			if (m->fd >= 0)
				close(m->fd);
			m->fd = -1;
			m = NULL;
		}
	} else if (m) {
		m->fd = -1;
	}
	if (!m) {
		shm_unlock(dev);
		return -ENOSPC;
	}
	m->in_use = true;
	m->id = ++dev->region_ids * SHM_REGIONS_MAX + index;
	m->base = addr;
	m->len = len;
	m->access = access;
	m->lkey = LKEY_BASE + index;
	m->fd_offset = fd_offset;
	mr->lkey = m->lkey;
	mr->rkey = 0;
	mr->raddr = region_raddr(index);
	mr->driver = m;
	range.region = m->id;
	range.raddr = mr->raddr;
	if (is_shared) {
		/* Peers hear of the region before a key of it can be seen. */
		struct shm_sock *sock;

		TAILQ_FOREACH(sock, &dev->socks, entry)
		if (sock->qp && sock->fd >= 0)
			shm_sock_announce(sock, 1ull << index);
	}
	if (has_key) {
		mr->rkey = key_new(&dev->keys, m->key);
		key_set(&dev->keys, m->key, mr->rkey, &range);
	}
	shm_unlock(dev);
	fdev->stats.registrations++;
	return 0;
}

void shm_mr_deregister(struct fabric_dev *fdev, struct fabric_mr *mr)
{
	struct shm_dev *dev = (struct shm_dev *)fdev;
	struct shm_mr *m = mr->driver;

	if (!m)
		return;
	shm_lock(dev);
	key_put(&dev->keys, &m->key);
	if (m->fd >= 0)
		close(m->fd);
	*m = (struct shm_mr){.fd = -1};
	shm_unlock(dev);
	mr->driver = NULL;
}

int shm_mw_alloc(struct fabric_dev *fdev, struct fabric_mw *mw)
{
	struct shm_dev *dev = (struct shm_dev *)fdev;
	struct key_ref *ref = malloc(sizeof(*ref));
	int rc;

	if (!ref)
		return -ENOMEM;
	shm_lock(dev);
	rc = key_take(&dev->keys, ref);
	shm_unlock(dev);
	if (rc != 0) {
		free(ref);
		return rc;
	}
	mw->rkey = 0;
	mw->driver = ref;
	return 0;
}

void shm_mw_free(struct fabric_dev *fdev, struct fabric_mw *mw)
{
	struct shm_dev *dev = (struct shm_dev *)fdev;

	if (!mw->driver)
		return;
	shm_lock(dev);
	key_put(&dev->keys, mw->driver);
	shm_unlock(dev);
	free(mw->driver);
	mw->driver = NULL;
}

int shm_peer_import(struct shm_peer *peer, const struct shm_msg *msg, const int *fds, uint32_t nfds,
		    bool is_fresh)
{
	if (msg->nregions > SHM_REGIONS_MAX || msg->nregions != nfds)
		return -EPROTO;
	for (uint32_t i = 0; i < nfds; i++) {
		uint32_t id = msg->regions[i].id;
		struct shm_import *import = &(is_fresh ? peer->fresh : peer->imports)[id % SHM_REGIONS_MAX];
		bool is_writable = msg->regions[i].is_writable != 0;
		uint8_t *base;

		/* Of an introduction, each place once; what comes later replaces what nobody has taken up. */
		if (id == 0 || (!is_fresh && import->id != 0))
			return -EPROTO;
		base = shm_map(fds[i], msg->regions[i].fd_offset, msg->regions[i].len, is_writable);
		if (!base)
			return -EPROTO;
		if (import->id)
			munmap(import->base, import->len);
		*import = (struct shm_import){id, is_writable, base, msg->regions[i].len};
	}
	return 0;
}

void shm_peer_adopt(struct shm_qp *qp, uint32_t id)
{
	struct shm_import *fresh = &qp->peer->fresh[id % SHM_REGIONS_MAX];
	struct shm_import *import = &qp->peer->imports[id % SHM_REGIONS_MAX];

	shm_lock(qp->dev);
	if (fresh->id == id) {
		if (import->id)
			munmap(import->base, import->len);
		*import = *fresh;
		fresh->id = 0;
	}
	shm_unlock(qp->dev);
}

static void release(struct shm_import *imports)
{
	for (uint32_t i = 0; i < SHM_REGIONS_MAX; i++) {
		if (imports[i].id)
			munmap(imports[i].base, imports[i].len);
		imports[i].id = 0;
	}
}

void shm_peer_release(struct shm_peer *peer)
{
	release(peer->imports);
	release(peer->fresh);
	if (peer->keys.entries)
		munmap((void *)(uintptr_t)peer->keys.entries, sizeof(struct key_entry) * KEY_ENTRIES);
	peer->keys.entries = NULL;
}

uint32_t shm_offer_regions(const struct shm_dev *dev, uint64_t places, struct shm_msg *msg, int *fds)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < SHM_REGIONS_MAX; i++) {
		const struct shm_mr *m = &dev->mrs[i];

		if (!(places >> i & 1) || !m->in_use || m->fd < 0)
			continue;
		msg->regions[n].id = m->id;
		msg->regions[n].is_writable = peers_write(m->access);
		msg->regions[n].len = m->len;
		msg->regions[n].fd_offset = m->fd_offset;
		fds[n++] = m->fd;
	}
	msg->nregions = n;
	return n;
}
