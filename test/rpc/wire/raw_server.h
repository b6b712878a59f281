/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RAW_SERVER_H
#define RAW_SERVER_H

/*
 * The fixture of tests of a requester: the requester under test, and a raw responder that sends the
 * messages that the test composes. Each test program includes this file once.
 */

#include "pair_main.h"

#include <string.h>

#include "raw.h"

static struct pair pair;
static struct raw raw;
static struct outcome outcome;

static inline int setup(void **state)
{
	(void)state;
	pair_start(&pair, NULL);
	raw_open(&raw, &pair);
	raw_serve(&raw);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	raw_end(&raw);
	return 0;
}

static inline struct weir_call *begin(uint32_t proc)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(&outcome, &pair);
	params = pair_params(proc, &outcome);
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	return call;
}

/* Begins a NULL call, and stores the message that arrived at the raw responder in 'call'. */
static inline void start_null(struct words *call)
{
	memset(call, 0, sizeof(*call));
	assert_int_equal(weir_call_submit(begin(PAIR_NULL)), 0);
	raw_recv_words(&raw, call);
}

static inline struct words reply_to(const struct words *call, uint32_t credit)
{
	struct words m = {0};

	words_put(&m, 7, call->w[0], 1, credit, 0, 0, 0, 0);
	words_put(&m, 6, call->w[0], 1, 0, 0, 0, 0);
	return m;
}

static inline void expect_still_waiting(void)
{
	raw_settle(&raw);
	assert_int_equal(outcome.done, 0);
	assert_int_equal(raw.disconnected, 0);
}

static inline void finish(const struct words *call)
{
	struct words m = reply_to(call, 4);

	raw_send_words(&raw, &m);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(outcome.done, 1);
}

static inline void start_read(struct words *m, uint32_t count)
{
	struct weir_call *call = begin(PAIR_READ);

	weir_xdr_put_u32(weir_call_args(call), count);
	assert_int_equal(weir_call_result_item(call, pair.client_region, pair.client_mem, count),
			 0);
	assert_int_equal(weir_call_submit(call), 0);
	memset(m, 0, sizeof(*m));
	raw_recv_words(&raw, m);
	assert_int_equal(m->w[5], 1); /* a Write list of one chunk */
	assert_int_equal(m->w[6], 1); /* of one segment */
	assert_int_equal(m->w[8], count);
}

/*
 * Makes the reply to a READ. In the Write chunk of the call, the reply states that 'returned' bytes
 * were written. The result says that there are 'count' bytes.
 */
static inline struct words read_reply(const struct words *call, uint32_t returned, uint32_t count)
{
	struct words m = {0};

	words_put(&m, 5, call->w[0], 1, 4, 0, 0);
	words_put(&m, 6, 1, 1, call->w[7], returned, call->w[9], call->w[10]);
	words_put(&m, 2, 0, 0);
	words_put(&m, 7, call->w[0], 1, 0, 0, 0, 0, count);
	return m;
}

#endif
