/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sleeping, and waking the threads of peers. A message in a ring is only seen by a poll. When the
 * engine's thread falls asleep, it writes a value to 'asleep' of its key table, which its peers
 * map, makes a memory barrier for all of them by membarrier(2), and then looks at its rings. A peer
 * that has written a message reads 'asleep'. If the thread sleeps, the peer sends WAKE by the
 * socket of the connection. Therefore a message is seen by the look, or its sender sees that the
 * thread sleeps. While the thread polls, 'asleep' is 0 and stays in the caches of the peers, so
 * that a message costs them a load and a branch, and no barrier.
 *
 * The control thread reads WAKE and wakes the engine's thread (waker.h). The socket is a descriptor
 * of the waker, too, so that the engine's thread need not wait for the control thread.
 *
 * A peer can send WAKE without a message. It then causes a poll, as a message would. cm_message.c
 * limits the number. A peer can leave out WAKE. Then its own messages wait for the next poll. The
 * send never blocks. If the queue of the socket is full, the other side has messages to read, each
 * of which wakes the engine.
 *
 * Peers announce room in a ring, regions and the end of RDMA Writes by nothing. While a queue pair
 * waits for one of these, stall.c says when to try again, and a sleep ends then.
 */
#include <errno.h>

#include <rte_cycles.h>

#include "compiler.h"
#include "fence.h"
#include "shm_dev.h"
#include "shm_qp.h"

/* the longest sleep while a message waits for a receive, or while there is no membarrier(2) */
#define SHORT_NS 1000000u

out_of_line void shm_wake_sleeper(struct shm_qp *qp)
{
	const struct shm_msg msg = {.magic = SHM_MAGIC, .version = SHM_VERSION, .type = SHM_WAKE};
	uint32_t asleep = atomic_load(shm_peer_asleep(qp));

	if (asleep == 0 || asleep == qp->woken || !qp->sock)
		return;
	qp->woken = asleep;
	shm_dev_of(qp)->fabric.stats.wakes++;
	qp->turn->debt += SHM_TURN_WAKE;
	/* An error means that the peer's queue is full, or that the connection ends. The peer's
	 * control thread wakes the engine in both cases. */
	(void)shm_sock_send(qp->sock, &msg, NULL, 0);
}

void shm_wake_peer_any(struct shm_qp *qp)
{
	if (unlikely(qp->makes_barriers))
		fence(memory_order_seq_cst);
	shm_wake_peer(qp, shm_peer_asleep(qp));
}

int shm_wake_attach(struct fabric_dev *fdev, struct fabric_waker *waker)
{
	atomic_store(&((struct shm_dev *)fdev)->waker, waker);
	return 0;
}

/* The result of a look at a device. */
struct finding {
	bool has_work;
	bool waits; /* a message waits for a receive */
};

/* Returns whether the next message of a queue pair waits until the engine posts a receive. */
static bool waits_for_receive(const struct shm_qp *qp)
{
	return qp->state == QP_READY && qp->is_rnr && shm_recvs_empty(qp->recvs);
}

/* Returns whether shm_mux_step() can go on. If it waits for room, stall.c tries it. */
static bool can_switch(const struct shm_qp *qp)
{
	if (!qp->is_switching || qp->is_stalled)
		return false;
	return (qp->mux->is_connector && !qp->is_greeted) ||
	       (qp->is_heard && !qp->tx_in_mux && qp->npending == 0);
}

static void look_at_qp(const struct shm_qp *qp, struct finding *finding)
{
	bool has_message = false;

	if (qp->state == QP_ERROR)
		finding->has_work |= !shm_recvs_empty(&qp->own);
	else if (qp->state == QP_READY)
		has_message = !qp->rx_in_mux && ring_look(&qp->rx) != 0;
	if (has_message && waits_for_receive(qp))
		finding->waits = true;
	else
		finding->has_work |= has_message;
	finding->has_work |= qp->done_head != qp->done_tail;
	finding->has_work |= qp->state == QP_READY && can_switch(qp);
}

