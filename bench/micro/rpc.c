/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weir-micro-rpc: runs whole RPCs on one thread. It polls a requester's engine and a responder's
 * engine alternately over shm, and measures the cost of an RPC for both sides together. No time for
 * waits between threads is included. It is meant for 'valgrind --tool=callgrind
 * --collect-atstart=no --toggle-collect=measure'.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weir/call.h>
#include <weir/engine.h>
#include <weir/metrics.h>
#include <weir/request.h>

#include "../measure/clock.h"
#include "compiler.h"

#define PROG	   0x20000000u
#define DATA_BYTES (1u << 20)
/*
 * Limit of the wait for a connection, which is enough under callgrind with other work on the
 * machine.
 */
#define WAIT_NS	  60000000000u
#define CONNS_MAX 4096u
#define IDLE_POLLS                                                                                 \
	10000u /* Number of polls, each one millisecond later. After so many, unused connections   \
		  count as idle, and their credits are available to others. */

enum { PROC_NULL, PROC_READ, PROC_WRITE, NPROCS };

#define LOADS_MAX 8u

struct load {
	uint32_t proc, size;
};

struct micro {
	struct weir_engine *requester, *responder;
	struct weir_region *source, *sink;
	uint8_t *source_base, *sink_base;
	struct weir_conn **conns;
	uint32_t nconns, nopen;
	uint32_t turn; /* index of the connection that gets the next call */
	bool in_turn;  /* each call uses the next connection (--in-turn) */
	uint32_t proc, size, depth, credits;
	uint64_t left, completed, failed;
	bool is_closed;
	bool own_receives;
	bool is_version2;
	enum weir_latency latency; /* times that the engines measure (--latency) */
	bool begins;		   /* uses weir_call_begin() for each call, not weir_call_reuse() */
	bool has_slept;		   /* both engines have been armed before the calls (--slept) */
	struct bench_clock clock;
	uint64_t ahead_ns; /* the time that the engines get is ahead of the clock by this many ns */
};

static const struct weir_ulb_proc ulb_procs[] = {
	{.proc = PROC_READ, .result_items_max = 1},
	{.proc = PROC_WRITE, .arg_items_max = 1},
};
static const struct weir_ulb ulb = {.struct_bytes = sizeof(ulb),
				    .name = "micro",
				    .prog = PROG,
				    .vers_low = 1,
				    .vers_high = 1,
				    .nprocs = 2,
				    .procs = ulb_procs};

static void die(const char *what)
{
	fprintf(stderr, "weir-micro-rpc: %s\n", what);
	exit(1);
}

/* This function is separate from handle(), so that handle() needs no stack frame for a null RPC. */
static out_of_line void handle_read(struct weir_request *req, const struct micro *micro)
{
	weir_request_results(req, 4);
	weir_request_result_item(req, micro->source, micro->source_base, micro->size);
	weir_request_reply(req);
}

static void handle(struct weir_request *req, void *arg)
{
	if (weir_request_header(req)->proc == PROC_READ) {
		handle_read(req, arg);
		return;
	}
	weir_request_results(req, 0);
	weir_request_reply(req);
}

static struct weir_conn *next_conn(struct micro *micro)
{
	struct weir_conn *conn = micro->conns[micro->turn];

	if (micro->in_turn)
		micro->turn = micro->turn + 1 < micro->nconns ? micro->turn + 1 : 0;
	return conn;
}

static void submit(struct micro *micro, struct weir_call *call);
static void call_next(struct micro *micro);

static void done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	struct micro *micro = arg;

	micro->completed++;
	micro->failed += result->status != 0;
	if (micro->left == 0)
		return;
	if (micro->begins)
		call_next(micro);
	else
		submit(micro, weir_call_reuse(call, micro->in_turn ? next_conn(micro)
								   : weir_call_conn(call)));
}

static void call_next(struct micro *micro)
{
	const struct weir_call_params params = {
		.struct_bytes = sizeof(params),
		.prog = PROG,
		.vers = 1,
		.proc = micro->proc,
		.args_max_bytes = micro->proc == PROC_NULL ? micro->size : 4,
		.results_max_bytes = 4,
		.ulb = &ulb,
		.done = done,
		.arg = micro,
	};

	submit(micro, weir_call_begin(next_conn(micro), &params));
}

