/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "guard.h"
#include "shm.h"

_Static_assert(LANE_PLACES <= 1u << LANE_KIND_SHIFT, "a place is 16 bits of a tag");

static _Atomic uint32_t numbers;

uint32_t lanes_number_take(void)
{
	uint32_t taken = atomic_load(&numbers), number;

	do {
		number = (uint32_t)__builtin_ctz(~taken | 1u << LANE_COUNT);
		if (number == LANE_COUNT)
			return LANE_NONE;
	} while (!atomic_compare_exchange_weak(&numbers, &taken, taken | 1u << number));
	return number;
}

void lanes_number_put(uint32_t number)
{
	if (number != LANE_NONE)
		atomic_fetch_and(&numbers, ~(1u << number));
}

void lanes_fork_child(void)
{
	atomic_store(&numbers, 0);
}

static struct shm_lanes *lanes_new(struct shm_account *account)
{
	struct shm_lanes *lanes = mem_zalloc(sizeof(*lanes));

	if (!lanes)
		return NULL;
	shm_account_hold(account);
	lanes->account = account;
	lanes->tag = shm_next_id();
	lanes->mapping.guard = GUARD_NONE;
	lanes->fd = -1;
	return lanes;
}

static void drop_lane(struct shm_dev *dev, struct shm_lanes *lanes, uint32_t number)
{
	struct shm_lane *lane = lanes->lanes[number];

	lanes->lanes[number] = NULL;
	TAILQ_REMOVE(&dev->lanes, lane, entry);
	dev->nlanes--;
	mem_unreserve(lane->qps, LANE_PLACES * sizeof(lane->qps[0]));
	mem_free(lane);
}

/* On a worker of the reaper. */
static void give_up(struct reap_job *job)
{
	struct shm_lanes *lanes = (struct shm_lanes *)job;

	mapping_release(&lanes->mapping);
	if (lanes->fd >= 0)
		close(lanes->fd);
	mem_free(lanes);
}

void lanes_give_up(struct shm_lanes *lanes)
{
	if (!lanes)
		return;
	lanes->job = (struct reap_job){.run = give_up, .account = lanes->account};
	reap(&lanes->job);
}

static void lanes_unref(struct shm_dev *dev, struct shm_lanes *lanes)
{
	if (--lanes->refs > 0)
		return;
	for (uint32_t i = 0; i < LANE_COUNT; i++)
		if (lanes->lanes[i])
			drop_lane(dev, lanes, i);
	LIST_REMOVE(lanes, entry);
	lanes_give_up(lanes);
}

static void make_memory(struct shm_dev *dev, struct shm_lanes *lanes)
{
	if (mapping_own(&lanes->mapping, "weir-shm-lanes", sizeof(*lanes->memory), false, &lanes->fd) != 0)
		return;
	if (mapping_guard(&lanes->mapping, dev->wake_fd, lanes->tag) == 0) {
		lanes->memory = lanes->mapping.base;
		return;
	}
	mapping_release(&lanes->mapping);
	close(lanes->fd);
	lanes->fd = -1;
}

int lanes_offer(struct shm_dev *dev, struct shm_qp *qp, const char *addr, pid_t pid,
		struct shm_account *account)
{
	struct shm_lanes *lanes;

	/* Where a process can't be named (it is of another PID namespace), the next one at the address could not be told from it. */
	if (pid <= 0)
		return -1;
	LIST_FOREACH(lanes, &dev->shared, entry)
	if (lanes->pid == pid && strcmp(lanes->addr, addr) == 0)
		break;
	if (!lanes) {
		lanes = lanes_new(account);
		if (!lanes)
			return -1;
		LIST_INSERT_HEAD(&dev->shared, lanes, entry);
		snprintf(lanes->addr, sizeof(lanes->addr), "%s", addr);
		lanes->pid = pid;
	}
	qp->lanes = lanes;
	if (++lanes->refs == 1)
		return -1;
	if (!lanes->memory)
		make_memory(dev, lanes);
	return lanes->fd;
}

/* A lane of which nothing is known yet, from that lap of its rings on. NULL: there is no room. */
static struct shm_lane *begin_lane(struct shm_dev *dev, struct shm_lanes *lanes, uint32_t number,
				   uint32_t start, bool is_connector)
{
	struct lane_way *to_acceptor = &lanes->memory->lanes[number].to_acceptor,
			*to_connector = &lanes->memory->lanes[number].to_connector;
	struct shm_lane *lane = mem_zalloc(sizeof(*lane));

	if (!lane)
		return NULL;
	lane->qps = mem_reserve(LANE_PLACES * sizeof(lane->qps[0]));
	if (!lane->qps) {
		mem_free(lane);
		return NULL;
	}
	lane->start = start;
	lane->is_connector = is_connector;
	ring_writer_init(&lane->tx, is_connector ? to_acceptor : to_connector, LANE_BYTES);
	ring_writer_start(&lane->tx, start);
	ring_reader_init(&lane->rx, is_connector ? to_connector : to_acceptor, LANE_BYTES,
			 SHM_MSG_MAX + RING_TAG);
	ring_reader_start(&lane->rx, start);
	lanes->lanes[number] = lane;
	TAILQ_INSERT_TAIL(&dev->lanes, lane, entry);
	dev->nlanes++;
	return lane;
}

static void enter(struct shm_qp *qp, struct shm_lane *lane, uint32_t place, uint64_t tag)
{
	qp->older = lane->qps[place];
	lane->qps[place] = qp;
	lane->nqps++;
	qp->lane = lane;
	qp->lane_tag = tag;
	qp->is_switching = true;
}

