/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses the command line of weir-nfsd. */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture_options.h"
#include "number.h"
#include "program_args.h"
#include "program_options.h"
#include "rpcbind.h"

enum {
	OPT_LISTEN = OPT_OWN,
	OPT_EXPORT,
	OPT_EXPORTS,
	OPT_FOREGROUND,
	OPT_MOUNT_PORT,
	OPT_NO_MOUNT,
	OPT_NO_RPCBIND,
	OPT_RPCBIND,
	OPT_SANDBOX,
	OPT_STATE,
	OPT_CAPTURE,
	OPT_CAPTURE_LAST = OPT_CAPTURE + CAPTURE_LONG_OPTIONS_N - 1,
};

static const struct option long_options[] = {
	PROGRAM_LONG_OPTIONS,
	{"listen", required_argument, NULL, OPT_LISTEN},
	{"export", required_argument, NULL, OPT_EXPORT},
	{"exports", required_argument, NULL, OPT_EXPORTS},
	{"foreground", no_argument, NULL, OPT_FOREGROUND},
	{"mount-port", required_argument, NULL, OPT_MOUNT_PORT},
	{"no-mount", no_argument, NULL, OPT_NO_MOUNT},
	{"no-rpcbind", no_argument, NULL, OPT_NO_RPCBIND},
	{"rpcbind", required_argument, NULL, OPT_RPCBIND},
	{"sandbox", required_argument, NULL, OPT_SANDBOX},
	{"state", required_argument, NULL, OPT_STATE},
	CAPTURE_LONG_OPTIONS(OPT_CAPTURE),
	{NULL, 0, NULL, 0},
};

static void help(void)
{
	puts("Usage: weir-nfsd --listen ADDR[:PORT] --export NAME=ram[:SIZE]|dir:PATH [options]\n"
	     "Serve files by NFS version 3 over RPC-over-RDMA version 1.\n"
	     "\n"
	     "What:\n"
	     "  --export NAME=ram[:SIZE]  files in memory, default SIZE 256m; lost when the server "
	     "ends\n"
	     "  --export NAME=dir:PATH    the files below the directory PATH (root only)\n"
	     "                            --export may be given up to 32 times\n"
	     "  --exports FILE            exports with options (clients, access, root_squash, "
	     "all_squash, ...)\n"
	     "                            from an INI file, see doc/weir-nfsd.rst\n"
	     "  --state DIR               directory for the secret of dir exports' handles; "
	     "default:\n"
	     "                            /var/lib/weir-nfsd\n"
	     "\n"
	     "Where:\n"
	     "  --listen ADDR[:PORT]      with an IP driver the default port is 20049; with shm a "
	     "name\n"
	     "  --mount-port PORT         port of MOUNT over TCP; default 0: any free port\n"
	     "  --no-mount                no MOUNT: give clients the handles that are printed at "
	     "the start\n"
	     "  --no-rpcbind              don't register with rpcbind\n"
	     "  --rpcbind PATH            rpcbind's local socket; default " RPCBIND_SOCKET "\n"
	     "  --profile FILE            an INI file, such as those in config/; other options "
	     "override it\n"
	     "  --show-profile            print the profile in effect, as a file for --profile, "
	     "and "
	     "end\n"
	     "  --driver NAME             a driver of the list below; default: the profile's, or "
	     "shm\n"
	     "  --driver-options S        key=value,...\n"
	     "  --sandbox on|off          give up capabilities and system calls that serving does "
	     "not need;\n"
	     "                            default: on. For debuggers: off\n"
	     "  --foreground              stay in the foreground\n"
	     "  --capture FILE            write messages and RDMA operations to a new file for "
	     "Wireshark\n"
	     "  --capture-bytes B, --capture-seconds S, --payload-bytes N\n"
	     "                            end the capture at B bytes (256m) or after S seconds "
	     "(600);\n"
	     "                            record N bytes of each message and operation (all)\n"
	     "  --help, --version\n"
	     "\n"
	     "With driver shm, MOUNT is off unless --mount-port is given, and NFS is not "
	     "registered with\n"
	     "rpcbind.\n"
	     "SIGTERM ends the server when its calls have ended, and a second one at once. SIGHUP "
	     "reads the\n"
	     "exports again.\n"
	     "\n"
	     "Exit status: 0; 1: the server could not start; 2: usage; 3: the device was removed; "
	     "4: calls\n"
	     "were under way when the server ended, because a file system did not answer or a "
	     "second signal\n"
	     "came.\n"
	     "\n"
	     "Drivers:");
	option_print_drivers();
}

static int parse_port(const char *text, uint32_t *port)
{
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (end == text || *end != '\0' || text[0] == '-' || errno != 0 || number > 65535)
		return option_bad("mount-port", text, "expected a number from 0 to 65535");
	*port = (uint32_t)number;
	return 0;
}