static void look_at_mux(const struct shm_mux *mux, struct finding *finding)
{
	uint32_t word = ring_look(&mux->rx);
	const struct shm_qp *qp = NULL;

	if (word == 0 || mux->is_broken)
		return;
	if (ring_msg_len(&mux->rx, word) >= RING_TAG)
		qp = mux_find(mux,
			      ring_tag(&mux->rx, mux->rx.head + (word & RING_INV ? RING_CELL : 0)));
	if (qp && waits_for_receive(qp))
		finding->waits = true;
	else
		finding->has_work = true;
}

/* Looks at the cold queue pairs of a user. The first one that has a message becomes hot. */
static void look_at_colds(const struct shm_colds *colds, struct finding *finding)
{
	for (uint32_t i = 0; i < colds->n; i++) {
		const struct shm_cold *cold = &colds->at[i];

		if (!ring_cell_ready(atomic_load_explicit(cold->header, memory_order_relaxed),
				     cold->number))
			continue;
		finding->has_work = true;
		shm_qp_make_hot(cold->qp);
		return;
	}
}

/* Looks for messages, completions and other work, until some is found. */
static void look(const struct shm_turns *turns, struct finding *finding)
{
	const struct shm_turn *turn;
	const struct shm_mux *mux;
	const struct shm_qp *qp;

	TAILQ_FOREACH(turn, &turns->all, entry)
	{
		TAILQ_FOREACH(qp, &turn->hot, entry)
		look_at_qp(qp, finding);
		TAILQ_FOREACH(mux, &turn->muxes, entry)
		look_at_mux(mux, finding);
		if (!finding->has_work)
			look_at_colds(&turn->cold, finding);
		if (finding->has_work)
			return;
	}
}

/* Returns whether the engine can take an event. Sets *waits if an event waits until messages of its
 * connection are delivered. */
static bool has_events(struct shm_dev *dev, bool *waits)
{
	bool has_events;

	if (atomic_load(&dev->nevents) == 0)
		return false;
	shm_lock(dev);
	has_events = !TAILQ_EMPTY(&dev->events) || !TAILQ_EMPTY(&dev->taken);
	shm_unlock(dev);
	*waits |= !has_events;
	return has_events;
}

/* Returns the time in ns until the first waiting queue pair is tried again; UINT64_MAX: none. */
static uint64_t stalls_ns(const struct shm_stalls *stalls)
{
	uint64_t now = rte_rdtsc(), first = UINT64_MAX;

	for (uint32_t i = 0; i < stalls->n; i++)
		if (stalls->at[i].retry_at < first)
			first = stalls->at[i].retry_at;
	if (stalls->n == 0)
		return UINT64_MAX;
	return first <= now ? 0 : (first - now) * 1000000u / (rte_get_tsc_hz() / 1000) + 1;
}

int shm_arm(struct fabric_dev *fdev, uint64_t *timeout_ns)
{
	struct shm_dev *dev = (struct shm_dev *)fdev;
	struct finding finding = {0};
	uint64_t stalled_ns = stalls_ns(&dev->stalls);

	if (stalled_ns == 0)
		return -EAGAIN;
	if (dev->nqps > 0) {
		uint32_t asleep = atomic_fetch_add(&dev->narms, 1) + 1;

		if (asleep == 0)
			asleep = atomic_fetch_add(&dev->narms, 1) + 1;
		atomic_store_explicit(dev->keys.asleep, asleep, memory_order_relaxed);
		/* Without a barrier, a peer might not see that the thread sleeps. */
		finding.waits = !shm_barrier_for_both();
	}
	look(&dev->turns, &finding);
	if (finding.has_work || has_events(dev, &finding.waits))
		return -EAGAIN;
	if (stalled_ns < *timeout_ns)
		*timeout_ns = stalled_ns;
	if (finding.waits && SHORT_NS < *timeout_ns)
		*timeout_ns = SHORT_NS;
	return 0;
}

void shm_disarm(struct fabric_dev *fdev)
{
	struct shm_dev *dev = (struct shm_dev *)fdev;

	if (atomic_load_explicit(dev->keys.asleep, memory_order_relaxed) != 0)
		atomic_store_explicit(dev->keys.asleep, 0, memory_order_relaxed);
}
