/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides with which users this side connects, and counts and logs refusals. */
#include "users.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "account.h"
#include "alloc.h"
#include "life.h"
#include "log.h"
#include "shm_dev.h"

#define ROOT	    0u
#define OVERFLOW_ID 65534u
#define EVERYTHING  4294967295u /* number of IDs in a map of all IDs; UINT32_MAX is not one */

uint32_t shm_overflow_of(const char *map, uint32_t overflow)
{
	uint64_t n = 0;
	unsigned inner, outer, count;
	int used;

	for (; sscanf(map, "%u %u %u%n", &inner, &outer, &count, &used) == 3; map += used)
		n += count;
	return n >= EVERYTHING ? UINT32_MAX : overflow;
}

/* Reads a file of less than 'bytes' bytes as text. If the file cannot be read, the text is empty.
 */
static void read_text(const char *path, char *text, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, bytes - 1);

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

static uint32_t read_overflow(const char *id_path, const char *map_path)
{
	char number[16], map[4096];
	unsigned id;

	read_text(id_path, number, sizeof(number));
	read_text(map_path, map, sizeof(map));
	return shm_overflow_of(map, sscanf(number, "%u", &id) == 1 ? id : OVERFLOW_ID);
}

void shm_overflow_read(struct shm_overflow *overflow)
{
	overflow->uid = read_overflow("/proc/sys/kernel/overflowuid", "/proc/self/uid_map");
	overflow->gid = read_overflow("/proc/sys/kernel/overflowgid", "/proc/self/gid_map");
}

void shm_users_peer(int fd, struct weir_peer *who)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	*who = (struct weir_peer){.address = "process ?"};
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0)
		return;
	who->has_credentials = true;
	who->uid = cred.uid;
	who->gid = cred.gid;
	who->pid = cred.pid;
	snprintf(who->address, sizeof(who->address), "process %d", (int)cred.pid);
}

static bool has(const struct shm_ids *ids, uint32_t id)
{
	for (uint32_t i = 0; i < ids->n; i++)
		if (ids->at[i] == id)
			return true;
	return ids->any;
}

/* Returns whether the user of 'who' is this side's own user, root, or in the list 'named' of the
 * options. The overflow ID is never admitted, because many users share it. */
static bool is_admitted(const struct shm_admission *own, const struct weir_peer *who,
			const struct shm_ids *named)
{
	return who->has_credentials && who->uid != own->overflow.uid &&
	       (who->uid == own->own_uid || who->uid == ROOT || has(named, who->uid));
}

bool shm_users_may_connect(const struct shm_admission *own, const struct weir_peer *who,
			   const uint32_t *groups, uint32_t ngroups)
{
	const struct shm_ids *gids = &own->options->peer_gids;

	if (own->options->peer_uids.any || gids->any ||
	    is_admitted(own, who, &own->options->peer_uids))
		return true;
	if (!who->has_credentials)
		return false;
	if (who->gid != own->overflow.gid && has(gids, who->gid))
		return true;
	for (uint32_t i = 0; i < ngroups; i++)
		if (groups[i] != own->overflow.gid && has(gids, groups[i]))
			return true;
	return false;
}

bool shm_users_may_serve(const struct shm_admission *own, const struct weir_peer *who)
{
	return own->options->server_uids.any || is_admitted(own, who, &own->options->server_uids);
}

void shm_users_read_groups(const struct shm_overflow *overflow, int fd, struct weir_peer *who)
{
	uint32_t groups[WEIR_PEER_GROUPS_MAX];
	socklen_t len = sizeof(groups);

	who->ngroups = 0;
	who->has_more_groups = false;
	if (!who->has_credentials)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) != 0) {
		who->has_more_groups = true;
		return;
	}
	for (uint32_t i = 0; i < len / sizeof(groups[0]); i++)
		if (groups[i] == overflow->gid)
			who->has_more_groups = true;
		else
			who->groups[who->ngroups++] = groups[i];
}

static struct shm_admission admission_of(const struct shm_dev *dev)
{
	return (struct shm_admission){&dev->options, geteuid(), dev->overflow};
}

/* Returns the supplementary groups of a socket's peer, whose number is stored in *n. The caller
 * frees the array. Returns NULL, and *n is 0, if the peer has no such groups or they are not
 * available. */
static uint32_t *groups_of(int fd, uint32_t *n)
{
	socklen_t len = 0;
	uint32_t *groups;

	*n = 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) == 0 || errno != ERANGE ||
	    len == 0)
		return NULL;
	groups = mem_zalloc(len);
	if (groups && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) == 0)
		*n = (uint32_t)(len / sizeof(groups[0]));
	return groups;
}

/* Returns whether a log line should be written. The rate of log lines is limited, because peers
 * that are refused can try to connect as often as they like. */
