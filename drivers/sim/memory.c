/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registrations and memory windows, to which keys give access. The addresses that peers use differ
 * from local addresses, because the driver contract does not say that they are equal.
 */
#include "sim_world.h"

#include <errno.h>
#include <stdlib.h>

#define PAGE_MASK  4095u
#define RADDR_MASK 0x0000fffffffff000ull

/* Returns whether [offset, offset + len) is within [0, size). */
static bool is_within(uint64_t offset, uint64_t len, uint64_t size)
{
	return offset <= size && len <= size - offset;
}

int sim_mr_register(struct fabric_dev *fdev, void *addr, size_t len, uint32_t access, int fd,
		    uint64_t fd_offset, struct fabric_mr *user)
{
	const uint32_t remote = FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE;
	struct sim_dev *dev = (struct sim_dev *)fdev;
	struct sim_mr *mr;

	(void)fd;
	(void)fd_offset;
	if (dev->is_dead)
		return -ENODEV;
	/* As in verbs, remote write requires local write. */
	if (!addr || len == 0 || access & ~(remote | FABRIC_LOCAL_WRITE | FABRIC_BIND) ||
	    (access & FABRIC_REMOTE_WRITE && !(access & FABRIC_LOCAL_WRITE)))
		return -EINVAL;
	if (dev->regions_max && dev->nregions >= dev->regions_max)
		return -ENOSPC;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -ENOMEM;
	mr->local = (struct sim_key){
		.key = sim_key_make(dev->world),
		.kind = SIM_LKEY,
		.mr = mr,
		.base = addr,
		.len = len,
		.raddr = (sim_random(dev->world) & RADDR_MASK) | ((uintptr_t)addr & PAGE_MASK),
		.access = access,
	};
	sim_key_enter(dev, &mr->local);
	*user = (struct fabric_mr){.lkey = mr->local.key, .raddr = mr->local.raddr, .driver = mr};
	if (access & remote && dev->own_domains) {
		if (sim_domain_add(dev, mr) != 0) {
			LIST_REMOVE(&mr->local, entry);
			free(mr);
			return -ENOMEM;
		}
		user->rkey = mr->local.key; /* sim_remote() refuses this key */
	} else if (access & remote) {
		mr->remote = mr->local;
		mr->remote.kind = SIM_RKEY;
		mr->remote.key = sim_key_make(dev->world);
		sim_key_enter(dev, &mr->remote);
		user->rkey = mr->remote.key;
	}
	LIST_INSERT_HEAD(&dev->mrs, mr, entry);
	dev->nregions++;
	dev->base.stats.registrations++;
	return 0;
}

static void window_end(struct sim_mw *mw)
{
	if (mw->is_bound)
		LIST_REMOVE(&mw->key, entry);
	mw->is_bound = false;
}

void sim_mr_deregister(struct fabric_dev *fdev, struct fabric_mr *user)
{
	struct sim_dev *dev = (struct sim_dev *)fdev;
	struct sim_mr *mr = user->driver;
	struct sim_mw *mw;

	if (!mr)
		return;
	LIST_FOREACH(mw, &dev->mws, entry)
	if (mw->is_bound && mw->key.mr == mr)
		window_end(mw);
	sim_domain_remove(dev, mr);
	LIST_REMOVE(&mr->local, entry);
	if (mr->remote.key)
		LIST_REMOVE(&mr->remote, entry);
	LIST_REMOVE(mr, entry);
	dev->nregions--;
	free(mr);
	*user = (struct fabric_mr){0};
}

int sim_mw_alloc(struct fabric_dev *fdev, struct fabric_mw *user)
{
	struct sim_dev *dev = (struct sim_dev *)fdev;
	struct sim_mw *mw;

	if (!dev->base.attr.has_mw || dev->own_domains)
		return -EOPNOTSUPP;
	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return -ENOMEM;
	mw->number = ++dev->world->mw_count;
	LIST_INSERT_HEAD(&dev->mws, mw, entry);
	*user = (struct fabric_mw){.driver = mw};
	return 0;
}

