/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that embeds weir and uses only what is installed. It has a requester and a responder in
 * one thread, and makes one READ with a Write chunk. It prints "ok".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <weir/call.h>
#include <weir/request.h>

#define PROG  0x20000077u
#define BYTES 10000u
#define LIMIT 20u /* seconds until the program gives up */

static const struct weir_ulb_proc procs[] = {{.proc = 1, .result_items_max = 1}};
static const struct weir_ulb ulb = {.struct_bytes = sizeof(ulb),
				    .name = "embedder",
				    .prog = PROG,
				    .vers_low = 1,
				    .vers_high = 1,
				    .nprocs = 1,
				    .procs = procs};

static struct weir_region *server_region, *client_region;
static struct weir_region_info server_info = {.struct_bytes = sizeof(server_info)};
static struct weir_region_info client_info = {.struct_bytes = sizeof(client_info)};
static int is_open, is_done;

static void check(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "embedder: %s\n", what);
		exit(1);
	}
}

static void handle(struct weir_request *req, void *arg)
{
	(void)arg;
	/* 4 bytes for the length of the item */
	check(weir_request_results(req, 4) != NULL, "weir_request_results");
	check(weir_request_result_item(req, server_region, server_info.base, BYTES) == 0,
	      "weir_request_result_item");
	weir_request_reply(req);
}

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	(void)conn;
	(void)error;
	(void)arg;
	is_open = event == WEIR_CONN_OPEN;
}

static void done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	const void *data;
	uint32_t len;

	(void)arg;
	check(result->status == 0 && result->reply->accept_stat == WEIR_RPC_SUCCESS,
	      "the call failed");
	check(weir_result_opaque(call, result, 0, &data, BYTES, &len) == 0 && len == BYTES,
	      "the result");
	check(memcmp(data, server_info.base, BYTES) == 0, "the data");
	is_done = 1;
}

static void region_make(struct weir_engine *engine, struct weir_region **region,
			struct weir_region_info *info)
{
	const struct weir_region_options options = {.struct_bytes = sizeof(options),
						    .len_bytes = 1u << 16,
						    .flags = WEIR_REGION_NO_HUGE,
						    .numa_node = -1};

	check(weir_region_create(&options, region) == 0, "weir_region_create");
	check(weir_engine_add_region(engine, *region) == 0, "weir_engine_add_region");
	weir_region_info(*region, info);
}

int main(void)
{
	const struct weir_program program = {.struct_bytes = sizeof(program),
					     .prog = PROG,
					     .vers_low = 1,
					     .vers_high = 1,
					     .nprocs = 2, /* procedures 0 and 1 */
					     .ulb = &ulb,
					     .handle = handle};
	const struct weir_listen_options listen = {
		.struct_bytes = sizeof(listen), .programs = &program, .nprograms = 1};
	const struct weir_connect_options connect = {.struct_bytes = sizeof(connect),
						     .on_event = on_event};
	const struct weir_call_params params = {.struct_bytes = sizeof(params),
						.prog = PROG,
						.vers = 1,
						.proc = 1,
						.results_max_bytes = 4,
						.ulb = &ulb,
						.done = done};
	struct weir_engine *engines[2];
	struct weir_listener *listener;
	struct weir_profile profile;
	struct weir_call *call = NULL;
	struct weir_conn *conn;
	struct timespec now;
	uint64_t end_s = 0;
	char addr[64];

	weir_profile_defaults(&profile);
	profile.page_bytes = 4096;
	for (int i = 0; i < 2; i++)
		check(weir_engine_create(&profile, &engines[i]) == 0, "weir_engine_create");
	region_make(engines[0], &client_region, &client_info);
	region_make(engines[1], &server_region, &server_info);
	memset(server_info.base, 0x5e, BYTES);
	snprintf(addr, sizeof(addr), "weir-embedder-%d", (int)getpid());
	check(weir_listen(engines[1], addr, &listen, &listener) == 0, "weir_listen");
	check(weir_connect(engines[0], addr, &connect, &conn) == 0, "weir_connect");
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
		end_s = end_s ? end_s : (uint64_t)now.tv_sec + LIMIT;
		for (int i = 0; i < 2; i++)
			weir_engine_poll(engines[i], 0,
					 (uint64_t)now.tv_sec * 1000000000u +
						 (uint64_t)now.tv_nsec);
		if (is_open && !call) {
			call = weir_call_begin(conn, &params);
			check(call != NULL, "weir_call_begin");
			check(weir_call_result_item(call, client_region, client_info.base, BYTES) ==
				      0,
			      "weir_call_result_item");
			check(weir_call_submit(call) == 0, "weir_call_submit");
		}
	} while (!is_done && (uint64_t)now.tv_sec < end_s);
	check(is_done, "no reply");
	weir_listener_close(listener);
	for (int i = 0; i < 2; i++)
		weir_engine_destroy(engines[i]);
	weir_region_destroy(client_region);
	weir_region_destroy(server_region);
	puts("ok");
	return 0;
}
