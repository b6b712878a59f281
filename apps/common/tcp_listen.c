/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates sockets that listen for TCP connections. */
#include "tcp_listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * Creates a socket that listens at an address. Returns 0 or -errno. *fd is the socket, or -1 if it
 * was not created. The caller closes *fd in all cases.
 */
static int listen_at(const struct addrinfo *at, int *fd)
{
	int one = 1, zero = 0;

	*fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0)
		return -errno;
	setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (at->ai_family == AF_INET6)
		setsockopt(*fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	return bind(*fd, at->ai_addr, at->ai_addrlen) == 0 && listen(*fd, SOMAXCONN) == 0 ? 0
											  : -errno;
}

int tcp_listen(const char *host, uint32_t port)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
				       .ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	char service[16];
	int fd, rc;

	snprintf(service, sizeof(service), "%u", port);
	if (getaddrinfo(host, service, &hints, &found) != 0)
		return -EADDRNOTAVAIL;
	rc = listen_at(found, &fd);
	freeaddrinfo(found);
	if (rc == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return rc;
}

uint32_t tcp_listen_port(int fd)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);

	if (getsockname(fd, (struct sockaddr *)&addr, &len) != 0)
		return 0;
	if (addr.ss_family == AF_INET6)
		return ntohs(((struct sockaddr_in6 *)&addr)->sin6_port);
	return ntohs(((struct sockaddr_in *)&addr)->sin_port);
}
