/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weir-micro-idle: measures engines without work. Two threads, each with an engine, have one
 * connection over shm. The program prints the CPU time that they use without calls, the time of the
 * first call after a sleep, that of a plain wake-up between two threads, or calls per second. It is
 * meant for bench/idle.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <weir/call.h>
#include <weir/engine.h>
#include <weir/metrics.h>
#include <weir/request.h>

#include "../measure/clock.h"
#include "histogram.h"

#define PROG	  0x20000000u
#define GAP_US	  2000u	       /* between two wake-ups; an adaptive engine sleeps after 200 us */
#define SETTLE_US 300000u      /* until a new connection has nothing left to do */
#define WAIT_NS	  60000000000u /* bound of each wait, for a busy machine */

enum mode { MODE_CPU, MODE_CALL, MODE_PLAIN, MODE_RATE, MODES };

struct options {
	enum mode mode;
	enum weir_idle idle;
	int cores[2]; /* -1: any */
	double seconds;
	uint32_t wakes, depth;
	bool both; /* the thread that waits for the reply or the answer sleeps, too */
};

struct bench {
	struct options options;
	struct weir_engine *requester, *responder;
	struct weir_conn *conn;
	struct bench_clock clock;
	atomic_bool is_over;
	bool is_closed;
	uint32_t nopen, nactive;
	uint64_t completed, failed;
	uint64_t cpu_ns; /* CPU time of the responder's thread, after it has ended */
	int there, back; /* eventfd of each direction, for MODE_PLAIN */
	_Atomic uint32_t answered;
};

static void die(const char *what)
{
	fprintf(stderr, "weir-micro-idle: %s\n", what);
	exit(3);
}

