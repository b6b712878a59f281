/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers memory of this side, which peers are allowed to map in part, and maps regions of a
 * peer. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "log.h"
#include "shm_dev.h"
#include "shm_qp.h"
#include "sigbus_guard.h"

/* Returns whether a registration with the rights 'access' can ever permit writes of peers, by the
 * registration's own key or by a memory window. */
static bool peers_write(uint32_t access)
{
	return access & FABRIC_REMOTE_WRITE ||
	       (access & FABRIC_BIND && access & FABRIC_LOCAL_WRITE);
}

/* Returns a second descriptor of a memfd, for peers that are only allowed to read, or -1 with
 * errno. A read-only descriptor is not enough, because a peer could open the file again through
 * /proc. Therefore the function also removes the rights of other users from the file's mode. A
 * memfd that is sealed against writing needs neither. Processes of the same user cannot be kept
 * from writing. They could use ptrace(2) as well. */
static int for_readers(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	char path[32];

	if (seals >= 0 && seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE))
		return fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (fstat(fd, &st) != 0)
		return -1;
	if (st.st_mode & (S_IRWXG | S_IRWXO) && fchmod(fd, st.st_mode & S_IRWXU) != 0)
		LOG(DRIVER, WARNING,
		    "shm: peers of other users can open memory for writing that they "
		    "should only read: its memfd belongs to another user, and its mode is %#o. "
		    "Give it the "
		    "mode 0600 (fchmod), or the seal F_SEAL_FUTURE_WRITE",
		    st.st_mode & 07777);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Creates the struct shm_exposed of a registration, with a second descriptor of the memfd 'fd'.
 * Returns 0, -ENOMEM, or -errno if there is no second descriptor. */
static int exposed_new(int fd, uint64_t fd_offset, uint32_t access, struct shm_exposed **out)
{
	struct shm_exposed *exposed = mem_zalloc(sizeof(*exposed));
	int rc;

	if (!exposed)
		return -ENOMEM;
	exposed->is_writable = peers_write(access);
	exposed->fd_offset = fd_offset;
	exposed->fd = exposed->is_writable ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : for_readers(fd);
	if (exposed->fd >= 0) {
		*out = exposed;
		return 0;
	}
	rc = -errno;
	mem_free(exposed);
	return rc;
}

void shm_exposed_free(struct shm_exposed *exposed)
{
	close(exposed->fd);
	mem_free(exposed);
}

/* Stops giving a registration to peers, and queues its descriptor for the control thread to close.
 * The caller holds the lock. */
static void hide(struct shm_dev *dev, struct shm_mr *m)
{
	if (m->exposed)
		STAILQ_INSERT_TAIL(&dev->hidden, m->exposed, entry);
	m->exposed = NULL;
}

/* Guards memory of this process that peers are allowed to write to (sigbus_guard.h), because such
 * peers can also punch holes into it. Without a guard, the next access to a hole can end the
 * process. The tag 0 means registered memory of this process. Returns the guard, or GUARD_NONE. */
static int guard_own(struct shm_dev *dev, void *addr, size_t len, int fd)
{
	size_t page = mapping_hugepage_bytes(fd), before;

	if (page == 0)
		page = (size_t)sysconf(_SC_PAGESIZE);
	before = (uintptr_t)addr % page;
	return guard_set((uint8_t *)addr - before, (before + len + page - 1) / page * page, page,
			 dev->wake_fd, 0);
}

