/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of connections that begin and end while the close of a descriptor blocks. This process must
 * release all that these connections held, for each user, even if it cannot create more threads.
 * The descriptors that block are those of /dev/null: the test decides when the reaper's close(2) of
 * such a descriptor returns.
 *
 * The polling thread must map and unmap nothing for connections with a mux, because other threads
 * hold the lock of the address space for a long time when they map or unmap memory.
 */
#include "shm_raw.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_lcore.h>
#include <rte_log.h>

#include "eal.h"
#include "shm_qp.h"

#define OTHER_UID 54321u
#define CONNECTS  300u
#define FEW	  16u /* a bound for additional descriptors, or mappings */
#define ROUNDS	  20u

static struct end a, b;
static sem_t may_close;
static atomic_bool lacks_threads;

/*
 * Variables of the polling thread. is_driver is set while that thread is inside the driver.
 * nmappings counts its calls of mmap() and munmap() inside the driver.
 */
static _Thread_local bool is_driver;
static _Thread_local uint32_t nmappings;

/* The functions of the libraries, by the names that the linker gives them. */
int __real_close(int fd);
int __real_rte_ctrl_thread_create(pthread_t *thread, const char *name, const pthread_attr_t *attr,
				  void *(*run)(void *), void *arg);
void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *addr, size_t len);

int __wrap_close(int fd);
int __wrap_rte_ctrl_thread_create(pthread_t *thread, const char *name, const pthread_attr_t *attr,
				  void *(*run)(void *), void *arg);
void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
int __wrap_munmap(void *addr, size_t len);

static bool is_reaper(void)
{
	char name[16] = "";

	pthread_getname_np(pthread_self(), name, sizeof(name));
	return strncmp(name, "weir-shm-reap", 13) == 0;
}

int __wrap_close(int fd)
{
	struct stat st;

	if (is_reaper() && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) &&
	    st.st_rdev == makedev(1, 3))
		while (sem_wait(&may_close) != 0)
			;
	return __real_close(fd);
}

/* Fails as it does in a process that has reached its RLIMIT_NPROC. */
int __wrap_rte_ctrl_thread_create(pthread_t *thread, const char *name, const pthread_attr_t *attr,
				  void *(*run)(void *), void *arg)
{
	return lacks_threads ? -EAGAIN
			     : __real_rte_ctrl_thread_create(thread, name, attr, run, arg);
}

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	nmappings += is_driver;
	return __real_mmap(addr, len, prot, flags, fd, offset);
}

int __wrap_munmap(void *addr, size_t len)
{
	nmappings += is_driver;
	return __real_munmap(addr, len);
}

static int setup(void **state)
{
	(void)state;
	end_open(&a, "", 128);
	end_open(&b, "peer_uid=any", 128);
	return sem_init(&may_close, 0, 0);
}

static int teardown(void **state)
{
	(void)state;
	lacks_threads = is_driver = false;
	end_close(&a);
	end_close(&b);
	return 0;
}

/* Sends a HELLO. The close of its descriptor for the rings blocks. */
static void pass_blocking(const char *addr)
{
	struct raw raw;
	int fds[2] = {open("/dev/null", O_RDWR | O_CLOEXEC)};

	raw_init(&raw);
	fds[1] = raw.fds[1];
	raw_connect(&raw, addr);
	raw_send(&raw, &raw.hello, sizeof(raw.hello), fds, 2);
	close(fds[0]);
	assert_false(raw_recv(&raw, NULL));
	raw_fini(&raw);
}

static void end_blocking(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(sem_post(&may_close), 0);
	END_WAIT(&b, &a, reap_count() == 0);
}

/* Asks for a connection as an ordinary process does. The test rejects it. */
static void come_and_go(const char *addr)
{
	struct fabric_cm_event event;
	struct raw raw;

	raw_init(&raw);
	raw_connect(&raw, addr);
	raw_send(&raw, &raw.hello, sizeof(raw.hello), raw.fds, raw.nfds);
	event = end_event(&b, NULL, FABRIC_CM_REQUEST);
	assert_int_equal(b.ops->reject(b.dev, event.req, NULL, 0), 0);
	raw_fini(&raw);
}

/* Runs 'run' in a process of another user, which only root can create. */
static void by_other(void (*run)(const char *addr), const char *addr)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (setgroups(0, NULL) != 0 || setresgid(OTHER_UID, OTHER_UID, OTHER_UID) != 0 ||
		    setresuid(OTHER_UID, OTHER_UID, OTHER_UID) != 0)
			_exit(2);
		run(addr);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/*
 * Connects and disconnects CONNECTS times. It runs in a process of another user. If a check fails,
 * it exits, because that process must not continue with the tests of its parent.
 */
static void many_greetings(const char *addr)
{
	for (uint32_t i = 0; i < CONNECTS; i++) {
		struct raw raw = {.fd = -1};

		raw_connect_only(&raw, addr);
		if (recv(raw.fd, &raw.answer, sizeof(raw.answer), 0) != sizeof(raw.answer))
			_exit(1);
		close(raw.fd);
	}
}

static bool is_few_more(struct end_holdings before)
{
	struct end_holdings now = end_count();

	return now.fds <= before.fds + FEW && now.maps <= before.maps + FEW;
}

static void churn__behind_a_close_that_blocks_leaves_nothing(void **state)
{
	const char *addr = end_address();
	struct end_holdings before;

	(void)state;
	end_listen(&b, addr);
	before = end_count();
	pass_blocking(addr);
	END_WAIT(&b, NULL, reap_count() == 1);
	for (uint32_t i = 0; i < CONNECTS; i++)
		come_and_go(addr);
	END_WAIT(&b, NULL, is_few_more(before));
	END_WAIT(&b, NULL, reap_count() == 1);
	end_blocking(1);
}

