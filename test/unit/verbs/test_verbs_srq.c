/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of when a queue pair that used shared receives can be destroyed (ibv_modify_qp,
 * IBV_EVENT_QP_LAST_WQE_REACHED). It must not be destroyed while one of these is true:
 * - The device can still hold receives of the shared queue.
 * - Completions of such receives were not polled.
 *
 * The tests have no device: they create the queue pair, and count the calls that would destroy it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "verbs.h"

static struct verbs_dev dev;
static struct verbs_cq cq;
static struct verbs_srq srq;
static struct verbs_qp *table[16], *by_num[16];
static struct ibv_context context;
static struct ibv_device device = {.name = "none"};
static struct ibv_qp ibv;
static int destroyed;

/* This function replaces that of libibverbs (by the linker option --wrap). */
int __wrap_ibv_destroy_qp(struct ibv_qp *qp);

int __wrap_ibv_destroy_qp(struct ibv_qp *qp)
{
	assert_ptr_equal(qp, &ibv);
	destroyed++;
	return 0;
}

static int setup(void **state)
{
	(void)state;
	memset(&dev, 0, sizeof(dev));
	memset(&cq, 0, sizeof(cq));
	destroyed = 0;
	dev.name = "none";
	dev.table = table;
	dev.by_num = by_num;
	dev.table_mask = 15;
	dev.srq = &srq;
	context.device = &device;
	ibv.context = &context;
	ibv.qp_num = 77;
	ibv.events_completed = 0;
	pthread_mutex_init(&ibv.mutex, NULL);
	pthread_cond_init(&ibv.cond, NULL);
	TAILQ_INIT(&dev.broken);
	TAILQ_INIT(&dev.leaving);
	return 0;
}

/* Creates a queue pair that its user has destroyed, which is therefore in the error state. */
static struct verbs_qp *make_leaving(bool was_connected)
{
	struct verbs_qp *qp = calloc(1, sizeof(*qp));

	assert_non_null(qp);
	TAILQ_INIT(&qp->windows);
	qp->dev = &dev;
	qp->cq = &cq;
	qp->srq = &srq;
	qp->ibv = &ibv;
	qp->id = 5;
	qp->state = QP_ERROR;
	TAILQ_INSERT_TAIL(&dev.broken, qp, broken);
	atomic_store(&qp->may_take, was_connected);
	verbs_srq_join(qp);
	verbs_srq_leave(qp);
	return qp;
}

/*
 * Acts as a poll of the completion queue, which found it empty if 'is_empty' is set, and carries
 * out the steps that follow a poll.
 */
static void poll_cq(bool is_empty)
{
	cq.is_empty = is_empty;
	verbs_srq_reap(&dev, false);
}

static void tell_last(struct verbs_qp *qp)
{
	struct ibv_async_event event = {.event_type = IBV_EVENT_QP_LAST_WQE_REACHED,
					.element.qp = &ibv};

	ibv.qp_context = qp;
	verbs_async_event(&context, &event);
}

static void reap__not_before_the_device_is_done_with_the_last_receive(void **state)
{
	struct verbs_qp *qp = make_leaving(true);

	(void)state;
	for (int i = 0; i < 100; i++)
		poll_cq(true);
	assert_int_equal(destroyed, 0);
	tell_last(qp);
	assert_int_equal(destroyed, 0);
	/* More completions can have arrived since the queue was last found empty. */
	poll_cq(true);
	assert_int_equal(destroyed, 0);
	poll_cq(false);
	assert_int_equal(destroyed, 0);
	poll_cq(true);
	assert_int_equal(destroyed, 1);
	assert_int_equal(ibv.events_completed, 1);
	assert_true(TAILQ_EMPTY(&dev.leaving));
}

/* Checks a queue pair that was never connected. It has used no receive. */
static void reap__of_one_that_was_never_connected_waits_for_no_word(void **state)
{
	(void)state;
	make_leaving(false);
	poll_cq(true);
	poll_cq(true);
	assert_int_equal(destroyed, 1);
}

static void reap__of_a_dead_device_waits_for_no_word(void **state)
{
	(void)state;
	make_leaving(true);
	atomic_store(&dev.is_dead, true);
	poll_cq(true);
	poll_cq(true);
	assert_int_equal(destroyed, 1);
}

/*
 * Checks a device for which the time limit passes without an event. From then on, the driver knows
 * that the device does not report such events.
 */
static void reap__of_a_silent_device_goes_by_the_completion_queue(void **state)
{
	struct verbs_qp *qp = make_leaving(true);

	(void)state;
	poll_cq(true);
	assert_false(dev.is_silent);
	qp->left_ns -= 3600000000000u;
	poll_cq(true);
	poll_cq(true);
	assert_int_equal(destroyed, 1);
	assert_true(dev.is_silent);
	make_leaving(true);
	poll_cq(false);
	poll_cq(true);
	assert_int_equal(destroyed, 2);
}

static void reap__all_waits_for_nothing(void **state)
{
	(void)state;
	make_leaving(true);
	cq.is_empty = false;
	verbs_srq_reap(&dev, true);
	assert_int_equal(destroyed, 1);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reap__not_before_the_device_is_done_with_the_last_receive),
		TEST(reap__of_one_that_was_never_connected_waits_for_no_word),
		TEST(reap__of_a_dead_device_waits_for_no_word),
		TEST(reap__of_a_silent_device_goes_by_the_completion_queue),
		TEST(reap__all_waits_for_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
