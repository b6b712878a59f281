/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The function of doc/guide-operations.rst, which the page includes, and a program that calls it.
 * The program makes calls in one thread. It ends with 0 if the function prints them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <weir/weir.h>

#define PROG	 0x20000079u
#define CALLS	 10u
#define LIMIT_NS UINT64_C(20000000000)

static struct weir_engine *requester, *responder;
static uint32_t ndone;

/* [latency] */
static void print_times(const struct weir_engine *engine, FILE *file)
{
	struct weir_procedure_latency all[2 * WEIR_LATENCY_PROCEDURES] = {
		{.struct_bytes = sizeof(all[0])}};
	uint32_t n = weir_engine_procedures(engine, all, 2 * WEIR_LATENCY_PROCEDURES);

	for (uint32_t i = 0; i < n; i++) {
		const struct weir_histogram *times = all[i].histogram;

		fprintf(file,
			"%s: program %u procedure %u: %" PRIu64 " times, median %" PRIu64
			" ns, 99 %% within %" PRIu64 " ns, longest %" PRIu64 " ns\n",
			all[i].side == WEIR_REQUESTER ? "calls" : "requests", all[i].prog,
			all[i].proc, weir_histogram_count(times),
			weir_histogram_quantile(times, 0.5), weir_histogram_quantile(times, 0.99),
			weir_histogram_max(times));
	}
}
/* [end] */

static void check(bool is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "%s\n", what);
	exit(EXIT_FAILURE);
}

static void done(struct weir_call *call, const struct weir_result *result, void *arg);

static void make_call(struct weir_conn *conn)
{
	const struct weir_call_params params = {
		.struct_bytes = sizeof(params), .prog = PROG, .vers = 1, .done = done, .arg = conn};
	struct weir_call *call = weir_call_begin(conn, &params);

	check(call && weir_call_submit(call) == 0, "weir_call_submit");
}

static void done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	(void)call;
	check(result->status == 0, "no reply");
	if (++ndone < CALLS)
		make_call(arg);
}

static void answer(struct weir_request *req, void *arg)
{
	(void)arg;
	weir_request_results(req, 0);
	weir_request_reply(req);
}

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	(void)error;
	(void)arg;
	if (event == WEIR_CONN_OPEN)
		make_call(conn);
}

static void start(const char *address)
{
	const struct weir_program program = {.struct_bytes = sizeof(program),
					     .prog = PROG,
					     .vers_low = 1,
					     .vers_high = 1,
					     .nprocs = 1,
					     .handle = answer};
	const struct weir_listen_options listen = {
		.struct_bytes = sizeof(listen), .programs = &program, .nprograms = 1};
	const struct weir_connect_options connect = {.struct_bytes = sizeof(connect),
						     .on_event = on_event};
	struct weir_listener *listener;
	struct weir_profile profile;
	struct weir_conn *conn;

	weir_profile_defaults(&profile);
	profile.latency = WEIR_LATENCY_CALLS;
	check(weir_engine_create(&profile, &responder) == 0, "weir_engine_create");
	check(weir_engine_create(&profile, &requester) == 0, "weir_engine_create");
	check(weir_listen(responder, address, &listen, &listener) == 0, "weir_listen");
	check(weir_connect(requester, address, &connect, &conn) == 0, "weir_connect");
}

static void poll_until_done(void)
{
	struct timespec now;
	uint64_t ns, end_ns = 0;

	while (ndone < CALLS) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
		end_ns = end_ns ? end_ns : ns + LIMIT_NS;
		check(ns < end_ns, "nothing came in time");
		weir_engine_poll(requester, 0, ns);
		weir_engine_poll(responder, 0, ns);
	}
}

int main(void)
{
	char address[64], text[1024] = "";
	FILE *file = fmemopen(text, sizeof(text), "w");

	snprintf(address, sizeof(address), "weir-latency-%d", (int)getpid());
	start(address);
	poll_until_done();
	print_times(requester, file);
	print_times(responder, file);
	fclose(file);
	check(strncmp(text, "calls: program 536871033 procedure 0: 10 times, ", 48) == 0, text);
	check(strstr(text, "\nrequests: program 536871033 procedure 0: 10 times, ") != NULL, text);
	/* Each handler replies at once. */
	check(strstr(text, " longest 0 ns\n") == NULL, text);
	weir_engine_destroy(requester);
	weir_engine_destroy(responder);
	return EXIT_SUCCESS;
}
