/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends commands to a telemetry socket: watch_socket.h describes this. */
#include "watch_socket.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "terminal.h"
#include "watch_json.h"

#define HELLO_BYTES	 1024u	    /* of the first message of the process */
#define ANSWER_BYTES_MIN 1024u	    /* DPDK: 16384 */
#define ANSWER_BYTES_MAX (1u << 20) /* protects from a process that announces a huge answer */
#define PAUSE_MS	 10	    /* between attempts to connect to a busy process */
#define COMMAND_MAX	 1000u	    /* DPDK reads 1023 characters */

uint64_t watch_clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

enum watch_result watch_fail(struct watch_socket *sock, enum watch_result result,
			     const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(sock->why, sizeof(sock->why), format, args);
	va_end(args);
	terminal_text(sock->why, sock->why, sizeof(sock->why));
	return result;
}

void watch_close(struct watch_socket *sock)
{
	if (sock->fd >= 0)
		close(sock->fd);
	sock->fd = -1;
	free(sock->answer);
	sock->answer = NULL;
}

/* Closes the connection after a failure. */
static enum watch_result drop(struct watch_socket *sock, enum watch_result result)
{
	watch_close(sock);
	return result;
}

static enum watch_result malformed(struct watch_socket *sock, const char *what)
{
	return drop(sock, watch_fail(sock, WATCH_MALFORMED, "%s: malformed answer: %s", sock->path,
				     what));
}

/* Waits until the socket is ready for 'events', up to a time. Returns whether it is. */
static bool wait_for(const struct watch_socket *sock, short events, uint64_t until_ms)
{
	struct pollfd pfd = {.fd = sock->fd, .events = events};

	for (;;) {
		uint64_t now_ms = watch_clock_ms();
		int rc = poll(&pfd, 1, now_ms < until_ms ? (int)(until_ms - now_ms) : 0);

		if (rc > 0)
			return true;
		if (rc == 0 || errno != EINTR)
			return false;
	}
}

/* Closes the connection, because the process did not do 'what' up to a time. */
static enum watch_result silent(struct watch_socket *sock, uint64_t until_ms, const char *what)
{
	if (until_ms == sock->until_ms)
		return drop(sock, watch_fail(sock, WATCH_SILENT,
					     "%s: the process %s before the end of the reading",
					     sock->path, what));
	return drop(sock, watch_fail(sock, WATCH_SILENT, "%s: the process %s within %u ms",
				     sock->path, what, sock->wait_ms));
}

/* Receives one message of up to 'bytes' - 1, and ends it with a NUL. */
static enum watch_result receive(struct watch_socket *sock, char *text, size_t bytes,
				 uint64_t until_ms)
{
	ssize_t len;

	if (!wait_for(sock, POLLIN, until_ms))
		return silent(sock, until_ms, "did not answer");
	len = recv(sock->fd, text, bytes - 1, MSG_TRUNC | MSG_DONTWAIT);
	if (len <= 0)
		return drop(sock, watch_fail(sock, WATCH_ENDED,
					     "%s: the process has closed the connection: it has "
					     "ended, or has ten other clients",
					     sock->path));
	if ((size_t)len >= bytes)
		return malformed(sock, "it is longer than announced");
	text[len] = '\0';
	if (strlen(text) != (size_t)len)
		return malformed(sock, "it contains a NUL");
	return WATCH_OK;
}

/* Connects, and retries while the process has too many clients that wait. Returns 0 or -errno. */
static int connect_until(struct watch_socket *sock, uint64_t until_ms)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", sock->path);
	for (;;) {
		if (connect(sock->fd, (struct sockaddr *)&address, sizeof(address)) == 0)
			return 0;
		if ((errno != EAGAIN && errno != EINTR) || watch_clock_ms() >= until_ms)
			return -errno;
		(void)poll(NULL, 0, PAUSE_MS);
	}
}

static const char *remedy(int rc)
{
	switch (rc) {
	case -ENOENT:
	case -ECONNREFUSED:
		return ": no process serves this socket; start one with telemetry = on";
	case -EACCES:
	case -EPERM:
		return ": run this program as the user of the process, or as root";
	case -EAGAIN:
		return ": the process does not accept clients";
	case -EPROTOTYPE:
		return ": this is not a telemetry socket";
	default:
		return "";
	}
}

/* Reads the first message of the process. */
static enum watch_result read_hello(struct watch_socket *sock, uint64_t until_ms)
{
	uint64_t bytes = 0, pid = 0;
	char text[HELLO_BYTES + 1];
	enum watch_result result = receive(sock, text, sizeof(text), until_ms);
	json_error_t error;
	json_t *hello;
	bool is_good;

