/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA Writes and Reads, which are copies by the CPU of the side that requests them, and the end of
 * such accesses. When a device ends a key or a queue pair, no access of the peer must continue
 * after the device has reported the end. Over shm, the peer is another thread. This thread might be
 * in the middle of a copy, or might not have noticed the end yet. Therefore each side writes marks
 * into struct ring_shared of the ring that it reads (shm_wire.h):
 *
 *   is_over  This side's end of the connection is over, and its memory must not be accessed. The
 *            peer looks at the mark before a copy. It also looks after a copy into its own
 *            memory, because the memory that it read might already belong to another call.
 *   busy     This side carries out an RDMA Write by this key. A peer that ends the key, or the
 *            connection, waits until the mark is cleared.
 *
 * The copying side sets 'busy' and then checks whether it may copy. The ending side sets its mark
 * and then checks whether the other side is busy. Each side needs a full barrier between its two
 * steps. A barrier on the copying side would slow down each RDMA Write. So the ending side, which
 * acts rarely, makes the barrier for both sides by membarrier(2). Each process that copies has
 * registered for that call.
 *
 * A peer that ignores these rules can access whatever it has mapped: doc/exposure.rst.
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "compiler.h"
#include "copy.h"
#include "fence.h"
#include "shm_dev.h"
#include "shm_qp.h"

/* The longest time that a peer is expected to be busy with one RDMA Write. After that time, the
 * peer counts as stopped or as dishonest. */
#define BUSY_WAIT_S 2
/* If membarrier(2) is not available: after this time, the stores of a peer's CPU are visible to
 * this CPU. */
#define UNSEEN_MS 1
#define LOOK_MS                                                                                    \
	1 /* time until the first check whether a busy peer lives; the time doubles for each       \
	     further check */

void shm_rdma_init(struct shm_dev *dev)
{
	dev->has_own_barrier =
		syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) != 0;
}

bool shm_barrier_for_both(void)
{
	fence(memory_order_seq_cst);
	return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0;
}

void shm_wait_begin(struct shm_qp *qp)
{
	qp->wait_since = rte_rdtsc();
	qp->wait_looked = 0;
	qp->is_unseen = !shm_barrier_for_both();
}

/* Returns whether the peer's process has ended, possibly in the middle of a copy. 'waited' is the
 * length of the wait so far, in ticks. The function checks only at growing intervals, because each
 * check takes a system call. In between it returns false. */
static bool is_peer_gone(struct shm_qp *qp, uint64_t waited)
{
	if (!qp->sock || !qp->sock->life || waited < qp->wait_looked)
		return false;
	qp->wait_looked = 2 * waited + rte_get_tsc_hz() / 1000 * LOOK_MS;
	return life_has_ended(qp->sock->life);
}

enum shm_wait shm_wait_look(struct shm_qp *qp, uint32_t rkey)
{
	uint64_t waited = rte_rdtsc() - qp->wait_since;
	uint32_t busy;

	if (qp->is_unseen && waited < rte_get_tsc_hz() / 1000 * UNSEEN_MS)
		return WAIT_ON;
	busy = atomic_load_explicit(&ring_shared_of(&qp->tx.cells)->busy, memory_order_acquire);
	if (busy == 0 || (rkey != 0 && busy != rkey) || is_peer_gone(qp, waited))
		return WAIT_OVER;
	return waited < BUSY_WAIT_S * rte_get_tsc_hz() ? WAIT_ON : WAIT_LATE;
}

int shm_local_inv(struct shm_qp *qp, const struct fabric_wr *wr)
{
	enum shm_wait wait;

	if (qp->wait_since == 0) {
		if (!key_invalidate(&shm_dev_of(qp)->keys, wr->rkey, qp->conn_id))
			return FABRIC_ERR_LOCAL_PROT;
		if (!(wr->flags & FABRIC_IN_USE))
			return FABRIC_OK;
		shm_wait_begin(qp);
	}
	wait = shm_wait_look(qp, wr->rkey);
	if (wait == WAIT_ON)
		return SHM_NOT_YET;
	qp->wait_since = 0;
	return wait == WAIT_LATE ? FABRIC_ERR_RETRY : FABRIC_OK;
}

