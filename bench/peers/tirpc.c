/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weir-peer-tirpc: measures ONC RPC over sockets with libtirpc, between two processes on two cores.
 * The call is the null call that weir-bench makes. Programs that could use weir often use libtirpc.
 * The program makes one call at a time, as libtirpc does.
 */
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rpc/rpc.h>

#include "histogram.h"
#include "peer.h"

#define PROG	    0x20000001u
#define VERS	    1u
#define PAYLOAD_MAX 8000u
#define WARMUP	    200u

struct options {
	long cores[2];		   /* -1: not pinned */
	unsigned long calls, size; /* -1: the process is not pinned */
	bool is_unix;
};

static unsigned size_bytes;
static char payload[PAYLOAD_MAX];

static void die(const char *what)
{
	fprintf(stderr, "weir-peer-tirpc: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Makes a connection, which is a pair of UNIX sockets or TCP over the loopback interface. */
static void connect_pair(bool is_unix, int ends[2])
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(addr);
	int one = 1, listener;

	if (is_unix) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
			die("socketpair");
		return;
	}
	listener = socket(AF_INET, SOCK_STREAM, 0);
	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (listener < 0 || ends[0] < 0 || bind(listener, (struct sockaddr *)&addr, len) != 0 ||
	    listen(listener, 1) != 0 ||
	    getsockname(listener, (struct sockaddr *)&addr, &len) != 0 ||
	    connect(ends[0], (struct sockaddr *)&addr, len) != 0)
		die("no TCP connection");
	ends[1] = accept(listener, NULL, NULL);
	if (ends[1] < 0)
		die("accept");
	close(listener);
	for (int i = 0; i < 2; i++)
		setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static bool_t xdr_payload(XDR *xdrs, void *data, ...)
{
	return xdr_opaque(xdrs, data, size_bytes);
}

static void dispatch(struct svc_req *req, SVCXPRT *xprt)
{
	if (req->rq_proc != NULLPROC || !svc_getargs(xprt, (xdrproc_t)(void *)xdr_payload, payload))
		svcerr_decode(xprt);
	else
		svc_sendreply(xprt, (xdrproc_t)(void *)xdr_void, NULL);
}

static void serve(int fd, long core)
{
	SVCXPRT *xprt;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	peer_pin(core);
	xprt = svc_fd_create(fd, 0, 0);
	if (!xprt || !svc_reg(xprt, PROG, VERS, dispatch, NULL))
		die("no server");
	svc_run();
	exit(1);
}

static void call(CLIENT *client)
{
	const struct timeval timeout = {.tv_sec = 30};
	enum clnt_stat stat = clnt_call(client, NULLPROC, (xdrproc_t)(void *)xdr_payload, payload,
					(xdrproc_t)(void *)xdr_void, NULL, timeout);

	if (stat != RPC_SUCCESS) {
		fprintf(stderr, "weir-peer-tirpc: %s\n", clnt_sperrno(stat));
		exit(1);
	}
}

static void measure(const struct options *options, int fd)
{
	struct netbuf nowhere = {0};
	static struct weir_histogram hist;
	CLIENT *client;
	uint64_t begin, before;

	peer_pin(options->cores[0]);
	client = clnt_vc_create(fd, &nowhere, PROG, VERS, 0, 0);
	if (!client)
		die("no client");
	for (unsigned i = 0; i < WARMUP; i++)
		call(client);
	histogram_init(&hist);
	begin = before = peer_now_ns();
	for (unsigned long i = 0; i < options->calls; i++) {
		uint64_t now;

		call(client);
		now = peer_now_ns();
		histogram_add(&hist, now - before);
		before = now;
	}
	printf("{\"transport\": \"%s\", \"size\": %u, \"calls\": %lu, \"rpc_per_s\": %.1f, "
	       "\"p50_ns\": %llu, \"p99_ns\": %llu}\n",
	       options->is_unix ? "unix" : "tcp", size_bytes, options->calls,
	       (double)options->calls * 1e9 / (double)(before - begin),
	       (unsigned long long)histogram_quantile(&hist, 0.5),
	       (unsigned long long)histogram_quantile(&hist, 0.99));
	clnt_destroy(client);
}

static int usage(int status)
{
	fputs("Usage: weir-peer-tirpc [--transport tcp|unix] [--size BYTES] [--calls N] [--cores "
	      "A,B]\n"
	      "Makes null calls with libtirpc, one at a time, and prints JSON. Defaults: unix, 64, "
	      "20000, not pinned.\n",
	      status ? stderr : stdout);
	return status;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {{"transport", required_argument, NULL, 't'},
					      {"size", required_argument, NULL, 's'},
					      {"calls", required_argument, NULL, 'n'},
					      {"cores", required_argument, NULL, 'c'},
					      {"help", no_argument, NULL, 'h'},
					      {NULL, 0, NULL, 0}};
	struct options options = {.cores = {-1, -1}, .calls = 20000, .size = 64, .is_unix = true};
	int opt, ends[2];
	pid_t child;

	while ((opt = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (opt == 'h')
			return usage(0);
		if (opt == 't' && (strcmp(optarg, "tcp") == 0 || strcmp(optarg, "unix") == 0))
			options.is_unix = strcmp(optarg, "unix") == 0;
		else if (opt == 's')
			options.size = strtoul(optarg, NULL, 10);
		else if (opt == 'n')
			options.calls = strtoul(optarg, NULL, 10);
		else if (opt != 'c' ||
			 sscanf(optarg, "%ld,%ld", &options.cores[0], &options.cores[1]) != 2 ||
			 options.cores[0] >= CPU_SETSIZE || options.cores[1] >= CPU_SETSIZE)
			return usage(2);
	}
	if (options.size > PAYLOAD_MAX || options.calls == 0 || optind < argc)
		return usage(2);
	size_bytes = (unsigned)options.size;
	connect_pair(options.is_unix, ends);
	child = fork();
	if (child < 0)
		die("fork");
	if (child == 0) {
		close(ends[0]);
		serve(ends[1], options.cores[1]);
	}
	close(ends[1]);
	measure(&options, ends[0]);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}