void sim_mw_free(struct fabric_dev *dev, struct fabric_mw *user)
{
	struct sim_mw *mw = user->driver;

	(void)dev;
	if (!mw)
		return;
	window_end(mw);
	LIST_REMOVE(mw, entry);
	free(mw);
	*user = (struct fabric_mw){0};
}

bool sim_local_ok(const struct sim_dev *dev, uint32_t lkey, const void *addr, uint64_t len,
		  uint32_t access)
{
	const struct sim_key *key = sim_key_find(dev, lkey);

	return key && key->kind == SIM_LKEY && (key->access & access) == access &&
	       is_within((uintptr_t)addr - (uintptr_t)key->base, len, key->len);
}

uint8_t *sim_remote(const struct sim_qp *qp, uint32_t rkey, uint64_t raddr, uint64_t len,
		    uint32_t access)
{
	const struct sim_key *key = qp->attr.exposes ? sim_key_find(qp->dev, rkey) : NULL;

	if (!key || key->kind == SIM_LKEY || (key->access & access) != access)
		return NULL;
	if (key->qp != 0 && key->qp != qp->number)
		return NULL;
	if (!is_within(raddr - key->raddr, len, key->len))
		return NULL;
	return key->base + (raddr - key->raddr);
}

bool sim_window_bind(struct sim_qp *qp, const struct sim_swr *swr)
{
	const struct fabric_sge *sge = &swr->sges[0];
	const struct sim_key *mr = sim_key_find(qp->dev, sge->lkey);
	struct sim_mw *mw;

	LIST_FOREACH(mw, &qp->dev->mws, entry)
	if (mw->number == swr->bind_mw)
		break;
	/* A memory window of type 2 must be invalidated before it is bound again, and must not be
	 * empty. */
	if (!mw || mw->is_bound || sge->len == 0 ||
	    !sim_local_ok(qp->dev, sge->lkey, sge->addr, sge->len, FABRIC_BIND) ||
	    (swr->wr.access & FABRIC_REMOTE_WRITE && !(mr->access & FABRIC_LOCAL_WRITE)))
		return false;
	mw->key = *mr;
	mw->key.kind = SIM_WINDOW;
	mw->key.key = swr->bind_key;
	mw->key.base = sge->addr;
	mw->key.len = sge->len;
	mw->key.raddr += (uint64_t)(mw->key.base - mr->base);
	mw->key.access = swr->wr.access;
	mw->key.qp = qp->number;
	mw->latest = swr->bind_key;
	mw->latest_qp = qp->number;
	mw->is_bound = true;
	sim_key_enter(qp->dev, &mw->key);
	return true;
}

bool sim_window_invalidate(struct sim_qp *qp, uint32_t rkey, bool by_peer)
{
	struct sim_mw *mw;

	LIST_FOREACH(mw, &qp->dev->mws, entry)
	if (mw->latest == rkey && mw->latest_qp == qp->number)
		break;
	/*
	 * The owner is allowed to invalidate a key that the peer has already invalidated. A peer
	 * must not invalidate a key twice.
	 */
	if (rkey == 0 || !mw || (by_peer && !mw->is_bound))
		return false;
	window_end(mw);
	return true;
}

void sim_windows_of_qp_end(struct sim_qp *qp)
{
	struct sim_mw *mw;

	LIST_FOREACH(mw, &qp->dev->mws, entry)
	if (mw->is_bound && mw->key.qp == qp->number)
		window_end(mw);
}

uint32_t sim_windows_over(const struct fabric_dev *fdev, const void *base, uint64_t len)
{
	const struct sim_dev *dev = (const struct sim_dev *)fdev;
	const uint8_t *from = base;
	const struct sim_mw *mw;
	uint32_t n = 0;

	LIST_FOREACH(mw, &dev->mws, entry)
	n += mw->is_bound && mw->key.base < from + len && from < mw->key.base + mw->key.len;
	return n;
}

uint32_t sim_windows_bound(const struct fabric_dev *fdev)
{
	const struct sim_mw *mw;
	uint32_t n = 0;

	LIST_FOREACH(mw, &((const struct sim_dev *)fdev)->mws, entry)
	n += mw->is_bound;
	return n;
}