/* The memory of the peer that a request accesses, and the entry of its key. */
struct remote {
	uint8_t *at;
	const struct key_entry *entry;
	uint32_t seq; /* sequence count of the entry at the lookup */
};

/* The entry of an empty key cache. It is never written, so that its sequence count is always 0. */
static const struct key_entry no_entry;

void shm_rdma_forget(struct shm_qp *qp)
{
	qp->key_cache = (struct shm_key_cache){.entry = &no_entry, .seq = 1};
}

/* Stores the key 'rkey' and the memory that it opens in the cache, if all of this memory lies in
 * the import. */
static void key_cache_fill(struct shm_qp *qp, uint32_t rkey, const struct key_range *range,
			   const struct shm_import *import)
{
	if (range->offset > import->len || range->len > import->len - range->offset)
		return;
	qp->key_cache = (struct shm_key_cache){
		.entry = key_entry_of(&qp->peer->keys, rkey),
		.raddr = range->raddr,
		.len = range->len,
		.at = import->base + range->offset,
		.key = rkey,
		.seq = range->seq,
		.access = import->is_writable ? range->access
					      : range->access & ~(uint32_t)FABRIC_REMOTE_WRITE,
	};
}

/* Returns whether a request by 'rkey' waits for another region than 'region'. A peer can change the
 * entry of a key so that it names another region at each look, and the control thread would ask for
 * each of these regions. Therefore the request waits only for the region that the key named first.
 */
static bool waits_for_other(const struct shm_qp *qp, uint32_t rkey, uint32_t region)
{
	return qp->region_since != 0 && qp->region_key == rkey && qp->region_id != region;
}

static int wait_for_region(struct shm_qp *qp, uint32_t rkey, uint32_t region)
{
	uint64_t now = rte_rdtsc();

	if (qp->region_since == 0 || qp->region_key != rkey) {
		qp->region_since = now;
		qp->region_key = rkey;
		qp->region_id = region;
		qp->region_tries = 0;
	}
	qp->region_tries++;
	return now - qp->region_since < SHM_REGION_WAIT_S * rte_get_tsc_hz() ||
			       qp->region_tries < SHM_REGION_TRIES_MIN
		       ? SHM_NOT_YET
		       : FABRIC_ERR_REMOTE_ACCESS;
}

/* Looks up a key that is not in the cache, and describes the peer's memory in *remote. Returns
 * FABRIC_OK, SHM_NOT_YET if the request waits for a region of the peer, or FABRIC_ERR_REMOTE_ACCESS
 * if the access is not permitted or the region has not arrived in time. */
static out_of_line int key_lookup(struct shm_qp *qp, uint32_t rkey, uint64_t raddr, uint64_t len,
				  uint32_t access, struct remote *remote)
{
	struct key_range range;
	const struct shm_import *import;
	uint64_t offset;

	if (!key_find(&qp->peer->keys, rkey, &range) ||
	    !key_permits(&range, raddr, len, access, qp->peer->conn_id, &offset) ||
	    range.region == 0)
		return FABRIC_ERR_REMOTE_ACCESS;
	import = shm_import_find(&qp->peer->imports, range.region);
	if (unlikely(!import)) {
		if (waits_for_other(qp, rkey, range.region))
			return FABRIC_ERR_REMOTE_ACCESS;
		shm_rdma_forget(qp); /* the import that has the same index ends */
		import = shm_peer_adopt(qp, range.region);
	}
	if (unlikely(!import))
		return wait_for_region(qp, rkey, range.region);
	qp->region_since = 0;
	if (offset > import->len || len > import->len - offset ||
	    (access & FABRIC_REMOTE_WRITE && !import->is_writable))
		return FABRIC_ERR_REMOTE_ACCESS;
	key_cache_fill(qp, rkey, &range, import);
	remote->at = import->base + offset;
	remote->entry = key_entry_of(&qp->peer->keys, rkey);
	remote->seq = range.seq;
	return FABRIC_OK;
}

