/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports the state of this process to the service manager. */
#include "notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEND_WAIT_S 1

static int notify_fail(const char *path, int error)
{
	fprintf(stderr,
		"weir-nfsd: can't report to the service manager by NOTIFY_SOCKET "
		"'%s': %s\n",
		path, strerror(error));
	return -error;
}

int notify_open(struct notify *notify, const char *path)
{
	const struct timeval wait = {.tv_sec = SEND_WAIT_S};
	size_t len = path ? strlen(path) : 0;

	*notify = (struct notify){.fd = -1, .to = {.sun_family = AF_UNIX}};
	if (len == 0)
		return 0;
	/* Other families, such as vsock, are for virtual machines. */
	if (path[0] != '/' && path[0] != '@')
		return notify_fail(path, EAFNOSUPPORT);
	if (len >= sizeof(notify->to.sun_path))
		return notify_fail(path, ENAMETOOLONG);
	memcpy(notify->to.sun_path, path, len);
	/* An abstract name begins with a NUL, and has no NUL at its end. */
	if (path[0] == '@')
		notify->to.sun_path[0] = '\0';
	notify->to_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (notify->fd < 0)
		return notify_fail(path, errno);
	(void)setsockopt(notify->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	return 0;
}

void notify_send(const struct notify *notify, const char *text)
{
	if (notify->fd < 0)
		return;
	/* The service manager can be away for a moment, for example while it executes itself. */
	(void)!sendto(notify->fd, text, strlen(text), MSG_NOSIGNAL,
		      (const struct sockaddr *)&notify->to, notify->to_bytes);
}

void notify_close(struct notify *notify)
{
	if (notify->fd >= 0)
		close(notify->fd);
	notify->fd = -1;
}

static bool notify_parse(const char *text, uint64_t *number)
{
	char *end;

	if (!text || text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0';
}

uint64_t notify_watchdog_ns(const char *usec, const char *watched, pid_t pid)
{
	uint64_t us, other;

	if (watched && (!notify_parse(watched, &other) || other != (uint64_t)pid))
		return 0;
	if (!notify_parse(usec, &us) || us > UINT64_MAX / 1000u)
		return 0;
	return us * 1000u;
}
