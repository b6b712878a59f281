/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the log lines about calls that are refused because of their chunks. The error that the
 * requester gets does not say what is wrong, so that the line of the responder must. */
#include "pair_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_log.h>

#include "engine.h"
#include "raw.h"

#define XID   0x00c0ffeeu
#define CALLS 20u

static struct pair pair;
static struct raw raw;
static char *text;
static size_t text_bytes;
static FILE *log_file;

static void low(struct weir_profile *profile)
{
	profile->read_segments = 3;
	profile->write_chunks = 2;
	profile->segments_per_chunk = 2;
	profile->write_bytes = 4096;
}

static int setup(void **state)
{
	(void)state;
	pair_start(&pair, low);
	raw_open(&raw, &pair);
	raw_connect(&raw);
	raw_until(&raw, &pair.server_opened, 1);
	log_file = open_memstream(&text, &text_bytes);
	return log_file ? rte_openlog_stream(log_file) : -1;
}

static int teardown(void **state)
{
	(void)state;
	rte_openlog_stream(NULL);
	fclose(log_file);
	free(text);
	raw_close(&raw);
	pair_stop(&pair);
	return 0;
}

static void put_segment(struct words *m, uint32_t bytes)
{
	words_put(m, 4, raw.mr.rkey, bytes, (uint32_t)(raw.raddr >> 32), (uint32_t)raw.raddr);
}

/* Sends a call of a procedure. It has Read chunks of one segment of 4 bytes, each at its own
 * position, and Write chunks. Expects ERR_CHUNK. */
static void refused(uint32_t proc, uint32_t nreads, uint32_t nwrites, uint32_t nsegs,
		    uint32_t write_bytes)
{
	struct words m = {0}, r = {0};

	words_put(&m, 4, XID, 1, 8, 0);
	for (uint32_t i = 0; i < nreads; i++) {
		words_put(&m, 2, 1, 44 + 4 * i);
		put_segment(&m, 4);
	}
	words_put(&m, 1, 0);
	for (uint32_t i = 0; i < nwrites; i++) {
		words_put(&m, 2, 1, nsegs);
		for (uint32_t j = 0; j < nsegs; j++)
			put_segment(&m, write_bytes);
	}
	words_put(&m, 2, 0, 0);
	words_put(&m, 11, XID, 0, 2, PAIR_PROG, PAIR_VERS, proc, 0, 0, 0, 0, 0);
	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[0], XID);
	assert_int_equal(r.w[4], 2); /* ERR_CHUNK */
	fflush(log_file);
}

static uint32_t lines(void)
{
	uint32_t n = 0;

	for (const char *at = text; (at = strchr(at, '\n')); at++)
		n++;
	return n;
}

static void expect_line(const char *what)
{
	assert_int_equal(lines(), 1);
	assert_non_null(strstr(text, " (XID 0x00c0ffee) was refused: "));
	if (!strstr(text, what))
		fail_msg("no \"%s\" in: %s", what, text);
}

static void limit__read_segments(void **state)
{
	(void)state;
	refused(PAIR_NULL, 4, 0, 0, 0);
	expect_line("exceed the limit read_segments or read_chunks of this side's profile");
}

static void limit__write_chunks(void **state)
{
	(void)state;
	refused(PAIR_NULL, 0, 3, 1, 4);
	expect_line("exceed the limit write_chunks of this side's profile");
}

static void limit__segments_per_chunk(void **state)
{
	(void)state;
	refused(PAIR_NULL, 0, 1, 3, 4);
	expect_line("exceed the limit segments_per_chunk of this side's profile");
}

static void limit__write_bytes(void **state)
{
	(void)state;
	refused(PAIR_NULL, 0, 1, 2, 4096);
	expect_line("exceed the limit read_bytes or write_bytes of this side's profile");
}

static void binding__allows_fewer_items(void **state)
{
	(void)state;
	refused(PAIR_WRITE, 2, 0, 0, 0);
	expect_line("it has 2 DDP-eligible arguments, and ");
	assert_non_null(strstr(text, " allows 1 for procedure 3 of program 536871065"));
}

static void rate__is_limited(void **state)
{
	uint64_t left_out = pair_stats(pair.server).log_lines_left_out;

	(void)state;
	pair.server->refused_calls.window_ns = pair.server->now_ns;
	for (uint32_t i = 0; i < CALLS; i++)
		refused(PAIR_NULL, 0, 3, 1, 4);
	assert_int_equal(lines(), LOG_RATE_LINES);
	assert_int_equal(pair_stats(pair.server).limits_exceeded, CALLS);
	assert_int_equal(pair_stats(pair.server).log_lines_left_out - left_out,
			 CALLS - LOG_RATE_LINES);
}

static int run(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(limit__read_segments),	T(limit__write_chunks),
		T(limit__segments_per_chunk),	T(limit__write_bytes),
		T(binding__allows_fewer_items), T(rate__is_limited),
	};

	return cmocka_run_group_tests_name("refused_log", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
