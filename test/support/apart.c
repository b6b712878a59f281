/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Runs the server of a pair in another thread or process. A socket connects the test with that
 * side.
 */

#include "apart.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * A command that the test sends to the other side. The other side answers with DONE when it has
 * carried out the command.
 */
struct order {
	bool is_start; /* true: start the server; false: stop it */
	struct weir_profile profile;
	char addr[sizeof(((struct pair *)NULL)->addr)];
};
static const char DONE = 'd';

static int fds[2] = {-1, -1}; /* sockets of the test and of the other side */
static bool is_process;
static pid_t process;
static pthread_t thread;

bool apart_is_on(void)
{
	return fds[0] >= 0;
}

static bool order_is_there(int fd)
{
	struct order order;

	return recv(fd, &order, sizeof(order), MSG_PEEK | MSG_DONTWAIT) >=
	       0; /* 0 means that the test has closed its socket */
}

static void serve_one(int fd, const struct order *order)
{
	struct pair *pair = calloc(1, sizeof(*pair));

	assert_non_null(pair);
	pair->driver = order->profile.driver;
	pair->profile = order->profile;
	memcpy(pair->addr, order->addr, sizeof(pair->addr));
	pair_server_start(pair);
	assert_int_equal(write(fd, &DONE, 1), 1);
	while (!order_is_there(fd)) {
		pair_pass(pair);
		if (weir_engine_poll(pair->server, 0, pair->now_ns + 1) == 0)
			sched_yield();
	}
	pair_server_stop(pair);
	free(pair);
}

static void *serve(void *arg)
{
	const int fd = *(const int *)arg;
	struct order order;

	while (recv(fd, &order, sizeof(order), 0) == (ssize_t)sizeof(order)) {
		if (order.is_start)
			serve_one(fd, &order);
		else
			assert_int_equal(write(fd, &DONE, 1), 1);
	}
	close(fd);
	return NULL;
}

bool apart_begin(const char *word)
{
	is_process = strcmp(word, "processes") == 0;
	if (!is_process && strcmp(word, "threads") != 0)
		return false;
	/*
	 * cmocka cannot report a failed assertion from another process. Therefore a failed
	 * assertion aborts that process.
	 */
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
		abort();
	if (!is_process) {
		if (pthread_create(&thread, NULL, serve, &fds[1]) != 0)
			abort();
		return true;
	}
	process = fork();
	if (process < 0)
		abort();
	if (process == 0) {
		close(fds[0]);
		serve(&fds[1]);
		exit(0);
	}
	close(fds[1]);
	return true;
}

static void tell(const struct order *order)
{
	char said = 0;

	assert_int_equal(send(fds[0], order, sizeof(*order), MSG_NOSIGNAL), sizeof(*order));
	assert_int_equal(read(fds[0], &said, 1), 1);
	assert_int_equal(said, DONE);
}

void apart_server_start(const struct pair *pair)
{
	struct order order = {.is_start = true, .profile = pair->profile};

	memcpy(order.addr, pair->addr, sizeof(order.addr));
	tell(&order);
}

void apart_server_stop(void)
{
	const struct order order = {.is_start = false};

	tell(&order);
}

bool apart_end(void)
{
	int status = 0;

	close(fds[0]);
	fds[0] = -1;
	if (is_process)
		return waitpid(process, &status, 0) == process && status == 0;
	return pthread_join(thread, NULL) == 0;
}
