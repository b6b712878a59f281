/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of sleeping over shm: a side that sleeps polls only after it was woken, so that a wake-up
 * that is lost ends a test with an error. A side that polls causes no system call at its peer.
 */
#include "shm_qp.h"
#include "turn.h"
#include "shm_raw.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "eal.h"
#include "fence.h"

#define CONNS	3u /* the first one has its own rings, and the others share a mux */
#define ROUNDS	4000u
#define WAIT_MS 20000
#define SLOT	64u

/* A side whose thread sleeps. */
struct side {
	struct end end;
	struct fabric_waker waker;
	struct fabric_qp *qps[CONNS];
	uint32_t nsleeps;
};

static struct side a, b;
static struct raw raw;

static void side_open(struct side *side)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};

	memset(side, 0, sizeof(*side));
	end_open(&side->end, "", 16);
	side->waker.epoll_fd = epoll_create1(0);
	side->waker.event_fd = eventfd(0, EFD_NONBLOCK);
	assert_true(side->waker.epoll_fd > 0 && side->waker.event_fd > 0);
	assert_int_equal(
		epoll_ctl(side->waker.epoll_fd, EPOLL_CTL_ADD, side->waker.event_fd, &event), 0);
	assert_int_equal(side->end.ops->wake_attach(side->end.dev, &side->waker), 0);
}

static void side_close(struct side *side)
{
	for (uint32_t i = 0; i < CONNS; i++)
		side->end.ops->qp_destroy(side->qps[i]);
	side->end.qp = NULL;
	end_close(&side->end);
	close(side->waker.epoll_fd);
	close(side->waker.event_fd);
}

/* Arms a side, as an engine does. */
static int arm(struct side *side, uint64_t *timeout_ns)
{
	*timeout_ns = UINT64_MAX;
	atomic_store(&side->waker.is_armed, true);
	fence(memory_order_seq_cst);
	return side->end.ops->arm(side->end.dev, timeout_ns);
}

static void disarm(struct side *side)
{
	struct epoll_event events[16];

	atomic_store(&side->waker.is_armed, false);
	side->end.ops->disarm(side->end.dev);
	(void)epoll_wait(side->waker.epoll_fd, events, 16, 0);
}

/* Arms a side that has nothing to do. The events of a new connection can still arrive, so that it
 * polls until there is no work. */
static void arm_when_idle(struct side *side, uint64_t *timeout_ns)
{
	uint64_t until = end_now_ns() + END_WAIT_NS;

	while (arm(side, timeout_ns) == -EAGAIN) {
		disarm(side);
		end_poll(&side->end);
		assert_true(end_now_ns() < until);
	}
}

static bool is_woken(const struct side *side, int ms)
{
	struct pollfd pfd = {.fd = side->waker.epoll_fd, .events = POLLIN};

	return poll(&pfd, 1, ms) == 1;
}

/* Polls until a poll finds something. Sleeps whenever a poll finds nothing. */
static void sleep_and_poll(struct side *side)
{
	while (end_poll(&side->end) == 0) {
		uint64_t timeout_ns;

		if (arm(side, &timeout_ns) == 0) {
			int ms = timeout_ns < WAIT_MS * 1000000ull ? (int)(timeout_ns / 1000000 + 1)
								   : WAIT_MS;

			side->nsleeps++;
			assert_true(is_woken(side, ms) || ms < WAIT_MS);
		}
		disarm(side);
	}
}

static void post_recv(struct side *side, uint32_t i)
{
	const struct fabric_recv_wr recv = {i, side->end.mem + i * SLOT, SLOT, side->end.mr.lkey};

	assert_int_equal(side->end.ops->post_recv(side->qps[i], &recv, 1), 1);
}

static void post_send(struct side *side, uint32_t i)
{
	struct fabric_sge sge = {side->end.mem + 4096, 8, side->end.mr.lkey};
	const struct fabric_wr wr = {.op = FABRIC_SEND, .sge = &sge, .nsge = 1};

	if (side->end.ops->send_direct(side->qps[i], sge.addr, 8))
		return;
	assert_int_equal(side->end.ops->post_send(side->qps[i], &wr, 1), 1);
}