static out_of_line int describe_item(struct micro *micro, struct weir_call *call)
{
	if (micro->proc == PROC_READ)
		return weir_call_result_item(call, micro->sink, micro->sink_base, micro->size);
	return weir_call_arg_item(call, micro->sink, micro->sink_base, micro->size);
}

/*
 * Adds the data and submits a call. 'call' is the result of weir_call_begin() or weir_call_reuse(),
 * which is NULL with errno set after an error.
 */
static void submit(struct micro *micro, struct weir_call *call)
{
	int rc;

	micro->left--;
	if (!call)
		die(strerror(errno));
	if (micro->proc == PROC_NULL)
		rc = weir_xdr_put_opaque_fixed(weir_call_args(call), micro->sink_base, micro->size);
	else
		rc = describe_item(micro, call);
	if (rc == 0)
		rc = weir_call_submit(call);
	if (rc != 0)
		die(strerror(-rc));
}

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	struct micro *micro = arg;

	(void)conn;
	(void)error;
	micro->nopen += event == WEIR_CONN_OPEN;
	micro->is_closed = event != WEIR_CONN_OPEN;
}

static struct weir_region *region_of(struct weir_engine *engine, uint8_t **base)
{
	const struct weir_region_options options = {
		.struct_bytes = sizeof(options), .len_bytes = DATA_BYTES, .numa_node = -1};
	struct weir_region_info info = {.struct_bytes = sizeof(info)};
	struct weir_region *region;

	if (weir_region_create(&options, &region) != 0 ||
	    weir_engine_add_region(engine, region) != 0)
		die("no memory");
	weir_region_info(region, &info);
	*base = info.base;
	memset(info.base, 1, DATA_BYTES);
	return region;
}

static void poll_both(struct micro *micro, uint64_t now)
{
	weir_engine_poll(micro->requester, 0, now);
	weir_engine_poll(micro->responder, 0, now);
}

static void connect_one(struct micro *micro, const char *name, struct weir_conn **conn)
{
	const struct weir_connect_options options = {.struct_bytes = sizeof(options),
						     .on_event = on_event,
						     .arg = micro,
						     .credits = micro->credits};
	uint64_t now = bench_clock_ns(&micro->clock), until = now + WAIT_NS;
	const uint32_t opened = (uint32_t)weir_counter_find("connections_opened");

	if (weir_connect(micro->requester, name, &options, conn) != 0)
		die("can't connect");
	for (uint32_t next = micro->nopen + 1;
	     micro->nopen < next || weir_engine_counter(micro->responder, opened) < next;) {
		now = bench_clock_ns(&micro->clock);
		if (micro->is_closed || now > until)
			die("can't connect");
		poll_both(micro, now);
		usleep(100); /* without a pause, the drivers' control threads would get no time to
				run, because callgrind runs one thread at a time */
	}
}

static void set_up(struct micro *micro, struct weir_listener **listener)
{
	struct weir_program program = {.struct_bytes = sizeof(program),
				       .prog = PROG,
				       .vers_low = 1,
				       .vers_high = 1,
				       .nprocs = NPROCS,
				       .ulb = &ulb,
				       .handle = handle,
				       .arg = micro};
	const struct weir_listen_options listen = {
		.struct_bytes = sizeof(listen), .programs = &program, .nprograms = 1};
	struct weir_profile profile;
	char name[64];

	weir_profile_defaults(&profile);
	if (micro->own_receives)
		profile.shared_receives = WEIR_SHARED_RECEIVES_OFF;
	profile.latency = micro->latency;
	if (micro->is_version2)
		profile.protocol = WEIR_PROTOCOL_V2;
	if (profile.connections < micro->nconns)
		profile.connections = micro->nconns;
	if (profile.recv_buffers < 2 * micro->nconns)
		profile.recv_buffers = 2 * micro->nconns;
	if (weir_engine_create(&profile, &micro->responder) != 0 ||
	    weir_engine_create(&profile, &micro->requester) != 0)
		die("no engines");
	micro->source = region_of(micro->responder, &micro->source_base);
	micro->sink = region_of(micro->requester, &micro->sink_base);
	bench_clock_init(&micro->clock);
	snprintf(name, sizeof(name), "weir-micro-rpc-%d", (int)getpid());
	if (weir_listen(micro->responder, name, &listen, listener) != 0)
		die("can't listen");
	micro->conns = calloc(micro->nconns, sizeof(micro->conns[0]));
	if (!micro->conns)
		die("no memory");
	for (uint32_t i = 0; i < micro->nconns; i++)
		connect_one(micro, name, &micro->conns[i]);
	for (uint32_t i = 0; i < IDLE_POLLS && micro->nconns > 1; i++) {
		micro->ahead_ns += 1000000;
		poll_both(micro, bench_clock_ns(&micro->clock) + micro->ahead_ns);
	}
}

