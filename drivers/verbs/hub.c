/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread that waits for events of devices and of librdmacm. The process has one such thread
 * while it has a device object.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "helper.h"
#include "verbs.h"

#define WAKE	0u /* epoll's data of wake_fd; CHANNEL: of the event channel */
#define CHANNEL 1u
#define CONTEXT 2u /* CONTEXT + i: of contexts[i] */

static struct {
	pthread_mutex_t joining; /* guards 'ndevs', and the start and the stop of the hub */
	uint32_t ndevs;
	struct rdma_event_channel *channel;
	/* one context for each device of libibverbs; owned by librdmacm */
	struct ibv_context **contexts;
	int ncontexts;
	int epoll_fd;
	int wake_fd;
	pthread_t thread;
	bool has_thread;
	_Atomic bool stops;

	pthread_mutex_t lock;
	TAILQ_HEAD(, verbs_dev) devs;
} hub = {
	.joining = PTHREAD_MUTEX_INITIALIZER,
	.epoll_fd = -1,
	.wake_fd = -1,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.devs = TAILQ_HEAD_INITIALIZER(hub.devs),
};

void verbs_lock(void)
{
	pthread_mutex_lock(&hub.lock);
}

void verbs_unlock(void)
{
	pthread_mutex_unlock(&hub.lock);
}

struct ibv_context *verbs_hub_context(uint32_t index)
{
	return index < (uint32_t)hub.ncontexts ? hub.contexts[index] : NULL;
}

struct rdma_event_channel *verbs_hub_channel(void)
{
	return hub.channel;
}

void verbs_hub_each(const struct ibv_context *context, void (*fn)(struct verbs_dev *dev))
{
	struct verbs_dev *dev;

	TAILQ_FOREACH(dev, &hub.devs, entry)
	if (dev->context == context)
		fn(dev);
}

static void drain_channel(void)
{
	struct rdma_cm_event *event;

	while (rdma_get_cm_event(hub.channel, &event) == 0)
		verbs_cm_event(event);
}

static void drain_context(uint32_t index)
{
	struct ibv_context *context = hub.contexts[index];
	struct ibv_async_event event;

	while (ibv_get_async_event(context, &event) == 0)
		verbs_async_event(context, &event);
	/* After another error, the device was removed. epoll would report its descriptor for ever.
	 */
	if (errno != EAGAIN && errno != EINTR)
		epoll_ctl(hub.epoll_fd, EPOLL_CTL_DEL, context->async_fd, NULL);
}

static void *run(void *arg)
{
	(void)arg;
	while (!atomic_load(&hub.stops)) {
		struct epoll_event events[16];
		int n = epoll_wait(hub.epoll_fd, events, 16, -1);

		for (int i = 0; i < n; i++) {
			if (events[i].data.u32 == CHANNEL)
				drain_channel();
			else if (events[i].data.u32 >= CONTEXT)
				drain_context(events[i].data.u32 - CONTEXT);
		}
	}
	return NULL;
}

static int watch(int fd, uint32_t what)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = what};
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
	    epoll_ctl(hub.epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
		return -errno;
	return 0;
}

static int start_thread(void)
{
	int rc;

	atomic_store(&hub.stops, false);
	rc = helper_create(&hub.thread, "weir-verbs", run, NULL);
	hub.has_thread = rc == 0;
	return rc;
}

static void stop(void)
{
	uint64_t one = 1;

	if (hub.has_thread) {
		atomic_store(&hub.stops, true);
		(void)!write(hub.wake_fd, &one, sizeof(one));
		pthread_join(hub.thread, NULL);
		hub.has_thread = false;
	}
	if (hub.contexts)
		rdma_free_devices(hub.contexts);
	hub.contexts = NULL;
	hub.ncontexts = 0;
	if (hub.channel)
		rdma_destroy_event_channel(hub.channel);
	hub.channel = NULL;
	if (hub.epoll_fd >= 0)
		close(hub.epoll_fd);
	if (hub.wake_fd >= 0)
		close(hub.wake_fd);
	hub.epoll_fd = hub.wake_fd = -1;
}

static int no_devices(int error)
{
	VERBS_LOG(ERROR,
		  "no RDMA device on this machine (%s): for soft RoCE over a network interface, as "
		  "root: modprobe -a rdma_rxe rdma_ucm && rdma link add rxe0 type rxe netdev "
		  "INTERFACE; within one machine, driver shm does without",
		  strerror(error));
	return -ENODEV;
}

static int start(void)
{
	int rc;

	hub.channel = rdma_create_event_channel();
	if (!hub.channel)
		return no_devices(errno);
	hub.contexts = rdma_get_devices(&hub.ncontexts);
	if (!hub.contexts || hub.ncontexts <= 0)
		return no_devices(hub.contexts ? ENODEV : errno);
	hub.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	hub.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (hub.epoll_fd < 0 || hub.wake_fd < 0)
		return -errno;
	rc = watch(hub.wake_fd, WAKE);
	if (rc == 0)
		rc = watch(hub.channel->fd, CHANNEL);
	for (int i = 0; i < hub.ncontexts && rc == 0; i++)
		rc = watch(hub.contexts[i]->async_fd, CONTEXT + (uint32_t)i);
	return rc == 0 ? start_thread() : rc;
}

int verbs_hub_join(struct verbs_dev *dev)
{
	int rc = 0;

	pthread_mutex_lock(&hub.joining);
	if (hub.ndevs == 0)
		rc = start();
	if (rc == 0) {
		hub.ndevs++;
		verbs_lock();
		TAILQ_INSERT_TAIL(&hub.devs, dev, entry);
		verbs_unlock();
	} else {
		stop();
	}
	pthread_mutex_unlock(&hub.joining);
	return rc;
}

void verbs_hub_leave(struct verbs_dev *dev)
{
	pthread_mutex_lock(&hub.joining);
	verbs_lock();
	TAILQ_REMOVE(&hub.devs, dev, entry);
	verbs_unlock();
	if (--hub.ndevs == 0)
		stop();
	pthread_mutex_unlock(&hub.joining);
}
