/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of MOUNT while it looks for directories in file systems that do not answer. This must delay
 * no other client, and the number of threads that wait must be limited. The test replaces the file
 * systems and the clock.
 */
#include "mount_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "fs.h"
#include "mountd.h"
#include "oncrpc_server.h"
#include "server.h"
#include "walkers.h"

#define FDS_MAX	  64u
#define WALKS_MAX 64u

struct fs {
	uint32_t now, most, total; /* numbers of walks: active, the most at a time, in total */
};

static atomic_bool stop;
static struct server server = {.stop = &stop};
static struct mountd *mountd;
static int fds[FDS_MAX];
static uint32_t nfds;

static _Atomic int64_t skew_s;	/* seconds by which the server's clock is ahead */
static _Atomic int64_t step_ns; /* nanoseconds by which the clock advances each time it is read */
static _Atomic int64_t stepped_ns;
static atomic_bool has_no_threads; /* pthread_create() fails */

/* Protects the following variables and the members of struct fs. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fs of_a, of_b, of_poller;
static char begun_names[WALKS_MAX][32];
static uint32_t nbegun;
static sem_t begun; /* posted by each walk */
static sem_t go_on; /* each walk that hangs waits for it */

/*
 * The function that the server posted to the thread of an export's owner. That thread does not run
 * in this test.
 */
static sem_t posted;
static void (*posted_fn)(struct weir_engine *engine, void *arg);
static void *posted_arg;

int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg);
int __wrap_weir_engine_post(struct weir_engine *engine, void (*fn)(struct weir_engine *, void *),
			    void *arg);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	int rc = __real_clock_gettime(clock, ts);
	int64_t ns;

	if (clock != CLOCK_MONOTONIC)
		return rc;
	ns = ts->tv_nsec + atomic_fetch_add(&stepped_ns, step_ns) + step_ns;
	ts->tv_sec += skew_s + ns / 1000000000;
	ts->tv_nsec = ns % 1000000000;
	return rc;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg)
{
	return has_no_threads ? EAGAIN : __real_pthread_create(thread, attr, fn, arg);
}

int __wrap_weir_engine_post(struct weir_engine *engine, void (*fn)(struct weir_engine *, void *),
			    void *arg)
{
	(void)engine;
	posted_fn = fn;
	posted_arg = arg;
	sem_post(&posted);
	return 0;
}

/* ---- the file systems ---- */

static void test_root(struct fs *fs, struct handle_id *id)
{
	(void)fs;
	*id = (struct handle_id){.len_bytes = 4};
}

static void wait_for(sem_t *sem)
{
	while (sem_wait(sem) != 0)
		;
}

/*
 * Looks for a path. A walk to "hang" ends when the test permits it. A walk to "none" finds nothing.
 */
static enum nfs3_status test_walk(struct fs *fs, const struct cred *cred, const char *path,
				  struct handle_id *id)
{
	(void)cred;
	*id = (struct handle_id){.len_bytes = 8};
	pthread_mutex_lock(&lock);
	fs->total++;
	fs->now++;
	fs->most = fs->now > fs->most ? fs->now : fs->most;
	snprintf(begun_names[nbegun++ % WALKS_MAX], sizeof(begun_names[0]), "%s", path);
	pthread_mutex_unlock(&lock);
	sem_post(&begun);
	if (strstr(path, "hang"))
		wait_for(&go_on);
	pthread_mutex_lock(&lock);
	fs->now--;
	pthread_mutex_unlock(&lock);
	return strstr(path, "none") ? NFS3ERR_NOENT : NFS3_OK;
}

static const struct fs_ops waiting_ops = {.name = "waits",
					  .is_volatile = true,
					  .root = test_root,
					  .walk = test_walk,
					  .walk_waits = true};
static const struct fs_ops poller_ops = {
	.name = "poller", .is_volatile = true, .root = test_root, .walk = test_walk};

static void add_export(const char *name, const struct fs_ops *ops, struct fs *fs)
{
	struct export *export = export_make(&server.exports, name, "test");

	assert_non_null(export);
	export->ops = ops;
	export->fs = fs;
	export->owner = &server.pollers[0];
}

static struct fs copy_of(const struct fs *fs)
{
	struct fs copy;

	pthread_mutex_lock(&lock);
	copy = *fs;
	pthread_mutex_unlock(&lock);
	return copy;
}

/* ---- the server and its clients ---- */

