/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles the signals that end the bench. */
#include "interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

/*
 * Two signals within this time count as one. timeout(1) sends its signal to the process, and then
 * to the process group to which the process belongs.
 */
#define SAME_REQUEST_NS 200000000

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU};
static _Atomic uint32_t *flag;
static _Atomic int64_t first_ns; /* time of the first signal; 0: no signal has arrived */

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void on_signal(int signo)
{
	int64_t now = now_ns(), first = 0;
	int error = errno;

	if (atomic_compare_exchange_strong(&first_ns, &first, now)) {
		*flag = 1;
	} else if (now - first > SAME_REQUEST_NS) {
		signal(signo, SIG_DFL);
		raise(signo); /* The signal is delivered when this handler returns. */
	}
	errno = error;
}

void bench_interrupt_catch(struct bench_shared *shared, bool is_responder)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;

	flag = is_responder ? &shared->stop : &shared->interrupted;
	for (uint32_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		/* SIGHUP stays ignored if it was ignored at the start, as under nohup(1). */
		if (signals[i] != SIGHUP || sigaction(SIGHUP, NULL, &before) != 0 ||
		    before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}
