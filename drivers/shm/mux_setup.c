/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and ends muxes and mux sets, and assigns their slots. mux_switch.c moves queue pairs to
 * their muxes, and recv.c reads from muxes. */
#include "mux.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "shm_dev.h"
#include "shm_qp.h"
#include "sigbus_guard.h"

_Static_assert(MUX_SLOTS <= 1u << MUX_KIND_SHIFT, "a slot is 16 bits of a tag");

static _Atomic uint32_t numbers;

uint32_t mux_number_take(void)
{
	uint32_t taken = atomic_load(&numbers), number;

	do {
		number = (uint32_t)__builtin_ctz(~taken | 1u << MUX_COUNT);
		if (number == MUX_COUNT)
			return MUX_NONE;
	} while (!atomic_compare_exchange_weak(&numbers, &taken, taken | 1u << number));
	return number;
}

void mux_number_put(uint32_t number)
{
	if (number != MUX_NONE)
		atomic_fetch_and(&numbers, ~(1u << number));
}

void mux_fork_child(void)
{
	atomic_store(&numbers, 0);
}

static struct shm_mux_set *mux_set_new(struct shm_account *account)
{
	struct shm_mux_set *mux_set = mem_zalloc(sizeof(*mux_set));

	if (!mux_set)
		return NULL;
	shm_account_hold(account);
	mux_set->account = account;
	mux_set->tag = shm_next_id();
	mux_set->mapping.guard = GUARD_NONE;
	mux_set->fd = -1;
	return mux_set;
}

static bool add_slot_array(struct shm_mux_set *mux_set)
{
	struct shm_qp **slots = mem_reserve(MUX_SLOTS * sizeof(*slots));

	if (slots)
		mux_set->slot_arrays[mux_set->nslot_arrays++] = slots;
	return slots != NULL;
}

/* Frees a mux that no queue pair uses, so that its slot array is empty. */
static void drop_mux(struct shm_dev *dev, struct shm_mux_set *mux_set, uint32_t number)
{
	struct shm_mux *mux = mux_set->muxes[number];

	mux_set->muxes[number] = NULL;
	shm_turn_remove_mux(&dev->turns, mux);
	dev->nmuxes--;
	mux_set->slot_arrays[mux_set->nslot_arrays++] = mux->qps;
	mem_free(mux);
}

/* Unmaps and frees a mux set. Called on a worker of the reaper. */
static void mux_set_free(struct reap_job *job)
{
	struct shm_mux_set *mux_set = (struct shm_mux_set *)job;

	mapping_release(&mux_set->mapping);
	for (uint32_t i = 0; i < mux_set->nslot_arrays; i++)
		mem_unreserve(mux_set->slot_arrays[i],
			      MUX_SLOTS * sizeof(*mux_set->slot_arrays[i]));
	if (mux_set->fd >= 0)
		close(mux_set->fd);
	mem_free(mux_set);
}

void muxes_give_up(struct shm_mux_set *mux_set)
{
	if (!mux_set)
		return;
	mux_set->job = (struct reap_job){.run = mux_set_free, .account = mux_set->account};
	reap(&mux_set->job);
}

static void mux_set_unref(struct shm_dev *dev, struct shm_mux_set *mux_set)
{
	if (--mux_set->refs > 0)
		return;
	for (uint32_t i = 0; i < MUX_COUNT; i++)
		if (mux_set->muxes[i])
			drop_mux(dev, mux_set, i);
	LIST_REMOVE(mux_set, entry);
	muxes_give_up(mux_set);
}

static void make_memory(struct shm_dev *dev, struct shm_mux_set *mux_set)
{
	if (mapping_own(&mux_set->mapping, "weir-shm-mux", sizeof(*mux_set->memory), false,
			&mux_set->fd) != 0)
		return;
	if (mapping_guard(&mux_set->mapping, dev->wake_fd, mux_set->tag) == 0) {
		mux_set->memory = mux_set->mapping.base;
		return;
	}
	mapping_release(&mux_set->mapping);
	close(mux_set->fd);
	mux_set->fd = -1;
}

int mux_offer(struct shm_dev *dev, struct shm_qp *qp, const char *addr, pid_t pid,
	      struct shm_account *account)
{
	struct shm_mux_set *mux_set;

	/*
	 * A process of another PID namespace has no PID here. Without a PID, this side could not
	 * distinguish the process from a later process that listens at the same address.
	 */
	if (pid <= 0)
		return -1;
	LIST_FOREACH(mux_set, &dev->shared, entry)
	if (mux_set->pid == pid && strcmp(mux_set->addr, addr) == 0)
		break;
	if (!mux_set) {
		mux_set = mux_set_new(account);
		if (!mux_set)
			return -1;
		LIST_INSERT_HEAD(&dev->shared, mux_set, entry);
		snprintf(mux_set->addr, sizeof(mux_set->addr), "%s", addr);
		mux_set->pid = pid;
	}
	qp->mux_set = mux_set;
	if (++mux_set->refs == 1)
		return -1;
	if (!mux_set->memory)
		make_memory(dev, mux_set);
	return mux_set->fd;
}

