/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program whose headers have another version than the library: test_abi_growth.py builds it. It
 * passes each structure that can grow to weir, and checks the bytes after each of them. It makes a
 * call over shm from one engine to another one.
 *
 * With GROWN, the program has the headers of a later version, in which each of these structures has
 * one more member, 'grown'. The library must set it to 0 in structures that it fills in, and must
 * refuse any other value in structures that the program fills in.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <weir/weir.h>

#define PROG	    0x20000079u
#define BYTES	    10000u
#define GUARD_BYTES 64u
#define GUARD	    0x5a
#define LIMIT_NS    UINT64_C(20000000000)

#ifdef GROWN
#define SET_GROWN(structure, value) ((structure)->grown = (value))
#define GROWN_OF(structure)	    ((structure)->grown)
#else
#define SET_GROWN(structure, value) ((void)(structure))
#define GROWN_OF(structure)	    (0u)
#endif

/* A structure, and bytes after it that nobody may change. */
#define GUARDED(tag)                                                                               \
	static struct {                                                                            \
		struct tag it;                                                                     \
		unsigned char guard[GUARD_BYTES];                                                  \
	} guarded_##tag

GUARDED(weir_profile);
GUARDED(weir_region_options);
GUARDED(weir_region_info);
GUARDED(weir_connect_options);
GUARDED(weir_listen_options);
GUARDED(weir_ulb);
GUARDED(weir_call_params);
GUARDED(weir_peer);
static struct weir_program programs[2];
static unsigned char *data;
static struct weir_region *region;
static struct weir_engine *engines[2];
static bool is_done;

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "failed: %s\n", what);
	exit(1);
}

#define FOR_EACH_GUARD(apply)                                                                      \
	do {                                                                                       \
		apply(weir_profile);                                                               \
		apply(weir_region_options);                                                        \
		apply(weir_region_info);                                                           \
		apply(weir_connect_options);                                                       \
		apply(weir_listen_options);                                                        \
		apply(weir_ulb);                                                                   \
		apply(weir_call_params);                                                           \
		apply(weir_peer);                                                                  \
	} while (0)

static void check_guard(const unsigned char *guard, const char *what)
{
	for (unsigned i = 0; i < GUARD_BYTES; i++)
		check(guard[i] == GUARD, what);
}

#define SET_GUARD(tag)	 memset(guarded_##tag.guard, GUARD, GUARD_BYTES)
#define CHECK_GUARD(tag) check_guard(guarded_##tag.guard, "a write past the end of struct " #tag)

static uint64_t now_ns(void)
{
	static uint64_t end_ns;
	struct timespec now;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	if (end_ns == 0)
		end_ns = ns + LIMIT_NS;
	check(ns < end_ns, "the call did not end in time");
	return ns;
}

static void handle(struct weir_request *req, void *arg)
{
	check(arg == data, "the handler is that of the second program");
	weir_request_results(req, 4);
	weir_request_result_item(req, region, data, BYTES);
	weir_request_reply(req);
}

static void done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	const void *got;
	uint32_t len;

	check(arg == data, "the argument of 'done'");
	check(result->status == 0, "the call");
	check(weir_result_opaque(call, result, 0, &got, BYTES, &len) == 0 && len == BYTES,
	      "the result");
	is_done = true;
}

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	struct weir_call_params *params = &guarded_weir_call_params.it;
	struct weir_call *call;

	(void)error;
	if (arg != data || event != WEIR_CONN_OPEN)
		return;
	memset(&guarded_weir_peer.it, GUARD, sizeof(guarded_weir_peer.it));
	guarded_weir_peer.it.struct_bytes = sizeof(guarded_weir_peer.it);
	check(weir_conn_peer(conn, &guarded_weir_peer.it) == 0, "weir_conn_peer");
	check(guarded_weir_peer.it.uid == geteuid() && GROWN_OF(&guarded_weir_peer.it) == 0,
	      "the peer");

	*params = (struct weir_call_params){.struct_bytes = sizeof(*params),
					    .prog = PROG,
					    .vers = 2,
					    .proc = 1,
					    .results_max_bytes = 4,
					    .ulb = &guarded_weir_ulb.it,
					    .done = done,
					    .arg = data};
#ifdef GROWN
	params->grown = 1;
	check(!weir_call_begin(conn, params), "weir_call_begin refuses what it does not know");
	params->grown = 0;
	guarded_weir_ulb.it.grown = 1;
	check(!weir_call_begin(conn, params), "weir_call_begin checks the binding");
	guarded_weir_ulb.it.grown = 0;
#endif
	call = weir_call_begin(conn, params);
	check(call != NULL, "weir_call_begin");
	check(weir_call_result_item(call, region, data + BYTES, BYTES) == 0, "the binding");
	check(weir_call_submit(call) == 0, "weir_call_submit");
}

