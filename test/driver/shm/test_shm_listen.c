/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of listeners at paths: the owner of the socket file, socket files without a listener, and
 * two listeners that are created at the same path at once. Also tests of devices that are full.
 */
#include "shm_raw.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "eal.h"

#define ROUNDS	       300u
#define NAME_MAX_BYTES 101u /* the longest name of a socket that is not a path */

static struct end a, b;
static char folder[32], path[64], lock[80];

static int setup(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/weir-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/p", folder);
	snprintf(lock, sizeof(lock), "%s.lock", path);
	end_open(&a, "", 4);
	end_open(&b, "", 4);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	end_close(&a);
	end_close(&b);
	/* rmdir() succeeds only if the folder contains nothing else. */
	assert_int_equal(rmdir(folder), 0);
	return 0;
}

static bool is_there(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0;
}

/*
 * Creates a socket at the path, which is not a listener of weir, and returns it. If 'backlog' is
 * not negative, the socket listens. Otherwise its file looks like one whose listener has ended.
 */
static int raw_bind(int backlog)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	memcpy(sun.sun_path, path, sizeof(path));
	assert_int_equal(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	if (backlog >= 0)
		assert_int_equal(listen(fd, backlog), 0);
	return fd;
}

static int connect_without_waiting(void)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	memcpy(sun.sun_path, path, sizeof(path));
	if (connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0)
		return fd;
	close(fd);
	return -1;
}

static int try_listen(struct end *end)
{
	int rc = end->ops->listen(end->dev, path, 8, end, &end->listener);

	if (rc != 0)
		end->listener = NULL;
	return rc;
}

static void stop(struct end *end)
{
	end->ops->unlisten(end->listener);
	end->listener = NULL;
}

static void works(void)
{
	a.qp = end_connect(&a, path, &a);
	b.qp = end_accept(&b, &a, &b);
	end_event(&a, &b, FABRIC_CM_ESTABLISHED);
}

static void listen__removes_its_file_at_the_end(void **state)
{
	(void)state;
	assert_int_equal(try_listen(&b), 0);
	assert_true(is_there(path));
	assert_false(is_there(lock));
	stop(&b);
	assert_false(is_there(path));
}

static void listen__takes_a_file_that_was_left(void **state)
{
	(void)state;
	close(raw_bind(1));
	assert_true(is_there(path));
	assert_int_equal(try_listen(&b), 0);
	assert_false(is_there(lock));
	works();
}

static void listen__is_refused_where_another_listens(void **state)
{
	(void)state;
	assert_int_equal(try_listen(&b), 0);
	assert_int_equal(try_listen(&a), -EADDRINUSE);
	assert_false(is_there(lock));
	works();
}

/*
 * Checks that the socket file of another user stays, and that the check for a listener does not
 * connect to that user's listener.
 */
static void listen__leaves_the_file_of_another_user(void **state)
{
	int fd, left = 0;

	(void)state;
	if (geteuid() != 0) {
		print_message("only root can give a file to another user: not tested\n");
		skip();
	}
	fd = raw_bind(8);
	assert_int_equal(chown(path, 54321, 54321), 0);
	assert_int_equal(try_listen(&b), -EADDRINUSE);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(accept(fd, NULL, NULL), -1);
	left = errno;
	assert_int_equal(left, EAGAIN); /* nobody has connected */
	close(fd);
	/* Nobody listens at the file, but it belongs to another user. */
	assert_int_equal(try_listen(&b), -EADDRINUSE);
	assert_true(is_there(path));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(try_listen(&b), 0);
	works();
}

/*
 * Checks a socket that listens but accepts no connections from its full queue. A connect() that
 * blocks would wait for ever.
 */
static void listen__does_not_wait_for_a_full_queue(void **state)
{
	int fds[64], n = 0, fd = raw_bind(0);

	(void)state;
	while (n < 64 && (fds[n] = connect_without_waiting()) >= 0)
		n++;
	assert_in_range(n, 1, 63);
	assert_int_equal(try_listen(&b), -EADDRINUSE);
	assert_true(is_there(path));
	while (n > 0)
		close(fds[--n]);
	close(fd);
	unlink(path);
}