static void pin(int core)
{
	cpu_set_t set;

	if (core < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((size_t)core, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		die("can't run on that core");
}

static uint64_t read_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t thread_cpu_ns(void)
{
	return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

static uint64_t process_cpu_ns(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * 1000000000u +
	       ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000u;
}

static void handle(struct weir_request *req, void *arg)
{
	(void)arg;
	weir_request_results(req, 0);
	weir_request_reply(req);
}

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	struct bench *bench = arg;

	(void)conn;
	(void)error;
	bench->nopen += event == WEIR_CONN_OPEN;
	bench->is_closed |= event != WEIR_CONN_OPEN;
}

static void done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	struct bench *bench = arg;

	(void)call;
	bench->nactive--;
	bench->completed++;
	bench->failed += result->status != 0;
}

static void submit(struct bench *bench)
{
	const struct weir_call_params params = {
		.struct_bytes = sizeof(params),
		.prog = PROG,
		.vers = 1,
		.done = done,
		.arg = bench,
	};
	struct weir_call *call = weir_call_begin(bench->conn, &params);
	int rc = call ? weir_call_submit(call) : -errno;

	if (rc != 0)
		die(strerror(-rc));
	bench->nactive++;
}

/* Polls an engine once. If it has no work, it then does what the profile says. */
static void poll_or_idle(struct bench *bench, struct weir_engine *engine)
{
	uint64_t now = bench_clock_ns(&bench->clock);

	weir_engine_idle(engine, weir_engine_poll(engine, 0, now), now);
}

static void *respond(void *arg)
{
	struct bench *bench = arg;
	uint64_t began = thread_cpu_ns();

	pin(bench->options.cores[1]);
	while (!atomic_load_explicit(&bench->is_over, memory_order_relaxed))
		poll_or_idle(bench, bench->responder);
	bench->cpu_ns = thread_cpu_ns() - began;
	return NULL;
}

/* Polls the requester's engine until all calls have ended. */
static void finish_calls(struct bench *bench, bool sleeps)
{
	uint64_t now = bench_clock_ns(&bench->clock), until = now + WAIT_NS;

	while (bench->nactive > 0) {
		uint32_t work = weir_engine_poll(bench->requester, 0, now);

		if (sleeps)
			weir_engine_idle(bench->requester, work, now);
		now = bench_clock_ns(&bench->clock);
		if (now > until)
			die("a call did not end");
	}
	if (bench->failed > 0)
		die("a call failed");
}

static void open_conn(struct bench *bench, const char *name)
{
	const struct weir_connect_options options = {
		.struct_bytes = sizeof(options), .on_event = on_event, .arg = bench};
	uint64_t until = bench_clock_ns(&bench->clock) + WAIT_NS;

	if (weir_connect(bench->requester, name, &options, &bench->conn) != 0)
		die("can't connect");
	while (bench->nopen == 0) {
		if (bench->is_closed || bench_clock_ns(&bench->clock) > until)
			die("can't connect");
		weir_engine_poll(bench->requester, 0, bench_clock_ns(&bench->clock));
		usleep(100);
	}
	submit(bench);
	finish_calls(bench, false);
}

/* Lets the requester's thread idle for a time. */
static void idle_for(struct bench *bench, uint64_t ns)
{
	uint64_t until = bench_clock_ns(&bench->clock) + ns;

	while (bench_clock_ns(&bench->clock) < until)
		poll_or_idle(bench, bench->requester);
}

static double percent(uint64_t cpu_ns, uint64_t ns)
{
	return 100.0 * (double)cpu_ns / (double)ns;
}

static void print_times(const struct weir_histogram *hist)
{
	printf("median_us %.2f\np90_us %.2f\nn %" PRIu64 "\n",
	       (double)histogram_quantile(hist, 0.5) / 1000,
	       (double)histogram_quantile(hist, 0.9) / 1000, histogram_count(hist));
}

static void measure_cpu(struct bench *bench)
{
	uint64_t ns = (uint64_t)(bench->options.seconds * 1e9), thread, process, began;

	idle_for(bench, SETTLE_US * 1000u);
	began = bench_clock_ns(&bench->clock);
	thread = thread_cpu_ns();
	process = process_cpu_ns();
	idle_for(bench, ns);
	ns = bench_clock_ns(&bench->clock) - began;
	printf("thread_percent %.3f\nprocess_percent %.3f\n", percent(thread_cpu_ns() - thread, ns),
	       percent(process_cpu_ns() - process, ns));
}

/* Measures calls that find the responder's thread asleep. Others are made, but do not count. */
static void measure_calls(struct bench *bench)
{
	const uint32_t wakes = (uint32_t)weir_counter_find("wakes");
	uint64_t until = bench_clock_ns(&bench->clock) + WAIT_NS;
	struct weir_histogram hist;

	histogram_init(&hist);
	while (histogram_count(&hist) < bench->options.wakes) {
		uint64_t began, before = weir_engine_counter(bench->requester, wakes);

		usleep(GAP_US);
		/* The timers of the engine run now, and not in the time of the call. */
		weir_engine_poll(bench->requester, 0, bench_clock_ns(&bench->clock));
		began = read_ns(CLOCK_MONOTONIC);
		submit(bench);
		finish_calls(bench, bench->options.both);
		began = read_ns(CLOCK_MONOTONIC) - began;
		if (weir_engine_counter(bench->requester, wakes) > before)
			histogram_add(&hist, began);
		if (bench_clock_ns(&bench->clock) > until)
			die("the responder does not sleep, or the machine is too busy");
	}
	print_times(&hist);
}

static void measure_rate(struct bench *bench)
{
	uint64_t began = bench_clock_ns(&bench->clock), first = bench->completed, now = began,
		 end = began + (uint64_t)(bench->options.seconds * 1e9);

	while (now < end) {
		uint32_t work;

		while (bench->nactive < bench->options.depth)
			submit(bench);
		work = weir_engine_poll(bench->requester, 0, now);
		weir_engine_idle(bench->requester, work, now);
		now = bench_clock_ns(&bench->clock);
	}
	printf("calls_per_s %.0f\n",
	       (double)(bench->completed - first) * 1e9 / (double)(now - began));
	finish_calls(bench, false);
}

static void make_engines(struct bench *bench)
{
	struct weir_profile profile;

	weir_profile_defaults(&profile);
	profile.idle = bench->options.idle;
	if (weir_engine_create(&profile, &bench->responder) != 0 ||
	    weir_engine_create(&profile, &bench->requester) != 0)
		die("no engines");
}

static void run_engines(struct bench *bench)
{
	struct weir_program program = {.struct_bytes = sizeof(program),
				       .prog = PROG,
				       .vers_low = 1,
				       .vers_high = 1,
				       .nprocs = 1,
				       .handle = handle,
				       .arg = bench};
	const struct weir_listen_options listen = {
		.struct_bytes = sizeof(listen), .programs = &program, .nprograms = 1};
	struct weir_listener *listener;
	pthread_t thread;
	char name[64];

	make_engines(bench);
	bench_clock_init(&bench->clock);
	snprintf(name, sizeof(name), "weir-micro-idle-%d", (int)getpid());
	if (weir_listen(bench->responder, name, &listen, &listener) != 0)
		die("can't listen");
	if (pthread_create(&thread, NULL, respond, bench) != 0)
		die("no thread");
	pin(bench->options.cores[0]);
	open_conn(bench, name);
	if (bench->options.mode == MODE_CPU)
		measure_cpu(bench);
	else if (bench->options.mode == MODE_CALL)
		measure_calls(bench);
	else
		measure_rate(bench);
	atomic_store(&bench->is_over, true);
	pthread_join(thread, NULL);
	weir_listener_close(listener);
	weir_engine_destroy(bench->requester);
	weir_engine_destroy(bench->responder);
}

/* Sleeps in epoll until an eventfd is readable, and then takes its count. */
static void wait_for_event(int epoll_fd, int event_fd)
{
	struct epoll_event event;
	uint64_t count;

	while (epoll_wait(epoll_fd, &event, 1, -1) != 1)
		;
	if (read(event_fd, &count, sizeof(count)) != sizeof(count))
		die("eventfd");
}

static void signal_event(int fd)
{
	const uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) != sizeof(one))
		die("eventfd");
}

static int epoll_of(int fd)
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

	if (epoll_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
		die("epoll");
	return epoll_fd;
}

