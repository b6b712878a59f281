/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of peers that break the protocol when they connect over shm. Each of them is disconnected
 * and counted, and nothing of it is left. After that, a good peer can connect.
 */
#include "shm_raw.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "eal.h"

static struct end a, b;
static char here[64], there[64];

static int setup(void **state)
{
	(void)state;
	snprintf(here, sizeof(here), "%s", end_address());
	snprintf(there, sizeof(there), "%s", end_address());
	end_open(&a, "", 128);
	end_open(&b, "", 128);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	end_close(&a);
	end_close(&b);
	return 0;
}

/*
 * Changes the valid HELLO in raw->hello so that it is invalid. 'how' selects the change. Returns
 * the number of bytes to send.
 */
static size_t spoil_hello(struct raw *raw, unsigned how)
{
	struct shm_msg *msg = &raw->hello;
	size_t len = sizeof(*msg);

	switch (how) {
	case 0:
		return 1;
	case 1:
		return len - 1;
	case 2:
		msg->magic++;
		break;
	case 3:
		msg->version++;
		break;
	case 4:
		msg->type = SHM_READY;
		break;
	case 5:
		msg->type = SHM_ACCEPT;
		break;
	case 6:
		msg->type = SHM_REGION;
		break;
	case 7:
		msg->type = 77;
		break;
	case 8:
		msg->ring_bytes = 0;
		break;
	case 9:
		msg->ring_bytes = RAW_RING_BYTES - 64;
		break;
	case 10:
		msg->ring_bytes = 1u << 31;
		break;
	case 11:
		msg->ring_bytes = 2 * RAW_RING_BYTES; /* longer than the file */
		break;
	case 12:
		msg->max_msg_bytes = 0;
		break;
	case 13:
		msg->max_msg_bytes = UINT32_MAX;
		break;
	case 14:
		msg->max_msg_bytes = ring_msg_max(RAW_RING_BYTES) + 1;
		break;
	case 15:
		msg->conn_id = KEY_ANY_CONN;
		break;
	case 16:
		msg->private_len = FABRIC_PRIVATE_DATA_MAX + 1;
		break;
	case 17:
		msg->private_len = UINT32_MAX;
		break;
	case 18: /* one descriptor more than allowed */
		raw->fds[raw->nfds++] = dup(raw->fds[1]);
		break;
	case 19:
		while (raw->nfds > 0)
			close(raw->fds[--raw->nfds]);
		break;
	case 20:
		while (raw->nfds > 1)
			close(raw->fds[--raw->nfds]);
		break;
	case 21: /* longer than any message can be */
		while (raw->nfds <= SHM_FDS_MAX)
			raw->fds[raw->nfds++] = dup(raw->fds[1]);
		break;
	case 22: /* offers muxes without passing their file; a HELLO has two or three files */
		msg->has_mux = 1;
		break;
	case 23:
		raw_offer_mux(raw);
		msg->has_mux = 2;
		break;
	case 24:
		raw_offer_mux(raw);
		msg->has_mux = 0;
		break;
	case 25:
	case 26: /* replaces a file by one that is too short or that could shrink */
		msg->has_mux = 1;
		raw->fds[raw->nfds] = how == 25 ? raw_memfd(sizeof(struct mux_memory) - 4096, NULL)
						: memfd_create("unsealed", MFD_CLOEXEC);
		assert_int_equal(ftruncate(raw->fds[raw->nfds], sizeof(struct mux_memory)),
				 how == 25 ? -1 : 0);
		raw->nfds++;
		break;
	default:
		return 0;
	}
	return len;
}

/*
 * Replaces the file 'index' by an invalid one. 'how' selects the fault. Returns false if there is
 * no such fault.
 */
static bool spoil_file(struct raw *raw, uint32_t index, unsigned how)
{
	static const size_t bytes[] = {2 * (RAW_RING_BYTES + RING_CELL),
				       sizeof(struct key_table_memory), RAW_REGION_BYTES};
	int *file = index < 2 ? &raw->fds[index] : &raw->region_fd, fds[2];

	close(*file);
	switch (how) {
	case 0: /* the file could shrink later */
		*file = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		assert_int_equal(ftruncate(*file, (off_t)bytes[index]), 0);
		break;
	case 1:
		*file = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		assert_int_equal(ftruncate(*file, (off_t)bytes[index]), 0);
		assert_int_equal(fcntl(*file, F_ADD_SEALS, F_SEAL_GROW), 0);
		break;
	case 2:
		*file = raw_memfd(bytes[index] - 4096, NULL);
		break;
	case 3:
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
		close(fds[1]);
		*file = fds[0];
		break;
	case 4:
		*file = open("/dev/zero", O_RDWR | O_CLOEXEC);
		break;
	default: /* the file cannot be written to; this is allowed for a key table */
		*file = raw_memfd(bytes[index], NULL);
		assert_int_equal(fcntl(*file, F_ADD_SEALS, F_SEAL_WRITE), 0);
		return index != 1;
	}
	return true;
}

