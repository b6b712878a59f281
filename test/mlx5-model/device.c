/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks for doorbells, and executes what the send queues have. */
#include "device.h"

#include <endian.h>
#include <pthread.h>
#include <sched.h>

#include "cm_peer.h"
#include "faults.h"
#include "late.h"
#include "libc.h"
#include "model.h"
#include "remote.h"
#include "send.h"
#include "uar.h"

#define SPINS_MAX  20u	/* passes without work before the thread sleeps */
#define SHORT_US   50u	/* sleep between two passes after recent work */
#define LONG_US	   500u /* and later */
#define LONG_AFTER 200u

static uint64_t passes_with_work;

/* Checks the doorbell record of a queue pair against the doorbell of its entry at block 'index'. */
static void check_record(const struct qp *qp, uint16_t index)
{
	uint16_t posted = qp_sends_posted(qp);

	/* In the largest rings, the difference has no sign. */
	if (qp->sq_blocks <= 16384 && (int16_t)(posted - index) <= 0)
		model_violation("queue pair %#x has a doorbell of block %u, and its record ends at "
				"block %u",
				qp->object.handle, index, posted);
	if ((uint16_t)(posted - qp->sq_head) > qp->sq_blocks)
		model_violation("queue pair %#x has %u blocks in a send queue of %u",
				qp->object.handle, (uint16_t)(posted - qp->sq_head), qp->sq_blocks);
}

/*
 * Handles a doorbell. Queue pairs can share a register, and a second doorbell can replace the first
 * one before the model looks, which the real device does not lose. Therefore the function looks at
 * all queue pairs of the page.
 */
static void on_send_doorbell(uint32_t page, uint64_t value)
{
	uint64_t ctrl = be64toh(value); /* the first two words of a control segment */
	uint32_t qpn = (uint32_t)ctrl >> 8;
	struct qp *qp = object_find(qpn, OBJECT_QP);

	if (qp && qp->page == page)
		check_record(qp, (uint16_t)(ctrl >> 40));
	else if (qp)
		model_violation("a doorbell of queue pair %#x is in page %u instead of %u", qpn,
				page, qp->page);
	TAILQ_FOREACH(qp, &qp_list, entry)
	if (qp->page == page)
		qp->sq_limit = qp_sends_posted(qp);
}

static bool run_qp(struct qp *qp)
{
	bool any;

	if (qp->state == IBV_QPS_ERR)
		return qp_flush(qp);
	any = remote_offer_receive(qp);
	while (qp->state == IBV_QPS_RTS && qp->sq_blocks && qp->sq_head != qp->sq_limit) {
		enum result result = send_execute_next(qp);

		if (result == RESULT_WAIT || result == RESULT_SENT)
			break;
		any = true;
	}
	return any;
}

static void on_message(struct link *link, const struct link_message *message, const uint8_t *data)
{
	switch (message->kind) {
	case LINK_CM:
		cm_peer_on_message(link, message, data);
		break;
	case LINK_AGAIN:
		remote_on_again(link);
		break;
	case LINK_REQUEST:
		remote_on_request(link, message, data);
		break;
	default:
		remote_on_answer(link, message, data);
		break;
	}
}

/* Makes one pass over the doorbells, the links and all queue pairs. Returns whether anything
 * happened. */
static bool run_device(void)
{
	static const struct uar_handlers uar_handlers = {on_send_doorbell, cq_arm};
	static const struct link_handlers link_handlers = {on_message, cm_peer_on_loss};
	bool any = uar_take_doorbells(&uar_handlers);
	struct qp *qp;

	any |= link_run_all(&link_handlers);

	TAILQ_FOREACH(qp, &qp_list, entry)
	any |= run_qp(qp);
	passes_with_work += any;
	return any;
}

void device_catch_up(void)
{
	while (run_device())
		;
}

/* Returns whether a send waits for a receive for a limited time, or a work request for the answer
 * of another process. */
static bool has_timer(void)
{
	const struct qp *qp;

	TAILQ_FOREACH(qp, &qp_list, entry)
	if (qp->state == IBV_QPS_RTS &&
	    ((qp->rnr_since_ns && qp->rnr_retry != 7) || qp->remote.state == REMOTE_SENT))
		return true;
	return false;
}

/* Lets one late effect happen. Returns whether there was any. */
static bool finish_one_late(void)
{
	struct qp *qp;

	if (cq_write_one_held())
		return true;
	TAILQ_FOREACH(qp, &qp_list, entry)
	if (late_finish_one(qp))
		return true;
	return false;
}

EXPORTED void mlx5_model_set_faults(const struct mlx5_model_faults *wanted)
{
	static const struct mlx5_model_faults none;

	model_lock();
	faults = wanted ? *wanted : none;
	while (!wanted && finish_one_late())
		;
	model_unlock();
}

EXPORTED bool mlx5_model_is_idle(void)
{
	static uint64_t seen_passes, seen_events;
	static bool was_quiet;
	bool is_quiet, is_idle;

	model_lock();
	device_catch_up();
	is_quiet = file_all_handled() && !has_timer();
	is_idle = is_quiet && was_quiet && seen_passes == passes_with_work &&
		  seen_events == file_events();
	if (is_idle && finish_one_late())
		is_idle = is_quiet = false;
	was_quiet = is_quiet;
	seen_passes = passes_with_work;
	seen_events = file_events();
	model_unlock();
	return is_idle;
}

static void *run_thread(void *arg)
{
	uint32_t idle = 0;

	(void)arg;
	for (;;) {
		bool any;

		model_lock();
		any = run_device();
		model_unlock();
		idle = any ? 0 : idle + 1;
		if (idle < SPINS_MAX)
			sched_yield();
		else
			link_wait(idle < LONG_AFTER ? SHORT_US : LONG_US);
	}
	return NULL;
}

int device_start(void)
{
	static bool is_running;
	pthread_t thread;
	int rc = 0;

	model_lock();
	if (!is_running) {
		rc = -uar_init();
		if (rc == 0)
			rc = pthread_create(&thread, NULL, run_thread, NULL);
		is_running = rc == 0;
		if (is_running)
			pthread_detach(thread);
	}
	model_unlock();
	return -rc;
}
