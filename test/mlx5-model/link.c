/* SPDX-License-Identifier: BSD-3-Clause */
/* Links to other processes. */
#include "link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "libc.h"

#define BACKLOG 1024
#define EVENTS	16
#define CHUNK	65536u /* bytes that are read at a time */

static TAILQ_HEAD(, link) links = TAILQ_HEAD_INITIALIZER(links);
static int epoll_fd = -1;
static struct stat network; /* of the folder */
static bool has_network;

int link_init(const char *folder)
{
	if (libc()->stat(folder, &network) != 0)
		return -errno;
	has_network = S_ISDIR(network.st_mode);
	return has_network ? 0 : -ENOTDIR;
}

bool link_has_network(void)
{
	return has_network;
}

/* Fills the name of a port, which has the numbers of the folder. Returns its length. */
static socklen_t name_port(struct sockaddr_un *name, uint16_t port)
{
	int len;

	*name = (struct sockaddr_un){.sun_family = AF_UNIX};
	len = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "mlx5-model/%llx/%llx/%u",
		       (unsigned long long)network.st_dev, (unsigned long long)network.st_ino,
		       ntohs(port));
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

/* Watches a socket, and closes it on failure. Returns 0 or a positive errno. */
static int watch(struct link *link)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = link};

	if (epoll_fd < 0)
		__atomic_store_n(&epoll_fd, epoll_create1(EPOLL_CLOEXEC), __ATOMIC_RELEASE);
	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, link->fd, &event) == 0 ? 0 : errno;
}

/* Makes a link of a socket. Returns NULL, sets errno and closes the socket if that fails. */
static struct link *create_link(int fd, uint16_t port, bool is_port)
{
	struct link *link = fd >= 0 ? calloc(1, sizeof(*link)) : NULL;
	int rc = errno;

	if (link) {
		*link = (struct link){.fd = fd, .port = port, .users = 1, .is_port = is_port};
		rc = is_port ? 0 : watch(link);
	}
	if (link && rc == 0) {
		TAILQ_INSERT_TAIL(&links, link, entry);
		return link;
	}
	free(link);
	if (fd >= 0)
		libc()->close(fd);
	errno = rc;
	return NULL;
}

static void destroy_link(struct link *link)
{
	TAILQ_REMOVE(&links, link, entry);
	libc()->close(link->fd);
	free(link->in.at);
	free(link->out.at);
	free(link);
}

/* Opens a socket, and binds or connects it to the name of a port. Returns -1 and sets errno. */
static int open_socket(uint16_t port, int (*use)(int, const struct sockaddr *, socklen_t))
{
	int fd = libc()->socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc;
	struct sockaddr_un name;
	socklen_t len = name_port(&name, port);

	if (fd >= 0 && use(fd, (const struct sockaddr *)&name, len) == 0)
		return fd;
	rc = errno;
	if (fd >= 0)
		libc()->close(fd);
	errno = rc;
	return -1;
}

struct link *link_claim_port(uint16_t port)
{
	return create_link(open_socket(port, bind), port, true);
}

int link_listen(struct link *port)
{
	return listen(port->fd, BACKLOG) == 0 ? watch(port) : errno;
}

struct link *link_connect(uint16_t port)
{
	return create_link(open_socket(port, connect), port, false);
}

struct link *link_ref(struct link *link)
{
	if (link)
		link->users++;
	return link;
}

void link_unref(struct link *link)
{
	if (link && --link->users == 0 && link->is_port)
		destroy_link(link);
}

/* Returns where 'len' more bytes are stored. */
static uint8_t *reserve(struct link_bytes *bytes, size_t len)
{
	if (bytes->room - bytes->used < len) {
		bytes->room = 2 * (bytes->used + len);
		bytes->at = realloc(bytes->at, bytes->room);
		if (!bytes->at)
			abort();
	}
	return bytes->at + bytes->used;
}

static void drop_front(struct link_bytes *bytes, size_t len)
{
	bytes->used -= len;
	memmove(bytes->at, bytes->at + len, bytes->used);
}

uint8_t *link_append(struct link *link, const struct link_message *message)
{
	uint8_t *at = reserve(&link->out, sizeof(*message) + message->len);

	memcpy(at, message, sizeof(*message));
	link->out.used += sizeof(*message) + message->len;
	return at + sizeof(*message);
}

void link_flush(struct link *link)
{
	size_t sent = 0;
	ssize_t n = 0;

	while (sent < link->out.used && n >= 0) {
		n = send(link->fd, link->out.at + sent, link->out.used - sent,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0)
			sent += (size_t)n;
	}
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		sent = link->out.used; /* nobody will read it; the next read reports that */
	if (sent > 0)
		drop_front(&link->out, sent);
}

static void accept_links(const struct link *port)
{
	struct link *link;
	int fd;

	while ((fd = accept4(port->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		link = create_link(fd, port->port, false);
		if (link)
			link->is_new = true;
	}
}

/* Reads all that has arrived. Returns whether the link has ended. */
static bool read_all(struct link *link)
{
	ssize_t n;

	do {
		n = recv(link->fd, reserve(&link->in, CHUNK), CHUNK, MSG_DONTWAIT);
		if (n > 0)
			link->in.used += (size_t)n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	return n == 0 || errno != EAGAIN;
}

static void end_newness(struct link *link)
{
	if (link->is_new)
		link_unref(link);
	link->is_new = false;
}

/* Handles all messages that are complete. */
static void handle_messages(struct link *link, const struct link_handlers *handlers)
{
	struct link_message message;
	size_t at = 0;

	while (link->in.used - at >= sizeof(message)) {
		memcpy(&message, link->in.at + at, sizeof(message));
		if (link->in.used - at - sizeof(message) < message.len)
			break;
		handlers->message(link, &message, link->in.at + at + sizeof(message));
		at += sizeof(message) + message.len;
		end_newness(link);
	}
	if (at > 0)
		drop_front(&link->in, at);
}

static void receive(struct link *link, const struct link_handlers *handlers)
{
	bool has_ended = read_all(link);

	handle_messages(link, handlers);
	if (!has_ended)
		return;
	link->is_lost = true;
	link->out.used = 0;
	epoll_ctl(epoll_fd, EPOLL_CTL_DEL, link->fd, NULL);
	handlers->lost(link);
	end_newness(link);
}

bool link_run_all(const struct link_handlers *handlers)
{
	struct epoll_event events[EVENTS];
	int n = epoll_fd < 0 ? 0 : epoll_wait(epoll_fd, events, EVENTS, 0);
	struct link *link, *next;

	for (int i = 0; i < n; i++) {
		link = events[i].data.ptr;
		if (link->is_port)
			accept_links(link);
		else
			receive(link, handlers);
	}
	for (link = TAILQ_FIRST(&links); link; link = next) {
		next = TAILQ_NEXT(link, entry);
		if (link->out.used > 0)
			link_flush(link);
		if (link->users == 0 && link->out.used == 0)
			destroy_link(link);
	}
	return n > 0;
}

void link_wait(uint32_t microseconds)
{
	struct pollfd arrived = {.fd = __atomic_load_n(&epoll_fd, __ATOMIC_ACQUIRE),
				 .events = POLLIN};
	const struct timespec limit = {.tv_nsec = (long)microseconds * 1000};

	ppoll(&arrived, 1, &limit, NULL); /* poll() ignores the descriptor -1 */
}
