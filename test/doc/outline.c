/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The outline of a program that README.rst has, as a program: the page has what is between the
 * comments in brackets. The child process is the responder, and the parent the requester. It makes
 * one call, and ends with 0 if the data that came are right.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <weir/weir.h>

#define PROG	0x20000079u
#define BYTES	10000u
#define SECONDS UINT64_C(20)

static const struct weir_ulb_proc procs[] = {{.proc = 1, .result_items_max = 1}};
static const struct weir_ulb binding = {.name = "outline",
					.prog = PROG,
					.vers_low = 1,
					.vers_high = 1,
					.procs = procs,
					.nprocs = 1};
static struct weir_call_params params;
static struct weir_region *region;
static unsigned char *data;
static pid_t responder;
static int ready[2]; /* a pipe: the responder polls */
static uint64_t end_ns;

static void end(int status)
{
	if (responder > 0)
		kill(responder, SIGKILL);
	exit(status);
}

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "outline: %s\n", what);
	end(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	if (end_ns == 0) {
		end_ns = ns + SECONDS * 1000000000u;
		if (responder == 0)
			check(write(ready[1], "", 1) == 1, "write");
	}
	check(ns < end_ns, "nothing came in time");
	return ns;
}

static void wait_for_responder(void)
{
	char byte;

	check(read(ready[0], &byte, 1) == 1, "the responder did not start");
}

static void done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	const void *got;
	uint32_t len;

	check(result->status == 0, "the call failed");
	check(weir_result_opaque(call, result, 0, &got, BYTES, &len) == 0 && len == BYTES,
	      "the result");
	for (uint32_t i = 0; i < BYTES; i++)
		check(((const unsigned char *)got)[i] == 0x5e, "the data");
	end(0);
}

/* [callbacks] */
static void handle(struct weir_request *req, void *arg) /* the responder */
{
	weir_request_results(req, 4);
	weir_request_result_item(req, region, data, BYTES); /* sent from there */
	weir_request_reply(req);
}

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	if (event != WEIR_CONN_OPEN)
		return;
	struct weir_call *call = weir_call_begin(conn, &params); /* the requester */
	weir_call_result_item(call, region, data, BYTES);	 /* data are placed there */
	weir_call_submit(call);					 /* later, params.done runs */
}
/* [end] */

static void run(bool is_responder, const char *address)
{
	const struct weir_program program = {.prog = PROG,
					     .vers_low = 1,
					     .vers_high = 1,
					     .nprocs = 2,
					     .ulb = &binding,
					     .handle = handle};
	const struct weir_listen_options listen_options = {.programs = &program, .nprograms = 1};
	const struct weir_connect_options connect_options = {.on_event = on_event};
	struct weir_listener *listener;
	struct weir_profile profile;
	struct weir_engine *engine;
	struct weir_conn *conn;

	if (!is_responder)
		wait_for_responder();
	/* [main] */
	weir_profile_defaults(&profile);
	weir_engine_create(&profile, &engine);
	weir_engine_add_region(engine, region);
	if (is_responder)
		weir_listen(engine, address, &listen_options, &listener); /* names handle() */
	else
		weir_connect(engine, address, &connect_options, &conn); /* names on_event() */
	for (;;)
		weir_engine_poll(engine, 0, now_ns()); /* all callbacks run in here */

	/* [end] */
}

int main(void)
{
	const struct weir_region_options options = {
		.len_bytes = 1u << 16, .flags = WEIR_REGION_NO_HUGE, .numa_node = -1};
	struct weir_region_info info = {.struct_bytes = sizeof(info)};
	char address[64];

	snprintf(address, sizeof(address), "weir-outline-%d", (int)getpid());
	params = (struct weir_call_params){.prog = PROG,
					   .vers = 1,
					   .proc = 1,
					   .results_max_bytes = 4,
					   .ulb = &binding,
					   .done = done};
	check(pipe(ready) == 0, "pipe");
	responder = fork();
	check(responder >= 0, "fork");
	if (responder == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	else
		close(ready[1]);
	check(weir_region_create(&options, &region) == 0, "weir_region_create");
	weir_region_info(region, &info);
	data = info.base;
	if (responder == 0)
		memset(data, 0x5e, BYTES);
	run(responder == 0, address);
}
