/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registers memory, and manages memory windows of type 2. Peers name memory by the virtual
 * addresses of this process.
 */
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "verbs.h"

unsigned verbs_access_flags(const struct verbs_dev *dev, uint32_t access)
{
	unsigned flags = 0;

	if (access &
	    (FABRIC_LOCAL_WRITE | FABRIC_REMOTE_WRITE)) /* remote write requires local write */
		flags |= IBV_ACCESS_LOCAL_WRITE;
	if (access & FABRIC_REMOTE_READ)
		flags |= IBV_ACCESS_REMOTE_READ;
	if (access & FABRIC_REMOTE_WRITE)
		flags |= IBV_ACCESS_REMOTE_WRITE;
	if (dev->fabric.attr.has_mw && access & FABRIC_BIND)
		flags |= IBV_ACCESS_MW_BIND;
	return flags;
}

void verbs_mr_explain(const struct verbs_dev *dev, size_t len, int rc)
{
	VERBS_LOG(ERROR, "%s: %zu bytes can't be registered: %s%s", dev->name, len, strerror(-rc),
		  rc == -ENOMEM
			  ? "; registered memory is locked: raise the limit (ulimit -l unlimited)"
			  : "");
}

int verbs_mr_register(struct fabric_dev *fdev, void *addr, size_t len, uint32_t access, int fd,
		      uint64_t fd_offset, struct fabric_mr *mr)
{
	struct verbs_dev *dev = (struct verbs_dev *)fdev;
	struct verbs_mr *m;
	int rc;

	(void)fd;
	(void)fd_offset;
	if (len == 0)
		return -EINVAL;
	m = mem_zalloc(sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->addr = addr;
	m->len = len;
	m->access = access;
	if (dev->own_sges) {
		rc = verbs_domain_register(dev, m);
	} else {
		m->ibv = ibv_reg_mr(dev->pd, addr, len, verbs_access_flags(dev, access));
		rc = m->ibv ? 0 : -errno;
		if (rc != 0)
			verbs_mr_explain(dev, len, rc);
	}
	if (rc != 0) {
		mem_free(m);
		return rc;
	}
	TAILQ_INSERT_TAIL(&dev->mrs, m, entry);
	mr->lkey = m->ibv ? m->ibv->lkey : m->index + 1;
	mr->rkey = m->ibv ? m->ibv->rkey : m->index + 1;
	if (!(access & (FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE)))
		mr->rkey = 0;
	mr->raddr = (uintptr_t)addr;
	mr->driver = m;
	fdev->stats.registrations++;
	return 0;
}

void verbs_mr_deregister(struct fabric_dev *fdev, struct fabric_mr *mr)
{
	struct verbs_dev *dev = (struct verbs_dev *)fdev;
	struct verbs_mr *m = mr->driver;

	if (!m)
		return;
	TAILQ_REMOVE(&dev->mrs, m, entry);
	if (m->ibv)
		ibv_dereg_mr(m->ibv);
	else
		verbs_domain_deregister(dev, m);
	mem_free(m);
	mr->driver = NULL;
}

struct ibv_mr *verbs_mr_find(struct verbs_dev *dev, uint32_t lkey)
{
	struct verbs_mr *m;

	TAILQ_FOREACH(m, &dev->mrs, entry)
	if (m->ibv && m->ibv->lkey == lkey)
		return m->ibv;
	return NULL;
}

int verbs_mw_alloc(struct fabric_dev *fdev, struct fabric_mw *mw)
{
	struct verbs_dev *dev = (struct verbs_dev *)fdev;
	struct verbs_mw *w;

	if (!fdev->attr.has_mw || dev->own_sges)
		return -EOPNOTSUPP;
	w = mem_zalloc(sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->ibv = ibv_alloc_mw(dev->pd, IBV_MW_TYPE_2);
	if (!w->ibv) {
		mem_free(w);
		return -errno;
	}
	mw->rkey = 0;
	mw->driver = w;
	return 0;
}

static void unbind(struct verbs_mw *w)
{
	if (w->qp)
		TAILQ_REMOVE(&w->qp->windows, w, entry);
	w->qp = NULL;
	if (w->ibv)
		ibv_dealloc_mw(w->ibv);
	w->ibv = NULL;
}

void verbs_mw_free(struct fabric_dev *fdev, struct fabric_mw *mw)
{
	struct verbs_mw *w = mw->driver;

	(void)fdev;
	if (!w)
		return;
	unbind(w);
	mem_free(w);
	mw->driver = NULL;
}

bool verbs_mw_prepare(struct verbs_qp *qp, struct verbs_mw *w)
{
	/*
	 * After the queue pair that bound the window has entered ERROR, the latest key of the
	 * window is unknown, because the device might have executed a flushed bind or not.
	 */
	if (w->qp && w->qp != qp && w->qp->state == QP_ERROR)
		unbind(w);
	if (!w->ibv) {
		w->ibv = ibv_alloc_mw(qp->dev->pd, IBV_MW_TYPE_2);
		if (!w->ibv)
			return false;
	}
	if (w->qp != qp) {
		if (w->qp)
			TAILQ_REMOVE(&w->qp->windows, w, entry);
		w->qp = qp;
		TAILQ_INSERT_TAIL(&qp->windows, w, entry);
	}
	return true;
}

void verbs_mw_drop(struct verbs_qp *qp)
{
	struct verbs_mw *w;

	while ((w = TAILQ_FIRST(&qp->windows)))
		unbind(w);
}