static bool may_log(struct log_rate *rate)
{
	uint32_t left_out;

	return log_rate_take(rate, shm_now_ns(), &left_out);
}

bool shm_users_accept(struct shm_dev *dev, int fd)
{
	const struct shm_admission own = admission_of(dev);
	struct weir_peer who;
	uint32_t *groups = NULL, ngroups = 0;
	bool may;

	shm_users_peer(fd, &who);
	/* this process itself is admitted without a check of its user */
	if (life_is_own(fd, &who))
		return true;
	if (dev->options.peer_gids.n > 0)
		groups = groups_of(fd, &ngroups);
	may = shm_users_may_connect(&own, &who, groups, ngroups);
	mem_free(groups);
	if (may)
		return true;
	shm_count(dev, &dev->nrefused);
	if (!may_log(&dev->log_refused))
		return false;
	if (who.has_credentials && who.uid == own.overflow.uid)
		LOG(DRIVER, NOTICE,
		    "shm: connection refused: %s is of user %u, which stands for every "
		    "user that this user namespace has no number for. Map its user in the "
		    "namespace, or run this process outside of it",
		    who.address, who.uid);
	else
		LOG(DRIVER, NOTICE,
		    "shm: connection refused: %s is of user %u and group %u, and only "
		    "this process's user and root may connect. Driver option peer_uid=%u or "
		    "peer_gid=%u allows it",
		    who.address, who.uid, who.gid, who.uid, who.gid);
	return false;
}

bool shm_users_trust(struct shm_dev *dev, int fd, const char *addr)
{
	const struct shm_admission own = admission_of(dev);
	struct weir_peer who;

	shm_users_peer(fd, &who);
	if (life_is_own(fd, &who) || shm_users_may_serve(&own, &who))
		return true;
	dev->fabric.stats.users_refused++;
	if (!may_log(&dev->log_untrusted))
		return false;
	if (who.has_credentials && who.uid == own.overflow.uid)
		LOG(DRIVER, ERROR,
		    "shm: not connected to '%s': %s listens there, of user %u, which "
		    "stands for every user that this user namespace has no number for. Map its "
		    "user in the namespace, or run this process outside of it",
		    addr, who.address, who.uid);
	else
		LOG(DRIVER, ERROR,
		    "shm: not connected to '%s': %s listens there, of user %u, which is "
		    "neither this process's nor root. If that server may have this process's "
		    "memory, driver option server_uid=%u allows it",
		    addr, who.address, who.uid, who.uid);
	return false;
}

static void log_behind(struct log_rate *rate, const char *what, const struct shm_account *account)
{
	if (may_log(rate))
		LOG(DRIVER, ERROR,
		    "shm: %s: %u connections, files or mappings of user %u are still to "
		    "be closed, and closing one takes long",
		    what, reap_queue_count(&account->queue), account->uid);
}

bool shm_users_behind(struct shm_dev *dev, const struct shm_account *account)
{
	if (!reap_is_refused(&account->queue))
		return false;
	shm_count(dev, &dev->nrefused);
	log_behind(&dev->log_refused, "connection refused", account);
	return true;
}

void shm_users_count_ended(struct shm_dev *dev, const struct shm_account *account)
{
	shm_count(dev, &dev->nrefused);
	if (may_log(&dev->log_refused))
		LOG(DRIVER, NOTICE,
		    "shm: connection refused: %u connections, files or mappings of user "
		    "%u are still to be closed, and few descriptors are left: raise "
		    "RLIMIT_NOFILE",
		    reap_queue_count(&account->queue), account->uid);
}

bool shm_users_server_behind(struct shm_dev *dev, const struct shm_account *account)
{
	if (!reap_is_refused(&account->queue))
		return false;
	dev->fabric.stats.users_refused++;
	log_behind(&dev->log_untrusted, "not connected", account);
	return true;
}

void shm_users_warn(const struct shm_options *options)
{
	if (options->peer_uids.any || options->peer_gids.any || options->server_uids.any)
		LOG(DRIVER, WARNING,
		    "shm: %s=any: connections are made with every user of this machine, "
		    "and each peer can reach memory that is shared with it. List numbers "
		    "instead, such as 1000:1001",
		    options->peer_uids.any   ? "peer_uid"
		    : options->peer_gids.any ? "peer_gid"
					     : "server_uid");
}

void shm_users_warn_of_mode(const struct shm_options *options, const char *path)
{
	bool names_others = options->peer_uids.any || options->peer_uids.n > 0 ||
			    options->peer_gids.any || options->peer_gids.n > 0;

	if (names_others && !(options->mode & 0022))
		LOG(DRIVER, WARNING,
		    "shm: %s has mode %#o, so that users named by peer_uid and peer_gid "
		    "cannot open it: driver option mode=0660 lets the file's group, mode=0666 "
		    "everyone try",
		    path, options->mode);
}
