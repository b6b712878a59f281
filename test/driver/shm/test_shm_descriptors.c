/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of peers that pass descriptors whose close(2) blocks. The descriptors are those of TCP
 * sockets on loopback with SO_LINGER, whose data nobody receives. The effect must be limited to the
 * user who passed them.
 *
 * The system calls of the driver are wrapped. In each of them the tests check two conditions. The
 * calling thread holds no lock. No thread but the reaper's uses a descriptor that is not one of a
 * memfd.
 */
#include "shm_raw.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eal.h"
#include "sock.h"

#define MANY_FDS  200u
#define LINGER_S  60
#define OTHER_UID 54321u
#define RAWS	  40u
#define KEY	  (5u << KEY_INDEX_BITS | 9)

static struct end a, b;

/* Numbers of calls that must not happen: with a lock held, and with a foreign descriptor. */
static _Atomic uint32_t nlocked, nforeign;

/* While set, the control threads receive no messages. */
static _Atomic bool is_held;
/* While set, the reaper closes nothing. When it closes a socket with unread data, the data at the
 * other end are discarded. */
static _Atomic bool is_reaper_held;

static _Thread_local uint32_t nlocks, nshutdowns;
static pthread_t main_thread;

/* The functions of the C library, by the names that the linker gives them. */
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __real_close(int fd);
int __real_fstat(int fd, struct stat *st);
int __real_fstatfs(int fd, struct statfs *fs);
void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *addr, size_t len);
ssize_t __real_recvmsg(int fd, struct msghdr *hdr, int flags);
ssize_t __real_sendmsg(int fd, const struct msghdr *hdr, int flags);
int __real_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int __real_shutdown(int fd, int how);
int __real_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags);
ssize_t __real_write(int fd, const void *data, size_t len);

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_close(int fd);
int __wrap_fstat(int fd, struct stat *st);
int __wrap_fstatfs(int fd, struct statfs *fs);
void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
int __wrap_munmap(void *addr, size_t len);
ssize_t __wrap_recvmsg(int fd, struct msghdr *hdr, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *hdr, int flags);
int __wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int __wrap_shutdown(int fd, int how);
int __wrap_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags);
ssize_t __wrap_write(int fd, const void *data, size_t len);

static void check_locks(void)
{
	nlocked += nlocks > 0;
}

static bool is_tcp(int fd)
{
	int domain = 0;
	socklen_t len = sizeof(domain);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_INET;
}

static bool is_reaper(void)
{
	char name[16] = "";

	pthread_getname_np(pthread_self(), name, sizeof(name));
	return strncmp(name, "weir-shm-reap", 13) == 0;
}

/* Checks a system call with the descriptor 'fd', which a peer may have passed. The main thread of
 * this test is allowed to make any call. */
static void check_foreign(int fd)
{
	int saved = errno;

	if (fd >= 0 && !pthread_equal(pthread_self(), main_thread) && is_tcp(fd) && !is_reaper())
		nforeign++;
	errno = saved;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	nlocks++;
	return __real_pthread_mutex_lock(mutex);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	nlocks--;
	return __real_pthread_mutex_unlock(mutex);
}

int __wrap_close(int fd)
{
	check_locks();
	check_foreign(fd);
	while (is_reaper_held && is_reaper())
		usleep(100);
	return __real_close(fd);
}

int __wrap_fstat(int fd, struct stat *st)
{
	check_locks();
	check_foreign(fd);
	return __real_fstat(fd, st);
}

int __wrap_fstatfs(int fd, struct statfs *fs)
{
	check_locks();
	check_foreign(fd);
	return __real_fstatfs(fd, fs);
}

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	check_locks();
	check_foreign(fd);
	return __real_mmap(addr, len, prot, flags, fd, offset);
}

int __wrap_munmap(void *addr, size_t len)
{
	check_locks();
	return __real_munmap(addr, len);
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *hdr, int flags)
{
	check_locks();
	while (is_held && !pthread_equal(pthread_self(), main_thread))
		usleep(100);
	return __real_recvmsg(fd, hdr, flags);
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *hdr, int flags)
{
	check_locks();
	return __real_sendmsg(fd, hdr, flags);
}

int __wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	check_locks();
	return __real_epoll_ctl(epfd, op, fd, event);
}

int __wrap_shutdown(int fd, int how)
{
	check_locks();
	nshutdowns++;
	return __real_shutdown(fd, how);
}

int __wrap_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	check_locks();
	return __real_accept4(fd, addr, len, flags);
}

ssize_t __wrap_write(int fd, const void *data, size_t len)
{
	check_locks();
	return __real_write(fd, data, len);
}