static struct shm_mr *mr_find_free(struct shm_dev *dev, uint32_t *index)
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
	bool is_shared = is_remote || access & FABRIC_BIND,
	     has_key = is_remote && !dev->own_domains;
	struct key_range range = {
		.access = access, .is_lasting = true, .conn_id = KEY_ANY_CONN, .len = len};
	struct shm_exposed *exposed = NULL;
	int guard = GUARD_NONE;
	struct shm_mr *m;
	uint32_t index;

	if (len == 0)
		return -EINVAL;
	if (is_shared && (fd < 0 || !mapping_is_memfd(fd)))
		return -EOPNOTSUPP;
	if (is_shared) {
		int rc = exposed_new(fd, fd_offset, access, &exposed);

		if (rc != 0)
			return rc;
		if (peers_write(access))
			guard = guard_own(dev, addr, len, fd);
	}
	shm_lock(dev);
	m = mr_find_free(dev, &index);
	if (m && has_key && key_take(&dev->keys, &m->key) != 0)
		m = NULL;
	if (m) {
		m->in_use = true;
		m->id = ++dev->region_ids * SHM_REGIONS_MAX + index;
		m->base = addr;
		m->len = len;
		m->access = access;
		m->lkey = LKEY_BASE + index;
		m->exposed = exposed;
		m->guard = guard;
	}
	shm_unlock(dev);
	if (!m) {
		guard_clear(guard);
		if (exposed)
			shm_exposed_free(exposed);
		return -ENOSPC;
	}
	mr->lkey = m->lkey;
	mr->rkey = 0;
	mr->raddr = shm_region_raddr(index);
	mr->driver = m;
	range.region = m->id;
	range.raddr = mr->raddr;
	if (has_key) {
		mr->rkey = key_new(&dev->keys, m->key);
		key_set(&dev->keys, m->key, mr->rkey, &range);
	}
	if (is_remote && dev->own_domains) {
		int rc = shm_domain_add(dev, index);

		mr->rkey = m->lkey; /* no peer can use this rkey: see shm_qp_rkey() */
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
	guard_clear(m->guard);
	shm_lock(dev);
	key_put(&dev->keys, &m->key);
	hide(dev, m);
	*m = (struct shm_mr){.base = SHM_NO_BASE, .guard = GUARD_NONE};
	shm_unlock(dev);
	shm_cm_wake(dev);
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

/* Extends the array of imports to more than 'index' elements. Returns 0 or -ENOMEM. */
static int imports_reach(struct shm_imports *imports, uint32_t index)
{
	struct shm_import *at;

	if (index < imports->n)
		return 0;
	at = mem_zalloc((index + 1) * sizeof(*at));
	if (!at)
		return -ENOMEM;
	if (imports->n > 0)
		memcpy(at, imports->at, imports->n * sizeof(*at));
	mem_free(imports->at);
	imports->at = at;
	imports->n = index + 1;
	return 0;
}

int shm_import_map(struct shm_sock *sock, const struct shm_msg *msg, int fd)
{
	const struct mapping_owner owner = {sock->account, &sock->dev->limits, sock->dev->wake_fd,
					    sock->id};
	struct shm_import *import = &sock->fresh;
	int rc;

	/* take_fresh() can have left a replaced import here. */
	shm_discard_mapping(&import->mapping, sock->account);
	*import = (struct shm_import){
		.id = msg->region.id,
		.is_writable = msg->region.is_writable != 0,
		.len = msg->region.len,
	};
	rc = mapping_peer(&import->mapping, &owner, fd, msg->region.fd_offset, import->len,
			  import->is_writable, true);
	import->base = import->mapping.base;
	return rc;
}

/* Takes over the import that the control thread has stored in sock->fresh, if it is region 'id'. An
 * earlier import at the same index moves to sock->fresh in exchange. In any case the control thread
 * is then free to replace sock->fresh. Returns the import, or NULL if it is another region or no
 * memory is available. */
static struct shm_import *take_fresh(struct shm_qp *qp, uint32_t id)
{
	struct shm_imports *imports = &qp->peer->imports;
	struct shm_sock *sock = qp->sock;
	uint32_t index = id % SHM_REGIONS_MAX;
	struct shm_import *import = NULL;

	if (sock->fresh.id == id && imports_reach(imports, index) == 0) {
		struct shm_import old = imports->at[index];

		import = &imports->at[index];
		*import = sock->fresh;
		sock->fresh = old;
	}
	atomic_store_explicit(&sock->has_fresh, false, memory_order_release);
	return import;
}

const struct shm_import *shm_peer_adopt(struct shm_qp *qp, uint32_t id)
{
	struct shm_sock *sock = qp->sock;
	struct shm_dev *dev = shm_dev_of(qp);
	bool has_discarded = false;

	if (atomic_load_explicit(&sock->has_fresh, memory_order_acquire)) {
		const struct shm_import *import = take_fresh(qp, id);

		if (import)
			return import;
		has_discarded = true;
	}
	/* While another region occupied sock->fresh, the control thread might have discarded region
	 * 'id'. Therefore it is asked for again. */
	if (atomic_exchange(&sock->wanted, id) == id && !has_discarded)
		return NULL;
	shm_lock(dev);
	shm_sock_task(sock, TASK_WANT);
	shm_unlock(dev);
	shm_cm_wake(dev);
	return NULL;
}

bool shm_own_has_lost(struct shm_dev *dev)
{
	bool any = false;

	shm_lock(dev);
	for (uint32_t i = 0; i < SHM_REGIONS_MAX; i++) {
		struct shm_mr *m = &dev->mrs[i];

		if (!m->in_use || !m->exposed || !guard_is_lost(m->guard))
			continue;
		/* The guard has replaced the registered memory, so that it differs from the memory
		 * that peers map. */
		key_put(&dev->keys, &m->key);
		hide(dev, m);
		any = true;
	}
	shm_unlock(dev);
	if (any)
		LOG(DRIVER, ERROR,
		    "shm: a peer removed pages from memory of this process, and no "
		    "others are free: all connections end, and new ones need a new engine");
	return any;
}

void shm_peer_release(struct shm_peer *peer)
{
	for (uint32_t i = 0; i < peer->imports.n; i++)
		mapping_release(&peer->imports.at[i].mapping);
	mem_free(peer->imports.at);
	peer->imports = (struct shm_imports){0};
	mapping_release(&peer->keys_mapping);
	peer->keys.entries = NULL;
}

const struct shm_exposed *shm_exposed_find(const struct shm_dev *dev, uint32_t index,
					   struct shm_msg *msg)
{
	const struct shm_mr *m = &dev->mrs[index];

	if (!m->in_use || !m->exposed)
		return NULL;
	msg->region.id = m->id;
	msg->region.is_writable = m->exposed->is_writable;
	msg->region.len = m->len;
	msg->region.fd_offset = m->exposed->fd_offset;
	return m->exposed;
}
