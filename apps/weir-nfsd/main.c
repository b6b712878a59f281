/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weir-nfsd: a server for NFS version 3 over RPC-over-RDMA. Starts the parts of the server in
 * order, runs it, and ends it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "background.h"
#include "capture_options.h"
#include "client_rules.h"
#include "fs.h"
#include "log_output.h"
#include "memory.h"
#include "mountd.h"
#include "options.h"
#include "rpcbind.h"
#include "sandbox.h"
#include "program_options.h"
#include "server.h"
#include "service.h"
#include "std_io.h"
#include "uaddr.h"

enum exit_status { EXIT_OK = 0, EXIT_START = 1, EXIT_USAGE = 2, EXIT_LOST = 3, EXIT_HUNG = 4 };

static atomic_bool stop;
static struct server server = {.stop = &stop, .wake_fd = -1};
static struct service service = {.server = &server, .notify = {.fd = -1}};

/*
 * Ends the server. The second signal does not wait for anything, wherever the main thread is. A
 * second SIGXCPU has no effect, because the kernel repeats SIGXCPU after each second of CPU time.
 */
static void on_signal(int signo)
{
	static const char text[] = "weir-nfsd: a second signal ends the server at once. Calls that "
				   "were under way get no reply\n";
	static atomic_bool is_second;

	if (background_pass_on(signo))
		return;
	if (atomic_exchange(&is_second, true) && signo != SIGXCPU) {
		(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
		_exit(EXIT_HUNG);
	}
	server_quit(&server);
}

static void on_hangup(int signo)
{
	(void)signo;
	service_hang_up(&service);
}

/*
 * Catches the signals that end the server, and the one that reloads the exports. SIGHUP stays
 * ignored if the process was started with SIGHUP ignored, as by nohup.
 */
static void catch_signals(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGXCPU};
	const struct sigaction end = {.sa_handler = on_signal};
	const struct sigaction hangup = {.sa_handler = on_hangup};
	struct sigaction before;

	for (uint32_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaction(ends[i], &end, NULL);
	if (sigaction(SIGHUP, NULL, &before) != 0 || before.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &hangup, NULL);
	/*
	 * std_io_start() ignores SIGPIPE and SIGXFSZ. A write beyond RLIMIT_FSIZE is therefore
	 * answered NFS3ERR_FBIG. SIGUSR1 and SIGUSR2 are ignored because programs that rotate logs
	 * send them to any server.
	 */
	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
}

static void print_handles(void)
{
	for (uint32_t i = 0; i < server.exports.n; i++) {
		struct nfs3_fh fh;

		server_root(&server, &server.exports.all[i], &fh);
		printf("weir-nfsd: export %s handle ", server.exports.all[i].name);
		for (uint32_t j = 0; j < fh.len_bytes; j++)
			printf("%02x", fh.data[j]);
		putchar('\n');
	}
	fflush(stdout);
}

/*
 * Returns the numeric address on which MOUNT listens. With RDMA devices, this is the address of
 * NFS. The addresses of other drivers are not network addresses, and their clients are on this
 * host, so MOUNT listens on 127.0.0.1.
 */
static const char *mount_host(const struct options *options)
{
	static char host[HOST_NUMERIC_MAX];
	uint16_t port;

	if (option_driver_is_rdma(&options->profile) &&
	    address_split(options->listen, host, sizeof(host), &port) == 0)
		return host;
	return "127.0.0.1";
}

/*
 * Drops capabilities before anything is opened, because an RDMA device that is open when they are
 * dropped becomes unusable. Only two steps can need a dropped capability and therefore precede
 * this: the listen on MOUNT's port, and the private mounts of exported directories. Returns 0, or
 * -EPERM after the reason was printed.
 */
static int begin_sandbox(const struct options *options)
{
	bool has_dir = false;

	for (uint32_t i = 0; i < server.exports.n; i++)
		has_dir |= server.exports.all[i].ops == &dir_ops;
	if ((has_dir && sandbox_check_dir() != 0) || server_prepare(&server) != 0)
		return -EPERM;
	return options->has_sandbox ? sandbox_drop() : 0;
}

/*
 * Runs the server until a signal ends it. 'fd' is for background_ready(), or -1 in the foreground.
 * Returns the exit status.
 */
static int serve(const struct options *options, int fd)
{
	struct mountd *mountd = NULL;
	struct rpcbind rpcbind;
	bool is_drained;
	int rc, status;

	client_rules_read_ports(CLIENT_RULES_PORTS_PATH);
	rc = server_make_wake(&server);
	if (rc == 0)
		rc = service_open(&service, options);
	if (rc == 0 && options->has_mount)
		rc = mountd_open(&server, mount_host(options), options->mount_port,
				 !option_driver_is_rdma(&options->profile), &mountd);
	if (rc == 0)
		rc = begin_sandbox(options);
	if (rc == 0)
		rc = server_start(&server, &options->profile, options->listen, options->state);
	if (rc == 0)
		rc = capture_options_start(&options->capture, WEIR_CAPTURE_RESPONDERS);
	if (rc == 0)
		rc = mountd_start(mountd);
	if (rc == 0) {
		/* Addresses of other drivers are not network addresses. */
		bool is_ip = option_driver_is_rdma(&options->profile);

		rpcbind_init(&rpcbind, options->rpcbind, is_ip ? options->listen : NULL,
			     mount_host(options), mountd_port(mountd));
		rpcbind.export = server.exports.all[0].name;
		if (options->has_rpcbind)
			rpcbind_register(&rpcbind);
		if (options->has_sandbox)
			rc = sandbox_filter();
		if (rc == 0) {
			print_handles();
			/*
			 * If a signal arrived during the start, no report is sent, so the start
			 * counts as failed.
			 */
			if (fd >= 0 && !stop && background_ready(fd) != 0)
				stop = 1;
			server_begin(&server);
			service_run(&service);
			server_halt(&server);
		}
		rpcbind_withdraw(&rpcbind);
	}
	is_drained = mountd_stop(mountd);
	is_drained = server_drain(&server) && is_drained;
	(void)capture_options_stop("weir-nfsd", &options->capture);
	if (!is_drained) {
		fflush(NULL);
		_exit(EXIT_HUNG);
	}
	status = server.is_lost ? EXIT_LOST : EXIT_OK;
	if (rc != 0)
		status = EXIT_START;
	/* The thread can wait for a name server, and uses the exports. */
	if (service_is_reloading(&service)) {
		fflush(NULL);
		_exit(status);
	}
	server_stop(&server);
	service_close(&service);
	return status;
}

int main(int argc, char **argv)
{
	static struct options options;
	pid_t child = 0;
	int fd = -1, rc;

	std_io_start();
	rc = options_parse(argc, argv, &options, &server.exports);
	if (rc > 0)
		return std_io_finish("weir-nfsd") == 0 ? EXIT_OK : EXIT_START;
	if (rc != 0)
		return EXIT_USAGE;
	if (memory_check(&options, &server.exports) != 0)
		return EXIT_START;
	catch_signals();
	/* In the background, standard error is /dev/null. */
	if (options.is_foreground)
		log_output_start();
	else
		child = background_fork(&fd);
	if (child < 0)
		return EXIT_START;
	return child > 0 ? background_wait(child, fd, EXIT_START) : serve(&options, fd);
}