static void expect_cut_off(struct raw *raw, size_t len, uint64_t errors_before)
{
	raw_connect(raw, here);
	raw_send(raw, &raw->hello, len, raw->fds, raw->nfds);
	assert_false(raw_recv(raw, &b));
	raw_fini(raw);
	END_WAIT(&b, NULL, b.dev->stats.protocol_errors > errors_before);
	assert_int_equal(b.dev->stats.protocol_errors, errors_before + 1);
	assert_int_equal(b.nevents, 0);
}

static void hello__that_is_wrong_is_cut_off(void **state)
{
	struct end_holdings before;
	struct raw raw;
	unsigned how;
	size_t len;

	(void)state;
	end_listen(&b, here);
	before = end_count();
	for (how = 0; raw_init(&raw), (len = spoil_hello(&raw, how)) != 0; how++)
		expect_cut_off(&raw, len, how);
	raw_fini(&raw);
	assert_int_equal(how, 27);
	end_until_released(&b, before);
}

static void hello__with_wrong_files_is_cut_off(void **state)
{
	struct end_holdings before;
	uint64_t errors = 0;
	struct raw raw;

	(void)state;
	end_listen(&b, here);
	before = end_count();
	for (uint32_t index = 0; index < 2; index++) {
		for (unsigned how = 0; how < 6; how++) {
			raw_init(&raw);
			if (spoil_file(&raw, index, how))
				expect_cut_off(&raw, sizeof(raw.hello), errors++);
			else
				raw_fini(&raw);
		}
	}
	assert_int_equal(errors, 11);
	end_until_released(&b, before);
}

#define KEY (5u << KEY_INDEX_BITS | 9)

/*
 * Makes the region of the HELLO invalid. 'how' selects the fault. Returns false if there is no such
 * fault.
 */
static bool spoil_region(struct raw *raw, unsigned how)
{
	struct shm_msg *msg = &raw->hello;

	if (how < 6)
		return spoil_file(raw, 2, how);
	switch (how) {
	case 6:
		msg->region.len = 0;
		return true;
	case 7:
		msg->region.len = RAW_REGION_BYTES + 1;
		return true;
	case 8:
		msg->region.len = UINT64_MAX;
		return true;
	case 9:
		msg->region.fd_offset = UINT64_MAX - 4095;
		return true;
	case 10:
		msg->region.fd_offset = 64; /* not at the start of a page */
		msg->region.len = 64;
		return true;
	default:
		return false;
	}
}

static void region__that_is_wrong_ends_its_connection(void **state)
{
	const struct key_entry entry = {.key = KEY,
					.access = FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE,
					.region = RAW_REGION_ID,
					.len = 64};
	struct fabric_wr wr = {.op = FABRIC_WRITE, .rkey = KEY};
	struct raw raw;
	unsigned how;

	(void)state;
	for (how = 0; raw_init(&raw), spoil_region(&raw, how); how++) {
		struct fabric_listener *listener;

		raw_pair(&raw, &b);
		memcpy(&raw.keys[9], &entry, sizeof(entry));
		end_post(&b, wr, end_sge(&b, 0, 64));
		raw_give_region(&raw, &b);
		assert_int_equal(end_event(&b, NULL, FABRIC_CM_DISCONNECTED).error, -EPROTO);
		assert_false(raw_recv(&raw, &b));
		raw_fini(&raw);
		listener = b.listener;
		b.ops->qp_destroy(b.qp);
		b.ops->unlisten(listener);
		b.qp = NULL;
		b.listener = NULL;
		END_WAIT(&b, NULL, b.dev->stats.protocol_errors == how + 1);
	}
	raw_fini(&raw);
	assert_int_equal(how, 11);
}

static void hello__that_is_good_gets_through(void **state)
{
	struct raw raw;

	(void)state;
	raw_init(&raw);
	raw_pair(&raw, &b);
	assert_int_equal(b.dev->stats.protocol_errors, 0);
	raw_fini(&raw);
	end_event(&b, NULL, FABRIC_CM_DISCONNECTED);
}

