/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of doc/guide-threads.rst, as one program. The page includes what is between the
 * comments in brackets. The program serves until a signal arrives, which it sends to itself, and
 * then ends with 0 if all threads have run.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <weir/weir.h>

#define PROG	    0x20000079u
#define THREADS_MAX WEIR_RUNTIME_THREADS_MAX

/* [shard] */
struct shard {
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

static int init(struct weir_runtime *of, uint32_t thread, void *arg)
{
	shards[thread].nrequests = 0;
	return 0;
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
					       .init = init,
					       .fini = fini,
					       .err = err,
					       .err_bytes = sizeof(err)};
	int rc = weir_runtime_create(profile, &options, &runtime);

	if (rc != 0) {
		fprintf(stderr, "%s\n", err);
		return rc;
	}
	signal(SIGTERM, on_signal);
	rc = weir_runtime_listen(runtime, addr, &listen);
	if (rc == 0 && weir_runtime_start(runtime) == 0) {
		weir_runtime_wait(runtime);
		if (weir_runtime_stop(runtime, 5000) != 0)
			fprintf(stderr, "some calls have not ended\n");
	}
	weir_runtime_destroy(runtime);
	return rc;
}
/* [end] */

int main(void)
{
	struct weir_profile profile;
	char addr[64];

	weir_profile_defaults(&profile);
	profile.idle = WEIR_IDLE_EVENT;
	snprintf(addr, sizeof(addr), "page-threads-%d", (int)getpid());
	alarm(1);
	signal(SIGALRM, on_signal);
	return serve(&profile, addr) == 0 ? 0 : 1;
}