/* Answers each plain wake-up by a word in memory, or by a wake-up. */
static void *answer(void *arg)
{
	struct bench *bench = arg;
	int epoll_fd = epoll_of(bench->there);

	pin(bench->options.cores[1]);
	for (uint32_t i = 1; i <= bench->options.wakes; i++) {
		wait_for_event(epoll_fd, bench->there);
		atomic_store_explicit(&bench->answered, i, memory_order_release);
		if (bench->options.both)
			signal_event(bench->back);
	}
	close(epoll_fd);
	return NULL;
}

/* Measures a wake-up by an eventfd and epoll, as measure_calls() measures a call. */
static void run_plain(struct bench *bench)
{
	struct weir_histogram hist;
	pthread_t thread;
	int epoll_fd;

	histogram_init(&hist);
	bench->there = eventfd(0, EFD_CLOEXEC);
	bench->back = eventfd(0, EFD_CLOEXEC);
	if (bench->there < 0 || bench->back < 0 ||
	    pthread_create(&thread, NULL, answer, bench) != 0)
		die("no thread");
	pin(bench->options.cores[0]);
	epoll_fd = epoll_of(bench->back);
	for (uint32_t i = 1; i <= bench->options.wakes; i++) {
		uint64_t began;

		usleep(GAP_US);
		began = read_ns(CLOCK_MONOTONIC);
		signal_event(bench->there);
		if (bench->options.both)
			wait_for_event(epoll_fd, bench->back);
		while (atomic_load_explicit(&bench->answered, memory_order_acquire) != i)
			;
		histogram_add(&hist, read_ns(CLOCK_MONOTONIC) - began);
	}
	pthread_join(thread, NULL);
	close(epoll_fd);
	print_times(&hist);
}

static void usage(FILE *to)
{
	fputs("usage: weir-micro-idle [--mode cpu|call|plain|rate] [--idle spin|adaptive|event]\n"
	      "                       [--cores A,B] [--time SECONDS] [--wakes N] [--depth N] "
	      "[--both]\n"
	      "\n"
	      "Two threads have an engine each and one connection over shm. Modes:\n"
	      "cpu:   CPU time in percent of a core, of the requester's thread and of the whole "
	      "process,\n"
	      "       without calls for --time seconds.\n"
	      "call:  time of a call that finds the responder's thread asleep, in --wakes "
	      "calls.\n"
	      "plain: time of a wake-up by eventfd and epoll between two threads. No engine is "
	      "used.\n"
	      "rate:  calls per second, with --depth calls at a time.\n"
	      "--both: the first thread sleeps, too, while it waits for the second one.\n",
	      to);
}

static double number(const char *text, double min, double max)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (errno || end == text || *end || !(value >= min && value <= max)) {
		fprintf(stderr, "weir-micro-idle: '%s' is not a number from %g to %g\n", text, min,
			max);
		exit(2);
	}
	return value;
}

/* Returns the index of a text in a list of names. */
static uint32_t one_of(const char *text, const char *const *names, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(text, names[i]) == 0)
			return i;
	usage(stderr);
	exit(2);
}

static void parse(int argc, char **argv, struct options *options)
{
	static const struct option longs[] = {{"mode", required_argument, NULL, 'm'},
					      {"idle", required_argument, NULL, 'i'},
					      {"cores", required_argument, NULL, 'c'},
					      {"time", required_argument, NULL, 't'},
					      {"wakes", required_argument, NULL, 'w'},
					      {"depth", required_argument, NULL, 'd'},
					      {"both", no_argument, NULL, 'b'},
					      {"help", no_argument, NULL, 'h'},
					      {0}};
	static const char *const modes[] = {"cpu", "call", "plain", "rate"};
	static const char *const idles[] = {"spin", "adaptive", "event"};
	static const enum weir_idle policies[] = {WEIR_IDLE_SPIN, WEIR_IDLE_ADAPTIVE,
						  WEIR_IDLE_EVENT};
	int option;

	while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (option) {
		case 'm':
			options->mode = (enum mode)one_of(optarg, modes, MODES);
			break;
		case 'i':
			options->idle = policies[one_of(optarg, idles, 3)];
			break;
		case 'c':
			if (sscanf(optarg, "%d,%d", &options->cores[0], &options->cores[1]) != 2) {
				usage(stderr);
				exit(2);
			}
			break;
		case 't':
			options->seconds = number(optarg, 0.001, 86400);
			break;
		case 'w':
			options->wakes = (uint32_t)number(optarg, 1, 1e9);
			break;
		case 'd':
			options->depth = (uint32_t)number(optarg, 1, 32);
			break;
		case 'b':
			options->both = true;
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(2);
		}
	}
	if (optind < argc) {
		usage(stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct bench bench = {.options = {.idle = WEIR_IDLE_EVENT,
					  .cores = {-1, -1},
					  .seconds = 1,
					  .wakes = 500,
					  .depth = 16}};

	parse(argc, argv, &bench.options);
	if (bench.options.mode == MODE_PLAIN)
		run_plain(&bench);
	else
		run_engines(&bench);
	return 0;
}
