/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests parts of weir-exporter: the choice of a format, and the page of a process whose answers the
 * test knows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "accept.h"
#include "fake_process.h"
#include "page.h"

#define LONG_MS 20000u
#define LABELS	"{process=\"P\",engine=\"1\",conn=\"5\",side=\"requester\","
#define RPC                                                                                        \
	"{process=\"P\",side=\"requester\",program=\"100003\",version=\"3\","                      \
	"procedure=\"7\""
#define DURATION "weir_rpc_duration_seconds"

static struct fake_process fake;
static struct page_options options;
static char *page;

static int start(void **state)
{
	(void)state;
	fake_start(&fake);
	fake_good_state(&fake);
	options = (struct page_options){.socket = fake.path, .conns = 8, .wait_ms = LONG_MS};
	return 0;
}

static int stop(void **state)
{
	(void)state;
	free(page);
	page = NULL;
	fake_stop(&fake);
	return 0;
}

/* Makes the page, with "P" instead of the path of the socket. */
static void make_page(enum page_format format)
{
	const size_t path_len = strlen(fake.path);
	size_t bytes;
	char *at;

	free(page);
	page = page_make(&options, format, &bytes);
	assert_non_null(page);
	assert_int_equal(strlen(page), bytes);
	while ((at = strstr(page, fake.path))) {
		*at = 'P';
		memmove(at + 1, at + path_len, strlen(at + path_len) + 1);
	}
}

static void has(const char *line)
{
	const char *at = page;

	while ((at = strstr(at, line))) {
		if ((at == page || at[-1] == '\n') && at[strlen(line)] == '\n')
			return;
		at++;
	}
	fail_msg("no line '%s' in %s", line, page);
}

static void has_not(const char *text)
{
	if (strstr(page, text))
		fail_msg("there is '%s' in %s", text, page);
}

static void page__values_of_a_process(void **state)
{
	(void)state;
	make_page(PAGE_OPENMETRICS);
	has("weir_up{process=\"P\"} 1");
	has("weir_process_info{process=\"P\",pid=\"4711\",dpdk_version=\"DPDK 22.11.0\"} 1");
	has("weir_read_partial{process=\"P\"} 0");
	has("weir_engine_polled{process=\"P\",engine=\"1\"} 1");
	has("# TYPE weir_calls_completed counter");
	has("weir_calls_completed_total{process=\"P\",engine=\"1\"} 50");
	has("# TYPE weir_connections gauge");
	has("weir_connections{process=\"P\",engine=\"1\"} 1");
	has_not("weir_dropped_total{"); /* the process does not have this counter */
	has("# UNIT weir_message_sent_bytes bytes");
	has("weir_message_sent_bytes_total{process=\"P\",engine=\"1\"} 100");
	has("weir_rdma_received_bytes_total{process=\"P\",engine=\"1\"} 400");
	has("weir_waiting_calls{process=\"P\",side=\"requester\",state=\"sent\",waits_for=\"the "
	    "reply\"} 3");
	has("weir_waiting_oldest_seconds{process=\"P\",side=\"requester\",state=\"sent\",waits_for="
	    "\"the reply\"} 7.000000000");
	has("weir_overdue_calls{process=\"P\"} 1");
	has("# EOF");
}

static void page__connections_and_the_escapes_of_labels(void **state)
{
	(void)state;
	make_page(PAGE_OPENMETRICS);
	has("weir_connection_open" LABELS "peer=\"/run/a\\\"b\\\\c\"} 1");
	has("weir_connection_credits_granted" LABELS "peer=\"/run/a\\\"b\\\\c\"} 16");
	has("weir_connection_credits_used" LABELS "peer=\"/run/a\\\"b\\\\c\"} 3");
	has("weir_connection_calls_total" LABELS "peer=\"/run/a\\\"b\\\\c\"} 50");
	has("weir_connection_rdma_sent_bytes_total" LABELS "peer=\"/run/a\\\"b\\\\c\"} 300");
	/* Connection 6 has ended meanwhile, and counts among those of the list. */
	has("weir_connections_unlisted{process=\"P\"} 1");
	options.conns = 0;
	make_page(PAGE_OPENMETRICS);
	has_not("weir_connection_open{");
	has("weir_connections_unlisted{process=\"P\"} 2");
}

