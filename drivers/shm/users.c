/* SPDX-License-Identifier: BSD-3-Clause */
#include "users.h"

#include <errno.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <rte_log.h>

#include "alloc.h"
#include "shm.h"

#define ROOT 0u

static bool has(const struct shm_ids *ids, uint32_t id)
{
	for (uint32_t i = 0; i < ids->n; i++)
		if (ids->at[i] == id)
			return true;
	return ids->any;
}

bool shm_users_may_connect(const struct shm_options *options, uint32_t own_uid, const struct weir_peer *who,
			   const uint32_t *groups, uint32_t ngroups)
{
	if (options->peer_uids.any || options->peer_gids.any)
		return true;
	if (!who->has_credentials)
		return false;
	if (who->uid == own_uid || who->uid == ROOT || has(&options->peer_uids, who->uid) ||
	    has(&options->peer_gids, who->gid))
		return true;
	for (uint32_t i = 0; i < ngroups; i++)
		if (has(&options->peer_gids, groups[i]))
			return true;
	return false;
}

bool shm_users_may_serve(const struct shm_options *options, uint32_t own_uid, const struct weir_peer *who)
{
	if (options->server_uids.any)
		return true;
	return who->has_credentials &&
	       (who->uid == own_uid || who->uid == ROOT || has(&options->server_uids, who->uid));
}

/* Supplementary groups of a socket's peer, to be freed; NULL: it has none, or they cannot be had. */
static uint32_t *groups_of(int fd, uint32_t *n)
{
	socklen_t len = 0;
	uint32_t *groups;

	*n = 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) == 0 || errno != ERANGE || len == 0)
		return NULL;
	groups = mem_zalloc(len);
	if (groups && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) == 0)
		*n = (uint32_t)(len / sizeof(groups[0]));
	return groups;
}

/* Whether a line may be written: those who are refused can try as often as they like. */
static bool may_log(struct log_rate *rate)
{
	struct timespec now;
	uint32_t left_out;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return log_rate_take(rate, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, &left_out);
}

bool shm_users_accept(struct shm_dev *dev, int fd)
{
	struct weir_peer who;
	uint32_t *groups = NULL, ngroups = 0;
	bool may;

	shm_sock_peer(fd, &who);
	if (dev->options.peer_gids.n > 0)
		groups = groups_of(fd, &ngroups);
	may = shm_users_may_connect(&dev->options, geteuid(), &who, groups, ngroups);
	mem_free(groups);
	if (may)
		return true;
	shm_count(dev, &dev->nrefused);
	if (may_log(&dev->log_refused))
		rte_log(RTE_LOG_NOTICE, RTE_LOGTYPE_USER1,
			"weir: shm: connection refused: %s is of user %u and group %u, and only this "
			"process's user and "
			"root may connect. Driver option peer_uid=%u or peer_gid=%u allows it\n",
			who.address, who.uid, who.gid, who.uid, who.gid);
	return false;
}

bool shm_users_trust(struct shm_dev *dev, int fd, const char *addr)
{
	struct weir_peer who;

	shm_sock_peer(fd, &who);
	if (shm_users_may_serve(&dev->options, geteuid(), &who))
		return true;
	dev->fabric.stats.users_refused++;
	if (may_log(&dev->log_untrusted))
		rte_log(RTE_LOG_ERR, RTE_LOGTYPE_USER1,
			"weir: shm: not connected to '%s': %s listens there, of user %u, which is neither "
			"this process's "
			"nor root. If that server may have this process's memory, driver option "
			"server_uid=%u allows it\n",
			addr, who.address, who.uid, who.uid);
	return false;
}

void shm_users_warn(const struct shm_options *options)
{
	if (options->peer_uids.any || options->peer_gids.any || options->server_uids.any)
		rte_log(RTE_LOG_WARNING, RTE_LOGTYPE_USER1,
			"weir: shm: %s=any: connections are made with every user of this machine, and each "
			"peer can reach "
			"memory that is shared with it. List numbers instead, such as 1000:1001\n",
			options->peer_uids.any	 ? "peer_uid"
			: options->peer_gids.any ? "peer_gid"
						 : "server_uid");
}

void shm_users_warn_of_mode(const struct shm_options *options, const char *path)
{
	bool names_others = options->peer_uids.any || options->peer_uids.n > 0 || options->peer_gids.any ||
			    options->peer_gids.n > 0;

	if (names_others && !(options->mode & 0022))
		rte_log(RTE_LOG_WARNING, RTE_LOGTYPE_USER1,
			"weir: shm: %s has mode %#o, so that users named by peer_uid and peer_gid cannot "
			"open it: driver "
			"option mode=0660 lets the file's group, mode=0666 everyone try\n",
			path, options->mode);
}