	if (result != WATCH_OK)
		return result;
	hello = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	is_good = watch_number(hello, "max_output_len", &bytes) &&
		  watch_number(hello, "pid", &pid) && pid <= INT32_MAX &&
		  watch_text(hello, "version", sock->version, sizeof(sock->version)) &&
		  bytes >= ANSWER_BYTES_MIN && bytes <= ANSWER_BYTES_MAX;
	json_decref(hello);
	if (!is_good)
		return malformed(sock, "the process does not introduce itself as rte_telemetry");
	sock->pid = (int64_t)pid;
	sock->answer_bytes = (uint32_t)bytes + 1;
	sock->answer = malloc(sock->answer_bytes);
	if (!sock->answer)
		return malformed(sock, "there is no memory for it");
	return WATCH_OK;
}

enum watch_result watch_open(struct watch_socket *sock, const char *path, uint32_t wait_ms)
{
	uint64_t until_ms = watch_clock_ms() + wait_ms;
	int rc;

	*sock = (struct watch_socket){.fd = -1, .wait_ms = wait_ms};
	if ((size_t)snprintf(sock->path, sizeof(sock->path), "%s", path) >= sizeof(sock->path))
		return watch_fail(sock, WATCH_UNREACHABLE,
				  "%.200s: the path is too long for a socket", path);
	sock->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	rc = sock->fd < 0 ? -errno : connect_until(sock, until_ms);
	if (rc != 0)
		return drop(sock, watch_fail(sock, WATCH_UNREACHABLE, "%s: %s%s", sock->path,
					     strerror(-rc), remedy(rc)));
	return read_hello(sock, until_ms);
}

/* Sends the command, and receives the answer as a text. */
static enum watch_result exchange(struct watch_socket *sock, const char *command)
{
	uint64_t until_ms = watch_clock_ms() + sock->wait_ms;
	ssize_t sent;

	if (sock->until_ms > 0 && sock->until_ms < until_ms)
		until_ms = sock->until_ms;
	if (sock->fd < 0)
		return watch_fail(sock, WATCH_ENDED, "%s: not connected", sock->path);
	if (strlen(command) > COMMAND_MAX)
		return malformed(sock, "the command is too long");
	do {
		if (!wait_for(sock, POLLOUT, until_ms))
			return silent(sock, until_ms, "did not take the request");
		sent = send(sock->fd, command, strlen(command), MSG_NOSIGNAL);
	} while (sent < 0 && (errno == EINTR || errno == EAGAIN));
	if (sent < 0)
		return drop(sock,
			    watch_fail(sock, WATCH_ENDED, "%s: the process has ended", sock->path));
	return receive(sock, sock->answer, sock->answer_bytes, until_ms);
}

/* Judges the answer to a command whose name is 'name'. Takes over the reference to 'all'. */
static enum watch_result judge(struct watch_socket *sock, json_t *all, const char *name,
			       json_t **value)
{
	json_t *own = json_object_get(all, name), *error;
	char text[160];

	if (json_object_size(all) != 1 || !own) {
		json_decref(all);
		return malformed(sock, "it is for another command");
	}
	json_incref(own);
	json_decref(all);
	error = json_object_get(own, "error");
	if (json_is_null(own)) {
		json_decref(own);
		return watch_fail(sock, WATCH_UNKNOWN,
				  "%s: the process does not know %s: it does not use weir, or its "
				  "profile has telemetry = off",
				  sock->path, name);
	}
	if (error) {
		if (!watch_text(own, "error", text, sizeof(text)))
			text[0] = '\0';
		json_decref(own);
		return watch_fail(sock, WATCH_REFUSED, "%s: %s: %s", sock->path, name, text);
	}
	if (!json_is_object(own) && !json_is_array(own)) {
		json_decref(own);
		return malformed(sock, "it is neither an object nor an array");
	}
	*value = own;
	return WATCH_OK;
}

enum watch_result watch_ask(struct watch_socket *sock, const char *command, json_t **value)
{
	enum watch_result result = exchange(sock, command);
	json_error_t error;
	char name[64];
	json_t *all;

	*value = NULL;
	if (result != WATCH_OK)
		return result;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(command, ","), command);
	all = json_loads(sock->answer, JSON_REJECT_DUPLICATES, &error);
	if (!all)
		return malformed(sock, error.text);
	return judge(sock, all, name, value);
}
