/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program with an epoll loop of its own, in which weir is one of several descriptors. It greets
 * callers, as "hello --listen" does. A timerfd prints the number of calls every second, and a
 * signalfd ends the loop. Argument: the name to listen at.
 */
#include <errno.h>
#include <inttypes.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <weir/weir.h>

#include "greet.h"

#define EVENTS	  8
#define PERIOD_NS 1000000000u

struct loop {
	int epoll_fd;
	int weir_fd;
	int timer_fd;
	int signal_fd;
	uint32_t requests; /* index of the counter */
	bool ends;
};

static void watch(const struct loop *loop, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	example_check(fd, "a descriptor");
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
		example_check(-errno, "epoll_ctl");
}

/* Blocks the signals that the signalfd reports. The threads that weir and DPDK start inherit this,
 * so that the function is called before. */
static void block_signals(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGTERM);
	sigprocmask(SIG_BLOCK, signals, NULL);
}

static void create(struct loop *loop, struct weir_engine *engine, const sigset_t *signals)
{
	const struct itimerspec every_second = {{1, 0}, {1, 0}};

	loop->ends = false;
	loop->requests = (uint32_t)weir_counter_find("requests_received");
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	loop->weir_fd = weir_engine_fd(engine);
	loop->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	loop->signal_fd = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
	timerfd_settime(loop->timer_fd, 0, &every_second, NULL);
	watch(loop, loop->weir_fd);
	watch(loop, loop->timer_fd);
	watch(loop, loop->signal_fd);
}

/* Serves a descriptor of the program. The one of weir needs nothing: the next poll does the work.
 */
static void serve(struct loop *loop, const struct weir_engine *engine, int fd)
{
	uint64_t times;

	if (fd == loop->signal_fd)
		loop->ends = true;
	if (fd == loop->timer_fd && read(fd, &times, sizeof(times)) > 0) {
		printf("%" PRIu64 " calls\n", weir_engine_counter(engine, loop->requests));
		fflush(stdout);
	}
}

/* Waits for at most timeout_ns, and serves what is ready. */
static void wait_for_events(struct loop *loop, const struct weir_engine *engine,
			    uint64_t timeout_ns)
{
	/* The timerfd ends a longer sleep. epoll_wait() has milliseconds: a fraction is rounded up,
	 * so that the loop does not spin before a deadline. */
	int timeout_ms = timeout_ns < PERIOD_NS ? (int)((timeout_ns + 999999) / 1000000) : 1000;
	struct epoll_event events[EVENTS];
	int n = epoll_wait(loop->epoll_fd, events, EVENTS, timeout_ms);

	for (int i = 0; i < n; i++)
		serve(loop, engine, events[i].data.fd);
}

static void run(struct loop *loop, struct weir_engine *engine)
{
	uint64_t timeout_ns = 0;

	while (!loop->ends) {
		uint32_t work = weir_engine_poll(engine, 0, example_now_ns());
		bool is_armed = false;

		/* While there is work, the other descriptors are served without a wait. The engine
		 * is not armed then. */
		if (work == 0)
			is_armed = weir_engine_arm(engine, example_now_ns(), &timeout_ns) == 0;
		wait_for_events(loop, engine, is_armed ? timeout_ns : 0);
		if (is_armed)
			weir_engine_disarm(engine);
	}
}

int main(int argc, char **argv)
{
	struct weir_listener *listener;
	struct weir_profile profile;
	struct weir_engine *engine;
	struct loop loop;
	sigset_t signals;

	if (argc != 2 || argv[1][0] == '-') {
		fputs("Usage: epoll-loop NAME\n", stderr);
		return 2;
	}
	block_signals(&signals);
	weir_profile_defaults(&profile);
	example_check(weir_engine_create(&profile, &engine), "weir_engine_create");
	create(&loop, engine, &signals);
	listener = greet_listen(engine, argv[1]);
	run(&loop, engine);
	weir_listener_close(listener);
	weir_engine_destroy(engine);
	close(loop.epoll_fd);
	close(loop.timer_fd);
	close(loop.signal_fd);
	example_check_output();
	return EXIT_SUCCESS;
}