/* The two ends of a TCP connection. The close of the last descriptor of the socket 'blocks' takes
 * LINGER_S seconds. It returns earlier if 'drain' is closed. */
struct blocking {
	int blocks, drain;
};

static struct blocking blocking_new(void)
{
	const struct linger linger = {.l_onoff = 1, .l_linger = LINGER_S};
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(sin);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), small = 4096;
	static char data[65536];
	struct blocking b2;

	setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	assert_int_equal(bind(listener, (struct sockaddr *)&sin, len), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&sin, &len), 0);
	b2.blocks = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(b2.blocks, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	assert_int_equal(connect(b2.blocks, (struct sockaddr *)&sin, len), 0);
	b2.drain = accept(listener, NULL, NULL);
	assert_true(b2.drain >= 0);
	assert_int_equal(setsockopt(b2.blocks, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	while (send(b2.blocks, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	assert_int_equal(errno, EAGAIN);
	close(listener);
	return b2;
}

/* Passes the descriptor, and closes this side's copy before the other side receives the message.
 * The other side then has the last descriptor, whose close blocks. */
static void blocking_pass(struct blocking *blocking, const struct raw *raw,
			  const struct shm_msg *msg, size_t len)
{
	int fds[] = {blocking->blocks, raw->fds[1]};

	is_held = true;
	raw_send(raw, msg, len, fds, msg->type == SHM_HELLO ? 2 : 1);
	close(blocking->blocks);
	is_held = false;
}

static int setup(void **state)
{
	(void)state;
	nlocked = nforeign = 0;
	end_open(&a, "", 128);
	end_open(&b, "peer_uid=any", 128);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	end_close(&a);
	end_close(&b);
	assert_int_equal(nlocked, 0);
	assert_int_equal(nforeign, 0);
	return 0;
}

/* Sends a HELLO. The close of its descriptor for the rings blocks. When the function returns, only
 * the reaper has that descriptor. */
static void pass_in_hello(struct raw *raw, const char *addr, struct blocking *blocking)
{
	raw_init(raw);
	raw_connect(raw, addr);
	blocking_pass(blocking, raw, &raw->hello, sizeof(raw->hello));
	assert_false(raw_recv(raw, &b));
}

static void hello__with_one_stalls_nobody(void **state)
{
	struct blocking blocking = blocking_new();
	struct fabric_qp *honest[2];
	const char *addr;
	char other[64];
	struct raw raw;

	(void)state;
	snprintf(other, sizeof(other), "%s", end_address());
	end_pair(&a, &b);
	honest[0] = a.qp;
	honest[1] = b.qp;
	b.ops->unlisten(b.listener);
	addr = end_address();
	end_listen(&b, addr);
	pass_in_hello(&raw, addr, &blocking);
	END_WAIT(&b, NULL, b.dev->stats.protocol_errors == 1 && reap_count() > 0);
	end_works(&a, &b);
	a.qp = end_connect(&a, addr, &a);
	b.qp = end_accept(&b, &a, &b);
	end_event(&a, &b, FABRIC_CM_ESTABLISHED);
	end_event(&b, &a, FABRIC_CM_ESTABLISHED);
	end_works(&a, &b);
	assert_true(reap_count() > 0); /* the close still blocked when all of this had happened */
	a.ops->qp_destroy(honest[0]);
	b.ops->qp_destroy(honest[1]);
	close(blocking.drain);
	raw_fini(&raw);
	END_WAIT(&b, &a, reap_count() == 0);
}

/* Checks that the polling thread can end a connection whose descriptors block, without waiting. */
static void ring__that_is_corrupt_while_a_close_blocks(void **state)
{
	struct blocking blocking = blocking_new(), queued = blocking_new();
	struct shm_msg msg;
	struct raw raw;

	(void)state;
	raw_init(&raw);
	raw_pair(&raw, &b);
	end_recv(&b, b.qp, 1, 0, 4096);
	msg = raw.hello;
	msg.type = SHM_REGION;
	is_held = true;
	raw_send(&raw, &msg, sizeof(msg), &queued.blocks, 1);
	close(queued.blocks);
	/* nobody receives this message, so that its descriptor stays in the socket */
	blocking_pass(&blocking, &raw, &msg, sizeof(msg));
	atomic_store(ring_header_at(&raw.tx.cells, ring_tail(&raw.tx)),
		     ring_number(ring_tail(&raw.tx)) | RING_INV | 16);
	END_WAIT(&b, NULL, b.nwcs > 0);
	b.ops->qp_destroy(b.qp);
	b.qp = NULL;
	b.nwcs = b.nevents = 0;
	b.ops->unlisten(b.listener);
	END_WAIT(&b, NULL, reap_count() > 0);
	end_pair(&a, &b);
	end_works(&a, &b);
	assert_true(reap_count() > 0);
	close(blocking.drain);
	close(queued.drain);
	raw_fini(&raw);
	END_WAIT(&b, &a, reap_count() == 0);
}

/* Checks a connection request that is rejected while a message with such descriptors is still in
 * its socket, not yet received. */
static void request__with_some_behind_it_is_rejected(void **state)
{
	struct blocking blocking = blocking_new();
	const char *addr = end_address();
	struct fabric_cm_event event;
	struct raw raw;

	(void)state;
	end_listen(&b, addr);
	raw_init(&raw);
	raw_connect(&raw, addr);
	raw_send(&raw, &raw.hello, sizeof(raw.hello), raw.fds, raw.nfds);
	event = end_event(&b, NULL, FABRIC_CM_REQUEST);
	raw_send(&raw, "", 0, NULL, 0);
	blocking_pass(&blocking, &raw, &(struct shm_msg){0}, 0);
	is_reaper_held = true;
	assert_int_equal(b.ops->reject(b.dev, event.req, NULL, 0), 0);
	assert_true(raw_recv(&raw, &b));
	is_reaper_held = false;
	assert_int_equal(raw.answer.type, SHM_REJECT);
	assert_false(raw_recv(&raw, &b));
	END_WAIT(&b, NULL, reap_count() > 0);
	a.qp = end_connect(&a, addr, &a);
	b.qp = end_accept(&b, &a, &b);
	end_event(&a, &b, FABRIC_CM_ESTABLISHED);
	assert_true(reap_count() > 0);
	close(blocking.drain);
	raw_fini(&raw);
	END_WAIT(&b, &a, reap_count() == 0);
}

/* Checks that closing a device does not wait for such a descriptor either. */
static void close__does_not_wait_for_one(void **state)
{
	struct blocking blocking = blocking_new();
	const char *addr = end_address();
	struct raw raw;

	(void)state;
	end_listen(&b, addr);
	pass_in_hello(&raw, addr, &blocking);
	END_WAIT(&b, NULL, reap_count() > 0);
	end_close(&b);
	assert_int_equal(reap_count(), 1);
	close(blocking.drain);
	raw_fini(&raw);
	END_WAIT(&a, NULL, reap_count() == 0);
}

/* Returns true if a process of another user, which only root can create, can connect to 'addr'. */
static bool is_other_welcome(const char *addr)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct raw raw = {.fd = -1};

		if (setgroups(0, NULL) != 0 || setresgid(OTHER_UID, OTHER_UID, OTHER_UID) != 0 ||
		    setresuid(OTHER_UID, OTHER_UID, OTHER_UID) != 0)
			_exit(2);
		raw_connect_only(&raw, addr);
		_exit(recv(raw.fd, &raw.answer, sizeof(raw.answer), 0) == sizeof(raw.answer) ? 0
											     : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status) == 0;
}

/* Checks that a user who passed a certain number of such descriptors is refused until they are
 * closed. Other users are not refused. */
static void user__that_passes_many_is_refused(void **state)
{
	struct blocking blocking[RAWS];
	const char *addr = end_address();
	uint32_t n = 0;

	(void)state;
	end_pair(&a, &b);
	b.ops->unlisten(b.listener);
	end_listen(&b, addr);
	while (raw_is_welcome(addr)) {
		struct raw raw;

		assert_in_range(n, 0, REAP_SUSPECTS_MAX);
		blocking[n] = blocking_new();
		pass_in_hello(&raw, addr, &blocking[n]);
		raw_fini(&raw);
		n++;
		END_WAIT(&b, NULL, b.dev->stats.protocol_errors == n && reap_count() >= n);
	}
	assert_in_range(n, 1, REAP_SUSPECTS_MAX);
	end_works(&a, &b); /* existing connections continue */
	if (geteuid() == 0)
		assert_true(is_other_welcome(addr));
	for (uint32_t i = 0; i < n; i++)
		close(blocking[i].drain);
	END_WAIT(&b, &a, reap_count() == 0);
	assert_true(raw_is_welcome(addr));
}

/* Checks that a refused user passes no descriptor: the kernel accepts none before WELCOME. */
static void refused__user_cannot_pass_any(void **state)
{
	const char *addr = end_address();
	int status, file = memfd_create("any", MFD_CLOEXEC);
	pid_t pid;

	(void)state;
	if (geteuid() != 0) {
		print_message("skipped: only root can take the part of another user\n");
		close(file);
		skip();
	}
	end_close(&b);
	end_open(&b, "", 8);
	end_listen(&b, addr);
	if (!b.listener || !((struct fabric_listener *)b.listener)->refuses_rights) {
		print_message("skipped: this needs SO_PASSRIGHTS, of Linux 6.16\n");
		close(file);
		skip();
	}
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		uint32_t npassed = 0;

		if (setgroups(0, NULL) != 0 || setresgid(OTHER_UID, OTHER_UID, OTHER_UID) != 0 ||
		    setresuid(OTHER_UID, OTHER_UID, OTHER_UID) != 0)
			_exit(200);
		for (uint32_t i = 0; i < 100; i++) {
			struct raw raw = {.fd = -1};

			raw_connect_only(&raw, addr);
			npassed += raw_try_send(&raw, "x", 1, &file, 1);
			close(raw.fd);
		}
		_exit((int)npassed);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	close(file);
}

/* Checks a message with more descriptors than the driver accepts: none stays open. */
static void message__with_many_leaves_none(void **state)
{
	const char *addr = end_address();
	struct end_holdings before;
	struct raw raw;
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(MANY_FDS * sizeof(int))];
	} control = {0};
	int fds[MANY_FDS];
	struct iovec iov = {&raw.hello, sizeof(raw.hello)};
	struct msghdr hdr = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.bytes,
			     .msg_controllen = sizeof(control.bytes)};

	(void)state;
	end_listen(&b, addr);
	before = end_count();
	raw_init(&raw);
	raw_connect(&raw, addr);
	CMSG_FIRSTHDR(&hdr)->cmsg_level = SOL_SOCKET;
	CMSG_FIRSTHDR(&hdr)->cmsg_type = SCM_RIGHTS;
	CMSG_FIRSTHDR(&hdr)->cmsg_len = CMSG_LEN(sizeof(fds));
	for (uint32_t i = 0; i < MANY_FDS; i++)
		fds[i] = raw.fds[i % 2];
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&hdr)), fds, sizeof(fds));
	assert_int_equal(sendmsg(raw.fd, &hdr, MSG_NOSIGNAL), sizeof(raw.hello));
	assert_false(raw_recv(&raw, &b));
	END_WAIT(&b, NULL, b.dev->stats.protocol_errors == 1);
	raw_fini(&raw);
	end_until_released(&b, before);
}

