/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of sleeping over verbs: a device object asks for a report of the next completion before it
 * looks for completions, so that none is missed. The tests have no device. They replace what a
 * device does with a completion queue and with a completion channel.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "verbs.h"

#define ID 7u

static struct verbs_dev dev;
static struct verbs_cq cq;
static struct verbs_qp qp;
static struct verbs_wr wrs[4];
static struct verbs_qp *table[16];
static struct ibv_context context;
static struct ibv_cq ibv;
static struct ibv_comp_channel channel;
static struct fabric_waker waker;
static uint32_t nrequested, narrived, nacked;

/* These functions replace those of libibverbs (by the linker option --wrap). */
int __wrap_ibv_get_cq_event(struct ibv_comp_channel *from, struct ibv_cq **of, void **cq_context);
void __wrap_ibv_ack_cq_events(struct ibv_cq *of, unsigned int nevents);

int __wrap_ibv_get_cq_event(struct ibv_comp_channel *from, struct ibv_cq **of, void **cq_context)
{
	uint64_t n;

	(void)cq_context;
	assert_ptr_equal(from, &channel);
	*of = &ibv;
	return read(channel.fd, &n, sizeof(n)) == (ssize_t)sizeof(n) ? 0 : -1;
}

void __wrap_ibv_ack_cq_events(struct ibv_cq *of, unsigned int nevents)
{
	assert_ptr_equal(of, &ibv);
	nacked += nevents;
}

static int req_notify(struct ibv_cq *of, int solicited)
{
	assert_ptr_equal(of, &ibv);
	assert_int_equal(solicited, 0);
	nrequested++;
	return 0;
}

static int poll_cq(struct ibv_cq *of, int max, struct ibv_wc *wcs)
{
	assert_ptr_equal(of, &ibv);
	assert_true(max >= 1);
	if (narrived == 0)
		return 0;
	narrived--;
	wcs[0] = (struct ibv_wc){.wr_id = (uint64_t)ID << 32 | VERBS_WR_RECV | qp.rq.retired,
				 .status = IBV_WC_SUCCESS,
				 .opcode = IBV_WC_RECV,
				 .byte_len = 40};
	return 1;
}

static int setup(void **state)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};

	(void)state;
	memset(&dev, 0, sizeof(dev));
	memset(&cq, 0, sizeof(cq));
	memset(&qp, 0, sizeof(qp));
	nrequested = narrived = nacked = 0;
	context.ops.req_notify_cq = req_notify;
	context.ops.poll_cq = poll_cq;
	ibv.context = &context;
	cq.ibv = &ibv;
	TAILQ_INIT(&dev.cqs);
	TAILQ_INIT(&dev.broken);
	TAILQ_INIT(&dev.leaving);
	TAILQ_INSERT_TAIL(&dev.cqs, &cq, entry);
	dev.table = table;
	dev.table_mask = 15;
	table[ID] = &qp;
	qp.id = ID;
	qp.dev = &dev;
	qp.rq.wrs = wrs;
	qp.rq.mask = 3;
	qp.rq.posted = 3;
	for (uint32_t i = 0; i < 4; i++)
		wrs[i] = (struct verbs_wr){.wr_id = 100 + i, .op = FABRIC_RECV};
	channel.fd = eventfd(0, EFD_NONBLOCK);
	dev.channel = &channel;
	waker.epoll_fd = epoll_create1(0);
	waker.event_fd = eventfd(0, EFD_NONBLOCK);
	assert_int_equal(epoll_ctl(waker.epoll_fd, EPOLL_CTL_ADD, waker.event_fd, &event), 0);
	assert_int_equal(verbs_wake_attach(&dev.fabric, &waker), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(channel.fd);
	close(waker.epoll_fd);
	close(waker.event_fd);
	return 0;
}

static bool is_woken(void)
{
	struct pollfd pfd = {.fd = waker.epoll_fd, .events = POLLIN};

	return poll(&pfd, 1, 0) == 1;
}

static void arm__requests_a_report_and_looks_once_more(void **state)
{
	uint64_t timeout_ns = UINT64_MAX;
	struct fabric_wc wcs[4];

	(void)state;
	narrived = 2;
	assert_int_equal(verbs_arm(&dev.fabric, &timeout_ns), -EAGAIN);
	assert_int_equal(nrequested, 1);
	assert_int_equal(verbs_arm(&dev.fabric, &timeout_ns), -EAGAIN);
	verbs_disarm(&dev.fabric);
	/* The completion that arm found is not lost, and is before the other one. */
	assert_int_equal(narrived, 1);
	assert_int_equal(verbs_poll(&dev.fabric, wcs, 4), 1);
	assert_int_equal(wcs[0].wr_id, 100);
	assert_int_equal(wcs[0].byte_len, 40);
	assert_int_equal(verbs_poll(&dev.fabric, wcs, 4), 1);
	assert_int_equal(wcs[0].wr_id, 101);
	assert_int_equal(verbs_arm(&dev.fabric, &timeout_ns), 0);
	assert_int_equal(timeout_ns, UINT64_MAX);
}

static void sleep__ends_for_a_completion(void **state)
{
	uint64_t timeout_ns = UINT64_MAX, one = 1;

	(void)state;
	assert_int_equal(verbs_arm(&dev.fabric, &timeout_ns), 0);
	assert_false(is_woken());
	assert_int_equal(write(channel.fd, &one, sizeof(one)), sizeof(one));
	assert_true(is_woken());
	verbs_disarm(&dev.fabric);
	assert_int_equal(nacked, 1);
	assert_false(is_woken());
}

static void sleep__ends_for_an_event(void **state)
{
	uint64_t timeout_ns = UINT64_MAX;

	(void)state;
	atomic_store(&waker.is_armed, true);
	assert_int_equal(verbs_arm(&dev.fabric, &timeout_ns), 0);
	atomic_fetch_add(&dev.nevents, 1);
	verbs_wake(&dev);
	verbs_wake(&dev);
	assert_true(is_woken());
	verbs_disarm(&dev.fabric);
	assert_int_equal(verbs_arm(&dev.fabric, &timeout_ns), -EAGAIN);
}

static void sleep__is_not_begun_while_requests_can_be_flushed(void **state)
{
	uint64_t timeout_ns = UINT64_MAX;
	struct fabric_wc wcs[4];

	(void)state;
	TAILQ_INSERT_TAIL(&dev.broken, &qp, broken);
	assert_int_equal(verbs_arm(&dev.fabric, &timeout_ns), -EAGAIN);
	assert_int_equal(verbs_poll(&dev.fabric, wcs, 4), 3);
	assert_int_equal(verbs_arm(&dev.fabric, &timeout_ns), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(arm__requests_a_report_and_looks_once_more, setup,
						teardown),
		cmocka_unit_test_setup_teardown(sleep__ends_for_a_completion, setup, teardown),
		cmocka_unit_test_setup_teardown(sleep__ends_for_an_event, setup, teardown),
		cmocka_unit_test_setup_teardown(sleep__is_not_begun_while_requests_can_be_flushed,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
