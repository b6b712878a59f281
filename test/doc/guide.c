/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of doc/guide-requester.rst and doc/guide-responder.rst, as one program. The pages
 * include what is between the comments in brackets. The child process is the responder, and the
 * parent the requester. It makes one call, and ends with 0 if the data that came are right.
 */
#include <string.h>

#include "two_sides.h"

#define PROG	      0x20000078u
#define sizeof_buffer 4096u

static const struct weir_ulb_proc procs[] = {
	{.proc = 1, .arg_items_max = 1, .result_items_max = 1}};
static const struct weir_ulb binding = {.struct_bytes = sizeof(binding),
					.name = "guide",
					.prog = PROG,
					.vers_low = 1,
					.vers_high = 1,
					.procs = procs,
					.nprocs = 1};
static const uint32_t len = 1000;
static struct weir_profile profile;
static struct weir_engine *engine;
static struct weir_listener *listener;
static char *data, *buffer; /* two parts of the region */
static char address[64];

static void failed(int status)
{
	fprintf(stderr, "%s\n", strerror(-status));
	end(1);
}

static void forget(struct weir_conn *closed, int error)
{
	(void)closed;
	failed(error);
}

static void use(const void *came, uint32_t came_len)
{
	check(came_len == len && memcmp(came, data, len) == 0, "the data");
	end(0);
}

/* [done] */
static void done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	const void *got;
	uint32_t got_len, status;

	if (result->status != 0)
		failed(result->status);
	else if (result->reply->accept_stat == WEIR_RPC_SUCCESS &&
		 weir_xdr_get_u32(result->results, &status) == 0 &&
		 weir_result_opaque(call, result, 0, &got, sizeof_buffer, &got_len) == 0)
		use(got, got_len);
}
/* [end] */

static void start_calls(struct weir_conn *conn)
{
	const uint32_t offset = 7;

	/* [call] */
	struct weir_call_params params = {.struct_bytes = sizeof(params),
					  .prog = PROG,
					  .vers = 1,
					  .proc = 1,
					  .args_max_bytes = 64,
					  .results_max_bytes = 64,
					  .ulb = &binding,
					  .done = done};

	struct weir_call *call = weir_call_begin(conn, &params);
	weir_xdr_put_u32(weir_call_args(call), offset);
	weir_call_arg_item(call, region, data, len);
	weir_call_result_item(call, region, buffer, sizeof_buffer);
	/* [end] */
	check(weir_call_submit(call) == 0, "weir_call_submit");
}

/* [handle] */
static void handle(struct weir_request *req, void *arg)
{
	struct weir_xdr_in *in = weir_request_args(req);
	struct weir_xdr_out *out;
	uint32_t offset;

	if (weir_xdr_get_u32(in, &offset) != 0) {
		weir_request_reply_error(req, WEIR_RPC_GARBAGE_ARGS);
		return;
	}
	out = weir_request_results(req, 64);
	if (!out) {
		if (weir_request_retry_when_buffers(req) != 0)
			weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
		return;
	}
	weir_xdr_put_u32(out, 0); /* a status of the program */
	weir_request_result_item(req, region, data, len);
	weir_request_reply(req);
}
/* [end] */

/* [on_event] */
static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	if (event == WEIR_CONN_OPEN)
		start_calls(conn);
	else if (event == WEIR_CONN_CLOSED)
		forget(conn, error);
}
/* [end] */

static void connect_to_responder(void)
{
	struct weir_conn *conn;

	/* [connect] */
	struct weir_connect_options options = {
		.struct_bytes = sizeof(options), .on_event = on_event, .credits = 32};

	weir_connect(engine, address, &options, &conn);
	/* [end] */
}

static void serve(void)
{
	/* [program] */
	struct weir_program program = {.struct_bytes = sizeof(program),
				       .prog = PROG,
				       .vers_low = 1,
				       .vers_high = 1,
				       .nprocs = 4,
				       .ulb = &binding,
				       .handle = handle};
	struct weir_listen_options options = {
		.struct_bytes = sizeof(options), .programs = &program, .nprograms = 1};

	weir_listen(engine, address, &options, &listener);
	/* [end] */
	check(listener != NULL, "weir_listen");
}

static void start(int is_responder)
{
	if (is_responder) {
		serve();
		return;
	}
	wait_for_responder();
	connect_to_responder();
}

static void run(int is_responder)
{
	/* [engine] */
	weir_profile_defaults(&profile);
	weir_engine_create(&profile, &engine);
	weir_engine_add_region(engine, region);
	start(is_responder); /* listens or connects, as below */
	for (;;)
		weir_engine_poll(engine, 0, now_ns());

	/* [end] */
}

int main(void)
{
	snprintf(address, sizeof(address), "weir-guide-%d", (int)getpid());
	data = start_sides();
	buffer = data + sizeof_buffer;
	memset(data, 0x5e, len);
	run(responder == 0);
}