static void page__times_of_procedures(void **state)
{
	(void)state;
	make_page(PAGE_OPENMETRICS);
	has("# TYPE " DURATION " histogram");
	has(DURATION "_bucket" RPC ",le=\"1.023e-06\"} 0");
	has(DURATION "_bucket" RPC ",le=\"6.143e-06\"} 0");
	has(DURATION "_bucket" RPC ",le=\"8.191e-06\"} 40");
	has(DURATION "_bucket" RPC ",le=\"1.2287e-05\"} 40");
	has(DURATION "_bucket" RPC ",le=\"1.6383e-05\"} 49");
	has(DURATION "_bucket" RPC ",le=\"6.5535e-05\"} 50");
	has(DURATION "_bucket" RPC ",le=\"34.359738367\"} 50");
	has(DURATION "_bucket" RPC ",le=\"+Inf\"} 50");
	has(DURATION "_count" RPC "} 50");
	has(DURATION "_sum" RPC "} 0.000500000");
	has("weir_rpc_stage_seconds_count" RPC ",stage=\"queued\"} 50");
	has("weir_rpc_stage_seconds_sum" RPC ",stage=\"sent\"} 0.000400000");
	has("weir_procedures_unlisted{process=\"P\"} 0");
}

static void page__the_format_of_prometheus(void **state)
{
	(void)state;
	make_page(PAGE_PROMETHEUS);
	has("# TYPE weir_calls_completed_total counter");
	has("weir_calls_completed_total{process=\"P\",engine=\"1\"} 50");
	has("# TYPE weir_process_info gauge");
	has_not("# UNIT");
	has_not("# EOF");
}

static void page__processes_that_do_not_answer(void **state)
{
	(void)state;
	fake_answer(&fake, "/weir/calls", NULL, 0);
	make_page(PAGE_OPENMETRICS);
	has("weir_up{process=\"P\"} 0");
	has_not("weir_polls_total{");
	has_not("weir_process_info{");
	/* another program that uses DPDK */
	fake_answer(&fake, "/weir/engines", "{\"/weir/engines\":null}", 0);
	make_page(PAGE_OPENMETRICS);
	has_not("weir_up{");
	fake_good_state(&fake);
	fake_answer(&fake, "/weir/conns", "", 0);
	options.wait_ms = 50;
	make_page(PAGE_OPENMETRICS);
	has("weir_up{process=\"P\"} 0");
}

static void accept__the_preferred_format(void **state)
{
	static const struct {
		const char *header;
		enum page_format format;
	} cases[] = {
		{"", PAGE_OPENMETRICS},
		{",;,=;q", PAGE_OPENMETRICS},
		{"*/*", PAGE_OPENMETRICS},
		{"text/plain", PAGE_PROMETHEUS},
		{"Text/Plain; Version=0.0.4", PAGE_PROMETHEUS},
		{"text/plain;version=1.0.0", PAGE_OPENMETRICS},
		{"text/*", PAGE_PROMETHEUS},
		{"text/html, application/xhtml+xml, */*;q=0.8", PAGE_OPENMETRICS},
		{"application/openmetrics-text", PAGE_OPENMETRICS},
		{"text/plain, application/openmetrics-text", PAGE_OPENMETRICS},
		{"text/plain;q=0.5,application/openmetrics-text;q=0.4", PAGE_PROMETHEUS},
		{"text/plain;q=0.5, application/openmetrics-text;version=1.0.0;q=0.6",
		 PAGE_OPENMETRICS},
		{"application/openmetrics-text;version=0.0.1,text/plain;q=0.3", PAGE_PROMETHEUS},
		{"application/openmetrics-text;q=0,*/*", PAGE_PROMETHEUS},
		{"text/plain;q=nonsense", PAGE_OPENMETRICS},
		{"text/plain;q=7", PAGE_OPENMETRICS},
		{"text/plainer", PAGE_OPENMETRICS},
	};

	(void)state;
	assert_int_equal(accept_format(NULL), PAGE_OPENMETRICS);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (accept_format(cases[i].header) != cases[i].format)
			fail_msg("another format for '%s'", cases[i].header);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(page__values_of_a_process, start, stop),
		cmocka_unit_test_setup_teardown(page__connections_and_the_escapes_of_labels, start,
						stop),
		cmocka_unit_test_setup_teardown(page__times_of_procedures, start, stop),
		cmocka_unit_test_setup_teardown(page__the_format_of_prometheus, start, stop),
		cmocka_unit_test_setup_teardown(page__processes_that_do_not_answer, start, stop),
		cmocka_unit_test(accept__the_preferred_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