/* Notes an option that adds exports, so that they can be read again. Returns 0 or -1. */
static int add_source(struct options *o, bool is_file, const char *text)
{
	_Static_assert(EXPORT_SOURCES_MAX == 64, "the message below has the number");

	if (o->nsources == EXPORT_SOURCES_MAX)
		return option_bad(is_file ? "exports" : "export", text,
				  "expected at most 64 options --export and --exports");
	o->sources[o->nsources].is_file = is_file;
	o->sources[o->nsources++].text = text;
	return 0;
}

static int options_apply(int opt, const char *value, struct options *o, struct exports *exports,
			 bool *wants_mount)
{
	switch (opt) {
	case OPT_DRIVER:
		return option_driver(value, &o->profile);
	case OPT_DRIVER_OPTIONS:
		return option_driver_options(value, &o->profile);
	case OPT_LISTEN:
		o->listen = value;
		return option_address("listen", value);
	case OPT_EXPORT:
		return export_add(exports, value) != 0 ? -1 : add_source(o, false, value);
	case OPT_EXPORTS:
		return export_file_load(exports, value) != 0 ? -1 : add_source(o, true, value);
	case OPT_MOUNT_PORT:
		*wants_mount = true;
		return parse_port(value, &o->mount_port);
	case OPT_NO_MOUNT:
		o->has_mount = false;
		return 0;
	case OPT_NO_RPCBIND:
		o->has_rpcbind = false;
		return 0;
	case OPT_RPCBIND:
		if (value[0] != '/')
			return option_bad("rpcbind", value, "expected a path that starts with /");
		o->rpcbind = value;
		return 0;
	case OPT_SANDBOX:
		o->has_sandbox = strcmp(value, "on") == 0;
		return o->has_sandbox || strcmp(value, "off") == 0
			       ? 0
			       : option_bad("sandbox", value, "expected on or off");
	case OPT_STATE:
		o->state = value;
		return 0;
	case OPT_FOREGROUND:
		o->is_foreground = true;
		return 0;
	default:
		if (opt >= OPT_CAPTURE && opt <= OPT_CAPTURE_LAST)
			return capture_option(opt - OPT_CAPTURE, value, &o->capture);
		return 0;
	}
}

static const char *const repeatable[] = {"export", "exports", NULL};

static const struct program program = {
	.name = "weir-nfsd",
	.version = WEIR_VERSION,
	.short_options = "",
	.long_options = long_options,
	.repeatable = repeatable,
	.help = help,
};

int options_parse(int argc, char **argv, struct options *options, struct exports *exports)
{
	bool wants_mount = false, has_profile;
	int opt, rc, nrest;
	char **rest;

	*options = (struct options){.state = "/var/lib/weir-nfsd",
				    .rpcbind = RPCBIND_SOCKET,
				    .has_mount = true,
				    .has_rpcbind = true,
				    .has_sandbox = SANDBOX_USUAL};
	rc = program_args_read(&program, argc, argv, &options->profile, &has_profile);
	if (rc != 0)
		return rc;
	/* If the directory has no path, only absolute paths can be read again. */
	if (!getcwd(options->folder, sizeof(options->folder)))
		options->folder[0] = '\0';
	while ((opt = program_args_next()) != -1)
		if (options_apply(opt, optarg, options, exports, &wants_mount) != 0)
			return -1;
	rest = program_args_rest(&nrest);
	if (nrest > 0)
		return option_bad("listen", rest[0], "unexpected argument");
	if (program_args_shows_profile())
		return option_check_profile(&options->profile) == 0
			       ? program_args_show(&options->profile)
			       : -1;
	if (capture_options_check(&options->capture) != 0)
		return -1;
	if (!options->listen) {
		fprintf(stderr, "weir-nfsd: --listen is missing. See --help\n");
		return -1;
	}
	if (exports->n == 0) {
		fprintf(stderr, "weir-nfsd: nothing to serve: --export or --exports is missing. "
				"See --help\n");
		return -1;
	}
	if (option_check_profile(&options->profile) != 0)
		return -1;
	/* Clients of shm have no IP address from which they could call MOUNT. */
	if (strcmp(options->profile.driver, "shm") == 0 && !wants_mount)
		options->has_mount = false;
	return 0;
}

static int load_file_again(const struct options *options, const char *path, struct exports *exports)
{
	char full[2 * PATH_MAX];

	if (path[0] == '/')
		return export_file_load(exports, path);
	if (options->folder[0] == '\0') {
		fprintf(stderr,
			"weir-nfsd: can't read %s again: the path of the directory in which the "
			"server was started is not known. Restart it with an absolute path\n",
			path);
		return -1;
	}
	snprintf(full, sizeof(full), "%s/%s", options->folder, path);
	return export_file_load(exports, full);
}

int options_load_exports(const struct options *options, struct exports *exports)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < options->nsources; i++) {
		const char *text = options->sources[i].text;

		rc = options->sources[i].is_file ? load_file_again(options, text, exports)
						 : export_add(exports, text);
	}
	if (rc == 0 && exports->n == 0) {
		fprintf(stderr, "weir-nfsd: the files of --exports have no export\n");
		rc = -1;
	}
	return rc;
}
