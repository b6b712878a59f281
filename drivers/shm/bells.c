/* SPDX-License-Identifier: BSD-3-Clause */
#include "bells.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "shm.h"

_Static_assert(BELL_PLACES <= 65536, "a place is 16 bits of a word");

const _Atomic uint64_t bells_never;

static _Atomic uint32_t numbers;

uint32_t bells_number_take(void)
{
	uint32_t taken = atomic_load(&numbers), number;

	do {
		number = (uint32_t)__builtin_ctz(~taken | 1u << BELL_LANES);
		if (number == BELL_LANES)
			return BELL_NO_LANE;
	} while (!atomic_compare_exchange_weak(&numbers, &taken, taken | 1u << number));
	return number;
}

void bells_number_put(uint32_t number)
{
	if (number != BELL_NO_LANE)
		atomic_fetch_and(&numbers, ~(1u << number));
}

static struct shm_bells *bells_new(struct shm_dev *dev)
{
	struct shm_bells *bells = mem_zalloc(sizeof(*bells));

	if (!bells)
		return NULL;
	bells->fd = -1;
	LIST_INSERT_HEAD(&dev->bells, bells, entry);
	return bells;
}

static void bells_unref(struct shm_bells *bells)
{
	if (--bells->refs > 0)
		return;
	LIST_REMOVE(bells, entry);
	if (bells->memory)
		munmap(bells->memory, sizeof(*bells->memory));
	if (bells->fd >= 0)
		close(bells->fd);
	mem_free(bells);
}

int bells_offer(struct shm_dev *dev, struct shm_qp *qp, const char *addr, int fd)
{
	struct shm_bells *bells;
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0)
		return -1;
	LIST_FOREACH(bells, &dev->bells, entry)
	if (bells->pid == cred.pid && strcmp(bells->addr, addr) == 0)
		break;
	if (!bells) {
		bells = bells_new(dev);
		if (!bells)
			return -1;
		snprintf(bells->addr, sizeof(bells->addr), "%s", addr);
		bells->pid = cred.pid;
	}
	qp->bells = bells;
	if (++bells->refs == 1)
		return -1;
	if (!bells->memory)
		bells->memory = shm_create("weir-shm-bells", sizeof(*bells->memory), false, &bells->fd);
	return bells->fd;
}

bool bells_fd_ok(int fd)
{
	void *memory = shm_map(fd, sizeof(struct bell_memory), true);

	if (memory)
		munmap(memory, sizeof(struct bell_memory));
	return memory != NULL;
}

/* A device's own of the memory; NULL: there is no room. */
static struct shm_lane *lane_of(struct shm_dev *dev, struct shm_bells *bells, uint32_t number,
				bool is_acceptor)
{
	struct shm_lane *lane = bells->lanes[number];
	struct bell_way *to_acceptor = &bells->memory->lanes[number].to_acceptor,
			*to_connector = &bells->memory->lanes[number].to_connector;

	if (lane)
		return lane;
	lane = mem_zalloc(sizeof(*lane));
	if (!lane)
		return NULL;
	lane->qps = mem_reserve(BELL_PLACES * sizeof(lane->qps[0]));
	if (!lane->qps) {
		mem_free(lane);
		return NULL;
	}
	lane->in = is_acceptor ? to_acceptor : to_connector;
	lane->out = is_acceptor ? to_connector : to_acceptor;
	lane->in_lap = lane->out_lap = 1;
	bells->lanes[number] = lane;
	TAILQ_INSERT_TAIL(&dev->lanes, lane, entry);
	dev->nlanes++;
	return lane;
}

/* The place is free. */
static void enter(struct shm_qp *qp, struct shm_lane *lane, uint32_t place)
{
	lane->qps[place] = qp;
	lane->nqps++;
	qp->lane = lane;
	qp->place = place;
	qp->peer_mark = &lane->out->marks[place];
	if (place < BELL_NOTES) {
		qp->note_in = &lane->in->notes[place];
		qp->note_out = &lane->out->notes[place];
	}
	atomic_store_explicit(&lane->in->marks[place], 0, memory_order_relaxed);
}

static void drop_lane(struct shm_dev *dev, struct shm_bells *bells, struct shm_lane *lane)
{
	for (uint32_t i = 0; i < BELL_LANES; i++)
		if (bells->lanes[i] == lane)
			bells->lanes[i] = NULL;
	TAILQ_REMOVE(&dev->lanes, lane, entry);
	dev->nlanes--;
	mem_unreserve(lane->qps, BELL_PLACES * sizeof(lane->qps[0]));
	mem_free(lane);
}

/* Out of its place. It must be hot: those that are cold are kept by whether they have one. A note may be there for it still. */
static void leave_lane(struct shm_dev *dev, struct shm_qp *qp)
{
	struct shm_lane *lane = qp->lane;

	if (!lane)
		return;
	lane->qps[qp->place] = NULL;
	if (qp->place < lane->free_from)
		lane->free_from = qp->place;
	qp->lane = NULL;
	qp->peer_mark = &bells_never;
	qp->note_out = NULL;
	if (--lane->nqps == 0)
		drop_lane(dev, qp->bells, lane);
}

bool bells_take_place(struct shm_dev *dev, struct shm_qp *qp, int fd, uint32_t *number, uint32_t *place)
{
	struct shm_bells *bells;
	struct shm_lane *lane;
	struct stat st;

	if (fd < 0 || dev->number == BELL_NO_LANE || fstat(fd, &st) != 0)
		return false;
	LIST_FOREACH(bells, &dev->bells, entry)
	if (bells->file_ino == st.st_ino && bells->file_dev == st.st_dev)
		break;
	if (!bells)
		bells = bells_new(dev);
	if (!bells)
		return false;
	bells->refs++;
	qp->bells = bells;
	bells->file_dev = st.st_dev;
	bells->file_ino = st.st_ino;
	if (!bells->memory)
		bells->memory = shm_map(fd, sizeof(*bells->memory), true);
	lane = bells->memory ? lane_of(dev, bells, dev->number, true) : NULL;
	if (!lane)
		return false;
	while (lane->free_from < BELL_PLACES && lane->qps[lane->free_from])
		lane->free_from++;
	if (lane->free_from == BELL_PLACES)
		return false;
	*number = dev->number;
	*place = lane->free_from;
	enter(qp, lane, *place);
	return true;
}

void bells_set_place(struct shm_dev *dev, struct shm_qp *qp, uint32_t number, uint32_t place)
{
	struct shm_lane *lane = lane_of(dev, qp->bells, number, false);
	struct shm_qp *before;

	if (!lane)
		return;
	/* Given again: the peer is done with the connection that had it, of which the end has not been heard yet. */
	before = lane->qps[place];
	if (before) {
		shm_qp_warm(before);
		lane->nqps++; /* it stays, for this one */
		leave_lane(dev, before);
		lane->nqps--;
	}
	enter(qp, lane, place);
	if (before && shm_note_len(before) >= 0)
		qp->note_in = NULL; /* that is for the one before, which has yet to take it */
}

void bells_leave(struct shm_dev *dev, struct shm_qp *qp)
{
	leave_lane(dev, qp);
	qp->note_in = NULL;
	if (qp->bells)
		bells_unref(qp->bells);
	qp->bells = NULL;
}
