/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RAW_CLIENT_H
#define RAW_CLIENT_H

/*
 * The fixture of tests of a responder: the responder under test, and a raw requester that sends the
 * messages that the test composes, in version 1. Each test program includes this file once.
 */

#include "pair_main.h"

#include <string.h>

#include "raw.h"

static struct pair pair;
static struct raw raw;

static inline int setup(void **state)
{
	(void)state;
	pair_start(&pair, NULL);
	raw_open(&raw, &pair);
	raw_connect(&raw);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	raw_end(&raw);
	return 0;
}

/* Adds the fixed words of a transport header: XID, version, credits and procedure. */
static inline void put_fixed(struct words *m, uint32_t xid, uint32_t vers, uint32_t credit,
			     uint32_t proc)
{
	words_put(m, 4, xid, vers, credit, proc);
}

static inline void put_segment(struct words *m, uint32_t handle, uint32_t len, uint64_t offset)
{
	words_put(m, 4, handle, len, (uint32_t)(offset >> 32), (uint32_t)offset);
}

/* Makes a Short NULL call. */
static inline struct words null_call(uint32_t xid, uint32_t credit)
{
	struct words m = {0};

	put_fixed(&m, xid, 1, credit, 0);
	words_put(&m, 3, 0, 0, 0);
	words_put_rpc(&m, xid, PAIR_NULL);
	return m;
}

/*
 * Checks that the responder still answers. If an earlier message ended the connection, or if its
 * receive was not posted again, the test fails.
 */
static inline void expect_alive(void)
{
	struct words m = null_call(0xa11fe, 4), r = {0};

	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[0], 0xa11fe);
	assert_int_equal(r.w[3], 0);
	assert_int_equal(r.w[7], 0xa11fe);
	assert_int_equal(r.w[8], 1);
	assert_int_equal(raw.disconnected, 0);
	assert_int_equal(raw.nmsgs, 0);
}

static inline void expect_err_chunk(uint32_t xid, uint32_t vers)
{
	struct words r = {0};

	raw_recv_words(&raw, &r);
	assert_int_equal(r.n, 5);
	assert_int_equal(r.w[0], xid);
	assert_int_equal(r.w[1], vers);
	assert_true(r.w[2] >= 1);
	assert_int_equal(r.w[3], 4);
	assert_int_equal(r.w[4], 2);
	expect_alive();
}

#endif
