/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the driver contract: messages that are delivered by upcall, at side b. A driver chooses
 * which messages it delivers. Its harness says whether it delivers any. All other messages are
 * reported by completions.
 */
#include "conformance_support.h"

#include <string.h>

#define RECVS 4u
/*
 * Bytes of a receive. It holds the longest message with space left, because a driver may deliver
 * only messages that it can store in a receive in units of whole cells.
 */
#define ROOM 512u
#define LEN  200u /* bytes of the longest message */
#define MANY 40u

struct viewer {
	struct fabric_receiver receiver; /* context of the queue pair at b */
	struct conf *c;
	struct fabric_srq *srq;
	struct fabric_qp *qp[2]; /* the queue pairs at a and at b */
	uint32_t nseen;		 /* number of messages that arrived, by upcall or by completion */
	uint32_t ndelivered;
	uint32_t held; /* bit i: the viewer holds receive i, which is not posted */
	bool keeps;    /* the upcall keeps the receive of a delivered message */
	/* the upcall posts a Send, and posts the receives that the viewer holds */
	bool answers;
	uint32_t flags; /* flags of the Send that the upcall posts */
	/* the upcall registers memory, listens and connects, and then undoes all of this */
	bool builds;
	bool ends;	  /* the upcall ends the connection */
	uint32_t in_show; /* number of upcalls that are running, which must not exceed 1 */
};

static void post(const struct viewer *viewer, uint64_t wr_id)
{
	const struct conf *c = viewer->c;
	const struct fabric_recv_wr wr = {wr_id, c->b.mem + wr_id * ROOM, ROOM, c->b.mr.lkey};

	assert_int_equal(c->ops->srq_post_recv(viewer->srq, &wr, 1), 1);
}

static void post_held(struct viewer *viewer)
{
	for (uint32_t i = 0; i < RECVS; i++)
		if (viewer->held >> i & 1)
			post(viewer, i);
	viewer->held = 0;
}

/* Checks a message that arrived. The number of a message determines its length and its bytes. */
static void look(struct viewer *viewer, uint64_t wr_id, uint32_t len)
{
	assert_in_range(wr_id, 0, RECVS - 1);
	assert_false(viewer->held >> wr_id & 1);
	assert_int_equal(len, 1 + viewer->nseen % LEN);
	assert_true(conf_filled(viewer->c->b.mem + wr_id * ROOM, len, viewer->nseen));
	viewer->nseen++;
}

static void build(struct conf *c)
{
	struct fabric_listener *listener;
	struct fabric_qp *qp;
	struct fabric_mr mr;

	assert_int_equal(c->ops->mr_register(c->b.dev, c->b.mem, MEM_BYTES, FABRIC_LOCAL_WRITE,
					     c->b.fd, GUARD_BYTES, &mr),
			 0);
	c->ops->mr_deregister(c->b.dev, &mr);
	if (c->listener) {
		c->ops->unlisten(c->listener);
		c->listener = NULL;
	}
	assert_int_equal(c->ops->listen(c->b.dev, c->harness->addr, 16, &listener, &listener), 0);
	if (c->ops->connect(c->b.dev, c->harness->addr, &c->attr, NULL, 0, &qp) == 0)
		c->ops->qp_destroy(qp);
	c->ops->unlisten(listener);
}

static bool show(struct fabric_receiver *receiver, uint64_t wr_id, uint32_t len)
{
	struct viewer *viewer = (struct viewer *)receiver;
	struct conf *c = viewer->c;

	assert_int_equal(viewer->in_show++, 0);
	look(viewer, wr_id, len);
	viewer->ndelivered++;
	if (viewer->answers) {
		post_held(viewer);
		conf_send(c, viewer->qp[1], viewer->nseen, viewer->flags,
			  conf_sge(&c->b, RECVS * ROOM, 8));
	}
	if (viewer->builds)
		build(c);
	/* The message is unchanged, whatever the upcall posted. */
	assert_true(conf_filled(c->b.mem + wr_id * ROOM, len, viewer->nseen - 1));
	if (viewer->ends)
		c->ops->disconnect(viewer->qp[1]);
	viewer->in_show--;
	if (!viewer->keeps)
		return true;
	viewer->held |= 1u << wr_id;
	return false;
}