/*
 * Checks that connections are released although the close of a descriptor of each of two users
 * blocks, and the process cannot create more threads.
 */
static void churn__is_closed_where_no_thread_can_be_made(void **state)
{
	const char *addr = end_address();
	struct end_holdings before;
	uint32_t nblocking = 1;

	(void)state;
	end_listen(&b, addr);
	before = end_count();
	lacks_threads = true;
	pass_blocking(addr);
	if (geteuid() == 0) {
		by_other(pass_blocking, addr);
		nblocking++;
	}
	END_WAIT(&b, NULL, reap_count() == nblocking);
	for (uint32_t i = 0; i < CONNECTS; i++)
		come_and_go(addr);
	if (geteuid() == 0)
		by_other(many_greetings, addr);
	END_WAIT(&b, NULL, is_few_more(before));
	END_WAIT(&b, NULL, reap_count() == nblocking);
	end_blocking(nblocking);
}

/*
 * Checks the counters and log lines of a user who is refused: those of the listener, and those of a
 * process that does not connect to a listener of this user.
 */
static void refused__user_is_counted_and_logged(void **state)
{
	struct fabric_qp_attr attr = end_attr;
	const char *addr = end_address();
	struct fabric_qp *qp = NULL;
	char *text = NULL;
	size_t bytes = 0;
	FILE *log = open_memstream(&text, &bytes);

	(void)state;
	assert_non_null(log);
	end_listen(&b, addr);
	for (uint32_t i = 0; i < REAP_SUSPECTS_MAX; i++) {
		pass_blocking(addr);
		END_WAIT(&b, NULL, reap_count() == i + 1);
	}
	rte_openlog_stream(log);
	assert_false(raw_is_welcome(addr));
	assert_int_equal(a.ops->connect(a.dev, addr, &attr, NULL, 0, &qp), -EACCES);
	assert_int_equal(a.dev->stats.users_refused, 1);
	/*
	 * When this connection is refused, the control thread has already logged the earlier
	 * refusals.
	 */
	assert_false(raw_is_welcome(addr));
	END_WAIT(&b, NULL, b.dev->stats.users_refused == 3);
	rte_openlog_stream(NULL);
	fclose(log);
	assert_non_null(
		strstr(text, "connection refused: 16 connections, files or mappings of user"));
	assert_non_null(strstr(text, "not connected: 16 connections, files or mappings of user"));
	free(text);
	if (geteuid() == 0)
		by_other(many_greetings, addr);
	end_blocking(REAP_SUSPECTS_MAX);
	assert_true(raw_is_welcome(addr));
}

/*
 * Checks a peer's only connection, which has a mux. The memory of the mux is released with the
 * connection, and no poll maps or unmaps it.
 */
static void mux__of_an_only_connection_is_mapped_by_no_poll(void **state)
{
	const char *addr = end_address();

	(void)state;
	end_listen(&b, addr);
	nmappings = 0;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct raw raw;

		raw_init(&raw);
		raw_offer_mux(&raw);
		raw_connect(&raw, addr);
		raw_send(&raw, &raw.hello, sizeof(raw.hello), raw.fds, raw.nfds);
		is_driver = true;
		b.qp = end_accept(&b, NULL, &b);
		assert_true(raw_recv(&raw, &b));
		raw_send_type(&raw, SHM_READY);
		end_event(&b, NULL, FABRIC_CM_ESTABLISHED);
		is_driver = false;
		assert_true(raw.answer.has_mux);
		raw_fini(&raw);
		is_driver = true;
		end_event(&b, NULL, FABRIC_CM_DISCONNECTED);
		b.ops->qp_destroy(b.qp);
		is_driver = false;
		b.qp = NULL;
		END_WAIT(&b, NULL, reap_count() == 0);
	}
	assert_int_equal(nmappings, 0);
}

/*
 * Checks a mux that is started again, while one of two connections remains. The connecting side
 * keeps the memory of the mux.
 */
static void mux__that_begins_again_is_mapped_by_no_poll(void **state)
{
	const char *addr = end_address();
	struct fabric_qp *first[2];

	(void)state;
	end_listen(&b, addr);
	first[0] = end_connect(&a, addr, &a);
	first[1] = end_accept(&b, &a, &b);
	end_event(&a, &b, FABRIC_CM_ESTABLISHED);
	end_event(&b, &a, FABRIC_CM_ESTABLISHED);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		a.qp = end_connect(&a, addr, &a);
		if (i == 1)
			nmappings = 0; /* the connecting side maps its first mux before this */
		is_driver = true;
		b.qp = end_accept(&b, &a, &b);
		end_event(&a, &b, FABRIC_CM_ESTABLISHED);
		end_event(&b, &a, FABRIC_CM_ESTABLISHED);
		assert_non_null(((struct shm_qp *)a.qp)->mux);
		a.ops->qp_destroy(a.qp);
		end_event(&b, &a, FABRIC_CM_DISCONNECTED);
		b.ops->qp_destroy(b.qp);
		is_driver = false;
		END_WAIT(&b, &a, reap_count() == 0);
	}
	a.qp = first[0];
	b.qp = first[1];
	assert_int_equal(nmappings, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(churn__behind_a_close_that_blocks_leaves_nothing),
		TEST(churn__is_closed_where_no_thread_can_be_made),
		TEST(refused__user_is_counted_and_logged),
		TEST(mux__of_an_only_connection_is_mapped_by_no_poll),
		TEST(mux__that_begins_again_is_mapped_by_no_poll),
	};

	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
