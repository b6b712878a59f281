/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sleeping: a thread arms its engine and waits for a descriptor, instead of polling. waker.h
 * describes why no work is lost between the last poll and the sleep.
 *
 * The descriptor is an epoll instance. It has an eventfd, to which threads of this process write
 * that create work: weir_engine_post() and the threads of drivers. A driver can add descriptors of
 * its own, such as a completion channel. All of them are edge-triggered, so that nobody has to read
 * from them. weir_engine_disarm() fetches the reports, because the instance stays readable until
 * then.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "engine.h"
#include "fence.h"
#include "forked.h"
#include "mailbox.h"
#include "owner.h"
#include "probe.h"

#define REPORTS_MAX 16 /* reports that weir_engine_disarm() fetches; others wake once more */

/* Creates the descriptors, and has the driver add its own. Returns 0 or -errno. */
static int create_descriptors(struct weir_engine *engine)
{
	struct fabric_waker *waker = &engine->waker;
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};

	waker->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	waker->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (waker->epoll_fd < 0 || waker->event_fd < 0 ||
	    epoll_ctl(waker->epoll_fd, EPOLL_CTL_ADD, waker->event_fd, &event) != 0)
		return -errno;
	return engine->ops->wake_attach(engine->dev, waker);
}

int weir_engine_fd(struct weir_engine *engine)
{
	int rc;

	if (OTHER_THREAD(engine))
		return -EPERM;
	if (engine_is_forked(engine))
		return engine_fork_refuse();
	if (!engine->ops->wake_attach)
		return -EOPNOTSUPP;
	if (engine->waker.epoll_fd > 0)
		return engine->waker.epoll_fd;
	rc = create_descriptors(engine);
	if (rc == 0)
		return engine->waker.epoll_fd;
	fabric_waker_close(&engine->waker);
	return rc;
}

int engine_watch(struct weir_engine *engine, int fd)
{
	/* Without EPOLLET, a descriptor that was readable before the sleep ends the sleep, too. */
	struct epoll_event event = {.events = EPOLLIN};
	int epoll_fd = weir_engine_fd(engine);

	if (epoll_fd == -EOPNOTSUPP)
		return 0;
	if (epoll_fd < 0)
		return epoll_fd;
	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

/* Returns whether the next poll has something to do that no event announces. */
static bool has_queued_work(const struct weir_engine *engine)
{
	return !TAILQ_EMPTY(&engine->to_flush) || !TAILQ_EMPTY(&engine->to_reap) ||
	       !mailbox_is_empty(engine);
}

/* Computes how long the thread may sleep until the next deadline. Returns false if a deadline is
 * over. */
static bool set_timeout(struct weir_engine *engine, uint64_t now_ns, uint64_t *timeout_ns)
{
	uint64_t at_ns = engine_next_tick(engine, now_ns);

	*timeout_ns = UINT64_MAX;
	if (at_ns == UINT64_MAX)
		return true;
	*timeout_ns = at_ns - now_ns;
	return at_ns > now_ns;
}

int weir_engine_arm(struct weir_engine *engine, uint64_t now_ns, uint64_t *timeout_ns)
{
	uint64_t driver_ns = UINT64_MAX;
	int rc;

	if (OTHER_THREAD(engine))
		return -EPERM;
	if (engine_is_forked(engine))
		return engine_fork_refuse();
	if (engine->in_poll || engine->waker.epoll_fd <= 0)
		return -EINVAL;
	if (!set_timeout(engine, now_ns, timeout_ns) || has_queued_work(engine))
		return -EAGAIN;
	atomic_store(&engine->waker.is_armed, true);
	fence(memory_order_seq_cst);
	rc = mailbox_is_empty(engine) ? engine->ops->arm(engine->dev, &driver_ns) : -EAGAIN;
	if (rc == 0 && driver_ns < *timeout_ns)
		*timeout_ns = driver_ns;
	if (rc == 0 && *timeout_ns > 0) {
		engine->has_slept = true;
		PROBE2(engine_sleeps, engine, *timeout_ns);
		return 0;
	}
	weir_engine_disarm(engine);
	return -EAGAIN;
}

void weir_engine_disarm(struct weir_engine *engine)
{
	struct epoll_event reports[REPORTS_MAX];

	if (OTHER_THREAD(engine))
		return;
	if (engine_is_forked(engine) || engine->waker.epoll_fd <= 0)
		return;
	atomic_store_explicit(&engine->waker.is_armed, false, memory_order_relaxed);
	engine->ops->disarm(engine->dev);
	(void)epoll_wait(engine->waker.epoll_fd, reports, REPORTS_MAX, 0);
}
