/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts the responder's side as a process or thread, and carries out the runs of both sides. */
#include "sides.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture_options.h"
#include "interrupt.h"
#include "log.h"
#include "responder.h"

#define READY_MS 30000
#define END_MS	 10000

static struct bench_shared *share(const struct bench_options *options)
{
	struct bench_shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED) {
		perror("weir-bench: mmap");
		return NULL;
	}
	if (options->addr)
		snprintf(shared->addr, sizeof(shared->addr), "%s", options->addr);
	else
		snprintf(shared->addr, sizeof(shared->addr), "weir-bench-%d", (int)getpid());
	return shared;
}

/* Stops the capture of this process, if there is one. */
static void stop_capture(const struct bench_options *options, struct bench_shared *shared)
{
	if (capture_options_stop("weir-bench", &options->capture) != 0)
		shared->capture_failed = 1;
}

/*
 * Runs in the responder's process. Carries out one run after the other. Each run begins when the
 * requester begins it. Returns 0 or an error.
 */
static int answer_runs(const struct sides *sides, uint32_t nruns)
{
	struct bench_shared *shared = sides->shared;
	int rc = 0;

	for (uint32_t i = 0; i < nruns && rc == 0; i++) {
		struct bench_options point;

		while (shared->runs_begun <= i)
			usleep(1000);
		bench_options_point(sides->options, i % bench_options_points(sides->options),
				    &point);
		rc = bench_responder_run(&point, shared);
		/* The requester's process can end this one when the last run is answered. */
		if (i + 1 == nruns || rc != 0 || bench_interrupted(shared))
			stop_capture(sides->options, shared);
		shared->runs_answered = i + 1;
	}
	return rc;
}

int sides_start(struct sides *sides, const struct bench_options *options, uint32_t nruns)
{
	*sides = (struct sides){.options = options, .shared = share(options)};
	if (!sides->shared)
		return -ENOMEM;
	bench_interrupt_catch(sides->shared, false);
	bench_log_start(sides->shared);
	if (options->side != SIDE_BOTH || options->use_threads)
		return 0;
	sides->child = fork();
	if (sides->child < 0) {
		perror("weir-bench: fork");
		sides->child = 0;
		return -EAGAIN;
	}
	if (sides->child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(answer_runs(sides, nruns) == 0 ? 0 : 1);
	}
	sides->shared->child = sides->child;
	return 0;
}

/*
 * Returns true if there is no child, or if the child has ended. If a signal ended the child, prints
 * a message.
 */
static bool child_is_gone(struct sides *sides)
{
	int status;

	if (sides->child == 0)
		return true;
	if (waitpid(sides->child, &status, WNOHANG) != sides->child)
		return false;
	if (WIFSIGNALED(status))
		fprintf(stderr, "weir-bench: the responder's process was ended by signal %d: %s\n",
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	sides->child = 0;
	sides->shared->child = 0;
	return true;
}

/*
 * Waits until the child has ended its part of a run. A child that does not end, for example because
 * it was stopped by a signal, is killed. Returns 0, or an error.
 */
static int wait_answered(struct sides *sides, uint32_t number)
{
	for (int ms = 0; sides->shared->runs_answered <= number; ms++) {
		if (child_is_gone(sides))
			return -ECHILD;
		if (ms == END_MS) {
			fprintf(stderr,
				"weir-bench: the responder's process did not end its run within %d "
				"s, and was killed\n",
				END_MS / 1000);
			kill(sides->child, SIGKILL);
			waitpid(sides->child, NULL, 0);
			sides->child = 0;
			sides->shared->child = 0;
			return -ETIMEDOUT;
		}
		usleep(1000);
	}
	return sides->shared->failed ? -ECANCELED : 0;
}

static int wait_ready(struct sides *sides)
{
	for (int ms = 0; ms < READY_MS; ms++) {
		if (sides->shared->responders_ready)
			return 0;
		if (bench_interrupted(sides->shared))
			return -EINTR;
		if (sides->shared->failed || child_is_gone(sides))
			return -ECHILD;
		usleep(1000);
	}
	fprintf(stderr, "weir-bench: the responder did not start within %d s\n", READY_MS / 1000);
	return -ETIMEDOUT;
}

static int run_threads(struct sides *sides, const struct bench_options *point,
		       struct bench_result *result)
{
	struct bench_responder *responder;
	int rc = bench_responder_start(point, sides->shared, &responder), end;

	if (rc != 0)
		return rc;
	rc = bench_requester_run(point, sides->shared, result);
	sides->shared->stop = 1;
	end = bench_responder_finish(responder);
	return rc == 0 ? end : rc;
}

static int run_processes(struct sides *sides, uint32_t number, const struct bench_options *point,
			 struct bench_result *result)
{
	int rc, end;

	sides->shared->runs_begun = number + 1;
	rc = wait_ready(sides);
	if (rc == 0)
		rc = bench_requester_run(point, sides->shared, result);
	sides->shared->stop = 1;
	end = wait_answered(sides, number);
	return rc == 0 ? end : rc;
}

int sides_run(struct sides *sides, uint32_t number, const struct bench_options *point,
	      struct bench_result *result)
{
	struct bench_shared *shared = sides->shared;

	memset(result, 0, sizeof(*result));
	shared->responders_ready = 0;
	shared->failed = 0;
	shared->warm = 0;
	shared->stop = 0;
	shared->verify_failures = 0;
	memset(&shared->responder, 0, sizeof(shared->responder));
	if (point->side == SIDE_REQUESTER)
		return bench_requester_run(point, shared, result);
	if (point->use_threads)
		return run_threads(sides, point, result);
	return run_processes(sides, number, point, result);
}

int sides_end(struct sides *sides)
{
	int rc;

	/*
	 * The child ends by itself after its last run. If runs were left out, the child still waits
	 * for them. It can be killed, because it has nothing else to do.
	 */
	if (sides->child > 0) {
		kill(sides->child, SIGKILL);
		waitpid(sides->child, NULL, 0);
	}
	stop_capture(sides->options, sides->shared);
	rc = sides->shared->capture_failed ? -EIO : 0;
	bench_log_end();
	munmap(sides->shared, sizeof(*sides->shared));
	return rc;
}

int sides_listen(const struct bench_options *options)
{
	struct bench_shared *shared = share(options);
	struct bench_options point;
	int rc, end;

	if (!shared)
		return -ENOMEM;
	bench_interrupt_catch(shared, true);
	bench_options_point(options, 0, &point);
	rc = bench_responder_run(&point, shared);
	end = capture_options_stop("weir-bench", &options->capture);
	return rc == 0 ? end : rc;
}
