/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A responder that exports its counters and its connections. It greets callers, as "hello --listen"
 * does. A second thread answers each connection to a unix socket with a page in the text format of
 * Prometheus, for example for "curl --unix-socket PATH http://weir/metrics". Arguments: the name to
 * listen at, and the path of the socket.
 *
 * Only the thread of the engine may look at the engine. It fills in a snapshot, by a function that
 * the second thread posts, and polls on. The second thread formats and sends the snapshot.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <weir/weir.h>

#include "greet.h"

#define COUNTERS 256u /* more than a version of weir has */
#define CONNS	 64u
#define WAIT_MS	 100

struct exporter {
	struct weir_engine *engine;
	int socket;
	pthread_mutex_t lock;
	pthread_cond_t filled;
	bool is_filled;
	atomic_bool has_ended; /* the second thread posts no more functions */
	/* the snapshot */
	uint64_t values[COUNTERS];
	struct weir_conn_info conns[CONNS];
	uint32_t nconns, nrequests;
};

/* Fills in the snapshot. Thread: that of the engine. */
static void fill(struct weir_engine *engine, void *arg)
{
	struct exporter *exporter = arg;

	pthread_mutex_lock(&exporter->lock);
	weir_engine_counters(engine, exporter->values, COUNTERS);
	exporter->conns[0].struct_bytes = sizeof(exporter->conns[0]);
	exporter->nconns = weir_engine_conns(engine, exporter->conns, CONNS);
	exporter->nrequests = weir_engine_requests(engine, NULL, 0);
	exporter->is_filled = true;
	pthread_cond_signal(&exporter->filled);
	pthread_mutex_unlock(&exporter->lock);
}

static void print_head(FILE *page, const char *name, const char *type, const char *help)
{
	fprintf(page, "# HELP weir_%s %s\n# TYPE weir_%s %s\n", name, help, name, type);
}

static void print_counters(FILE *page, const struct exporter *exporter)
{
	for (uint32_t i = 0; i < weir_counters() && i < COUNTERS; i++) {
		struct weir_counter_info info = {.struct_bytes = sizeof(info)};
		bool is_gauge;
		char name[80];

		weir_counter_info(i, &info);
		is_gauge = info.kind == WEIR_GAUGE;
		snprintf(name, sizeof(name), "%s%s", info.name, is_gauge ? "" : "_total");
		print_head(page, name, is_gauge ? "gauge" : "counter", info.help);
		fprintf(page, "weir_%s %" PRIu64 "\n", name, exporter->values[i]);
	}
}

static void print_conns(FILE *page, const struct exporter *exporter)
{
	print_head(page, "conn_calls", "gauge", "calls of a connection since it was created");
	for (uint32_t i = 0; i < exporter->nconns && i < CONNS; i++) {
		const struct weir_conn_info *conn = &exporter->conns[i];

		fprintf(page,
			"weir_conn_calls{conn=\"%u\",peer=\"%s\",state=\"%s\",version=\"%u\"} "
			"%" PRIu64 "\n",
			i, conn->peer, weir_conn_state_name(conn->state), conn->version,
			conn->calls);
	}
	print_head(page, "requests_open", "gauge", "requests without a complete reply");
	fprintf(page, "weir_requests_open %u\n", exporter->nrequests);
}

/* Has the engine fill in the snapshot, and answers a connection with it. Each request gets the same
 * answer. It is read, because the caller would otherwise see a reset instead of the answer's end.
 */
static void answer(struct exporter *exporter, int fd)
{
	const struct timeval limit = {.tv_sec = 1};
	FILE *page = fdopen(fd, "w");
	char request[4096];

	if (!page) {
		close(fd);
		return;
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	(void)!read(fd, request, sizeof(request));
	pthread_mutex_lock(&exporter->lock);
	exporter->is_filled = false;
	if (weir_engine_post(exporter->engine, fill, exporter) == 0) {
		while (!exporter->is_filled)
			pthread_cond_wait(&exporter->filled, &exporter->lock);
		fputs("HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n\r\n", page);
		print_counters(page, exporter);
		print_conns(page, exporter);
	} else {
		fputs("HTTP/1.0 503 Busy\r\n\r\n", page);
	}
	pthread_mutex_unlock(&exporter->lock);
	fclose(page);
}

static void *export_metrics(void *arg)
{
	struct exporter *exporter = arg;
	struct pollfd pfd = {.fd = exporter->socket, .events = POLLIN};

	while (!atomic_load(&example_ends)) {
		int fd = poll(&pfd, 1, WAIT_MS) > 0 ? accept(exporter->socket, NULL, NULL) : -1;

		if (fd >= 0)
			answer(exporter, fd);
	}
	atomic_store(&exporter->has_ended, true);
	return NULL;
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct stat status;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	/* Removes the socket that a process left when it was killed, and no other file. */
	if (lstat(path, &status) == 0 && S_ISSOCK(status.st_mode) &&
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 && errno == ECONNREFUSED)
		unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(fd, 8) != 0)
		example_check(-errno, path);
	return fd;
}

int main(int argc, char **argv)
{
	static struct exporter exporter = {.lock = PTHREAD_MUTEX_INITIALIZER,
					   .filled = PTHREAD_COND_INITIALIZER};
	struct weir_listener *listener;
	struct weir_profile profile;
	pthread_t thread;

	if (argc != 3 || argv[1][0] == '-') {
		fputs("Usage: metrics NAME PATH-OF-SOCKET\n", stderr);
		return 2;
	}
	example_catch_signals();
	signal(SIGPIPE, SIG_IGN);
	weir_profile_defaults(&profile);
	profile.idle = WEIR_IDLE_ADAPTIVE;
	example_check(weir_engine_create(&profile, &exporter.engine), "weir_engine_create");
	exporter.socket = listen_at(argv[2]);
	listener = greet_listen(exporter.engine, argv[1]);
	example_check(-pthread_create(&thread, NULL, export_metrics, &exporter), "pthread_create");
	while (!atomic_load(&exporter.has_ended)) {
		uint64_t now_ns = example_now_ns();
		uint32_t work = weir_engine_poll(exporter.engine, 0, now_ns);

		weir_engine_idle(exporter.engine, work, now_ns);
	}
	pthread_join(thread, NULL);
	weir_listener_close(listener);
	weir_engine_destroy(exporter.engine);
	close(exporter.socket);
	unlink(argv[2]);
	return EXIT_SUCCESS;
}