/*
 * Returns the local address of 'raddr' by the cached key, which is the key of most requests.
 * Returns NULL in these cases:
 * - The cache has another key.
 * - The cached key has ended, or does not permit the access.
 * - The peer's end of the connection is over.
 */
static inline uint8_t *key_cache_get(const struct shm_qp *qp, uint32_t rkey, uint64_t raddr,
				     uint64_t len, uint32_t access)
{
	const struct shm_key_cache *cache = &qp->key_cache;
	uint64_t at = raddr - cache->raddr; /* wraps to a large number below cache->raddr */

	if (unlikely(atomic_load_explicit(&ring_shared_of(&qp->tx.cells)->is_over,
					  memory_order_acquire) != 0 ||
		     rkey != cache->key ||
		     atomic_load_explicit(&cache->entry->seq, memory_order_acquire) != cache->seq ||
		     (cache->access & access) != access || at > cache->len ||
		     len > cache->len - at))
		return NULL;
	return cache->at + at;
}

/* Finds the peer's memory by any key, whether the cache has it or not. Returns the values of
 * key_lookup(), or FABRIC_ERR_RETRY if the peer's end of the connection is over. */
static inline int find_remote(struct shm_qp *qp, uint32_t rkey, uint64_t raddr, uint64_t len,
			      uint32_t access, struct remote *remote)
{
	const struct shm_key_cache *cache = &qp->key_cache;

	remote->at = key_cache_get(qp, rkey, raddr, len, access);
	if (unlikely(!remote->at)) {
		if (atomic_load_explicit(&ring_shared_of(&qp->tx.cells)->is_over,
					 memory_order_acquire) != 0)
			return FABRIC_ERR_RETRY;
		return key_lookup(qp, rkey, raddr, len, access, remote);
	}
	remote->entry = cache->entry;
	remote->seq = cache->seq;
	return FABRIC_OK;
}

/* Checks after a copy that the peer still permitted the access when the copy ended. Returns
 * FABRIC_OK, FABRIC_ERR_RETRY if the peer's end of the connection is over, or
 * FABRIC_ERR_REMOTE_ACCESS if the key has ended. */
static inline int check_read(const struct shm_qp *qp, const struct key_entry *entry, uint32_t seq)
{
	fence(memory_order_acquire);
	if (unlikely(atomic_load_explicit(&ring_shared_of(&qp->tx.cells)->is_over,
					  memory_order_relaxed) != 0))
		return FABRIC_ERR_RETRY;
	if (unlikely(atomic_load_explicit(&entry->seq, memory_order_relaxed) != seq))
		return FABRIC_ERR_REMOTE_ACCESS;
	return FABRIC_OK;
}

/* Marks that this side carries out an RDMA Write by 'rkey'. busy_end() removes the mark. If a peer
 * that waits for the end of another key finds this mark, the previous RDMA Write has ended for the
 * peer. Therefore the store has release order. */
static inline void busy_begin(struct shm_qp *qp, uint32_t rkey)
{
	atomic_store_explicit(&ring_shared_of(&qp->rx.cells)->busy, rkey, memory_order_release);
	if (unlikely(shm_dev_of(qp)->has_own_barrier))
		fence(memory_order_seq_cst);
	else
		atomic_signal_fence(
			memory_order_seq_cst); /* the other side's membarrier(2) does the rest */
}

static inline void busy_end(struct shm_qp *qp)
{
	atomic_store_explicit(&ring_shared_of(&qp->rx.cells)->busy, 0, memory_order_release);
}

static inline int write_all(struct shm_qp *qp, const struct fabric_sge *sges, uint32_t nsges,
			    uint32_t rkey, uint64_t raddr, uint64_t len)
{
	struct remote remote;
	int status;

	busy_begin(qp, rkey);
	status = find_remote(qp, rkey, raddr, len, FABRIC_REMOTE_WRITE, &remote);
	for (uint32_t i = 0; status == FABRIC_OK && i < nsges; i++) {
		shm_copy(remote.at, sges[i].addr, sges[i].len);
		remote.at += sges[i].len;
	}
	busy_end(qp);
	return status;
}

