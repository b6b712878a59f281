/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The function of doc/guide-operations.rst, which the page includes, and a program that calls it.
 * The program makes a call that its responder never answers. It ends with 0 if the function prints
 * the connection and the call.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <weir/weir.h>

#define PROG	 0x20000079u
#define LIMIT_NS UINT64_C(20000000000)

static struct weir_engine *requester, *responder;
static struct weir_request *held;

/* [inspect] */
static void print_engine(const struct weir_engine *engine, FILE *file)
{
	struct weir_conn_info conns[64] = {{.struct_bytes = sizeof(conns[0])}};
	struct weir_call_info calls[256] = {{.struct_bytes = sizeof(calls[0])}};
	uint32_t nconns = weir_engine_conns(engine, conns, 64);
	uint32_t ncalls = weir_engine_calls(engine, calls, 256);

	for (uint32_t i = 0; i < nconns && i < 64; i++)
		fprintf(file, "%s: %s, version %u, %u of %u credits, %" PRIu64 " calls\n",
			conns[i].peer, weir_conn_state_name(conns[i].state), conns[i].version,
			conns[i].credits_used, conns[i].credits_granted, conns[i].calls);
	for (uint32_t i = 0; i < nconns && i < 64; i++)
		fprintf(file, "%s: %" PRIu64 " bytes sent, %" PRIu64 " bytes received\n",
			conns[i].peer, conns[i].message_bytes_sent + conns[i].rdma_bytes_sent,
			conns[i].message_bytes_received + conns[i].rdma_bytes_received);
	for (uint32_t i = 0; i < ncalls && i < 256; i++)
		fprintf(file, "call 0x%08x: procedure %u, %s for %" PRIu64 " ms, waits for %s\n",
			calls[i].xid, calls[i].proc, weir_call_state_name(calls[i].state),
			calls[i].age_ns / 1000000, calls[i].waits_for);
}
/* [end] */

static void check(bool is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "%s\n", what);
	exit(EXIT_FAILURE);
}

static void done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	(void)call;
	(void)result;
	(void)arg;
}

static void hold(struct weir_request *req, void *arg)
{
	(void)arg;
	held = req;
}

static void poll_until_held(void)
{
	struct timespec now;
	uint64_t ns, end_ns = 0;

	while (!held) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
		end_ns = end_ns ? end_ns : ns + LIMIT_NS;
		check(ns < end_ns, "nothing came in time");
		weir_engine_poll(requester, 0, ns);
		weir_engine_poll(responder, 0, ns);
	}
}

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	const struct weir_call_params params = {
		.struct_bytes = sizeof(params), .prog = PROG, .vers = 1, .done = done};
	struct weir_call *call;

	(void)error;
	(void)arg;
	if (event != WEIR_CONN_OPEN)
		return;
	call = weir_call_begin(conn, &params);
	check(call && weir_call_submit(call) == 0, "weir_call_submit");
}

static void start(const char *address)
{
	const struct weir_program program = {.struct_bytes = sizeof(program),
					     .prog = PROG,
					     .vers_low = 1,
					     .vers_high = 1,
					     .nprocs = 1,
					     .handle = hold};
	const struct weir_listen_options listen = {
		.struct_bytes = sizeof(listen), .programs = &program, .nprograms = 1};
	const struct weir_connect_options connect = {.struct_bytes = sizeof(connect),
						     .on_event = on_event};
	struct weir_listener *listener;
	struct weir_profile profile;
	struct weir_conn *conn;

	weir_profile_defaults(&profile);
	check(weir_engine_create(&profile, &responder) == 0, "weir_engine_create");
	check(weir_engine_create(&profile, &requester) == 0, "weir_engine_create");
	check(weir_listen(responder, address, &listen, &listener) == 0, "weir_listen");
	check(weir_connect(requester, address, &connect, &conn) == 0, "weir_connect");
}

int main(void)
{
	char address[64], text[1024] = "";
	FILE *file = fmemopen(text, sizeof(text), "w");

	snprintf(address, sizeof(address), "weir-inspect-%d", (int)getpid());
	start(address);
	poll_until_held();
	print_engine(requester, file);
	fclose(file);
	check(strstr(text, ": open, version 1, 1 of ") != NULL, text);
	check(strstr(text, " credits, 1 calls\n") != NULL, text);
	check(strstr(text, ": 68 bytes sent, 0 bytes received\ncall 0x") != NULL, text);
	check(strstr(text, ": procedure 0, sent for ") != NULL, text);
	check(strstr(text, " ms, waits for the reply\n") != NULL, text);
	weir_request_reply_error(held, WEIR_RPC_SYSTEM_ERR);
	weir_engine_destroy(requester);
	weir_engine_destroy(responder);
	return EXIT_SUCCESS;
}
