/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens and closes a device. This file also has the table of the driver's functions. */
#include <errno.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "alloc.h"
#include "copy.h"
#include "shm_dev.h"
#include "shm_qp.h"
#include "sigbus_guard.h"
#include "users.h"

#define RNR_TRY_MS 1u
/* The close of a device waits for at most this time until the reaper has closed and unmapped all
 * that peers have passed. */
#define REAP_WAIT_MS	  1000u
#define MAP_BYTES_DEFAULT (8ull << 40)
#define MAPPINGS_DEFAULT  32768u

static int apply_options(struct shm_dev *dev, const char *text)
{
	struct shm_options options;
	int rc = shm_options_parse(text, &options);

	if (rc != 0)
		return rc;
	dev->ring_option_bytes = options.ring_kib << 10;
	dev->options = options;
	shm_overflow_read(&dev->overflow);
	shm_users_warn(&options);
	dev->rnr_ticks = options.rnr_retry == SHM_RNR_FOR_EVER
				 ? UINT64_MAX
				 : options.rnr_retry * (rte_get_tsc_hz() / 1000) * RNR_TRY_MS;
	return 0;
}

/* Stops the control thread and shuts down all sockets. After the shutdown, copies of the sockets in
 * a child do not hide this side's end from the peers. */
static void shm_stop(struct fabric_dev *fdev)
{
	shm_cm_stop((struct shm_dev *)fdev);
}

static void shm_close(struct fabric_dev *fdev)
{
	struct shm_dev *dev = (struct shm_dev *)fdev;

	if (!dev)
		return;
	shm_cm_stop(dev); /* if it has not been stopped yet */
	if (dev->has_reaper)
		reap_stop(REAP_WAIT_MS);
	key_table_destroy(&dev->keys);
	mem_free(dev->stalls.at);
	shm_turns_fini(&dev->turns);
	mux_number_put(dev->number);
	pthread_cond_destroy(&dev->is_unlistened);
	pthread_mutex_destroy(&dev->lock);
	mem_free(dev);
}

static void abandon_sock(const struct shm_sock *sock)
{
	close(sock->fd);
	if (sock->rings_fd >= 0)
		close(sock->rings_fd);
	if (sock->mux_fd >= 0)
		close(sock->mux_fd);
}

/* Closes the descriptors of a device in a child of fork(2). Another thread of the parent might have
 * held the lock at the fork, in which case nobody releases it in the child. Therefore the child
 * changes neither the lists nor anything else except the descriptors. */
static void shm_abandon(struct fabric_dev *fdev)
{
	struct shm_dev *dev = (struct shm_dev *)fdev;
	const struct fabric_listener *listener;
	const struct shm_mux_set *mux_set;
	const struct shm_life *life;
	const struct shm_sock *sock;

	/* Another thread of the parent might have been closing these descriptors at the fork. */
	shm_fd_close(&dev->epoll_fd);
	shm_fd_close(&dev->wake_fd);
	shm_fd_close(&dev->keys.fd);
	if (pthread_mutex_trylock(&dev->lock) != 0)
		return;
	TAILQ_FOREACH(listener, &dev->listeners, entry)
	close(listener->fd);
	TAILQ_FOREACH(sock, &dev->socks, entry)
	abandon_sock(sock);
	TAILQ_FOREACH(sock, &dev->tasks, task)
	if (sock->tasks & TASK_FREE)
		abandon_sock(sock);
	LIST_FOREACH(life, &dev->lives, entry)
	close(life->fd);
	LIST_FOREACH(mux_set, &dev->shared, entry)
	if (mux_set->fd >= 0)
		close(mux_set->fd);
	for (uint32_t i = 0; i < SHM_REGIONS_MAX; i++)
		if (dev->mrs[i].exposed)
			close(dev->mrs[i].exposed->fd);
}

static void fork_begin(void)
{
	reap_fork_begin();
	shm_account_fork_begin();
	guard_fork_begin();
}

static void fork_end(bool is_child)
{
	guard_fork_end(is_child);
	shm_account_fork_end(is_child);
	reap_fork_end(is_child);
}

static void fork_parent(void)
{
	fork_end(false);
}

static void fork_child(void)
{
	fork_end(true);
	mux_fork_child();
}

static void watch_forks(void)
{
	(void)pthread_atfork(fork_begin, fork_parent, fork_child);
}

static int check_options(const char *text)
{
	struct shm_options options;

	return shm_options_parse(text, &options);
}

static int shm_open_dev(const struct fabric_dev_config *config, struct fabric_dev **out);

