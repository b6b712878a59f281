/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of doc/guide-threads.rst, as one program. The page includes what is between the
 * comments in brackets. The program serves until it has answered a requester's call. It ends with 0
 * if the requester then sees that the responder ended the connection in order.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <weir/weir.h>

#define PROG	    0x20000079u
#define THREADS_MAX WEIR_RUNTIME_THREADS_MAX
#define BYTES	    (2u << 20)

/* [shard] */
struct shard {
	struct weir_region *region;
	uint64_t nrequests; /* only the thread of the shard uses it */
};

static struct weir_runtime *runtime;
static struct shard shards[THREADS_MAX];
static _Atomic uint64_t total;

static void handle(struct weir_request *req, void *arg)
{
	int thread = weir_runtime_find(runtime, weir_request_engine(req));

	if (thread >= 0)
		shards[thread].nrequests++;
	weir_request_reply_error(req, WEIR_RPC_PROC_UNAVAIL);
}

/* Creates the memory of a shard, on the NUMA node of its thread. */
static int init(struct weir_runtime *of, uint32_t thread, void *arg)
{
	const struct weir_region_options options = {.struct_bytes = sizeof(options),
						    .len_bytes = BYTES,
						    .flags = WEIR_REGION_PRIVATE,
						    .numa_node = -1};
	int rc = weir_region_create(&options, &shards[thread].region);

	if (rc != 0)
		return rc;
	return weir_engine_add_region(weir_runtime_engine(of, thread), shards[thread].region);
}

static void fini(struct weir_runtime *of, uint32_t thread, void *arg)
{
	total += shards[thread].nrequests;
}
/* [end] */

/* [signal] */
static void on_signal(int signo)
{
	weir_runtime_quit(runtime);
}
/* [end] */

/* [listen] */
/* Listens for each shard: the first one has the address ADDR.0. */
static int listen_for_shards(const char *addr, const struct weir_listen_options *options)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < weir_runtime_threads(runtime); i++) {
		struct weir_engine *engine = weir_runtime_engine(runtime, i);
		struct weir_listen_options own = *options;
		char name[108];

		snprintf(name, sizeof(name), "%s.%u", addr, i);
		own.engines = &engine;
		own.nengines = 1;
		rc = weir_runtime_listen(runtime, name, &own);
		if (rc != 0)
			fprintf(stderr, "%s: %s\n", name, strerror(-rc));
	}
	return rc;
}
/* [end] */

/* [shut_down] */
/* Shuts the connections of an engine down. Thread: that of the engine. */
static void shut_down(struct weir_engine *engine, void *arg)
{
	uint32_t n = weir_engine_conns(engine, NULL, 0);
	struct weir_conn_info *infos = calloc(n + 1, sizeof(*infos));

	if (!infos)
		return; /* weir_runtime_destroy() closes the connections */
	infos->struct_bytes = sizeof(*infos);
	n = weir_engine_conns(engine, infos, n);
	for (uint32_t i = 0; i < n; i++)
		weir_conn_shutdown(infos[i].conn);
	free(infos);
}
/* [end] */

/* [serve] */
static int serve(const struct weir_profile *profile, const char *addr)
{
	struct weir_program program = {.struct_bytes = sizeof(program),
				       .prog = PROG,
				       .vers_low = 1,
				       .vers_high = 1,
				       .nprocs = 1,
				       .handle = handle};
	struct weir_listen_options listen = {
		.struct_bytes = sizeof(listen), .programs = &program, .nprograms = 1};
	char err[512];
	struct weir_runtime_options options = {.struct_bytes = sizeof(options),
					       .name = "blocks",
					       .nthreads = 2,
					       .init = init,
					       .fini = fini,
					       .err = err,
					       .err_bytes = sizeof(err)};
	int rc = weir_runtime_create(profile, &options, &runtime);

	if (rc != 0) {
		fprintf(stderr, "%s\n", err);
		goto destroy_regions;
	}
	signal(SIGTERM, on_signal);
	rc = listen_for_shards(addr, &listen);
	if (rc == 0 && weir_runtime_start(runtime) == 0) {
		weir_runtime_wait(runtime);
		for (uint32_t i = 0; i < weir_runtime_threads(runtime); i++)
			weir_engine_post(weir_runtime_engine(runtime, i), shut_down, NULL);
		if (weir_runtime_stop(runtime, 5000) != 0)
			fprintf(stderr, "some calls have not ended\n");
	}
	weir_runtime_destroy(runtime);
destroy_regions:
	for (uint32_t i = 0; i < THREADS_MAX; i++)
		weir_region_destroy(shards[i].region);
	return rc;
}
/* [end] */

static void on_done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	raise(SIGTERM);
}

/* Makes a call when the connection opens. Its reply shows that the responder's side is open. */
static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	const struct weir_call_params params = {
		.struct_bytes = sizeof(params), .prog = PROG, .vers = 1, .done = on_done};
	struct weir_call *call;
	int *closed_with = arg;

	if (event == WEIR_CONN_CLOSED) {
		*closed_with = error;
		return;
	}
	call = weir_call_begin(conn, &params);
	if (!call || weir_call_submit(call) != 0)
		exit(EXIT_FAILURE);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Connects to the last shard, and waits for the end of the connection. Returns its error. */
static void *require(void *addr)
{
	static int closed_with = 1;
	const struct weir_connect_options options = {
		.struct_bytes = sizeof(options), .on_event = on_event, .arg = &closed_with};
	struct weir_profile profile;
	struct weir_engine *engine;
	struct weir_conn *conn;
	int rc;

	weir_profile_defaults(&profile);
	if (weir_engine_create(&profile, &engine) != 0)
		exit(EXIT_FAILURE);
	while ((rc = weir_connect(engine, addr, &options, &conn)) == -ECONNREFUSED)
		weir_engine_poll(engine, 0, now_ns());
	if (rc != 0)
		exit(EXIT_FAILURE);
	while (closed_with == 1)
		weir_engine_poll(engine, 0, now_ns());
	weir_engine_destroy(engine);
	return &closed_with;
}

int main(void)
{
	struct weir_profile profile;
	char addr[64], last[72];
	pthread_t requester;
	void *closed_with;

	weir_profile_defaults(&profile);
	profile.idle = WEIR_IDLE_EVENT;
	snprintf(addr, sizeof(addr), "page-threads-%d", (int)getpid());
	snprintf(last, sizeof(last), "%s.1", addr);
	alarm(20);
	if (pthread_create(&requester, NULL, require, last) != 0 || serve(&profile, addr) != 0)
		return EXIT_FAILURE;
	pthread_join(requester, &closed_with);
	if (*(int *)closed_with != -ESHUTDOWN)
		fprintf(stderr, "the connection ended with %d\n", *(int *)closed_with);
	return *(int *)closed_with == -ESHUTDOWN ? EXIT_SUCCESS : EXIT_FAILURE;
}