/* Begins a mux at lap 'start' of its rings. Returns NULL if no memory is available. */
static struct shm_mux *begin_mux(struct shm_dev *dev, struct shm_mux_set *mux_set, uint32_t number,
				 uint32_t start, bool is_connector)
{
	struct mux_ring *to_acceptor = &mux_set->memory->muxes[number].to_acceptor,
			*to_connector = &mux_set->memory->muxes[number].to_connector;
	struct shm_turn *turn;
	struct shm_mux *mux;

	/* Only a connector can need this system call, because muxes_map() has mapped the slot array
	 * of an acceptor. */
	if (mux_set->nslot_arrays == 0 && !add_slot_array(mux_set))
		return NULL;
	mux = mem_zalloc(sizeof(*mux));
	turn = mux ? shm_turn_get(&dev->turns, mux_set->account) : NULL;
	if (!turn) {
		mem_free(mux);
		return NULL;
	}
	mux->qps = mux_set->slot_arrays[--mux_set->nslot_arrays];
	mux->start = start;
	mux->is_connector = is_connector;
	ring_writer_init(&mux->tx, is_connector ? to_acceptor : to_connector, MUX_BYTES);
	ring_writer_start(&mux->tx, start);
	ring_reader_init(&mux->rx, is_connector ? to_connector : to_acceptor, MUX_BYTES,
			 SHM_MSG_MAX + RING_TAG);
	ring_reader_start(&mux->rx, start);
	mux_set->muxes[number] = mux;
	shm_turn_add_mux(&dev->turns, turn, mux);
	dev->nmuxes++;
	return mux;
}

static void mux_enter(struct shm_qp *qp, struct shm_mux *mux, uint32_t slot, uint64_t tag)
{
	qp->older = mux->qps[slot];
	mux->qps[slot] = qp;
	mux->nqps++;
	qp->mux = mux;
	qp->mux_tag = tag;
	qp->is_switching = true;
}

/* Chooses at which of the mappings the mux reads whether the peer sleeps. */
static void choose_asleep(struct shm_mux *mux)
{
	const struct shm_qp *first = LIST_FIRST(&mux->senders);

	mux->peer_asleep = first ? first->peer_asleep : NULL;
}

void mux_begin_sending(struct shm_qp *qp)
{
	qp->tx_in_mux = true;
	LIST_INSERT_HEAD(&qp->mux->senders, qp, sender);
	choose_asleep(qp->mux);
}

static void end_sending(struct shm_qp *qp)
{
	if (!qp->tx_in_mux)
		return;
	LIST_REMOVE(qp, sender);
	choose_asleep(qp->mux);
}

/* Removes a queue pair from its mux. When a mux has no queue pair left, an accepting device frees
 * the mux, and begins the next one at another lap. A connecting device keeps the mux, because the
 * acceptor may still use it, and both sides must agree on the positions in the rings. */
static void leave_mux(struct shm_dev *dev, struct shm_qp *qp)
{
	struct shm_mux *mux = qp->mux;
	uint32_t slot = qp->mux_tag & (MUX_SLOTS - 1);
	struct shm_qp **at;

	if (!mux)
		return;
	for (at = &mux->qps[slot]; *at != qp; at = &(*at)->older)
		;
	*at = qp->older;
	end_sending(qp);
	if (slot < mux->free_from)
		mux->free_from = slot;
	qp->mux = NULL;
	if (--mux->nqps > 0 || mux->is_connector)
		return;
	for (uint32_t i = 0; i < MUX_COUNT; i++)
		if (qp->mux_set->muxes[i] == mux)
			drop_mux(dev, qp->mux_set, i);
}

static uint32_t random_start(void)
{
	uint32_t start;

	while (getrandom(&start, sizeof(start), 0) != (ssize_t)sizeof(start))
		;
	return start >> 1;
}

/* Returns the number of mux sets that the process 'pid' has offered to this device: one for each of
 * that process's devices that connects here. */
static uint32_t count_of(const struct shm_dev *dev, pid_t pid)
{
	const struct shm_mux_set *mux_set;
	uint32_t n = 0;

	LIST_FOREACH(mux_set, &dev->shared, entry)
	n += mux_set->pid == pid &&
	     !mux_set->addr[0]; /* counts no mux set that this device offers */
	return n;
}