static void run_calls(struct micro *micro, uint64_t calls)
{
	uint64_t now = bench_clock_ns(&micro->clock) + micro->ahead_ns,
		 until = micro->completed + calls;

	micro->left = calls;
	for (uint32_t i = 0; i < micro->depth && micro->left > 0; i++)
		call_next(micro);
	while (micro->completed < until && micro->failed == 0)
		poll_both(micro, now);
	if (micro->failed > 0)
		die("a call failed");
}

/*
 * Makes one call, during which the control threads of the drivers map the memory of the other side.
 * Later calls do not wait for that.
 */
static void run_first_call(struct micro *micro)
{
	uint64_t until = micro->completed + 1;

	micro->left = 1;
	call_next(micro);
	while (micro->completed < until && micro->failed == 0) {
		poll_both(micro, bench_clock_ns(&micro->clock) + micro->ahead_ns);
		usleep(100); /* for the same reason as in connect_one() */
	}
	if (micro->failed > 0)
		die("a call failed");
}

/* Arms and disarms an engine, which so far has polled only. */
static void sleep_once(struct micro *micro, struct weir_engine *engine)
{
	uint64_t timeout_ns, now = bench_clock_ns(&micro->clock) + micro->ahead_ns;
	int rc;

	if (weir_engine_fd(engine) < 0)
		die("the engine has no descriptor");
	while ((rc = weir_engine_arm(engine, now, &timeout_ns)) == -EAGAIN)
		poll_both(micro, now);
	if (rc != 0)
		die(strerror(-rc));
	weir_engine_disarm(engine);
}

/*
 * Makes calls that are not measured. During them memory is mapped, credits are granted and the
 * caches are filled. check_waits.py looks for the name of the function.
 */
static out_of_line void prepare(struct micro *micro)
{
	run_first_call(micro);
	if (micro->has_slept) {
		sleep_once(micro, micro->requester);
		sleep_once(micro, micro->responder);
	}
	run_calls(micro, 200 + (micro->in_turn ? 4 * micro->nconns : 0));
}

/*
 * Runs the calls that are measured. The function has a name of its own, which --toggle-collect and
 * check_waits.py name.
 */
static out_of_line void measure(struct micro *micro, uint64_t calls)
{
	run_calls(micro, calls);
}

static void usage(FILE *to)
{
	fputs("usage: weir-micro-rpc [--workload null|read|write] [--size BYTES] [--depth N] "
	      "[--calls N]\n"
	      "                      [--credits N] [--own-receives] [--version2] [--begin]\n"
	      "                      [--slept] [--latency[=off|calls|stages]]\n"
	      "                      [--also null|read|write:BYTES ...] [--connections N "
	      "[--in-turn]]\n"
	      "\n"
	      "--credits: credits of a connection, 1 to 64 (default). With fewer than --depth, "
	      "calls wait for them.\n"
	      "--own-receives: the same as shared_receives = off.\n"
	      "--version2: connections use version 2 of the protocol.\n"
	      "--connections: number of open connections. Calls use the first one, or with "
	      "--in-turn all in turn.\n"
	      "--latency: the profile's latency; without a value, calls.\n"
	      "--begin: starts each call with weir_call_begin() instead of weir_call_reuse().\n"
	      "--also: measures another workload afterwards, with the same connections.\n"
	      "--slept: both engines are armed for a sleep once before the calls.\n"
	      "One thread makes RPCs and answers them over shm. Prints nanoseconds per RPC for "
	      "both sides together.\n"
	      "For instructions: valgrind --tool=callgrind --collect-atstart=no "
	      "--toggle-collect=measure weir-micro-rpc ...\n",
	      to);
}