static void accept__is_followed_by_nonsense(void **state)
{
	struct raw raw;

	(void)state;
	raw_init(&raw);
	end_listen(&b, here);
	raw_connect(&raw, here);
	raw_send(&raw, &raw.hello, sizeof(raw.hello), raw.fds, raw.nfds);
	b.qp = end_accept(&b, NULL, &b);
	assert_true(raw_recv(&raw, &b));
	raw_send(&raw, &raw.hello, sizeof(raw.hello), raw.fds, raw.nfds);
	end_event(&b, NULL, FABRIC_CM_FAILED);
	assert_int_equal(b.dev->stats.protocol_errors, 1);
	raw_fini(&raw);
}

static void open__nonsense_on_the_socket_ends_it(void **state)
{
	struct raw raw;

	(void)state;
	raw_init(&raw);
	raw_pair(&raw, &b);
	raw_send_type(&raw, SHM_READY);
	end_event(&b, NULL, FABRIC_CM_DISCONNECTED);
	assert_false(raw_recv(&raw, &b));
	assert_int_equal(b.dev->stats.protocol_errors, 1);
	raw_fini(&raw);
}

static void connect__to_one_that_answers_nonsense(void **state)
{
	static const uint32_t wrong[] = {0, 1, 2, 3, 4, 5, 6, 7};
	int listener = raw_listen(here);

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct raw raw;
		struct shm_msg msg;
		struct fabric_qp *qp = end_connect(&a, here, &a);
		uint32_t nfds = 1;

		raw_init(&raw);
		raw_welcome(&raw, listener, &a);
		msg = raw.hello;
		msg.type = SHM_ACCEPT;
		if (wrong[i] == 0)
			msg.max_msg_bytes = ring_msg_max(raw.answer.ring_bytes) + 1;
		else if (wrong[i] == 1)
			msg.conn_id = 0;
		else if (wrong[i] == 2)
			nfds = 0;
		else if (wrong[i] == 3)
			msg.version++;
		else if (wrong[i] == 4)
			msg.private_len = 57;
		else if (wrong[i] == 5)
			msg.type = SHM_READY;
		else if (wrong[i] == 7)
			msg.has_mux = 1; /* accepts muxes, although none were offered */
		else
			msg.type = SHM_WELCOME;
		raw_send(&raw, &msg, sizeof(msg), raw.fds + 1, nfds);
		end_event(&a, NULL, FABRIC_CM_FAILED);
		assert_int_equal(a.dev->stats.protocol_errors, i + 1);
		a.ops->qp_destroy(qp);
		raw_fini(&raw);
	}
	close(listener);
	end_pair(&a, &b);
	end_works(&a, &b);
}

static void greeting__that_never_comes_is_given_up(void **state)
{
	struct raw raw[64];

	(void)state;
	end_listen(&b, here);
	for (uint32_t i = 0; i < 64; i++) {
		raw_init(&raw[i]);
		raw_connect(&raw[i], here); /* as many connection requests as can wait */
	}
	for (uint32_t i = 0; i < 64; i++) {
		assert_false(raw_recv(&raw[i], &b));
		raw_fini(&raw[i]);
	}
	a.qp = end_connect(&a, here, &a);
	b.qp = end_accept(&b, &a, &b);
	end_event(&a, &b, FABRIC_CM_ESTABLISHED);
}

