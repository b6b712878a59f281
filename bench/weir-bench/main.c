/* SPDX-License-Identifier: BSD-3-Clause */
/* weir-bench: RPCs over RPC-over-RDMA, measured. Starts the side or sides that were asked for. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report.h"
#include "requester.h"
#include "responder.h"
#include "worker.h"

enum exit_status { EXIT_OK = 0, EXIT_LOAD = 1, EXIT_USAGE = 2 };

/* Set by signals: the side that stands alone ends its poll loop. */
static struct bench_shared *shared_for_signals;

static void on_signal(int signo)
{
	(void)signo;
	shared_for_signals->stop = 1;
}

/* The first half of the lcores calls, the second answers; with one, both share it. */
static void split_lcores(const struct bench_options *options, const uint32_t **requester,
			 uint32_t *nrequester, const uint32_t **responder, uint32_t *nresponder)
{
	uint32_t n = options->nlcores;

	*requester = options->lcores;
	*responder = options->lcores;
	*nrequester = n;
	*nresponder = n;
	if (options->side != SIDE_BOTH || n < 2)
		return;
	*nrequester = n / 2;
	*responder = options->lcores + n / 2;
	*nresponder = n - n / 2;
}

struct responder_thread {
	const struct bench_options *options;
	struct bench_shared *shared;
	const uint32_t *lcores;
	uint32_t nlcores;
};

static void *responder_thread(void *arg)
{
	struct responder_thread *t = arg;

	bench_responder_run(t->options, t->shared, t->lcores, t->nlcores);
	return NULL;
}

static int wait_ready(struct bench_shared *shared, pid_t child)
{
	for (int i = 0; i < 3000; i++) {
		int status;

		if (shared->responders_ready)
			return 0;
		if (shared->failed || (child > 0 && waitpid(child, &status, WNOHANG) == child))
			return -ECHILD;
		usleep(10000);
	}
	fprintf(stderr, "weir-bench: the responder did not start in 30 s\n");
	return -ETIMEDOUT;
}

static int run_threads(const struct bench_options *options, struct bench_shared *shared,
		       struct bench_result *result)
{
	struct responder_thread t = {.options = options, .shared = shared};
	const uint32_t *lcores;
	uint32_t nlcores;
	pthread_t thread;
	int rc;

	split_lcores(options, &lcores, &nlcores, &t.lcores, &t.nlcores);
	rc = -pthread_create(&thread, NULL, responder_thread, &t);
	if (rc != 0)
		return rc;
	rc = wait_ready(shared, 0);
	if (rc == 0)
		rc = bench_requester_run(options, shared, lcores, nlcores, result);
	shared->stop = 1;
	pthread_join(thread, NULL);
	return rc;
}

static int run_processes(const struct bench_options *options, struct bench_shared *shared,
			 struct bench_result *result)
{
	const uint32_t *rq_lcores, *rs_lcores;
	uint32_t nrq, nrs;
	int rc, status;
	pid_t child;

	split_lcores(options, &rq_lcores, &nrq, &rs_lcores, &nrs);
	child = fork();
	if (child < 0)
		return -errno;
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		rc = bench_responder_run(options, shared, rs_lcores, nrs);
		_exit(rc == 0 ? EXIT_OK : EXIT_LOAD);
	}
	rc = wait_ready(shared, child);
	if (rc == 0)
		rc = bench_requester_run(options, shared, rq_lcores, nrq, result);
	shared->stop = 1;
	waitpid(child, &status, 0);
	return rc;
}

static int run_responder(const struct bench_options *options, struct bench_shared *shared)
{
	struct sigaction action = {.sa_handler = on_signal};

	shared_for_signals = shared;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	return bench_responder_run(options, shared, options->lcores, options->nlcores);
}

/* What to do about a status of calls; NULL: it says enough. */
static const char *cure(const struct bench_options *options, int status)
{
	switch (-status) {
	case ENOBUFS:
		return "raise send_buffers, long_buffers and bulk_buffers in the profile's [memory], or "
		       "lower --depth or "
		       "--connections";
	case ETIMEDOUT:
		return "the responder did not answer: see whether it still runs";
	case EIO:
	case EREMOTEIO:
		return options->side == SIDE_REQUESTER
			       ? "the responder refuses them: give it the same --size and --working-set"
			       : NULL;
	default:
		return NULL;
	}
}

static int report(const struct bench_options *options, struct bench_shared *shared,
		  const struct bench_result *result)
{
	if (!options->json || strcmp(options->json, "-") != 0)
		bench_report_text(options, shared, result);
	if (options->json && bench_report_json(options, shared, result) != 0)
		return EXIT_LOAD;
	if (result->errors == 0 && result->verify_failures == 0 && shared->verify_failures == 0)
		return EXIT_OK;
	if (result->errors > 0)
		fprintf(stderr, "weir-bench: %llu calls failed, the first with: %s\n",
			(unsigned long long)result->errors, strerror(-result->first_error));
	if (result->errors > 0 && cure(options, result->first_error))
		fprintf(stderr, "weir-bench: %s\n", cure(options, result->first_error));
	if (result->verify_failures + shared->verify_failures > 0)
		fprintf(stderr, "weir-bench: %llu results were wrong\n",
			(unsigned long long)(result->verify_failures + shared->verify_failures));
	return EXIT_LOAD;
}

/* Before the load runs, rather than after. */
static bool json_is_writable(const struct bench_options *options)
{
	FILE *file;

	if (!options->json || strcmp(options->json, "-") == 0)
		return true;
	file = fopen(options->json, "ae");
	if (!file) {
		fprintf(stderr, "weir-bench: can't write '%s': %s\n", options->json, strerror(errno));
		return false;
	}
	fclose(file);
	return true;
}

int main(int argc, char **argv)
{
	static struct bench_options options;
	static struct bench_result result;
	struct bench_shared *shared;
	int rc = bench_options_parse(argc, argv, &options);

	if (rc != 0)
		return rc > 0 ? EXIT_OK : EXIT_USAGE;
	if (!json_is_writable(&options))
		return EXIT_LOAD;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		perror("weir-bench: mmap");
		return EXIT_LOAD;
	}
	if (options.addr)
		snprintf(shared->addr, sizeof(shared->addr), "%s", options.addr);
	else
		snprintf(shared->addr, sizeof(shared->addr), "weir-bench-%d", (int)getpid());
	if (options.side == SIDE_RESPONDER) {
		rc = run_responder(&options, shared);
		return rc == 0 ? EXIT_OK : EXIT_LOAD;
	}
	if (options.side == SIDE_REQUESTER)
		rc = bench_requester_run(&options, shared, options.lcores, options.nlcores, &result);
	else if (options.use_threads)
		rc = run_threads(&options, shared, &result);
	else
		rc = run_processes(&options, shared, &result);
	if (rc != 0 && !result.connected)
		return EXIT_LOAD;
	return report(&options, shared, &result);
}