static unsigned long number(const char *text, unsigned long min, unsigned long max)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *end || value < min || value > max) {
		fprintf(stderr, "weir-micro-rpc: '%s' is not a number from %lu to %lu\n", text, min,
			max);
		exit(2);
	}
	return value;
}

/* Returns the procedure of a workload. */
static uint32_t workload(const char *name)
{
	static const char *const names[] = {"null", "read", "write"};

	for (uint32_t proc = 0; proc < NPROCS; proc++)
		if (strcmp(name, names[proc]) == 0)
			return proc;
	usage(stderr);
	exit(2);
}

/* Returns the setting of a name, which is NULL if the option has no value. */
static enum weir_latency latency(const char *name)
{
	static const char *const names[] = {
		[WEIR_LATENCY_OFF] = "off",
		[WEIR_LATENCY_CALLS] = "calls",
		[WEIR_LATENCY_STAGES] = "stages",
	};

	for (int i = 0; name && i <= WEIR_LATENCY_STAGES; i++)
		if (strcmp(name, names[i]) == 0)
			return (enum weir_latency)i;
	if (name) {
		usage(stderr);
		exit(2);
	}
	return WEIR_LATENCY_CALLS;
}

/* Parses WORKLOAD:SIZE. */
static struct load other_load(char *text)
{
	char *size = strchr(text, ':');

	if (!size) {
		usage(stderr);
		exit(2);
	}
	*size++ = '\0';
	return (struct load){.proc = workload(text), .size = (uint32_t)number(size, 0, DATA_BYTES)};
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {{"workload", required_argument, NULL, 'w'},
					      {"size", required_argument, NULL, 's'},
					      {"also", required_argument, NULL, 'a'},
					      {"depth", required_argument, NULL, 'd'},
					      {"calls", required_argument, NULL, 'c'},
					      {"credits", required_argument, NULL, 'r'},
					      {"own-receives", no_argument, NULL, 'o'},
					      {"version2", no_argument, NULL, '2'},
					      {"connections", required_argument, NULL, 'n'},
					      {"in-turn", no_argument, NULL, 't'},
					      {"begin", no_argument, NULL, 'b'},
					      {"slept", no_argument, NULL, 'e'},
					      {"latency", optional_argument, NULL, 'l'},
					      {"help", no_argument, NULL, 'h'},
					      {0}};
	struct micro micro = {.depth = 1, .credits = 64, .nconns = 1};
	struct load loads[LOADS_MAX] = {{.proc = PROC_NULL, .size = 64}};
	uint32_t nloads = 1;
	struct weir_listener *listener;
	unsigned long calls = 1000000;
	uint64_t begin, end;
	int option;

	while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (option) {
		case 'w':
			loads[0].proc = workload(optarg);
			break;
		case 's':
			loads[0].size = (uint32_t)number(optarg, 0, DATA_BYTES);
			break;
		case 'a':
			if (nloads == LOADS_MAX)
				die("too many workloads");
			loads[nloads++] = other_load(optarg);
			break;
		case 'd':
			micro.depth = (uint32_t)number(optarg, 1, 32);
			break;
		case 'c':
			calls = number(optarg, 1, UINT32_MAX);
			break;
		case 'r':
			micro.credits = (uint32_t)number(optarg, 1, 64);
			break;
		case 'o':
			micro.own_receives = true;
			break;
		case '2':
			micro.is_version2 = true;
			break;
		case 'n':
			micro.nconns = (uint32_t)number(optarg, 1, CONNS_MAX);
			break;
		case 't':
			micro.in_turn = true;
			break;
		case 'b':
			micro.begins = true;
			break;
		case 'e':
			micro.has_slept = true;
			break;
		case 'l':
			micro.latency = latency(optarg);
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	set_up(&micro, &listener);
	for (uint32_t i = 0; i < nloads; i++) {
		micro.proc = loads[i].proc;
		micro.size = loads[i].size;
		prepare(&micro);
		begin = bench_clock_ns(&micro.clock);
		measure(&micro, calls);
		end = bench_clock_ns(&micro.clock);
		printf("%.1f ns per RPC\n", (double)(end - begin) / (double)calls);
	}
	weir_listener_close(listener);
	weir_engine_destroy(micro.requester);
	weir_engine_destroy(micro.responder);
	weir_region_destroy(micro.source);
	weir_region_destroy(micro.sink);
	free(micro.conns);
	return 0;
}
