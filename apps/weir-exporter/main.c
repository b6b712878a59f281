/* SPDX-License-Identifier: BSD-3-Clause */
/* weir-exporter: answers HTTP requests with the metrics of processes that use weir. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <microhttpd.h>

#include "accept.h"
#include "number.h"
#include "page.h"
#include "std_io.h"
#include "tcp_listen.h"
#include "uaddr.h"
#include "watch_find.h"
#include "watch_state.h"

#define EXIT_USAGE    2
#define PORT_USUAL    9818u
#define CONNS_USUAL   32u
#define WAIT_MS	      3000u
#define CLIENTS_MAX   32u
#define CLIENTS_EACH  16u /* with the same address, so that one machine can't use up all */
#define CLIENT_IDLE_S 10u
#define CLIENT_BYTES  (32u << 10) /* memory for the headers of a request and of an answer */
#define LISTEN_BYTES  64u

static const char usage[] =
	"usage: weir-exporter [OPTION]...\n"
	"\n"
	"Answers GET /metrics with the metrics of all processes that use weir and have a telemetry "
	"socket.\n"
	"\n"
	"  -l, --listen ADDR[:PORT]  numeric address and port (default: 127.0.0.1:9818; port 0: a "
	"free one)\n"
	"  -p, --prefix PREFIX       only processes whose DPDK has this file prefix\n"
	"  -s, --socket PATH         only the process with this socket\n"
	"  -f, --folder DIR          the folder with a folder for each prefix (default: that of "
	"DPDK)\n"
	"  -c, --connections N       connections of a process that have own metrics: 0 to 96 "
	"(default: 32)\n"
	"  -h, --help                print this\n"
	"  -V, --version             print the version\n"
	"\n"
	"The format is OpenMetrics 1.0.0, or the text format of Prometheus if the header Accept "
	"prefers it.\n"
	"\n"
	"Exit status: 0: ended by SIGINT or SIGTERM; 1: the program can't listen, can't read the "
	"folder of\n"
	"the sockets, or can't write its output; 2: wrong usage.\n";

static const struct option long_options[] = {
	{"listen", required_argument, NULL, 'l'},      {"prefix", required_argument, NULL, 'p'},
	{"socket", required_argument, NULL, 's'},      {"folder", required_argument, NULL, 'f'},
	{"connections", required_argument, NULL, 'c'}, {"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},	       {NULL, 0, NULL, 0},
};

/* The command line. */
struct exporter {
	struct page_options page;
	char host[HOST_NUMERIC_MAX];
	uint16_t port;
};

static int finish_output(void)
{
	return std_io_finish("weir-exporter") == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static enum MHD_Result send_text(struct MHD_Connection *connection, unsigned int status,
				 const char *text, const char *allow)
{
	struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback(
		strlen(text), strdup(text), free);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
				      "text/plain; charset=utf-8");
	if (allow)
		(void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, allow);
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result send_page(struct MHD_Connection *connection,
				 const struct page_options *options)
{
	enum page_format format = accept_format(
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT));
	struct MHD_Response *response;
	enum MHD_Result result;
	size_t bytes;
	char *page = page_make(options, format, &bytes);

	if (!page)
		return send_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
				 "There is no memory for the page.\n", NULL);
	response = MHD_create_response_from_buffer_with_free_callback(bytes, page, free);
	if (!response) {
		free(page);
		return MHD_NO;
	}
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
				      accept_content_type(format));
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT);
	result = MHD_queue_response(connection, MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return result;
}

/* Answers a request. MHD calls the function once when it has the headers, and again when it has the
 * body, which is ignored. */
static enum MHD_Result answer(void *arg, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *body,
			      size_t *body_bytes, void **state)
{
	const struct exporter *exporter = arg;

	(void)version;
	(void)body;
	if (!*state) {
		*state = arg;
		return MHD_YES;
	}
	if (*body_bytes > 0) {
		*body_bytes = 0;
		return MHD_YES;
	}
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return send_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
				 "The method must be GET or HEAD.\n", "GET, HEAD");
	if (strcmp(url, "/metrics") == 0)
		return send_page(connection, &exporter->page);
	if (strcmp(url, "/") == 0)
		return send_text(connection, MHD_HTTP_OK,
				 "This is weir-exporter. The metrics are at /metrics.\n", NULL);
	return send_text(connection, MHD_HTTP_NOT_FOUND, "The metrics are at /metrics.\n", NULL);
}

/* Checks that the sockets can be looked for, and says so if there are none yet. */
static int check_sockets(const struct page_options *options)
{
	static struct watch_places places;

	if (options->socket)
		return 0;
	if (watch_find(options->folder, options->prefix, &places) != 0) {
		fprintf(stderr, "weir-exporter: %s\n", places.why);
		return -1;
	}
	if (places.n == 0)
		fprintf(stderr,
			"weir-exporter: no process has a telemetry socket below %s yet: start one "
			"with telemetry = on, or choose another folder with --folder\n",
			places.folder);
	return 0;
}

