/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs that are protection domains. For each such queue pair and each registration with
 * remote rights, the key table has one entry, whose key is valid only for the connection of the
 * queue pair. A queue pair that exposes nothing has no such entries, and its peer does not get the
 * regions either. */
#include <errno.h>

#include "alloc.h"
#include "log.h"
#include "shm_dev.h"
#include "shm_qp.h"

int shm_own_domains(struct fabric_dev *fdev)
{
	struct shm_dev *dev = (struct shm_dev *)fdev;

	if (dev->region_ids > 0 || dev->nqps > 0 || dev->srq)
		return -EBUSY;
	dev->own_domains = true;
	return 0;
}

static int add(struct shm_qp *qp, uint32_t index)
{
	const struct shm_mr *m = &shm_dev_of(qp)->mrs[index];
	struct shm_own_key *own = &qp->own_keys[index];
	struct key_table *keys = &shm_dev_of(qp)->keys;
	const struct key_range range = {.access = m->access,
					.is_lasting = true,
					.conn_id = qp->conn_id,
					.region = m->id,
					.raddr = shm_region_raddr(index),
					.len = m->len};

	if (!m->in_use || !(m->access & (FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE)))
		return 0;
	if (key_take(keys, &own->ref) != 0) {
		LOG(DRIVER, ERROR,
		    "shm: no keys for one more connection: all %u of the engine are in "
		    "use. A connection that makes calls takes one for each region",
		    KEY_ENTRIES);
		return -ENOSPC;
	}
	own->key = key_new(keys, own->ref);
	key_set(keys, own->ref, own->key, &range);
	return 0;
}

static void drop(struct shm_qp *qp, uint32_t index)
{
	key_put(&shm_dev_of(qp)->keys, &qp->own_keys[index].ref);
	qp->own_keys[index].key = 0;
}

int shm_domain_create(struct shm_qp *qp)
{
	int rc = 0;

	if (!shm_dev_of(qp)->own_domains || !qp->exposes)
		return 0;
	qp->own_keys = mem_zalloc(SHM_REGIONS_MAX * sizeof(qp->own_keys[0]));
	if (!qp->own_keys)
		return -ENOMEM;
	LIST_INSERT_HEAD(&shm_dev_of(qp)->own, qp, owner);
	for (uint32_t index = 0; index < SHM_REGIONS_MAX && rc == 0; index++)
		rc = add(qp, index);
	return rc;
}

void shm_domain_destroy(struct shm_qp *qp)
{
	if (!qp->own_keys)
		return;
	for (uint32_t index = 0; index < SHM_REGIONS_MAX; index++)
		drop(qp, index);
	LIST_REMOVE(qp, owner);
	mem_free(qp->own_keys);
	qp->own_keys = NULL;
}

int shm_domain_add(struct shm_dev *dev, uint32_t index)
{
	struct shm_qp *qp;
	int rc = 0;

	LIST_FOREACH(qp, &dev->own, owner)
	if (rc == 0)
		rc = add(qp, index);
	return rc;
}

void shm_domain_remove(struct shm_dev *dev, uint32_t index)
{
	struct shm_qp *qp;

	LIST_FOREACH(qp, &dev->own, owner)
	drop(qp, index);
}

/* Returns the rkey of a registration in this queue pair's domain, or 0 if there is none. 'rkey' is
 * the rkey of struct fabric_mr, which equals the lkey on a device with such domains and therefore
 * has the region's index. */
uint32_t shm_qp_rkey(const struct fabric_qp *fqp, uint32_t rkey)
{
	const struct shm_qp *qp = (const struct shm_qp *)fqp;

	return qp->own_keys && rkey - LKEY_BASE < SHM_REGIONS_MAX
		       ? qp->own_keys[rkey - LKEY_BASE].key
		       : 0;
}
