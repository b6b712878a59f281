/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of completions that no honest peer causes. The tests have no device: a function of their
 * own returns the completions, and others count what would happen to the queue pair.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "verbs.h"

#define QP_ID  5u
#define QP_NUM 77u
#define WR_ID  1234u

static struct verbs_dev dev;
static struct verbs_cq cq;
static struct verbs_srq srq;
static struct verbs_qp qp;
static struct verbs_qp *table[16], *by_num[16];
static struct verbs_wr wrs[4];
static struct ibv_context context;
static struct ibv_cq ibv_cq;
static struct ibv_qp ibv_qp;
static struct ibv_wc next;
static int nnext, nfailed, nbroken;

/* These functions replace those of the driver (by the linker option --wrap). */
void __wrap_verbs_qp_fail(struct verbs_qp *failed);
void __wrap_verbs_link_break(struct verbs_qp *broken);

void __wrap_verbs_qp_fail(struct verbs_qp *failed)
{
	assert_ptr_equal(failed, &qp);
	failed->state = QP_ERROR;
	nfailed++;
}

void __wrap_verbs_link_break(struct verbs_qp *broken)
{
	assert_ptr_equal(broken, &qp);
	nbroken++;
}

static int take_next(struct ibv_cq *from, int max, struct ibv_wc *wc)
{
	assert_ptr_equal(from, &ibv_cq);
	assert_true(max > 0);
	if (nnext == 0)
		return 0;
	nnext--;
	*wc = next;
	return 1;
}

static int setup(void **state)
{
	(void)state;
	memset(&dev, 0, sizeof(dev));
	memset(&cq, 0, sizeof(cq));
	memset(&qp, 0, sizeof(qp));
	nnext = nfailed = nbroken = 0;
	context.ops.poll_cq = take_next;
	ibv_cq.context = &context;
	ibv_qp.qp_num = QP_NUM;
	cq.ibv = &ibv_cq;
	dev.table = table;
	dev.by_num = by_num;
	dev.table_mask = 15;
	TAILQ_INIT(&dev.cqs);
	TAILQ_INIT(&dev.broken);
	TAILQ_INIT(&dev.leaving);
	TAILQ_INSERT_TAIL(&dev.cqs, &cq, entry);
	qp.dev = &dev;
	qp.cq = &cq;
	qp.ibv = &ibv_qp;
	qp.id = QP_ID;
	qp.state = QP_READY;
	qp.rq = (struct verbs_queue){.wrs = wrs, .mask = 3, .max = 4};
	table[QP_ID] = &qp;
	return 0;
}

/* Posts a receive of the queue pair, or a shared one, to which the next completion belongs. */
static void post(bool is_shared)
{
	static bool is_posted[1];
	static uint32_t free_slots[1];
	static uint64_t wr_ids[1];

	next = (struct ibv_wc){.qp_num = QP_NUM, .status = IBV_WC_SUCCESS};
	if (is_shared) {
		srq = (struct verbs_srq){
			.max = 1, .is_posted = is_posted, .free = free_slots, .wr_ids = wr_ids};
		is_posted[0] = true;
		wr_ids[0] = WR_ID;
		dev.srq = &srq;
		qp.srq = &srq;
		verbs_srq_join(&qp);
	} else {
		next.wr_id = verbs_wr_id(&qp, VERBS_WR_RECV, qp.rq.posted);
		verbs_queue_take(&qp.rq, WR_ID, FABRIC_RECV, 0);
	}
}

/* Polls one completion with this opcode, and returns what the user gets. */
static struct fabric_wc poll_one(enum ibv_wc_opcode opcode)
{
	struct fabric_wc wc = {0};

	next.opcode = opcode;
	next.byte_len = 1u << 30;
	nnext = 1;
	assert_int_equal(verbs_poll(&dev.fabric, &wc, 1), 1);
	assert_int_equal(wc.wr_id, WR_ID);
	assert_int_equal(wc.op, FABRIC_RECV);
	return wc;
}

static void poll__a_message_has_its_length(void **state)
{
	struct fabric_wc wc;

	(void)state;
	post(false);
	wc = poll_one(IBV_WC_RECV);
	assert_int_equal(wc.status, FABRIC_OK);
	assert_int_equal(wc.byte_len, 1u << 30);
	assert_int_equal(nfailed + nbroken, 0);
	assert_int_equal(dev.fabric.stats.recvs, 1);
}

/* The peer chooses the length of the WRITE, which can exceed that of the receive. */
static void poll__a_write_with_immediate_is_no_message(void **state)
{
	(void)state;
	for (int is_shared = 0; is_shared <= 1; is_shared++) {
		struct fabric_wc wc;

		setup(NULL);
		post(is_shared);
		wc = poll_one(IBV_WC_RECV_RDMA_WITH_IMM);
		assert_int_equal(wc.status, FABRIC_ERR_FATAL);
		assert_int_equal(wc.byte_len, 0);
		assert_int_equal(nfailed, 1);
		assert_int_equal(nbroken, 1);
		assert_int_equal(dev.fabric.stats.recvs, 0);
		assert_int_equal(dev.fabric.stats.protocol_errors, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(poll__a_message_has_its_length, setup),
		cmocka_unit_test_setup(poll__a_write_with_immediate_is_no_message, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