static int setup(void **state)
{
	(void)state;
	of_a = of_b = of_poller = (struct fs){0};
	nbegun = 0;
	skew_s = step_ns = stepped_ns = 0;
	sem_init(&begun, 0, 0);
	sem_init(&go_on, 0, 0);
	sem_init(&posted, 0, 0);
	add_export("/a", &waiting_ops, &of_a);
	add_export("/b", &waiting_ops, &of_b);
	add_export("/poller", &poller_ops, &of_poller);
	if (mountd_open(&server, "127.0.0.1", 0, true, &mountd) != 0)
		return -1;
	return mountd_start(mountd);
}

static int teardown(void **state)
{
	(void)state;
	while (nfds > 0)
		close(fds[--nfds]);
	assert_true(mountd_stop(mountd));
	exports_free(&server.exports);
	server.exports.n = 0;
	return 0;
}

/* Connects from the address 127.0.0.HOST. */
static int join(uint32_t host)
{
	int fd = mount_connect(host, mountd_port(mountd));

	assert_true(nfds < FDS_MAX);
	fds[nfds++] = fd;
	return fd;
}

/* Begins an MNT call on a new connection. Returns the socket. */
static int begin(uint32_t host, const char *path)
{
	int fd = join(host);

	mount_begin(fd, MOUNT3_MNT, path);
	return fd;
}

static uint32_t end(int fd)
{
	struct mount_reply reply;

	mount_end(fd, &reply);
	assert_int_equal(reply.accept_stat, WEIR_RPC_SUCCESS);
	return reply.words[0];
}

/* Begins an MNT call whose walk hangs. Returns after the walk has begun. */
static int begin_hanging(uint32_t host)
{
	int fd = begin(host, "/a/hang");

	wait_for(&begun);
	return fd;
}

static uint32_t mnt(uint32_t host, const char *path)
{
	return mount_call(join(host), MOUNT3_MNT, path);
}

static void release(uint32_t n)
{
	while (n-- > 0)
		sem_post(&go_on);
}

/* Returns when MOUNT has read all that was sent before. */
static void settle(int fd)
{
	for (int i = 0; i < 2; i++)
		mount_call(fd, MOUNT3_NULL, NULL);
}

static bool is_listed(int fd, const char *path)
{
	static struct mount_reply reply;

	mount_begin(fd, MOUNT3_DUMP, NULL);
	mount_end(fd, &reply);
	for (uint32_t i = 0; i < reply.n; i++)
		reply.words[i] = htonl(reply.words[i]);
	return memmem(reply.words, reply.n * 4, path, strlen(path));
}

/* ---- tests ---- */

static void mnt__of_a_root_does_not_walk(void **state)
{
	static const char *const paths[] = {"/a", "a", "/a/", "/a///", "a//"};

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(mnt(1, paths[i]), MOUNT3_OK);
	assert_int_equal(copy_of(&of_a).total, 0);
	assert_int_equal(mnt(1, "/a/."), MOUNT3_OK); /* the file system decides what "." is */
	assert_int_equal(copy_of(&of_a).total, 1);
}

static void mnt__is_answered_what_the_walk_finds(void **state)
{
	int fd = join(1);

	(void)state;
	assert_int_equal(mount_call(fd, MOUNT3_MNT, "/a/below"), MOUNT3_OK);
	assert_int_equal(mount_call(fd, MOUNT3_MNT, "/a/none"), MOUNT3ERR_NOENT);
	assert_int_equal(mount_call(fd, MOUNT3_MNT, "/c/below"), MOUNT3ERR_NOENT);
	assert_true(is_listed(fd, "/a/below"));
	assert_false(is_listed(fd, "/a/none"));
}

static void mnt__that_hangs_holds_no_other(void **state)
{
	int hung = begin_hanging(1);

	(void)state;
	for (uint32_t host = 1; host <= 2; host++) {
		int fd = join(host);

		settle(fd);
		assert_int_equal(mount_call(fd, MOUNT3_EXPORT, NULL), 1);
		assert_int_equal(mount_call(fd, MOUNT3_MNT, "/a"), MOUNT3_OK);
		assert_int_equal(mount_call(fd, MOUNT3_MNT, "/b/below"), MOUNT3_OK);
		assert_true(is_listed(fd, "/b/below"));
	}
	assert_int_equal(mnt(2, "/a/below"), MOUNT3_OK);
	release(1);
	assert_int_equal(end(hung), MOUNT3_OK);
	assert_true(is_listed(hung, "/a/hang"));
}