static inline int read_all(struct shm_qp *qp, const struct fabric_sge *sges, uint32_t nsges,
			   uint32_t rkey, uint64_t raddr, uint64_t len)
{
	struct remote remote;
	int status = find_remote(qp, rkey, raddr, len, FABRIC_REMOTE_READ, &remote);

	if (status != FABRIC_OK)
		return status;
	for (uint32_t i = 0; i < nsges; i++) {
		shm_copy_to_used(sges[i].addr, remote.at, sges[i].len);
		remote.at += sges[i].len;
	}
	return check_read(qp, remote.entry, remote.seq);
}

int shm_rdma(struct shm_qp *qp, const struct fabric_wr *wr, uint64_t len, uint32_t *bytes)
{
	bool is_write = wr->op == FABRIC_WRITE;
	struct fabric_stats *stats = &shm_dev_of(qp)->fabric.stats;
	int status;

	if (len > UINT32_MAX)
		return FABRIC_ERR_LOCAL_LEN;
	status = is_write ? write_all(qp, wr->sge, wr->nsge, wr->rkey, wr->raddr, len)
			  : read_all(qp, wr->sge, wr->nsge, wr->rkey, wr->raddr, len);
	if (status != FABRIC_OK) {
		stats->remote_access_errors += status == FABRIC_ERR_REMOTE_ACCESS;
		return status;
	}
	qp->turn->debt += len + SHM_TURN_COPY;
	*(is_write ? &stats->writes : &stats->reads) += 1;
	*bytes = (uint32_t)len;
	return FABRIC_OK;
}

/* Carries out an RDMA Write by any key, and removes the mark of busy_begin(), which the caller has
 * called. Returns false if the RDMA Write was not carried out. */
static out_of_line bool write_now_any(struct shm_qp *qp, struct fabric_sge local, uint32_t rkey,
				      uint64_t raddr)
{
	if (write_all(qp, &local, 1, rkey, raddr, local.len) != FABRIC_OK)
		return false;
	qp->turn->debt += local.len + SHM_TURN_COPY;
	shm_dev_of(qp)->fabric.stats.writes++;
	return true;
}

bool shm_write_direct(struct fabric_qp *fqp, struct fabric_sge local, uint32_t rkey, uint64_t raddr)
{
	struct shm_qp *qp = (struct shm_qp *)fqp;
	uint8_t *to;

	if (unlikely(qp->is_blocked || !shm_local_ok(shm_dev_of(qp), local)))
		return false;
	busy_begin(qp, rkey);
	to = key_cache_get(qp, rkey, raddr, local.len, FABRIC_REMOTE_WRITE);
	if (unlikely(!to))
		return write_now_any(qp, local, rkey, raddr);
	shm_copy(to, local.addr, local.len);
	busy_end(qp);
	qp->turn->debt += local.len + SHM_TURN_COPY;
	shm_dev_of(qp)->fabric.stats.writes++;
	return true;
}

static out_of_line bool read_now_any(struct shm_qp *qp, struct fabric_sge local, uint32_t rkey,
				     uint64_t raddr)
{
	if (read_all(qp, &local, 1, rkey, raddr, local.len) != FABRIC_OK)
		return false;
	qp->turn->debt += local.len + SHM_TURN_COPY;
	shm_dev_of(qp)->fabric.stats.reads++;
	return true;
}

bool shm_read_direct(struct fabric_qp *fqp, struct fabric_sge local, uint32_t rkey, uint64_t raddr)
{
	struct shm_qp *qp = (struct shm_qp *)fqp;
	const uint8_t *from;

	if (unlikely(qp->is_blocked || !shm_local_ok(shm_dev_of(qp), local)))
		return false;
	from = key_cache_get(qp, rkey, raddr, local.len, FABRIC_REMOTE_READ);
	if (unlikely(!from))
		return read_now_any(qp, local, rkey, raddr);
	shm_copy_to_used(local.addr, from, local.len);
	qp->turn->debt += local.len + SHM_TURN_COPY;
	if (unlikely(check_read(qp, qp->key_cache.entry, qp->key_cache.seq) != FABRIC_OK))
		return false;
	shm_dev_of(qp)->fabric.stats.reads++;
	return true;
}