static void unlisten__leaves_the_file_of_the_next(void **state)
{
	(void)state;
	assert_int_equal(try_listen(&a), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(try_listen(&b), 0);
	stop(&a);
	assert_true(is_there(path));
	works();
}

/*
 * Checks that a listener is not displaced before it listens. Another process holds the lock of the
 * path and has bound its socket, but has not yet called listen(2).
 */
static void listen__leaves_one_that_is_about_to(void **state)
{
	int held = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600), fd = raw_bind(-1);

	(void)state;
	assert_true(held >= 0);
	assert_int_equal(flock(held, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(try_listen(&b), -EADDRINUSE);
	assert_true(is_there(path));
	assert_true(is_there(lock));
	/* The other process ends here, and leaves both files. */
	close(fd);
	close(held);
	assert_int_equal(try_listen(&b), 0);
	assert_false(is_there(lock));
	works();
}

struct racer {
	struct end *end;
	pthread_barrier_t *barrier;
	int rc;
};

static void *race(void *arg)
{
	struct racer *racer = arg;

	pthread_barrier_wait(racer->barrier);
	racer->rc = racer->end->ops->listen(racer->end->dev, path, 8, racer->end,
					    &racer->end->listener);
	return NULL;
}

static void listen__one_of_two_at_a_time_gets_a_file_that_was_left(void **state)
{
	pthread_barrier_t barrier;

	(void)state;
	assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct racer racers[2] = {{&a, &barrier, 1}, {&b, &barrier, 1}};
		pthread_t threads[2];
		int fd;

		close(raw_bind(1));
		for (uint32_t k = 0; k < 2; k++)
			assert_int_equal(pthread_create(&threads[k], NULL, race, &racers[k]), 0);
		for (uint32_t k = 0; k < 2; k++)
			assert_int_equal(pthread_join(threads[k], NULL), 0);
		for (uint32_t k = 0; k < 2; k++)
			if (racers[k].rc != 0)
				racers[k].end->listener = NULL;
		assert_int_equal((racers[0].rc == 0) + (racers[1].rc == 0), 1);
		assert_int_equal(racers[0].rc + racers[1].rc, -EADDRINUSE);
		fd = connect_without_waiting();
		assert_true(fd >= 0);
		close(fd);
		stop(racers[0].rc == 0 ? &a : &b);
		assert_false(is_there(path));
	}
	pthread_barrier_destroy(&barrier);
}

static void connect__more_than_there_may_be(void **state)
{
	struct fabric_qp_attr attr = end_attr;
	const char *addr = end_address();
	struct fabric_qp *qps[2], *qp;

	(void)state;
	end_close(&a);
	end_open(&a, "", 2);
	end_listen(&b, addr);
	qps[0] = end_connect(&a, addr, &a);
	qps[1] = end_connect(&a, addr, &a);
	assert_int_equal(a.ops->connect(a.dev, addr, &attr, NULL, 0, &qp), -ENOSPC);
	a.ops->qp_destroy(qps[0]);
	qps[0] = end_connect(&a, addr, &a);
	a.ops->qp_destroy(qps[0]);
	a.ops->qp_destroy(qps[1]);
}

static void accept__on_a_device_that_is_full(void **state)
{
	const char *addr = end_address();
	struct fabric_qp_attr attr = end_attr;
	struct fabric_cm_event event;
	struct fabric_qp *qp;
	struct end full;

	(void)state;
	end_open(&full, "", 1);
	end_listen(&b, addr);
	full.qp = end_connect(&full, addr, &full);
	b.qp = end_accept(&b, &full, &b);
	end_event(&full, &b, FABRIC_CM_ESTABLISHED);
	end_event(&b, &full, FABRIC_CM_ESTABLISHED);
	a.qp = end_connect(&a, addr, &a);
	event = end_event(&b, &a, FABRIC_CM_REQUEST);
	assert_int_equal(full.ops->accept(full.dev, event.req, &attr, NULL, 0, &qp), -ENOSPC);
	end_event(&a, &b, FABRIC_CM_FAILED);
	end_close(&full);
}

/* Checks the longest names, and that of names which differ in their last byte, each has its own
 * listener. A longer name is refused, and not shortened. */
static void listen__at_the_longest_names(void **state)
{
	char name[NAME_MAX_BYTES + 2], other[NAME_MAX_BYTES + 1];

	(void)state;
	memset(name, 'a', sizeof(name));
	name[NAME_MAX_BYTES + 1] = '\0';
	memcpy(other, name, sizeof(other));
	other[NAME_MAX_BYTES - 1] = 'b';
	other[NAME_MAX_BYTES] = '\0';
	assert_int_equal(a.ops->listen(a.dev, name, 8, &a, &a.listener), -EINVAL);
	name[NAME_MAX_BYTES] = '\0';
	end_listen(&a, name);
	end_listen(&b, other);
	a.qp = end_connect(&a, other, &a);
	b.qp = end_accept(&b, &a, &b);
	end_event(&a, &b, FABRIC_CM_ESTABLISHED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(listen__removes_its_file_at_the_end),
		TEST(listen__takes_a_file_that_was_left),
		TEST(listen__is_refused_where_another_listens),
		TEST(listen__leaves_the_file_of_another_user),
		TEST(listen__does_not_wait_for_a_full_queue),
		TEST(unlisten__leaves_the_file_of_the_next),
		TEST(listen__leaves_one_that_is_about_to),
		TEST(listen__one_of_two_at_a_time_gets_a_file_that_was_left),
		TEST(listen__at_the_longest_names),
		TEST(connect__more_than_there_may_be),
		TEST(accept__on_a_device_that_is_full),
	};

	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
