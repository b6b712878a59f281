/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The outline of a program that README.rst has, as a program: the page has what is between the
 * comments in brackets. The child process is the responder, and the parent the requester. It makes
 * one call, and ends with 0 if the data that came are right.
 */
#include <stdbool.h>
#include <string.h>

#include "two_sides.h"

#define PROG  0x20000079u
#define BYTES 10000u

static const struct weir_ulb_proc procs[] = {{.proc = 1, .result_items_max = 1}};
static const struct weir_ulb binding = {.struct_bytes = sizeof(binding),
					.name = "outline",
					.prog = PROG,
					.vers_low = 1,
					.vers_high = 1,
					.procs = procs,
					.nprocs = 1};
static struct weir_call_params params;
static unsigned char *data;

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
	const struct weir_program program = {.struct_bytes = sizeof(program),
					     .prog = PROG,
					     .vers_low = 1,
					     .vers_high = 1,
					     .nprocs = 2,
					     .ulb = &binding,
					     .handle = handle};
	const struct weir_listen_options listen_options = {
		.struct_bytes = sizeof(listen_options), .programs = &program, .nprograms = 1};
	const struct weir_connect_options connect_options = {
		.struct_bytes = sizeof(connect_options), .on_event = on_event};
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
	char address[64];

	snprintf(address, sizeof(address), "weir-outline-%d", (int)getpid());
	params = (struct weir_call_params){.struct_bytes = sizeof(struct weir_call_params),
					   .prog = PROG,
					   .vers = 1,
					   .proc = 1,
					   .results_max_bytes = 4,
					   .ulb = &binding,
					   .done = done};
	data = start_sides();
	if (responder == 0)
		memset(data, 0x5e, BYTES);
	run(responder == 0, address);
}
