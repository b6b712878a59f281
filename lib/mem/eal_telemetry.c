/* SPDX-License-Identifier: BSD-3-Clause */
/* Prepares the folder of the socket of rte_telemetry: eal_telemetry.h describes this. */
#include "eal_telemetry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define PREFIX	   "rte" /* EAL's --file-prefix, which weir does not set */
#define SOCKET	   "/dpdk_telemetry.v2"
#define SOCKET_MAX SOCKET ":9999" /* EAL appends a number if the name is in use */
#define TRIED	   "/weir.try"	  /* the socket of try_socket() */
#define PATH_BYTES sizeof(((struct sockaddr_un *)0)->sun_path)

#define LOCK_ATTEMPTS 100u /* at the lock, of LOCK_PAUSE_NS each */
#define LOCK_PAUSE_NS 10000000

/* Writes what is wrong with a path to 'why', and returns 'rc'. */
static int refuse_socket(char *why, int rc, const char *what, const char *path)
{
	snprintf(why, EAL_TELEMETRY_WHY_BYTES, "%s: %s: %s", path, what, strerror(-rc));
	return rc;
}

/* Returns the folder in which EAL creates its own: the same one as eal_create_runtime_dir() of
 * DPDK. */
static const char *runtime_folder(void)
{
	const char *folder = getenv("RUNTIME_DIRECTORY");

	if (folder)
		return folder;
	if (getuid() == 0)
		return "/var/run";
	folder = getenv("XDG_RUNTIME_DIR");
	return folder ? folder : "/tmp";
}

/* Creates a folder that only this user can write to, or checks that it is one. Returns a descriptor
 * of it, or -errno with the reason in 'why'. */
static int own_folder(const char *path, char *why)
{
	struct stat st;
	int fd, rc;

	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return refuse_socket(why, -errno, "can't be created", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	rc = fd < 0 || fstat(fd, &st) != 0 ? -errno : 0;
	if (rc == 0 && (st.st_uid != geteuid() || (st.st_mode & 022) != 0))
		rc = -EPERM;
	if (rc == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	if (rc == -EPERM)
		return refuse_socket(why, rc, "others than this user can write there", path);
	return refuse_socket(why, rc, "can't be opened", path);
}

/* Waits for the lock of a folder, for a bounded time. Returns 0 or -errno. */
static int lock_folder(int fd)
{
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};

	for (uint32_t i = 0; i < LOCK_ATTEMPTS; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		(void)nanosleep(&pause, NULL);
	}
	return -EBUSY;
}

/* Creates and removes a socket in a folder, whose lock must be held. A socket that a killed process
 * has left is removed. Returns 0, or -errno of what failed. */
static int try_socket(const char *folder)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int rc = fd < 0 ? -errno : 0;

	/* The caller has checked that a longer path fits. */
	(void)snprintf(address.sun_path, PATH_BYTES, "%.*s" TRIED,
		       (int)(PATH_BYTES - sizeof(TRIED)), folder);
	(void)unlink(address.sun_path);
	if (rc == 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		rc = -errno;
	else if (rc == 0)
		(void)unlink(address.sun_path);
	if (fd >= 0)
		close(fd);
	return rc;
}

int eal_telemetry_prepare(char why[EAL_TELEMETRY_WHY_BYTES])
{
	const char *runtime = runtime_folder();
	char folder[PATH_BYTES];
	size_t len = (size_t)snprintf(folder, sizeof(folder), "%s/dpdk", runtime);
	int fd, rc;

	if (len + sizeof("/" PREFIX SOCKET_MAX) > sizeof(folder))
		return refuse_socket(why, -ENAMETOOLONG, "too long for the path of a socket",
				     runtime);
	fd = own_folder(folder, why);
	if (fd < 0)
		return fd;
	close(fd);
	memcpy(folder + len, "/" PREFIX, sizeof("/" PREFIX));
	fd = own_folder(folder, why);
	if (fd < 0)
		return fd;
	rc = lock_folder(fd);
	if (rc == 0)
		rc = try_socket(folder);
	if (rc == 0)
		return fd;
	close(fd);
	return refuse_socket(why, rc, "no socket can be created there", folder);
}

bool eal_telemetry_owns(int fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNSPEC};
	socklen_t len = sizeof(address) - 1; /* so that the path ends with a NUL */

	return getsockname(fd, (struct sockaddr *)&address, &len) == 0 &&
	       address.sun_family == AF_UNIX && strstr(address.sun_path, SOCKET) != NULL;
}