/* Checks an export whose polling thread is stalled, as the disk of another export can stall it. */
static void mnt__of_a_poller_that_is_stalled_holds_no_other(void **state)
{
	int held = begin(1, "/poller/below");

	(void)state;
	wait_for(&posted);
	settle(join(1));
	assert_int_equal(mnt(1, "/poller"), MOUNT3_OK);
	assert_int_equal(mnt(1, "/a/below"), MOUNT3_OK);
	posted_fn(NULL, posted_arg);
	assert_int_equal(end(held), MOUNT3_OK);
}

static void client__has_one_walk_of_an_export(void **state)
{
	int hung = begin_hanging(1), second = begin(1, "/a/hang"), third = begin(1, "/a/below");

	(void)state;
	settle(join(2));
	assert_int_equal(mnt(1, "/b/below"), MOUNT3_OK);
	assert_int_equal(copy_of(&of_a).total, 1);
	release(2);
	assert_int_equal(end(hung), MOUNT3_OK);
	assert_int_equal(end(second), MOUNT3_OK);
	assert_int_equal(end(third), MOUNT3_OK);
	assert_int_equal(copy_of(&of_a).most, 1);
}

static void export__has_four_walks(void **state)
{
	int hung[WALKERS_EXPORT + 2];

	(void)state;
	for (uint32_t i = 0; i < WALKERS_EXPORT + 2; i++)
		hung[i] = begin(1 + i, "/a/hang");
	for (uint32_t i = 0; i < WALKERS_EXPORT; i++)
		wait_for(&begun);
	settle(join(20));
	assert_int_equal(mnt(20, "/a"), MOUNT3_OK);
	assert_int_equal(mnt(20, "/b/below"), MOUNT3_OK);
	assert_int_equal(copy_of(&of_a).now, WALKERS_EXPORT);
	release(WALKERS_EXPORT + 2);
	for (uint32_t i = 0; i < WALKERS_EXPORT + 2; i++)
		assert_int_equal(end(hung[i]), MOUNT3_OK);
	assert_int_equal(copy_of(&of_a).most, WALKERS_EXPORT);
}

static void clients__take_turns(void **state)
{
	static const char *const paths[] = {"/a/x1", "/a/x2", "/a/x3", "/a/y"};
	static const char *const order[] = {"/x1", "/y", "/x2", "/x3"};
	int waits[4], other = join(20);

	(void)state;
	for (uint32_t i = 0; i < WALKERS_EXPORT; i++)
		begin_hanging(1 + i);
	for (uint32_t i = 0; i < 4; i++) {
		waits[i] = begin(i < 3 ? 10 : 11, paths[i]);
		settle(other);
	}
	release(1);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(end(waits[i]), MOUNT3_OK);
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < 4; i++)
		assert_string_equal(begun_names[WALKERS_EXPORT + i], order[i]);
	pthread_mutex_unlock(&lock);
	release(WALKERS_EXPORT - 1);
}

/* Checks a walk that hangs. Its call is answered in time, but its thread counts until it ends. */
static void mnt__that_hangs_is_answered_in_time(void **state)
{
	int hung = begin_hanging(1), next;

	(void)state;
	skew_s += WALKERS_WAIT_S;
	assert_int_equal(end(hung), MOUNT3ERR_IO);
	settle(hung);
	next = begin(1, "/a/below");
	settle(hung);
	skew_s += WALKERS_WAIT_S;
	assert_int_equal(end(next), MOUNT3ERR_IO);
	assert_int_equal(copy_of(&of_a).total, 1);
	assert_int_equal(mnt(2, "/a/below"), MOUNT3_OK);
	release(1);
	assert_int_equal(mnt(1, "/a/below"), MOUNT3_OK);
	assert_false(is_listed(hung, "/a/hang"));
}

static void mnt__without_a_thread_is_a_fault(void **state)
{
	int fd = join(1);

	(void)state;
	has_no_threads = true;
	assert_int_equal(mount_call(fd, MOUNT3_MNT, "/a/below"), MOUNT3ERR_SERVERFAULT);
	assert_int_equal(mount_call(fd, MOUNT3_MNT, "/a"), MOUNT3_OK);
	has_no_threads = false;
	assert_int_equal(mount_call(fd, MOUNT3_MNT, "/a/below"), MOUNT3_OK);
}

/* Resets the connection. The server notices that. */
static void leave(int fd)
{
	const struct sockaddr none = {.sa_family = AF_UNSPEC};

	assert_int_equal(connect(fd, &none, sizeof(none)), 0);
}

static void reply__to_who_has_left_is_dropped(void **state)
{
	int hung = begin_hanging(1), waits = begin(1, "/a/waits"), other = join(2);

	(void)state;
	settle(other);
	leave(hung);
	leave(waits);
	settle(other);
	release(1);
	/* The call that waited is dropped after the first walk has ended. */
	assert_int_equal(mnt(1, "/a/below"), MOUNT3_OK);
	assert_int_equal(copy_of(&of_a).total, 2);
	assert_false(is_listed(other, "/a/hang"));
	assert_false(is_listed(other, "/a/waits"));
}