/* A device that accepts drops a lane that it does not use, and begins the next one elsewhere. One that connects keeps it: the
 * acceptor may still use it, and where they are in its rings has to agree. */
static void leave_lane(struct shm_dev *dev, struct shm_qp *qp)
{
	struct shm_lane *lane = qp->lane;
	uint32_t place = qp->lane_tag & (LANE_PLACES - 1);
	struct shm_qp **at;

	if (!lane)
		return;
	for (at = &lane->qps[place]; *at != qp; at = &(*at)->older)
		;
	*at = qp->older;
	if (place < lane->free_from)
		lane->free_from = place;
	qp->lane = NULL;
	if (--lane->nqps > 0 || lane->is_connector)
		return;
	for (uint32_t i = 0; i < LANE_COUNT; i++)
		if (qp->lanes->lanes[i] == lane)
			drop_lane(dev, qp->lanes, i);
}

static uint32_t random_start(void)
{
	uint32_t start;

	while (getrandom(&start, sizeof(start), 0) != (ssize_t)sizeof(start))
		;
	return start >> 1;
}

/* What a process shares with this device: each of its devices that connects has some, and each is looked at in turn. */
static uint32_t count_of(const struct shm_dev *dev, pid_t pid)
{
	const struct shm_lanes *lanes;
	uint32_t n = 0;

	LIST_FOREACH(lanes, &dev->shared, entry)
	n += lanes->pid == pid && !lanes->addr[0]; /* not what this device offers to it */
	return n;
}

int lanes_map(struct shm_dev *dev, struct shm_account *account, int fd, struct shm_lanes **out)
{
	struct mapping_owner owner = {account, &dev->limits, dev->wake_fd, 0};
	struct shm_lanes *lanes = lanes_new(account);
	struct stat st;
	int rc;

	if (!lanes)
		return -ENOMEM;
	owner.tag = lanes->tag;
	rc = mapping_peer(&lanes->mapping, &owner, fd, 0, sizeof(*lanes->memory), true, false);
	if (rc == 0 && fstat(fd, &st) != 0)
		rc = -EPROTO;
	if (rc != 0) {
		lanes_give_up(lanes);
		return rc;
	}
	lanes->memory = lanes->mapping.base;
	lanes->file_dev = st.st_dev;
	lanes->file_ino = st.st_ino;
	*out = lanes;
	return 0;
}

/* What the device has of the file that is offered: from an earlier connection, or by this offer. NULL: it takes no more. */
static struct shm_lanes *adopt(struct shm_dev *dev, struct shm_lanes *offered, pid_t pid)
{
	struct shm_lanes *lanes;

	LIST_FOREACH(lanes, &dev->shared, entry)
	if (lanes->file_ino == offered->file_ino && lanes->file_dev == offered->file_dev)
		break;
	if (!lanes && count_of(dev, pid) < LANE_COUNT) {
		offered->pid = pid;
		LIST_INSERT_HEAD(&dev->shared, offered, entry);
		return offered;
	}
	lanes_give_up(offered);
	return lanes;
}

bool lanes_take_place(struct shm_dev *dev, struct shm_qp *qp, struct shm_lanes *offered, pid_t pid,
		      uint32_t peer_conn_id, struct lane_place *place)
{
	struct shm_lanes *lanes;
	struct shm_lane *lane;

	if (dev->number == LANE_NONE)
		dev->number = lanes_number_take();
	if (dev->number == LANE_NONE) {
		lanes_give_up(offered);
		return false;
	}
	lanes = adopt(dev, offered, pid);
	if (!lanes)
		return false;
	lanes->refs++;
	qp->lanes = lanes;
	if (guard_is_lost(lanes->mapping.guard))
		return false;
	lane = lanes->lanes[dev->number];
	if (!lane)
		lane = begin_lane(dev, lanes, dev->number, random_start(), false);
	if (!lane || lane->is_broken)
		return false;
	while (lane->free_from < LANE_PLACES && lane->qps[lane->free_from])
		lane->free_from++;
	if (lane->free_from == LANE_PLACES)
		return false;
	*place = (struct lane_place){dev->number, lane->free_from, lane->start};
	enter(qp, lane, place->place, lane_tag(peer_conn_id, qp->conn_id, place->place));
	return true;
}

void lanes_set_place(struct shm_dev *dev, struct shm_qp *qp, const struct lane_place *place)
{
	struct shm_lane *lane = qp->lanes->lanes[place->lane];
	uint32_t n = 0;

	if (lane && lane->start != place->start) {
		if (lane->nqps > 0)
			return;
		drop_lane(dev, qp->lanes, place->lane);
		lane = NULL;
	}
	if (!lane)
		lane = begin_lane(dev, qp->lanes, place->lane, place->start, true);
	if (!lane || lane->is_broken)
		return;
	/* The place may have another one, with which the peer is done, and of which the end has not been heard yet; but for
	 * each message that is not of the latest one, all are looked through. */
	for (const struct shm_qp *older = lane->qps[place->place]; older; older = older->older)
		if (++n == LANE_OLDER)
			return;
	enter(qp, lane, place->place, lane_tag(qp->conn_id, qp->peer->conn_id, place->place));
}

void lanes_leave(struct shm_dev *dev, struct shm_qp *qp)
{
	leave_lane(dev, qp);
	if (qp->lanes)
		lanes_unref(dev, qp->lanes);
	qp->lanes = NULL;
}
