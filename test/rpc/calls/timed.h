/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TIMED_H
#define TIMED_H

/* Calls that note when they end, for the tests of the times that an engine measures. */

#include "pair_main.h"

/* A call, and the time at which it ended. */
struct timed {
	struct outcome outcome;
	uint64_t end_ns;
};

static inline void timed_done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	struct timed *timed = arg;

	timed->end_ns = weir_engine_now(timed->outcome.pair->client);
	pair_done(call, result, &timed->outcome);
}

static inline struct weir_call *timed_begin(struct pair *pair, uint32_t proc, struct timed *timed)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(&timed->outcome, pair);
	params = pair_params(proc, &timed->outcome);
	params.done = timed_done;
	params.arg = timed;
	call = weir_call_begin(pair->conn, &params);
	assert_non_null(call);
	return call;
}

/* Makes a call of a procedure whose arguments are nothing, or the number of PAIR_LATER. */
static inline struct weir_call *timed_submit(struct pair *pair, uint32_t proc, struct timed *timed)
{
	struct weir_call *call = timed_begin(pair, proc, timed);

	if (proc == PAIR_LATER)
		weir_xdr_put_u32(weir_call_args(call), 1);
	assert_int_equal(weir_call_submit(call), 0);
	return call;
}

#endif