int muxes_map(struct shm_dev *dev, struct shm_account *account, int fd, struct shm_mux_set **out)
{
	struct mapping_owner owner = {account, &dev->limits, dev->wake_fd, 0};
	struct shm_mux_set *mux_set = mux_set_new(account);
	struct stat st;
	int rc;

	if (!mux_set)
		return -ENOMEM;
	owner.tag = mux_set->tag;
	rc = mapping_peer(&mux_set->mapping, &owner, fd, 0, sizeof(*mux_set->memory), true, false);
	if (rc == 0 && !add_slot_array(mux_set))
		rc = -ENOMEM;
	if (rc == 0 && fstat(fd, &st) != 0)
		rc = -EPROTO;
	if (rc != 0) {
		muxes_give_up(mux_set);
		return rc;
	}
	mux_set->memory = mux_set->mapping.base;
	mux_set->file_dev = st.st_dev;
	mux_set->file_ino = st.st_ino;
	*out = mux_set;
	return 0;
}

/* Returns the mux set of the file that a peer offers. This is the mux set of an earlier connection
 * with the same file, or otherwise the offered one. Returns NULL if this device already has the
 * maximum number of mux sets of the process, or if another user has offered the same file. An
 * offered mux set that is not returned is given up. */
static struct shm_mux_set *adopt(struct shm_dev *dev, struct shm_mux_set *offered, pid_t pid)
{
	struct shm_mux_set *mux_set;

	LIST_FOREACH(mux_set, &dev->shared, entry)
	if (mux_set->file_ino == offered->file_ino && mux_set->file_dev == offered->file_dev)
		break;
	if (mux_set && mux_set->account != offered->account) {
		/* Otherwise two users would share a turn (turn.h). */
		muxes_give_up(offered);
		return NULL;
	}
	if (!mux_set && count_of(dev, pid) < MUX_COUNT) {
		offered->pid = pid;
		LIST_INSERT_HEAD(&dev->shared, offered, entry);
		return offered;
	}
	muxes_give_up(offered);
	return mux_set;
}

bool mux_take_slot(struct shm_dev *dev, struct shm_qp *qp, struct shm_mux_set *offered, pid_t pid,
		   uint32_t peer_conn_id, struct mux_slot *slot)
{
	struct shm_mux_set *mux_set;
	struct shm_mux *mux;

	if (dev->number == MUX_NONE)
		dev->number = mux_number_take();
	if (dev->number == MUX_NONE) {
		muxes_give_up(offered);
		return false;
	}
	mux_set = adopt(dev, offered, pid);
	if (!mux_set)
		return false;
	mux_set->refs++;
	qp->mux_set = mux_set;
	if (guard_is_lost(mux_set->mapping.guard))
		return false;
	mux = mux_set->muxes[dev->number];
	if (!mux)
		mux = begin_mux(dev, mux_set, dev->number, random_start(), false);
	if (!mux || mux->is_broken)
		return false;
	while (mux->free_from < MUX_SLOTS && mux->qps[mux->free_from])
		mux->free_from++;
	if (mux->free_from == MUX_SLOTS)
		return false;
	*slot = (struct mux_slot){dev->number, mux->free_from, mux->start};
	mux_enter(qp, mux, slot->slot, mux_tag(peer_conn_id, qp->conn_id, slot->slot));
	return true;
}

void mux_set_slot(struct shm_dev *dev, struct shm_qp *qp, const struct mux_slot *slot)
{
	struct shm_mux *mux = qp->mux_set->muxes[slot->mux];
	uint32_t n = 0;

	if (mux && mux->start != slot->start) {
		if (mux->nqps > 0)
			return;
		drop_mux(dev, qp->mux_set, slot->mux);
		mux = NULL;
	}
	if (!mux)
		mux = begin_mux(dev, qp->mux_set, slot->mux, slot->start, true);
	if (!mux || mux->is_broken)
		return;
	/* The slot can still have older queue pairs whose connections the peer has ended, but whose
	 * end has not been reported here yet. The number of queue pairs in a slot is limited,
	 * because for each message that is not for the latest one, mux_find() searches all of them.
	 */
	for (const struct shm_qp *older = mux->qps[slot->slot]; older; older = older->older)
		if (++n == MUX_OLDER)
			return;
	mux_enter(qp, mux, slot->slot, mux_tag(qp->conn_id, qp->peer->conn_id, slot->slot));
}

struct shm_qp *mux_find(const struct shm_mux *mux, uint64_t tag)
{
	uint32_t slot = tag & MUX_KIND_MASK;
	struct shm_qp *qp = slot < MUX_SLOTS ? mux->qps[slot] : NULL;

	while (qp && qp->mux_tag >> MUX_TAG_SHIFT != tag >> MUX_TAG_SHIFT)
		qp = qp->older;
	return qp;
}

void mux_leave(struct shm_dev *dev, struct shm_qp *qp)
{
	leave_mux(dev, qp);
	if (qp->mux_set)
		mux_set_unref(dev, qp->mux_set);
	qp->mux_set = NULL;
}
