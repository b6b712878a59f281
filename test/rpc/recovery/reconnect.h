/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RECONNECT_H
#define RECONNECT_H

/*
 * Functions that the tests of reconnection share: a pair whose requester reconnects, calls that the
 * server's program holds, and the loss of the connection.
 */

#include "pair_main.h"

#include <errno.h>
#include <string.h>

#include "requester.h"

#define NCALLS 12
#define BYTES  20000u
#define MS     1000000ull

static struct pair pair;
static struct outcome outcomes[NCALLS];

static inline void reconnecting(struct weir_profile *profile)
{
	profile->reconnect = WEIR_RECONNECT_ON;
	profile->reconnect_delay_ms = 2;
	profile->reconnect_delay_max_ms = 8;
	profile->resends = 3;
}

static inline void given_up(struct weir_profile *profile)
{
	reconnecting(profile);
	profile->reconnect_give_up_ms = 400;
}

static inline int setup(void **state)
{
	(void)state;
	pair_start(&pair, reconnecting);
	pair_connect(&pair);
	return 0;
}

static inline int setup_given_up(void **state)
{
	(void)state;
	pair_start(&pair, given_up);
	pair_connect(&pair);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

static inline struct engine_counters stats(void)
{
	return pair_stats(pair.client);
}

static inline struct weir_call *begin(uint32_t i, uint32_t proc, uint64_t timeout_ns)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(&outcomes[i], &pair);
	params = pair_params(proc, &outcomes[i]);
	params.timeout_ns = timeout_ns;
	params.results_max_bytes = proc == PAIR_BIG ? BYTES + 8 : 64;
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	return call;
}

static inline void start_later(uint32_t i, uint64_t timeout_ns)
{
	struct weir_call *call = begin(i, PAIR_LATER, timeout_ns);

	weir_xdr_put_u32(weir_call_args(call), i);
	assert_int_equal(weir_call_submit(call), 0);
}

/* Makes a call. Its reply grants credits for several calls in flight. */
static inline void warm_up(void)
{
	struct outcome outcome;

	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	assert_int_equal(outcome.status, 0);
}

static inline void until_later(uint32_t n)
{
	for (uint32_t i = 0; pair.nlater < n && pair_wait(&pair, i); i++)
		pair_poll(&pair);
	assert_int_equal(pair.nlater, n);
}

/* Destroys the responder's engine, and then frees the requests that its program holds. */
static inline void stop_server(void)
{
	if (pair.server_conn)
		/* messages that the requester has not yet received are lost as well */
		weir_conn_close(pair.server_conn);
	pair_server_stop(&pair);
	for (uint32_t i = 0; i < pair.nlater; i++)
		weir_request_reply_error(pair.later[i], WEIR_RPC_SYSTEM_ERR);
	pair.nlater = 0;
}

/* Ends the connection at the responder, and waits until the requester gets the event LOST. */
static inline void lose(void)
{
	int lost = pair.lost;

	assert_non_null(pair.server_conn);
	weir_conn_close(pair.server_conn);
	pair_until(&pair, &pair.lost, lost + 1);
}

static inline void expect_done(uint32_t i, int status)
{
	pair_until(&pair, &outcomes[i].done, 1);
	assert_int_equal(outcomes[i].done, 1);
	assert_int_equal(outcomes[i].status, status);
}

#endif