static const struct fabric_dev_attr attr = {
	.max_inline = SHM_MSG_MAX,
	.max_sge = SHM_SGES_MAX,
	.max_send_wr = SHM_WRS_MAX,
	.max_recv_wr = SHM_WRS_MAX,
	.max_srq_wr = SHM_SRQ_MAX,
	.max_msg_bytes = SHM_MSG_MAX,
	.max_rd_atomic = SHM_RDS_MAX,
	.chunk_bytes = SHM_CHUNK_BYTES,
	.maps_files = true,
	.has_mw = true,
	.has_send_inv = true,
	.revokes_access = false,
};

const struct fabric_ops shm_ops = {
	.name = "shm",
	.attr_max = &attr,
	.summary = "processes or threads of one host (options: ring_kib=N; rnr_retry=0..7, 7: wait "
		   "for ever; peer_uid=N:N..., peer_gid=N:N...: users and groups that may connect, "
		   "besides this user and root, or any; server_uid=N:N...: whose listeners to "
		   "connect to, likewise; mode=0660: of socket files, 0600 otherwise)",
	.options_check = check_options,
	.open = shm_open_dev,
	.stop = shm_stop,
	.close = shm_close,
	.abandon = shm_abandon,
	.own_domains = shm_own_domains,
	.mr_register = shm_mr_register,
	.mr_deregister = shm_mr_deregister,
	.mw_alloc = shm_mw_alloc,
	.mw_free = shm_mw_free,
	.listen = shm_listen,
	.unlisten = shm_unlisten,
	.connect = shm_connect,
	.accept = shm_accept,
	.reject = shm_reject,
	.cm_poll = shm_cm_poll,
	.goodbye = shm_goodbye,
	.disconnect = shm_disconnect,
	.writes_have_ended = shm_writes_have_ended,
	.qp_destroy = shm_qp_destroy,
	.qp_rkey = shm_qp_rkey,
	.post_recv = shm_post_recv,
	.post_send = shm_post_send,
	.poll = shm_poll,
	.wake_attach = shm_wake_attach,
	.arm = shm_arm,
	.disarm = shm_disarm,
	.srq_create = shm_srq_create,
	.srq_destroy = shm_srq_destroy,
	.srq_post_recv = shm_srq_post_recv,
	.srq_post_again = shm_srq_post_again,
	.send_direct = shm_send_direct,
	.write_direct = shm_write_direct,
	.read_direct = shm_read_direct,
};

static int shm_open_dev(const struct fabric_dev_config *config, struct fabric_dev **out)
{
	static pthread_once_t forks_once = PTHREAD_ONCE_INIT;
	struct shm_dev *dev = mem_zalloc(sizeof(*dev));
	int rc;

	if (!dev)
		return -ENOMEM;
	pthread_once(&forks_once, watch_forks);
	dev->fabric.ops = &shm_ops;
	dev->fabric.attr = attr;
	shm_turns_init(&dev->turns);
	LIST_INIT(&dev->shared);
	LIST_INIT(&dev->own);
	LIST_INIT(&dev->lives);
	TAILQ_INIT(&dev->events);
	TAILQ_INIT(&dev->socks);
	TAILQ_INIT(&dev->listeners);
	TAILQ_INIT(&dev->taken);
	TAILQ_INIT(&dev->draining);
	TAILQ_INIT(&dev->tasks);
	STAILQ_INIT(&dev->hidden);
	for (uint32_t i = 0; i < SHM_REGIONS_MAX; i++)
		dev->mrs[i] = (struct shm_mr){.base = SHM_NO_BASE, .guard = GUARD_NONE};
	dev->epoll_fd = -1;
	dev->wake_fd = -1;
	dev->keys.fd = -1;
	/* The limit counts sockets, and connection requests have sockets, too. Without room for
	 * them, a peer that holds all connections would keep other peers from connecting. */
	dev->max_connections =
		(config->max_connections ? config->max_connections : 1) + config->max_requests;
	dev->number = MUX_NONE;
	shm_copy_init();
	shm_rdma_init(dev);
	dev->stalls.at = mem_zalloc(dev->max_connections * sizeof(dev->stalls.at[0]));
	pthread_mutex_init(&dev->lock, NULL);
	pthread_cond_init(&dev->is_unlistened, NULL);
	dev->limits.map_bytes = config->map_bytes_peer ? config->map_bytes_peer : MAP_BYTES_DEFAULT;
	dev->limits.mappings = config->mappings_peer ? config->mappings_peer : MAPPINGS_DEFAULT;
	rc = dev->stalls.at ? apply_options(dev, config->options) : -ENOMEM;
	if (rc == 0)
		rc = key_table_create(&dev->keys);
	if (rc == 0)
		rc = reap_start();
	dev->has_reaper = rc == 0;
	if (rc == 0)
		rc = shm_cm_start(dev);
	if (rc != 0) {
		shm_close(&dev->fabric);
		return rc;
	}
	*out = &dev->fabric;
	return 0;
}