static void make_engines(void)
{
	struct weir_profile *profile = &guarded_weir_profile.it;
	char err[400];

	memset(profile, GUARD, sizeof(*profile));
	weir_profile_defaults(profile);
	check(profile->struct_bytes == sizeof(*profile) && profile->credits == 64, "the defaults");
	check(GROWN_OF(profile) == 0, "the default of a member that the library does not know");
	SET_GROWN(profile, 1);
#ifdef GROWN
	check(weir_profile_check(profile, err, sizeof(err)) != 0, "weir_profile_check");
	check(weir_engine_create(profile, &engines[0]) != 0, "weir_engine_create");
#endif
	SET_GROWN(profile, 0);
	check(weir_profile_check(profile, err, sizeof(err)) == 0, err);
	for (int i = 0; i < 2; i++)
		check(weir_engine_create(profile, &engines[i]) == 0, "weir_engine_create");
}

static void make_region(void)
{
	struct weir_region_options *options = &guarded_weir_region_options.it;
	struct weir_region_info *info = &guarded_weir_region_info.it;

	*options = (struct weir_region_options){.struct_bytes = sizeof(*options),
						.len_bytes = 1u << 16,
						.flags = WEIR_REGION_NO_HUGE,
						.numa_node = -1};
#ifdef GROWN
	options->grown = 1;
	check(weir_region_create(options, &region) != 0, "weir_region_create");
	options->grown = 0;
#endif
	check(weir_region_create(options, &region) == 0, "weir_region_create");
	memset(info, GUARD, sizeof(*info));
	info->struct_bytes = sizeof(*info);
	weir_region_info(region, info);
	check(info->len_bytes == 1u << 16 && GROWN_OF(info) == 0, "weir_region_info");
	data = info->base;
	for (int i = 0; i < 2; i++)
		check(weir_engine_add_region(engines[i], region) == 0, "weir_engine_add_region");
}

static void listen_at(const char *address, struct weir_listener **listener)
{
	static const struct weir_ulb_proc procs[] = {{.proc = 1, .result_items_max = 1}};
	struct weir_listen_options *options = &guarded_weir_listen_options.it;

	guarded_weir_ulb.it = (struct weir_ulb){.struct_bytes = sizeof(guarded_weir_ulb.it),
						.name = "growth",
						.prog = PROG,
						.vers_low = 2,
						.vers_high = 2,
						.nprocs = 1,
						.procs = procs};
	/* The second program has the handler that works. */
	for (uint32_t i = 0; i < 2; i++)
		programs[i] = (struct weir_program){.struct_bytes = sizeof(programs[i]),
						    .prog = PROG,
						    .vers_low = i + 1,
						    .vers_high = i + 1,
						    .nprocs = 2,
						    .ulb = &guarded_weir_ulb.it,
						    .handle = handle,
						    .arg = i == 0 ? NULL : data};
	*options = (struct weir_listen_options){
		.struct_bytes = sizeof(*options), .programs = programs, .nprograms = 2};
#ifdef GROWN
	options->grown = 1;
	check(weir_listen(engines[0], address, options, listener) != 0, "weir_listen");
	options->grown = 0;
	programs[1].grown = 1;
	check(weir_listen(engines[0], address, options, listener) != 0, "weir_program");
	programs[1].grown = 0;
#endif
	check(weir_listen(engines[0], address, options, listener) == 0, "weir_listen");
}

static void connect_to(const char *address, struct weir_conn **conn)
{
	struct weir_connect_options *options = &guarded_weir_connect_options.it;

	*options = (struct weir_connect_options){
		.struct_bytes = sizeof(*options), .on_event = on_event, .arg = data};
#ifdef GROWN
	options->grown = 1;
	check(weir_connect(engines[1], address, options, conn) != 0, "weir_connect");
	options->grown = 0;
#endif
	check(weir_connect(engines[1], address, options, conn) == 0, "weir_connect");
}

int main(void)
{
	struct weir_listener *listener;
	struct weir_conn *conn;
	char address[64];

	FOR_EACH_GUARD(SET_GUARD);
	snprintf(address, sizeof(address), "weir-growth-%d", (int)getpid());
	make_engines();
	make_region();
	listen_at(address, &listener);
	connect_to(address, &conn);
	while (!is_done)
		for (int i = 0; i < 2; i++)
			weir_engine_poll(engines[i], 0, now_ns());
	weir_listener_close(listener);
	for (int i = 0; i < 2; i++)
		weir_engine_destroy(engines[i]);
	weir_region_destroy(region);
	FOR_EACH_GUARD(CHECK_GUARD);
	puts("all is well");
	return 0;
}
