/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of a reply to a call whose Send is still in the batch, not yet posted. A peer can send such
 * a reply because XIDs are predictable.
 */
#include "raw_server.h"

#include "call_pool.h"

static struct outcome first, early, many[7];

/* Submits more calls than the batch holds, so that the batch is posted inside this callback. */
static void fill_batch(struct outcome *o, struct weir_call *ended, const struct weir_result *result)
{
	(void)o;
	(void)ended;
	(void)result;
	for (uint32_t i = 0; i < 7; i++) {
		struct weir_call_params params;
		struct weir_call *call;

		outcome_init(&many[i], &pair);
		params = pair_params(PAIR_MULTI, &many[i]);
		params.ulb = NULL;
		call = weir_call_begin(pair.conn, &params);
		assert_non_null(call);
		for (uint32_t j = 0; j < 8; j++) {
			weir_xdr_put_u32(weir_call_args(call), 1);
			assert_int_equal(
				weir_call_arg_item(call, pair.client_region, pair.client_mem, 8),
				0);
		}
		assert_int_equal(weir_call_submit(call), 0);
	}
}

static void call_big(struct outcome *o, struct weir_call *ended, const struct weir_result *result)
{
	struct weir_call_params params;
	struct weir_call *call;

	(void)o;
	(void)ended;
	(void)result;
	outcome_init(&early, &pair);
	early.check = fill_batch;
	params = pair_params(PAIR_BIG, &early);
	params.results_max_bytes = 20008;
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	assert_int_equal(weir_call_submit(call), 0);
}

static void post_reply(uint32_t xid, uint32_t at)
{
	struct words m = {0};
	struct fabric_sge sge = {raw.base + RAW_SEND_AT + at, 13 * 4, raw.mr.lkey};
	const struct fabric_wr wr = {
		.op = FABRIC_SEND, .flags = FABRIC_SIGNALED, .sge = &sge, .nsge = 1};

	words_put(&m, 13, xid, 1, 16, 0, 0, 0, 0, xid, 1, 0, 0, 0, 0);
	memcpy(raw.base + RAW_SEND_AT + at, m.w, m.n * 4);
	assert_int_equal(raw.ops->post_send(raw.qp, &wr, 1), 1);
}

static void reply__before_its_call_has_left(void **state)
{
	struct requester *req = requester_of(pair.conn);
	uint32_t nslots = 0, ncalls = 0;
	struct weir_call_params params;
	struct weir_call *call;
	struct words sent;

	(void)state;
	outcome_init(&first, &pair);
	first.check = call_big;
	params = pair_params(PAIR_NULL, &first);
	call = weir_call_begin(pair.conn, &params);
	assert_int_equal(weir_call_submit(call), 0);
	raw_recv_words(&raw, &sent);
	post_reply(call->xid, 0);
	post_reply(req->slots[req->free_slot].xid + req->slot_mask + 1, 1024);
	raw_settle(&raw);
	/* No slot is in the list of free slots twice. Otherwise the list would have no end. */
	for (uint32_t i = req->free_slot; i != CALL_NO_SLOT && nslots <= req->nslots; nslots++)
		i = req->slots[i].next_free;
	assert_in_range(nslots, 0, req->nslots);
	for (call = req->pool->free; call && ncalls <= req->pool->nused; ncalls++)
		call = call->next_free;
	assert_in_range(ncalls, 0, req->pool->nused);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reply__before_its_call_has_left, setup, teardown),
	};

	return cmocka_run_group_tests_name("wire_early", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