/* Checks a client that has shut down its sending side, but still waits for the reply. */
static void reply__to_who_has_sent_the_last_call(void **state)
{
	int hung = begin_hanging(1);

	(void)state;
	shutdown(hung, SHUT_WR);
	settle(join(2));
	release(1);
	assert_int_equal(end(hung), MOUNT3_OK);
	assert_true(mount_is_closed(hung));
}

static void connection__that_waits_can_be_displaced(void **state)
{
	int hung = begin_hanging(1), waits = begin(1, "/a/waits"), last = -1;

	(void)state;
	settle(join(2));
	for (uint32_t i = 0; i < ONCRPC_SERVER_CONNS_PEER; i++)
		last = join(1);
	settle(last);
	assert_true(mount_is_closed(hung));
	assert_true(mount_is_closed(waits));
	release(1);
	assert_int_equal(mount_call(last, MOUNT3_MNT, "/a/below"), MOUNT3_OK);
	assert_int_equal(copy_of(&of_a).total, 2);
}

/*
 * Checks connections that wait for a walk. In each step, the connection would be closed if the time
 * had counted from the previous step.
 */
static void connection__that_waits_is_not_quiet(void **state)
{
	const int64_t almost_s = ONCRPC_SERVER_QUIET_MS / 1000 - 1;
	int fd = join(1), other;

	(void)state;
	settle(fd);
	skew_s += almost_s;
	mount_begin(fd, MOUNT3_MNT, "/a/hang");
	wait_for(&begun);
	skew_s += WALKERS_WAIT_S - 1;
	other = join(2);
	settle(other);
	release(1);
	assert_int_equal(end(fd), MOUNT3_OK);
	skew_s += almost_s;
	settle(join(3)); /* MOUNT has read the clock */
	settle(fd);
	/* A connection on which no call waits is closed. */
	skew_s += 2;
	assert_true(mount_is_closed(other));
	settle(fd);
}

static void calls__behind_one_that_waits_are_answered_after_it(void **state)
{
	int fd = join(1);
	uint32_t xids[3];

	(void)state;
	xids[0] = mount_begin(fd, MOUNT3_MNT, "/a/hang");
	xids[1] = mount_begin(fd, MOUNT3_MNT, "/a/below");
	xids[2] = mount_begin(fd, MOUNT3_NULL, NULL);
	wait_for(&begun);
	settle(join(2));
	release(1);
	for (uint32_t i = 0; i < 3; i++) {
		struct mount_reply reply;

		mount_end(fd, &reply);
		assert_int_equal(reply.xid, xids[i]);
	}
}

static void stop__does_not_wait_for_a_walk_that_hangs(void **state)
{
	(void)state;
	begin_hanging(1);
	begin(1, "/a/waits");
	step_ns = 10000000;
	assert_false(mountd_stop(mountd));
	step_ns = 0;
	release(1);
	/* teardown() checks that the server ends without an error. */
}

/* Checks the end of the server: calls that wait for a thread do not get one. */
static void stop__waits_for_walks_that_end(void **state)
{
	int hung = begin_hanging(1);

	(void)state;
	begin(1, "/a/waits");
	settle(join(2));
	skew_s += WALKERS_WAIT_S;
	assert_int_equal(end(hung), MOUNT3ERR_IO);
	release(1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(mnt__of_a_root_does_not_walk),
		TEST(mnt__is_answered_what_the_walk_finds),
		TEST(mnt__that_hangs_holds_no_other),
		TEST(mnt__of_a_poller_that_is_stalled_holds_no_other),
		TEST(client__has_one_walk_of_an_export),
		TEST(export__has_four_walks),
		TEST(clients__take_turns),
		TEST(mnt__that_hangs_is_answered_in_time),
		TEST(mnt__without_a_thread_is_a_fault),
		TEST(reply__to_who_has_left_is_dropped),
		TEST(reply__to_who_has_sent_the_last_call),
		TEST(connection__that_waits_can_be_displaced),
		TEST(connection__that_waits_is_not_quiet),
		TEST(calls__behind_one_that_waits_are_answered_after_it),
		TEST(stop__does_not_wait_for_a_walk_that_hangs),
		TEST(stop__waits_for_walks_that_end),
	};

	return cmocka_run_group_tests_name("mountd", tests, NULL, NULL);
}