/* Checks that a message waits until this process has a free descriptor for it. */
static void message__waits_while_there_is_no_descriptor(void **state)
{
	const struct key_entry entry = {
		.key = KEY, .access = FABRIC_REMOTE_WRITE, .region = RAW_REGION_ID, .len = 64};
	struct rlimit limit, few;
	struct raw raw;
	int fd;

	(void)state;
	raw_init(&raw);
	raw_pair(&raw, &b);
	memcpy(&raw.keys[9], &entry, sizeof(entry));
	/* Otherwise a descriptor number below 'fd' could become free later. */
	END_WAIT(&b, NULL, reap_count() == 0);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = limit;
	few.rlim_cur = (rlim_t)fd; /* all descriptor numbers below 'fd' are in use */
	close(fd);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	end_post(&b, (struct fabric_wr){.op = FABRIC_WRITE, .flags = FABRIC_SIGNALED, .rkey = KEY},
		 end_sge(&b, 0, 64));
	raw_give_region(&raw, &b);
	for (uint32_t i = 0; i < 200; i++) {
		end_step(&b, NULL);
		usleep(1000);
	}
	assert_int_equal(b.nwcs + b.nevents, 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	end_wc(&b, NULL, FABRIC_WRITE, FABRIC_OK);
	raw_fini(&raw);
}

/* Checks a connection whose peer seems to be copying for ever. It is checked repeatedly whether the
 * copy has ended, and these checks make no system calls. */
static void disconnect__again_makes_no_system_call(void **state)
{
	struct raw raw;

	(void)state;
	raw_init(&raw);
	raw_pair(&raw, &b);
	atomic_store(&raw.mark->busy, KEY);
	nshutdowns = 0;
	for (uint32_t i = 0; i < 100; i++) {
		b.ops->disconnect(b.qp);
		assert_false(b.ops->writes_have_ended(b.qp));
	}
	assert_int_equal(nshutdowns, 1);
	atomic_store(&raw.mark->busy, 0);
	END_WAIT(&b, NULL, b.ops->writes_have_ended(b.qp));
	raw_fini(&raw);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(hello__with_one_stalls_nobody),
		TEST(ring__that_is_corrupt_while_a_close_blocks),
		TEST(request__with_some_behind_it_is_rejected),
		TEST(close__does_not_wait_for_one),
		TEST(user__that_passes_many_is_refused),
		TEST(refused__user_cannot_pass_any),
		TEST(message__with_many_leaves_none),
		TEST(message__waits_while_there_is_no_descriptor),
		TEST(disconnect__again_makes_no_system_call),
	};

	main_thread = pthread_self();
	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