static void greeting__silent_ones_keep_nobody_out(void **state)
{
	struct raw raw;
	int fds[100];
	char c;

	(void)state;
	end_listen(&b, here);
	raw_init(&raw);
	/* more connection requests than can wait, none of which sends a HELLO */
	for (uint32_t i = 0; i < 100; i++) {
		raw_connect(&raw, here);
		fds[i] = raw.fd;
	}
	a.qp = end_connect(&a, here, &a);
	b.qp = end_accept(&b, &a, &b);
	end_event(&a, &b, FABRIC_CM_ESTABLISHED);
	/*
	 * The first connection requests were dropped to accept new ones. None of them was dropped
	 * because of its age.
	 */
	assert_int_equal(recv(fds[0], &c, 1, MSG_DONTWAIT), 0);
	assert_int_equal(recv(fds[99], &c, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(b.dev->stats.requests_displaced, 101 - 64);
	for (uint32_t i = 0; i < 99; i++)
		close(fds[i]);
	raw_fini(&raw); /* the hundredth request is that of this peer */
}

static void accept__whose_ready_never_comes_fails(void **state)
{
	struct raw raw;

	(void)state;
	raw_init(&raw);
	end_listen(&b, here);
	raw_connect(&raw, here);
	raw_send(&raw, &raw.hello, sizeof(raw.hello), raw.fds, raw.nfds);
	b.qp = end_accept(&b, NULL, &b);
	assert_int_equal(end_event(&b, NULL, FABRIC_CM_FAILED).error, -ETIMEDOUT);
	raw_fini(&raw);
}

static _Atomic bool flood_stops;

static void *flood(void *arg)
{
	struct raw *raw = arg;
	struct shm_msg want = raw->hello;

	want.type = SHM_WANT;
	while (!flood_stops)
		raw_send(raw, &want, sizeof(want), NULL, 0);
	return NULL;
}

static void region__a_flood_of_messages_blocks_nobody(void **state)
{
	struct fabric_listener *listener;
	uint64_t begin_ns;
	struct raw raw;
	pthread_t thread;

	(void)state;
	raw_init(&raw);
	raw_pair(&raw, &b);
	flood_stops = false;
	assert_int_equal(pthread_create(&thread, NULL, flood, &raw), 0);
	assert_int_equal(b.ops->listen(b.dev, there, 8, &b, &listener), 0);
	begin_ns = end_now_ns();
	for (uint32_t i = 0; i < 20; i++) {
		struct fabric_qp *qp = end_connect(&a, there, &a), *other = end_accept(&b, &a, &b);

		end_event(&a, &b, FABRIC_CM_ESTABLISHED);
		end_event(&b, &a, FABRIC_CM_ESTABLISHED);
		a.ops->disconnect(qp);
		end_event(&b, &a, FABRIC_CM_DISCONNECTED);
		a.ops->qp_destroy(qp);
		b.ops->qp_destroy(other);
	}
	assert_true(end_now_ns() - begin_ns < 5000000000u);
	flood_stops = true;
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(b.dev->stats.protocol_errors, 0);
	b.ops->unlisten(listener);
	raw_fini(&raw);
}

static void listen__takes_the_place_of_sockets_only(void **state)
{
	char path[] = "/tmp/weir-test-XXXXXX", other[sizeof(path) + 2];
	int fd = mkstemp(path);
	struct stat st;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "kept", 4), 4);
	assert_int_equal(b.ops->listen(b.dev, path, 8, &b, &b.listener), -EADDRINUSE);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 4);
	snprintf(other, sizeof(other), "%s-l", path);
	assert_int_equal(symlink(path, other), 0);
	assert_int_equal(b.ops->listen(b.dev, other, 8, &b, &b.listener), -EADDRINUSE);
	assert_int_equal(lstat(other, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	b.listener = NULL;
	unlink(other);
	unlink(path);
	close(fd);
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/*
 * Checks that a listener without free descriptors waits for one. On a busy machine the measured
 * value is smaller, never larger.
 */
static void listen__without_descriptors_waits_for_some(void **state)
{
	struct rlimit limit, few;
	uint64_t begin_ns;
	struct raw raw;
	int fd;

	(void)state;
	end_listen(&b, here);
	raw_init(&raw);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = limit;
	/* all lower numbers are in use; one descriptor is left, for the connecting side */
	few.rlim_cur = (rlim_t)fd + 1;
	close(fd);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	raw_connect_only(&raw, here);
	begin_ns = cpu_ns();
	usleep(200000);
	assert_true(cpu_ns() - begin_ns < 100000000u);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(raw_recv(&raw, &b));
	assert_int_equal(raw.answer.type, SHM_WELCOME);
	raw_send(&raw, &raw.hello, sizeof(raw.hello), raw.fds, raw.nfds);
	b.qp = end_accept(&b, NULL, &b);
	assert_true(raw_recv(&raw, &b));
	assert_int_equal(raw.answer.type, SHM_ACCEPT);
	raw_fini(&raw);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(hello__that_is_wrong_is_cut_off),
		TEST(hello__with_wrong_files_is_cut_off),
		TEST(region__that_is_wrong_ends_its_connection),
		TEST(hello__that_is_good_gets_through),
		TEST(accept__is_followed_by_nonsense),
		TEST(open__nonsense_on_the_socket_ends_it),
		TEST(connect__to_one_that_answers_nonsense),
		TEST(greeting__that_never_comes_is_given_up),
		TEST(greeting__silent_ones_keep_nobody_out),
		TEST(accept__whose_ready_never_comes_fails),
		TEST(region__a_flood_of_messages_blocks_nobody),
		TEST(listen__takes_the_place_of_sockets_only),
		TEST(listen__without_descriptors_waits_for_some),
	};

	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
