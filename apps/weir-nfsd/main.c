/* SPDX-License-Identifier: BSD-3-Clause */
/* weir-nfsd: NFS version 3 over RPC-over-RDMA. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mountd.h"
#include "options.h"
#include "rpcbind.h"
#include "server.h"

enum exit_status { EXIT_OK = 0, EXIT_START = 1, EXIT_USAGE = 2, EXIT_LOST = 3 };

static atomic_bool stop;

static void on_signal(int signo)
{
	(void)signo;
	stop = 1;
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal}, ignore = {.sa_handler = SIG_IGN};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
}

static void print_handles(struct server *server)
{
	for (uint32_t i = 0; i < server->exports.n; i++) {
		struct nfs3_fh fh;

		server_root(server, &server->exports.all[i], &fh);
		printf("weir-nfsd: export %s handle ", server->exports.all[i].name);
		for (uint32_t j = 0; j < fh.len_bytes; j++)
			printf("%02x", fh.data[j]);
		putchar('\n');
	}
	fflush(stdout);
}

/* All that runs, until a signal. 'ready' is called when clients may come. */
static int serve(const struct options *options, struct server *server, void (*ready)(int fd), int fd)
{
	struct mountd *mountd = NULL;
	struct rpcbind rpcbind;
	int rc = server_start(server, &options->profile, options->listen, options->state);

	if (rc == 0 && options->has_mount)
		rc = mountd_start(server, options->mount_port, &mountd);
	if (rc == 0) {
		/* Other drivers' addresses are no network's. */
		bool is_ip = strcmp(options->profile.driver, "verbs") == 0;

		rpcbind_init(&rpcbind, options->rpcbind, is_ip ? options->listen : NULL, mountd_port(mountd));
		if (options->has_rpcbind)
			rpcbind_register(&rpcbind);
		print_handles(server);
		ready(fd);
		rc = server_run(server);
		rpcbind_withdraw(&rpcbind);
	}
	mountd_stop(mountd);
	server_stop(server);
	if (rc != 0)
		return EXIT_START;
	return server->is_lost ? EXIT_LOST : EXIT_OK;
}

static void ready_in_foreground(int fd)
{
	(void)fd;
}

/* Let go of the terminal and of the directory, and tell the one who waits. All that the command line names is open by now,
 * or absolute. */
static void ready_in_background(int fd)
{
	const char ok = 1;

	if (chdir("/") != 0) {
		perror("weir-nfsd: /");
		stop = 1;
	}
	if (!freopen("/dev/null", "r", stdin) || !freopen("/dev/null", "w", stdout) ||
	    !freopen("/dev/null", "w", stderr))
		stop = 1;
	if (!stop && write(fd, &ok, 1) != 1)
		stop = 1; /* it is gone: nobody knows of us */
	close(fd);
}

/* The parent's part: wait until the server is up, or has failed. */
static int wait_for(pid_t child, int fd)
{
	int status;
	char ok;

	if (read(fd, &ok, 1) == 1)
		return EXIT_OK;
	if (waitpid(child, &status, 0) == child && WIFEXITED(status))
		return WEXITSTATUS(status);
	return EXIT_START;
}

static int serve_in_background(const struct options *options, struct server *server)
{
	int fds[2];
	pid_t child;

	if (pipe(fds) != 0) {
		perror("weir-nfsd: pipe");
		return EXIT_START;
	}
	child = fork();
	if (child < 0) {
		perror("weir-nfsd: fork");
		return EXIT_START;
	}
	if (child > 0) {
		close(fds[1]);
		return wait_for(child, fds[0]);
	}
	close(fds[0]);
	setsid();
	return serve(options, server, ready_in_background, fds[1]);
}

int main(int argc, char **argv)
{
	static struct options options;
	static struct server server = {.stop = &stop};
	int rc = options_parse(argc, argv, &options, &server.exports);

	if (rc != 0)
		return rc > 0 ? EXIT_OK : EXIT_USAGE;
	catch_signals();
	return options.is_foreground ? serve(&options, &server, ready_in_foreground, -1)
				     : serve_in_background(&options, &server);
}