static void connect_viewer(struct viewer *viewer)
{
	struct conf *c = viewer->c;
	struct fabric_cm_event event;

	viewer->qp[0] = conf_connect(c, &c->a);
	event = conf_event(c, &c->b, FABRIC_CM_REQUEST);
	c->attr.srq = viewer->srq;
	viewer->qp[1] = conf_accept(c, &c->b, event.req, viewer);
	c->attr.srq = NULL;
	conf_event(c, &c->a, FABRIC_CM_ESTABLISHED);
	conf_event(c, &c->b, FABRIC_CM_ESTABLISHED);
}

static struct viewer *viewer_open(struct conf *c, struct viewer *viewer)
{
	const struct fabric_srq_attr attr = {.max_wr = RECVS, .ctx = viewer};

	*viewer = (struct viewer){.receiver = {show}, .c = c};
	c->b.dev->may_deliver = true;
	assert_int_equal(c->ops->srq_create(c->b.dev, &attr, &viewer->srq), 0);
	conf_listen(c);
	connect_viewer(viewer);
	for (uint32_t i = 0; i < RECVS; i++)
		post(viewer, i);
	return viewer;
}

static void viewer_close(struct viewer *viewer)
{
	assert_int_equal(viewer->c->b.dev->ndelivered, viewer->ndelivered);
	for (uint32_t i = 0; i < CONF_QPS_MAX; i++)
		conf_destroy(viewer->c, viewer->c->qps[i]);
	viewer->c->ops->srq_destroy(viewer->srq);
}

/*
 * Checks how many of the latest 'n' messages were delivered by upcall. 'before' is the value of
 * viewer->ndelivered before these messages.
 */
static void assert_shown(const struct viewer *viewer, uint32_t before, uint32_t n)
{
	if (viewer->c->harness->shows)
		assert_in_range(viewer->ndelivered - before, n / 2, n);
	else
		assert_int_equal(viewer->ndelivered, 0);
}

/* Sends message 'number' on the first connection. Each message has its own part of a's memory. */
static void send_number(const struct viewer *viewer, uint32_t number, uint32_t flags)
{
	struct conf *c = viewer->c;
	uint32_t at = (1 + number) * ROOM, len = 1 + number % LEN;

	conf_fill(c->a.mem + at, len, number);
	conf_send(c, viewer->qp[0], number, flags, conf_sge(&c->a, at, len));
}

/* Checks the messages that completed at b since the last call, and that nothing else completed. */
static void take_completed(struct viewer *viewer)
{
	struct conf *c = viewer->c;

	for (uint32_t i = 0; i < c->b.nwcs; i++) {
		const struct fabric_wc *wc = &c->b.wcs[i];

		assert_ptr_equal(wc->qp_ctx, viewer);
		assert_int_equal(wc->op, FABRIC_RECV);
		assert_int_equal(wc->status, FABRIC_OK);
		look(viewer, wc->wr_id, wc->byte_len);
		viewer->held |= 1u << wc->wr_id;
	}
	c->b.nwcs = 0;
}

/*
 * Sends 'n' messages, one after the other. If 'each' is set, receives that the viewer holds are
 * posted again after each message. Otherwise they are posted when no receive is left.
 */
static void exchange(struct viewer *viewer, uint32_t first, uint32_t n, bool each)
{
	struct conf *c = viewer->c;

	for (uint32_t i = first; i < first + n; i++) {
		send_number(viewer, i, SIGNAL);
		conf_expect(c, &c->a, i, FABRIC_SEND, FABRIC_OK);
		c->idle = 0;
		do {
			take_completed(viewer);
		} while (viewer->nseen <= i && conf_round(c, false));
		take_completed(viewer);
		assert_int_equal(viewer->nseen, i + 1);
		if (each || viewer->held == (1u << RECVS) - 1)
			post_held(viewer);
	}
}

static void deliver__done_with_takes_no_receive(void **state)
{
	struct viewer viewer;

	exchange(viewer_open(*state, &viewer), 0, MANY, true);
	assert_shown(&viewer, 0, MANY);
	viewer_close(&viewer);
}

/*
 * Checks upcalls that keep the receive. As with a completion, no other message gets that receive
 * until it is posted again.
 */