/* Waits for a message of connection i, and posts its receive again. */
static void wait_recv(struct side *side, uint32_t i)
{
	while (side->end.nwcs == 0)
		sleep_and_poll(side);
	assert_int_equal(side->end.nwcs, 1);
	assert_int_equal(side->end.wcs[0].op, FABRIC_RECV);
	assert_int_equal(side->end.wcs[0].status, FABRIC_OK);
	assert_int_equal(side->end.wcs[0].wr_id, i);
	side->end.nwcs = 0;
	post_recv(side, i);
}

static void *answer(void *arg)
{
	(void)arg;
	for (uint32_t n = 0; n < ROUNDS; n++) {
		wait_recv(&b, n % CONNS);
		post_send(&b, n % CONNS);
	}
	return NULL;
}

static void connect_all(void)
{
	const char *addr = end_address();

	side_open(&a);
	side_open(&b);
	end_listen(&b.end, addr);
	for (uint32_t i = 0; i < CONNS; i++) {
		a.qps[i] = end_connect(&a.end, addr, &a);
		b.qps[i] = end_accept(&b.end, &a.end, &b);
		post_recv(&a, i);
		post_recv(&b, i);
		end_event(&a.end, &b.end, FABRIC_CM_ESTABLISHED);
		end_event(&b.end, &a.end, FABRIC_CM_ESTABLISHED);
	}
}

static int setup(void **state)
{
	(void)state;
	connect_all();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	side_close(&a);
	side_close(&b);
	return 0;
}

/* Two threads, each of which sleeps until the other one sends. */
static void sleep__no_wake_up_is_lost(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, answer, NULL), 0);
	for (uint32_t n = 0; n < ROUNDS; n++) {
		post_send(&a, n % CONNS);
		wait_recv(&a, n % CONNS);
	}
	pthread_join(thread, NULL);
	assert_true(a.nsleeps > 0 && b.nsleeps > 0);
}

static uint64_t debt_of(const struct side *side)
{
	return ((const struct shm_qp *)side->qps[0])->turn->debt;
}

/* A receiver that polls causes no system call, before and after it has slept. The user of one that
 * sleeps pays for the system calls, because a peer can say at any time that it sleeps. */
static void wake__is_only_sent_to_a_sleeper(void **state)
{
	uint64_t timeout_ns, debt;

	(void)state;
	for (uint32_t round = 1; round <= 3; round++) {
		for (uint32_t n = 0; n < 100; n++) {
			post_send(&a, n % CONNS);
			END_WAIT(&a.end, &b.end, b.end.nwcs > 0);
			wait_recv(&b, n % CONNS);
		}
		assert_int_equal(a.end.dev->stats.wakes, (round - 1) * CONNS);
		assert_int_equal(arm(&b, &timeout_ns), 0);
		debt = debt_of(&a);
		for (uint32_t i = 0; i < CONNS; i++)
			post_send(&a, i);
		assert_int_equal(debt_of(&a) - debt, CONNS * SHM_TURN_WAKE);
		assert_int_equal(a.end.dev->stats.wakes, round * CONNS);
		assert_true(is_woken(&b, WAIT_MS));
		disarm(&b);
		END_WAIT(&a.end, &b.end, b.end.nwcs == CONNS);
		b.end.nwcs = 0;
		for (uint32_t i = 0; i < CONNS; i++)
			post_recv(&b, i);
	}
}

static void arm__finds_what_has_arrived(void **state)
{
	uint64_t timeout_ns;

	(void)state;
	for (uint32_t i = 0; i < CONNS; i++) {
		post_send(&a, i);
		assert_int_equal(arm(&b, &timeout_ns), -EAGAIN);
		disarm(&b);
		wait_recv(&b, i);
		assert_int_equal(arm(&b, &timeout_ns), 0);
		disarm(&b);
	}
}