static const char *listen_remedy(int rc)
{
	switch (rc) {
	case -EADDRINUSE:
		return ": choose another port with --listen";
	case -EACCES:
		return ": choose a port above 1023 with --listen";
	case -EADDRNOTAVAIL:
		return ": choose an address of this machine with --listen";
	default:
		return "";
	}
}

/* Serves requests until a signal ends the program. Returns the exit status. */
static int serve(const struct exporter *exporter, int fd, const sigset_t *signals)
{
	struct exporter own = *exporter;
	char address[LISTEN_BYTES];
	struct MHD_Daemon *server;
	int signal_number, status;

	(void)address_join(exporter->host, (uint16_t)tcp_listen_port(fd), address, sizeof(address));
	server = MHD_start_daemon(
		MHD_USE_POLL_INTERNALLY | MHD_USE_ITC | MHD_USE_ERROR_LOG, 0, NULL, NULL, answer,
		&own, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, CLIENTS_MAX,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, CLIENTS_EACH, MHD_OPTION_CONNECTION_TIMEOUT,
		CLIENT_IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CLIENT_BYTES,
		MHD_OPTION_END);
	if (!server) {
		fprintf(stderr, "weir-exporter: the HTTP server can't start: %s\n",
			strerror(errno));
		close(fd);
		return EXIT_FAILURE;
	}
	printf("metrics at http://%s/metrics\n", address);
	status = finish_output();
	if (status == EXIT_SUCCESS)
		(void)sigwait(signals, &signal_number);
	MHD_stop_daemon(server);
	return status;
}

static int run(const struct exporter *exporter)
{
	sigset_t signals;
	int fd;

	if (check_sockets(&exporter->page) != 0)
		return EXIT_FAILURE;
	/* The thread of the server inherits the mask. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	fd = tcp_listen(exporter->host, exporter->port);
	if (fd < 0) {
		fprintf(stderr, "weir-exporter: can't listen at %s port %u: %s%s\n", exporter->host,
			exporter->port, strerror(-fd), listen_remedy(fd));
		return EXIT_FAILURE;
	}
	return serve(exporter, fd, &signals);
}

/* Parses an address with an optional port. Port 0 is a free one. */
static bool parse_listen(const char *text, struct exporter *exporter)
{
	size_t len = strlen(text);
	char host[HOST_NUMERIC_MAX + 2];

	if (address_split_numeric(text, PORT_USUAL, exporter->host, &exporter->port))
		return true;
	if (len < 3 || strcmp(text + len - 2, ":0") != 0 || len - 2 >= sizeof(host))
		return false;
	snprintf(host, sizeof(host), "%.*s", (int)len - 2, text);
	if (!address_split_numeric(host, PORT_USUAL, exporter->host, &exporter->port))
		return false;
	exporter->port = 0;
	return true;
}

/* Applies an option. Returns 0, or -1 after it has printed the error. */
static int apply(struct exporter *exporter, int option)
{
	switch (option) {
	case 'l':
		if (!parse_listen(optarg, exporter))
			return option_bad("listen", optarg,
					  "expected a numeric address, such as 127.0.0.1:9818 or "
					  "[::1]:9818");
		return 0;
	case 'p':
		if (optarg[0] == '\0' || optarg[0] == '.' || strchr(optarg, '/'))
			return option_bad("prefix", optarg, "expected a file prefix of DPDK");
		exporter->page.prefix = optarg;
		return 0;
	case 's':
		if (strlen(optarg) >= WATCH_PATH_BYTES)
			return option_bad("socket", optarg, "the path is too long for a socket");
		exporter->page.socket = optarg;
		return 0;
	case 'f':
		exporter->page.folder = optarg;
		return 0;
	case 'c':
		return option_u32("connections", optarg, 0, WATCH_CONNS, &exporter->page.conns);
	default:
		fputs("weir-exporter: --help lists the options\n", stderr);
		return -1;
	}
}

int main(int argc, char **argv)
{
	struct exporter exporter = {
		.page = {.conns = CONNS_USUAL, .wait_ms = WAIT_MS},
		.host = "127.0.0.1",
		.port = PORT_USUAL,
	};
	int c;

	std_io_start();
	while ((c = getopt_long(argc, argv, "l:p:s:f:c:hV", long_options, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage, stdout);
			return finish_output();
		}
		if (c == 'V') {
			puts("weir-exporter " WEIR_VERSION);
			return finish_output();
		}
		if (apply(&exporter, c) != 0)
			return EXIT_USAGE;
	}
	if (optind < argc) {
		fprintf(stderr,
			"weir-exporter: unexpected argument '%s': --help lists the options\n",
			argv[optind]);
		return EXIT_USAGE;
	}
	if (exporter.page.socket && (exporter.page.prefix || exporter.page.folder)) {
		fputs("weir-exporter: --socket excludes --prefix and --folder: leave them out\n",
		      stderr);
		return EXIT_USAGE;
	}
	return run(&exporter);
}