static void deliver__not_done_with_takes_the_receive(void **state)
{
	struct viewer viewer;

	viewer_open(*state, &viewer);
	viewer.keeps = true;
	exchange(&viewer, 0, MANY, false);
	exchange(&viewer, MANY, MANY, true);
	assert_shown(&viewer, 0, 2 * MANY);
	viewer_close(&viewer);
}

/*
 * Checks upcalls that sometimes keep the receive, so that receives are posted again in any order.
 */
static void deliver__done_with_or_not(void **state)
{
	struct viewer viewer;

	viewer_open(*state, &viewer);
	for (uint32_t i = 0; i < MANY; i++) {
		viewer.keeps = i * 7 % 5 < 2;
		exchange(&viewer, i, 1, i % 3 == 0);
	}
	viewer_close(&viewer);
}

/*
 * Checks messages of a second connection, before and after it changes to another ring (over shm, a
 * mux).
 */
static void deliver__of_another_connection(void **state)
{
	struct viewer viewer;
	uint32_t before;

	viewer_open(*state, &viewer);
	exchange(&viewer, 0, 3, true);
	connect_viewer(&viewer);
	before = viewer.ndelivered;
	for (uint32_t i = 3; i < 3 + MANY; i++) {
		viewer.keeps = i * 7 % 5 < 2;
		exchange(&viewer, i, 1, i % 3 == 0);
	}
	assert_shown(&viewer, before, MANY);
	viewer_close(&viewer);
}

static void deliver__may_post(void **state)
{
	struct conf *c = *state;
	struct viewer viewer;

	viewer_open(c, &viewer);
	for (uint32_t i = 0; i < 60; i++)
		conf_recv(c, viewer.qp[0], &c->a, 1000 + i, 2 * LEN, 8);
	viewer.answers = true;
	for (uint32_t i = 0; i < MANY; i++) {
		viewer.keeps = i % 4 < 2;
		send_number(&viewer, i, 0);
		conf_settle(c);
		take_completed(&viewer);
		assert_int_equal(viewer.nseen, i + 1);
		/* the completions of the Sends that the upcalls posted */
		assert_int_equal(c->a.nwcs, viewer.ndelivered);
		if (viewer.held == (1u << RECVS) - 1)
			post_held(&viewer);
	}
	viewer_close(&viewer);
}

static void deliver__may_make_other_things(void **state)
{
	struct viewer viewer;

	viewer_open(*state, &viewer);
	viewer.builds = true;
	for (uint32_t i = 0; i < MANY; i++) {
		viewer.keeps = i % 3 == 0;
		exchange(&viewer, i, 1, i % 5 == 0);
	}
	viewer_close(&viewer);
}

static void deliver__may_end_the_connection(void **state)
{
	struct conf *c = *state;
	struct viewer viewer;

	viewer_open(c, &viewer);
	exchange(&viewer, 0, 3, true);
	viewer.ends = true;
	for (uint32_t i = 3; i < 3 + RECVS; i++)
		send_number(&viewer, i, 0);
	/* Messages that arrived before the end of the connection can still be delivered. */
	while (conf_round(c, true))
		take_completed(&viewer);
	assert_in_range(viewer.nseen, 3, 3 + RECVS);
	c->a.nwcs = 0;
	viewer_close(&viewer);
}

/* Checks that a poll counts delivered messages towards its limit of completions. */
static void deliver__counts_as_a_completion(void **state)
{
	struct conf *c = *state;
	struct viewer viewer;
	uint32_t before = 0;

	viewer_open(c, &viewer);
	for (uint32_t i = 0; i < RECVS; i++)
		send_number(&viewer, i, 0);
	conf_look_away(c);
	for (uint32_t polls = 0; viewer.nseen < RECVS && polls < 10000; polls++) {
		c->b.nwcs = c->ops->poll(c->b.dev, c->b.wcs, 1);
		take_completed(&viewer);
		assert_in_range(viewer.nseen - before, 0, 1);
		before = viewer.nseen;
		c->harness->progress(c->harness, polls, true);
	}
	assert_int_equal(viewer.nseen, RECVS);
	viewer_close(&viewer);
}

/*
 * Checks that a message is not delivered before the completion of a Send that was posted during an
 * earlier upcall, if the message can be an answer to that Send.
 */