/* A message for which no receive is posted is no work, but the wait for the receive has a limit. */
static void arm__returns_at_once_for_no_message_without_a_receive(void **state)
{
	uint64_t timeout_ns;

	(void)state;
	for (uint32_t i = 0; i < CONNS; i++) {
		post_send(&a, i);
		wait_recv(&b, i);
		END_WAIT(&a.end, &b.end, true);
	}
	for (uint32_t n = 0; n < 2; n++)
		post_send(&a, 0);
	END_WAIT(&b.end, NULL, b.end.nwcs == 1 && b.end.dev->stats.rnr == 1);
	arm_when_idle(&b, &timeout_ns);
	disarm(&b);
	assert_in_range(timeout_ns, 1, 1000000);
	post_recv(&b, 0);
	END_WAIT(&b.end, NULL, b.end.nwcs == 2);
	b.end.nwcs = 0;
}

static void sleep__ends_when_the_peer_disconnects(void **state)
{
	uint64_t timeout_ns;

	(void)state;
	arm_when_idle(&b, &timeout_ns);
	a.end.ops->disconnect(a.qps[0]);
	assert_true(is_woken(&b, WAIT_MS));
	disarm(&b);
	end_event(&b.end, NULL, FABRIC_CM_DISCONNECTED);
}

static int setup_raw(void **state)
{
	(void)state;
	side_open(&a);
	side_open(&b);
	raw_init(&raw);
	raw_pair(&raw, &b.end);
	b.qps[0] = b.end.qp;
	return 0;
}

static int teardown_raw(void **state)
{
	raw_fini(&raw);
	return teardown(state);
}

/* A peer that sends more WAKE messages than there can be sleeps loses its connection. */
static void wake__too_many_end_the_connection(void **state)
{
	const struct shm_msg msg = {.magic = SHM_MAGIC, .version = SHM_VERSION, .type = SHM_WAKE};
	uint64_t until = end_now_ns() + END_WAIT_NS;
	uint32_t nsent = 0;

	(void)state;
	while (b.end.nevents == 0 && end_now_ns() < until) {
		nsent += raw_try_send(&raw, &msg, sizeof(msg), NULL, 0);
		end_step(&b.end, NULL);
	}
	end_event(&b.end, NULL, FABRIC_CM_DISCONNECTED);
	assert_true(nsent > 0);
	assert_int_equal(b.end.dev->stats.protocol_errors, 1);
}

/* A few of them without a message wake the thread, and do nothing else. */
static void wake__without_a_message_is_harmless(void **state)
{
	uint64_t timeout_ns;

	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		while (arm(&b, &timeout_ns) == -EAGAIN) {
			disarm(&b);
			end_poll(&b.end);
		}
		raw_send_type(&raw, SHM_WAKE);
		assert_true(is_woken(&b, WAIT_MS));
		disarm(&b);
		assert_int_equal(end_poll(&b.end), 0);
	}
	assert_int_equal(b.end.dev->stats.protocol_errors, 0);
}

/* A peer that sends no WAKE delays its own messages only. */
static void wake__can_be_left_out(void **state)
{
	struct fabric_sge sge = {raw.region, 30, 0};
	uint64_t timeout_ns;

	(void)state;
	end_recv(&b.end, b.qps[0], 1, 0, 4096);
	arm_when_idle(&b, &timeout_ns);
	assert_int_equal(ring_put(&raw.tx, &sge, 1, 30, 0), 1);
	assert_false(is_woken(&b, 20));
	disarm(&b);
	end_wc(&b.end, NULL, FABRIC_RECV, FABRIC_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sleep__no_wake_up_is_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(wake__is_only_sent_to_a_sleeper, setup, teardown),
		cmocka_unit_test_setup_teardown(arm__finds_what_has_arrived, setup, teardown),
		cmocka_unit_test_setup_teardown(
			arm__returns_at_once_for_no_message_without_a_receive, setup, teardown),
		cmocka_unit_test_setup_teardown(sleep__ends_when_the_peer_disconnects, setup,
						teardown),
		cmocka_unit_test_setup_teardown(wake__too_many_end_the_connection, setup_raw,
						teardown_raw),
		cmocka_unit_test_setup_teardown(wake__without_a_message_is_harmless, setup_raw,
						teardown_raw),
		cmocka_unit_test_setup_teardown(wake__can_be_left_out, setup_raw, teardown_raw),
	};

	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
