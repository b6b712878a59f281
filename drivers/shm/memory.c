/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory: ours, registered and shown to peers; and theirs, checked and mapped. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <rte_log.h>

#include "guard.h"
#include "alloc.h"
#include "shm.h"

/* The name of a region's first byte: nothing of our address space shows. */
uint64_t shm_region_raddr(uint32_t index)
{
	return (uint64_t)(index + 1) << 44;
}

void shm_keep_from_children(void *base, size_t len)
{
	/* Where it fails, a child has the memory, but none of its functions touches it. */
	(void)madvise(base, len, MADV_DONTFORK);
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
		if (p != MAP_FAILED)
			shm_keep_from_children(p, len);
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

/* So would one of hugepages, by holes: guard.h. Their size, or 0. */
static size_t hugepage_bytes(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == HUGETLBFS_MAGIC ? (size_t)fs.f_bsize : 0;
}

static void *map(int fd, uint64_t offset, uint64_t len, bool writable)
{
	struct stat st;
	void *p;

	if (!is_sealed(fd) || fstat(fd, &st) != 0 || st.st_size < 0)
		return NULL;
	if (len == 0 || offset > (uint64_t)st.st_size || len > (uint64_t)st.st_size - offset)
		return NULL;
	p = mmap(NULL, len, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, (off_t)offset);
	if (p == MAP_FAILED)
		return NULL;
	shm_keep_from_children(p, len);
	return p;
}

void *shm_map(int fd, uint64_t len, bool writable)
{
	return hugepage_bytes(fd) ? NULL : map(fd, 0, len, writable);
}

static void import_release(struct shm_import *import)
{
	if (import->id == 0)
		return;
	guard_clear(import->guard);
	munmap(import->base, import->mapped_len);
	import->id = 0;
}

/* The whole of the pages that a region lies in: hugepages are mapped and unmapped as such. */
static int import_map(struct shm_dev *dev, struct shm_import *import, int fd, uint64_t offset)
{
	size_t page = hugepage_bytes(fd);

	import->guard = GUARD_NONE;
	import->base = map(fd, offset, import->len, import->is_writable);
	if (!import->base)
		return -EPROTO;
	import->mapped_len = page ? (import->len + page - 1) / page * page : import->len;
	if (page)
		import->guard = guard_set(import->base, import->mapped_len, dev->wake_fd);
	if (!page || import->guard != GUARD_NONE)
		return 0;
	munmap(import->base, import->mapped_len);
	return -ENOSPC;
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

/* Memory of ours that peers may write to is theirs to punch holes into as well. Without a guard it would be as before. */
static int guard_own(struct shm_dev *dev, void *addr, size_t len, int fd)
{
	size_t page = hugepage_bytes(fd), before;

	if (page == 0)
		return GUARD_NONE;
	before = (uintptr_t)addr % page;
	return guard_set((uint8_t *)addr - before, (before + len + page - 1) / page * page, dev->wake_fd);
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
	bool is_remote = access & (FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE);
	bool is_shared = is_remote || access & FABRIC_BIND, has_key = is_remote && !dev->own_domains;
	struct key_range range = {.access = access, .is_lasting = true, .conn_id = KEY_ANY_CONN, .len = len};
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
	m->guard = is_shared && peers_write(access) ? guard_own(dev, addr, len, fd) : GUARD_NONE;
	m->in_use = true;
	m->id = ++dev->region_ids * SHM_REGIONS_MAX + index;
	m->base = addr;
	m->len = len;
	m->access = access;
	m->lkey = LKEY_BASE + index;
	m->fd_offset = fd_offset;
	mr->lkey = m->lkey;
	mr->rkey = 0;
	mr->raddr = shm_region_raddr(index);
	mr->driver = m;
	range.region = m->id;
	range.raddr = mr->raddr;
	if (is_shared) {
		/* Peers hear of the region before a key of it can be seen. */
		struct shm_sock *sock;

		TAILQ_FOREACH(sock, &dev->socks, entry)
		if (sock->qp && sock->qp->exposes && sock->fd >= 0)
			shm_sock_announce(sock, 1ull << index);
	}
	if (has_key) {
		mr->rkey = key_new(&dev->keys, m->key);
		key_set(&dev->keys, m->key, mr->rkey, &range);
	}
	shm_unlock(dev);
	if (is_remote && dev->own_domains) {
		int rc = shm_domain_add(dev, index);

		mr->rkey = m->lkey; /* which opens nothing to a peer */
		if (rc != 0) {
			shm_mr_deregister(fdev, mr);
			return rc;
		}
	}
	fdev->stats.registrations++;
	return 0;
}

void shm_mr_deregister(struct fabric_dev *fdev, struct fabric_mr *mr)
{
	struct shm_dev *dev = (struct shm_dev *)fdev;
	struct shm_mr *m = mr->driver;

	if (!m)
		return;
	shm_domain_remove(dev, (uint32_t)(m - dev->mrs));
	shm_lock(dev);
	key_put(&dev->keys, &m->key);
	guard_clear(m->guard);
	if (m->fd >= 0)
		close(m->fd);
	*m = (struct shm_mr){.base = SHM_NO_BASE, .fd = -1, .guard = GUARD_NONE};
	shm_unlock(dev);
	mr->driver = NULL;
}

int shm_mw_alloc(struct fabric_dev *fdev, struct fabric_mw *mw)
{
	struct shm_dev *dev = (struct shm_dev *)fdev;
	struct key_ref *ref;
	int rc;

	if (dev->own_domains)
		return -EOPNOTSUPP;
	ref = mem_zalloc(sizeof(*ref));
	if (!ref)
		return -ENOMEM;
	shm_lock(dev);
	rc = key_take(&dev->keys, ref);
	shm_unlock(dev);
	if (rc != 0) {
		mem_free(ref);
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
	mem_free(mw->driver);
	mw->driver = NULL;
}

/* Room for a place. */
static int make_place(struct shm_imports *imports, uint32_t place)
{
	struct shm_import *at;

	if (place < imports->n)
		return 0;
	at = mem_zalloc((place + 1) * sizeof(*at));
	if (!at)
		return -ENOMEM;
	if (imports->n > 0)
		memcpy(at, imports->at, imports->n * sizeof(*at));
	mem_free(imports->at);
	imports->at = at;
	imports->n = place + 1;
	return 0;
}

int shm_peer_import(struct shm_dev *dev, struct shm_peer *peer, const struct shm_msg *msg, const int *fds,
		    uint32_t nfds, bool is_fresh)
{
	struct shm_imports *imports = is_fresh ? &peer->fresh : &peer->imports;

	if (msg->nregions > SHM_REGIONS_MAX || msg->nregions != nfds)
		return -EPROTO;
	for (uint32_t i = 0; i < nfds; i++) {
		uint32_t id = msg->regions[i].id;
		struct shm_import *import;
		struct shm_import next = {
			.id = id,
			.is_writable = msg->regions[i].is_writable != 0,
			.len = msg->regions[i].len,
		};
		int rc = make_place(imports, id % SHM_REGIONS_MAX);

		if (rc != 0)
			return rc;
		import = &imports->at[id % SHM_REGIONS_MAX];
		/* Of an introduction, each place once; what comes later replaces what nobody has taken up. */
		if (id == 0 || (!is_fresh && import->id != 0))
			return -EPROTO;
		rc = import_map(dev, &next, fds[i], msg->regions[i].fd_offset);
		if (rc != 0)
			return rc;
		import_release(import);
		*import = next;
	}
	return 0;
}

const struct shm_import *shm_peer_adopt(struct shm_qp *qp, uint32_t id)
{
	struct shm_imports *imports = &qp->peer->imports;
	uint32_t place = id % SHM_REGIONS_MAX;
	struct shm_import *import = NULL;

	shm_lock(shm_dev_of(qp));
	if (shm_import_find(&qp->peer->fresh, id) && make_place(imports, place) == 0) {
		import = &imports->at[place];
		import_release(import);
		*import = qp->peer->fresh.at[place];
		qp->peer->fresh.at[place].id = 0;
	}
	shm_unlock(shm_dev_of(qp));
	return import;
}

bool shm_own_has_lost(struct shm_dev *dev)
{
	bool any = false;

	for (uint32_t i = 0; i < SHM_REGIONS_MAX; i++) {
		struct shm_mr *m = &dev->mrs[i];

		if (!m->in_use || m->fd < 0 || !guard_is_lost(m->guard))
			continue;
		/* What peers map is not what is here any more. */
		key_put(&dev->keys, &m->key);
		close(m->fd);
		m->fd = -1;
		any = true;
		rte_log(RTE_LOG_ERR, RTE_LOGTYPE_USER1,
			"weir: shm: a peer took hugepages out of this process's memory, and no others are "
			"free: all "
			"connections end, and new ones need a new engine\n");
	}
	return any;
}

static bool is_any_lost(const struct shm_imports *imports)
{
	for (uint32_t i = 0; i < imports->n; i++)
		if (imports->at[i].id && guard_is_lost(imports->at[i].guard))
			return true;
	return false;
}

bool shm_peer_has_lost(const struct shm_peer *peer)
{
	return is_any_lost(&peer->imports) || is_any_lost(&peer->fresh);
}

static void release_all(struct shm_imports *imports)
{
	for (uint32_t i = 0; i < imports->n; i++)
		import_release(&imports->at[i]);
	mem_free(imports->at);
	*imports = (struct shm_imports){0};
}

void shm_peer_release(struct shm_peer *peer)
{
	release_all(&peer->imports);
	release_all(&peer->fresh);
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
