/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Both sides of a small program. The responder greets each caller. The requester sends a name,
 * prints the greeting and ends. Its options are those of the text 'usage'.
 *
 * Each side has one engine, which its thread polls. While there is no work, the thread sleeps.
 */
#include <errno.h>
#include <getopt.h>

#include <weir/weir.h>

#include "greet.h"

static const char usage[] =
	"Usage: hello --listen NAME\n"
	"       hello --connect NAME [--text TEXT]\n"
	"\n"
	"  -l, --listen NAME    greet callers, until SIGINT or SIGTERM\n"
	"  -c, --connect NAME   make one call, print the greeting, and end\n"
	"  -t, --text TEXT      what the call sends (world)\n"
	"  -d, --driver DRIVER  shm: NAME is a name, for processes of this host (the default)\n"
	"                       verbs: NAME is an address and a port, for RDMA devices\n"
	"  -h, --help           print this text, and end\n";

struct options {
	const char *listen, *connect, *text;
	struct weir_profile profile;
};

/* How the requester's call and its connection ended. */
struct outcome {
	bool is_closed;
	int error;
};

static struct options parse(int argc, char **argv)
{
	static const struct option names[] = {
		{"listen", required_argument, NULL, 'l'}, {"connect", required_argument, NULL, 'c'},
		{"text", required_argument, NULL, 't'},	  {"driver", required_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},	  {NULL, 0, NULL, 0}};
	struct options options = {.text = "world"};
	char why[256];
	int c;

	weir_profile_defaults(&options.profile);
	options.profile.idle = WEIR_IDLE_ADAPTIVE;
	while ((c = getopt_long(argc, argv, "l:c:t:d:h", names, NULL)) != -1) {
		if (c == 'l')
			options.listen = optarg;
		else if (c == 'c')
			options.connect = optarg;
		else if (c == 't')
			options.text = optarg;
		else if (c == 'd')
			snprintf(options.profile.driver, sizeof(options.profile.driver), "%s",
				 optarg);
		else {
			fputs(usage, c == 'h' ? stdout : stderr);
			exit(c == 'h' ? EXIT_SUCCESS : 2);
		}
	}
	if (optind < argc || !options.listen == !options.connect) {
		fputs("hello: give either --listen or --connect, and nothing else\n", stderr);
		exit(2);
	}
	if (strlen(options.text) > HELLO_TEXT_BYTES) {
		fprintf(stderr, "hello: --text is longer than %u bytes\n", HELLO_TEXT_BYTES);
		exit(2);
	}
	if (weir_profile_check(&options.profile, why, sizeof(why)) != 0) {
		fprintf(stderr, "hello: %s\n", why);
		exit(2);
	}
	return options;
}

/* Does the work of an engine once, and sleeps if there is none. */
static void poll_once(struct weir_engine *engine)
{
	uint64_t now_ns = example_now_ns();

	weir_engine_idle(engine, weir_engine_poll(engine, 0, now_ns), now_ns);
}

static void respond(struct weir_engine *engine, const char *name)
{
	struct weir_listener *listener = greet_listen(engine, name);

	while (!atomic_load(&example_ends))
		poll_once(engine);
	weir_listener_close(listener);
}

static void on_done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	struct outcome *outcome = arg;
	struct hello_text greeting;

	outcome->error = hello_greet_1_results(call, result, &greeting);
	if (outcome->error == 0)
		printf("%.*s\n", (int)greeting.text.len_bytes, greeting.text.data);
	weir_conn_shutdown(weir_call_conn(call));
}

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	struct outcome *outcome = arg;

	(void)conn;
	if (event != WEIR_CONN_CLOSED)
		return;
	outcome->is_closed = true;
	if (outcome->error == 0)
		outcome->error = error;
}

static void request(struct weir_engine *engine, const struct options *options)
{
	struct outcome outcome = {false, 0};
	const struct weir_connect_options how = {
		.struct_bytes = sizeof(how), .on_event = on_event, .arg = &outcome};
	const struct weir_call_params params = {
		.struct_bytes = sizeof(params), .done = on_done, .arg = &outcome};
	const struct hello_text args = {{options->text, (uint32_t)strlen(options->text)}};
	struct weir_conn *conn;
	struct weir_call *call;

	example_check(weir_connect(engine, options->connect, &how, &conn), options->connect);
	while (!outcome.is_closed && !weir_conn_is_open(conn))
		poll_once(engine);
	if (!outcome.is_closed) {
		call = hello_greet_1_begin(conn, &params, &args);
		example_check(call ? weir_call_submit(call) : -errno, "the call");
	}
	while (!outcome.is_closed)
		poll_once(engine);
	example_check(outcome.error, options->connect);
}

int main(int argc, char **argv)
{
	struct options options = parse(argc, argv);
	struct weir_engine *engine;

	example_catch_signals();
	example_check(weir_engine_create(&options.profile, &engine), "weir_engine_create");
	if (options.listen)
		respond(engine, options.listen);
	else
		request(engine, &options);
	weir_engine_destroy(engine);
	example_check_output();
	return EXIT_SUCCESS;
}