static void deliver__is_behind_what_it_has_completed(void **state)
{
	struct conf *c = *state;
	struct viewer viewer;

	if (!(c->harness->shortfalls & DRIVER_SENDS_UNANSWERED))
		skip();
	viewer_open(c, &viewer);
	viewer.answers = true;
	viewer.flags = SIGNAL;
	for (uint32_t i = 0; i < MANY / 2; i++) {
		conf_recv(c, viewer.qp[0], &c->a, 7, 0, 8);
		conf_recv(c, viewer.qp[0], &c->a, 7, 0, 8);
		send_number(&viewer, 2 * i, 0);
		send_number(&viewer, 2 * i + 1, 0);
		conf_look_away(c);
		c->b.nwcs = c->ops->poll(c->b.dev, c->b.wcs, SIDE_WCS);
		/*
		 * At most the first message is delivered, because the completion of the Send in its
		 * upcall must precede the second message.
		 */
		assert_in_range(viewer.nseen, 2 * i, 2 * i + 1);
		conf_settle(c);
		for (uint32_t k = 0; k < c->b.nwcs; k++) {
			if (c->b.wcs[k].op != FABRIC_SEND)
				continue;
			memmove(&c->b.wcs[k], &c->b.wcs[k + 1],
				(c->b.nwcs - k - 1) * sizeof(c->b.wcs[0]));
			c->b.nwcs--;
			k--;
		}
		take_completed(&viewer);
		assert_int_equal(viewer.nseen, 2 * i + 2);
		c->a.nwcs = 0;
		post_held(&viewer);
	}
	if (c->harness->shows)
		assert_true(viewer.ndelivered > 0);
	viewer_close(&viewer);
}

/*
 * Checks that a message which answers a Send is not delivered before the Send has completed, if
 * both are ready in one poll. The test is for drivers whose Sends complete at once.
 */
static void deliver__is_behind_completions(void **state)
{
	struct conf *c = *state;
	struct viewer viewer;

	if (!(c->harness->shortfalls & DRIVER_SENDS_UNANSWERED))
		skip();
	viewer_open(c, &viewer);
	for (uint32_t i = 0; i < MANY; i++) {
		uint32_t before = viewer.nseen;

		conf_recv(c, viewer.qp[0], &c->a, 7, 0, 8);
		conf_send(c, viewer.qp[1], 100 + i, SIGNAL, conf_sge(&c->b, RECVS * ROOM, 8));
		/* In this loop only a is polled. */
		for (uint32_t idle = 0; c->a.nwcs == 0; idle++) {
			c->a.nwcs = c->ops->poll(c->a.dev, c->a.wcs, 1);
			if (c->a.nwcs == 0)
				assert_true(c->harness->progress(c->harness, idle, false));
		}
		assert_int_equal(c->a.wcs[0].wr_id, 7);
		c->a.nwcs = 0;
		conf_look_away(c);
		send_number(&viewer, i, 0);
		conf_look_away(c);
		c->b.nwcs = c->ops->poll(c->b.dev, c->b.wcs, SIDE_WCS);
		assert_int_equal(viewer.nseen, before);
		conf_expect(c, &c->b, 100 + i, FABRIC_SEND, FABRIC_OK);
		while (viewer.nseen == before && conf_round(c, false))
			take_completed(&viewer);
		take_completed(&viewer);
		assert_int_equal(viewer.nseen, before + 1);
		conf_settle(c);
		c->a.nwcs = 0;
		post_held(&viewer);
	}
	viewer_close(&viewer);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(deliver__done_with_takes_no_receive),
	cmocka_unit_test(deliver__not_done_with_takes_the_receive),
	cmocka_unit_test(deliver__done_with_or_not),
	cmocka_unit_test(deliver__of_another_connection),
	cmocka_unit_test(deliver__may_post),
	cmocka_unit_test(deliver__may_make_other_things),
	cmocka_unit_test(deliver__may_end_the_connection),
	cmocka_unit_test(deliver__counts_as_a_completion),
	cmocka_unit_test(deliver__is_behind_completions),
	cmocka_unit_test(deliver__is_behind_what_it_has_completed),
};

const struct conformance_tests conformance_deliver = {tests, sizeof(tests) / sizeof(tests[0])};
