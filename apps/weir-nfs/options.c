/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses the command line of weir-nfs, and adapts the profile to it. */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "handle_text.h"
#include "number.h"
#include "program_args.h"
#include "program_options.h"
#include "session_profile.h"

enum {
	OPT_SERVER = OPT_OWN,
	OPT_PORT,
	OPT_EXPORT,
	OPT_HANDLE,
	OPT_MOUNT_SERVER,
	OPT_MOUNT_PORT,
	OPT_RPCBIND_PORT,
	OPT_UID,
	OPT_GID,
	OPT_LCORE,
	OPT_TIMEOUT,
	OPT_RETRIES,
	OPT_DEPTH,
	OPT_BLOCK,
	OPT_SYNC,
	OPT_FILE,
	OPT_SIZE,
	OPT_RATIO,
	OPT_SEQUENTIAL,
	OPT_TIME,
	OPT_WARMUP,
	OPT_VERIFY,
	OPT_KEEP,
	OPT_JSON,
};

/* The options of all commands. apply() sets the flags of options that only some commands accept. */
static const struct option long_options[] = {
	PROGRAM_LONG_OPTIONS,
	{"server", required_argument, NULL, OPT_SERVER},
	{"port", required_argument, NULL, OPT_PORT},
	{"export", required_argument, NULL, OPT_EXPORT},
	{"handle", required_argument, NULL, OPT_HANDLE},
	{"mount-server", required_argument, NULL, OPT_MOUNT_SERVER},
	{"mount-port", required_argument, NULL, OPT_MOUNT_PORT},
	{"rpcbind-port", required_argument, NULL, OPT_RPCBIND_PORT},
	{"uid", required_argument, NULL, OPT_UID},
	{"gid", required_argument, NULL, OPT_GID},
	{"lcore", required_argument, NULL, OPT_LCORE},
	{"timeout", required_argument, NULL, OPT_TIMEOUT},
	{"retries", required_argument, NULL, OPT_RETRIES},
	{"depth", required_argument, NULL, OPT_DEPTH},
	{"block", required_argument, NULL, OPT_BLOCK},
	{"sync", no_argument, NULL, OPT_SYNC},
	{"file", required_argument, NULL, OPT_FILE},
	{"size", required_argument, NULL, OPT_SIZE},
	{"ratio", required_argument, NULL, OPT_RATIO},
	{"sequential", no_argument, NULL, OPT_SEQUENTIAL},
	{"time", required_argument, NULL, OPT_TIME},
	{"warmup", required_argument, NULL, OPT_WARMUP},
	{"verify", no_argument, NULL, OPT_VERIFY},
	{"keep", no_argument, NULL, OPT_KEEP},
	{"json", required_argument, NULL, OPT_JSON},
	{"long", no_argument, NULL, 'l'},
	{"unsorted", no_argument, NULL, 'U'},
	{"recursive", no_argument, NULL, 'r'},
	{"parents", no_argument, NULL, 'p'},
	{"symbolic", no_argument, NULL, 's'},
	{"follow", no_argument, NULL, 'L'},
	{"quiet", no_argument, NULL, 'q'},
	{"verbose", no_argument, NULL, 'v'},
	{NULL, 0, NULL, 0},
};

/* the commands, for help() */
static const struct command *all_commands;
static uint32_t nall_commands;

static void help(void)
{
	puts("Usage: weir-nfs --server ADDR --export NAME [options] COMMAND [arguments]\n"
	     "Use files of an NFSv3 server over RPC-over-RDMA version 1, without mounting "
	     "anything.\n"
	     "\n"
	     "Commands:");
	for (uint32_t i = 0; i < nall_commands; i++)
		printf("  %-8s %-32s %s\n", all_commands[i].name, all_commands[i].usage,
		       all_commands[i].help);
	puts("\n"
	     "Where:\n"
	     "  --server ADDR[:PORT]   host or address, [V6]:PORT; with the driver shm the "
	     "server's name\n"
	     "  --port N|rpcbind       port if ADDR has none: N, or ask rpcbind for netid rdma or "
	     "rdma6;\n"
	     "                         default: 20049\n"
	     "  --export NAME          export to request from MOUNT\n"
	     "  --handle @FILE         the export's root handle, instead of asking MOUNT: "
	     "hexadecimal digits in\n"
	     "                         FILE; default, without --export: the variable "
	     "WEIR_NFS_HANDLE\n"
	     "  --mount-server HOST    host of MOUNT; default: ADDR, with shm 127.0.0.1\n"
	     "  --mount-port N         MOUNT's TCP port; default: ask rpcbind\n"
	     "  --rpcbind-port N       default: 111\n"
	     "  --uid N, --gid N       user and group for AUTH_SYS; default: this process's, with "
	     "its groups\n"
	     "\n"
	     "How:\n"
	     "  --driver NAME          a driver of the list below; default: the profile's, or shm\n"
	     "  --driver-options S     key=value,...\n"
	     "  --profile FILE         an INI file, such as those in config/\n"
	     "  --show-profile         print the profile in effect, as a file for --profile, and "
	     "end\n"
	     "  --lcore N              core to pin to; default: none\n"
	     "  --timeout SECONDS      wait for an answer before a retry; default: the profile's, "
	     "or 60\n"
	     "  --retries N            retries of a call, and of a connection; default 10\n"
	     "  -q, --quiet            no progress line, no notices\n"
	     "  -v, --verbose          print the addresses and ports in use\n"
	     "  --help, --version\n"
	     "\n"
	     "Options of commands:\n"
	     "  -l, -U                 ls: with attributes; in the server's order\n"
	     "  -r                     get, put, rm: also directories\n"
	     "  -p                     mkdir: also make parents;  -s  ln: symbolic\n"
	     "  -L                     follow symbolic links in PATH\n"
	     "  --depth N              get, put, cat, bench: READs or WRITEs in flight, 1 to 1024; "
	     "default 16\n"
	     "  --block BYTES          size of each of them, with suffix k or m; default: the "
	     "server's choice\n"
	     "                         (bench: 4k)\n"
	     "  --sync                 put, bench: WRITE FILE_SYNC, not UNSTABLE with COMMIT\n"
	     "\n"
	     "bench: --file PATH (default .weir-nfs-bench), --size BYTES of the file (16m),\n"
	     "  --ratio PERCENT of READs (100),\n"
	     "  --sequential, --time SECONDS (5), --warmup SECONDS (1), --verify, --keep (the "
	     "file), --json FILE|-\n"
	     "\n"
	     "Exit status: 0; 1: the server answered with an NFS error, or bench found wrong "
	     "data or lengths;\n2: usage; "
	     "3: no valid answer; 4: a local file can't be read or written.\n"
	     "\n"
	     "Drivers:");
	option_print_drivers();
}

static int mistake(const char *what, const char *which)
{
	fprintf(stderr, "weir-nfs: %s%s. See --help\n", what, which);
	return -1;
}

/*
 * Parses the root handle. 'value' is the argument of --handle, or NULL if the handle is in the
 * environment. A user might give the handle itself on the command line by mistake. The error
 * message therefore does not repeat an argument without '@'.
 */
static int parse_handle(const char *value, struct nfs3_fh *fh)
{
	const char *what = handle_text_read(value, fh->data, &fh->len_bytes);

	if (!what)
		return 0;
	if (!value)
		return mistake(HANDLE_TEXT_VARIABLE ": ", what);
	return option_bad("handle", value[0] == '@' ? value : "...", what);
}

static int parse_port(const char *option, const char *text, uint16_t *port)
{
	uint32_t number;

	if (option_u32(option, text, 1, UINT16_MAX, &number) != 0)
		return -1;
	*port = (uint16_t)number;
	return 0;
}

static int apply_bench(int opt, const char *value, struct bench_load *load)
{
	switch (opt) {
	case OPT_FILE:
		load->file = value;
		return 0;
	case OPT_SIZE:
		return option_u64("size", value, 1, 1ull << 40, &load->size_bytes);
	case OPT_RATIO:
		return option_u32("ratio", value, 0, 100, &load->read_percent);
	case OPT_SEQUENTIAL:
		load->is_sequential = true;
		return 0;
	case OPT_TIME:
		return option_seconds("time", value, 0.001, &load->seconds);
	case OPT_WARMUP:
		return option_seconds("warmup", value, 0, &load->warmup_seconds);
	case OPT_VERIFY:
		load->verify = true;
		return 0;
	case OPT_KEEP:
		load->keep = true;
		return 0;
	default:
		load->json = value;
		return 0;
	}
}

static int apply_server(int opt, const char *value, struct nfs_options *o)
{
	switch (opt) {
	case OPT_SERVER:
		o->server = value;
		return 0;
	case OPT_PORT:
		o->port_from = strcmp(value, "rpcbind") == 0 ? PORT_RPCBIND : PORT_GIVEN;
		return o->port_from == PORT_RPCBIND ? 0 : parse_port("port", value, &o->port);
	case OPT_EXPORT:
		if (value[0] == '\0' || strlen(value) > MOUNT3_PATH_MAX)
			return option_bad("export", value, "expected 1 to 1024 characters");
		o->export = value;
		return 0;
	case OPT_HANDLE:
		return parse_handle(value, &o->handle);
	case OPT_MOUNT_SERVER:
		if (value[0] == '\0' || strlen(value) >= HOST_MAX)
			return option_bad("mount-server", value, "expected a host");
		o->mount.host = value;
		return 0;
	case OPT_MOUNT_PORT:
		return parse_port("mount-port", value, &o->mount.port);
	default:
		return parse_port("rpcbind-port", value, &o->mount.rpcbind_port);
	}
}

static int apply(int opt, const char *value, struct nfs_options *o)
{
	switch (opt) {
	case OPT_DRIVER:
		return option_driver(value, &o->profile);
	case OPT_DRIVER_OPTIONS:
		return option_driver_options(value, &o->profile);
	case OPT_UID:
		return option_u32("uid", value, 0, UINT32_MAX, &o->uid);
	case OPT_GID:
		return option_u32("gid", value, 0, UINT32_MAX, &o->gid);
	case OPT_LCORE:
		o->is_pinned = true;
		return option_u32("lcore", value, 0, 1023, &o->lcore);
	case OPT_TIMEOUT:
		return option_seconds("timeout", value, 0.01, &o->timeout_seconds);
	case OPT_RETRIES:
		return option_u32("retries", value, 0, 1000, &o->retries);
	case OPT_DEPTH:
		o->flags |= FLAG_TRANSFER;
		return option_u32("depth", value, 1, NFS_DEPTH_MAX, &o->depth);
	case OPT_BLOCK:
		o->flags |= FLAG_TRANSFER;
		return option_u32("block", value, NFS_BLOCK_MIN, NFS_BLOCK_MAX, &o->block_bytes);
	case OPT_SYNC:
		o->flags |= FLAG_SYNC;
		return 0;
	case 'l':
		o->flags |= FLAG_LONG;
		return 0;
	case 'U':
		o->flags |= FLAG_UNSORTED;
		return 0;
	case 'r':
		o->flags |= FLAG_RECURSIVE;
		return 0;
	case 'p':
		o->flags |= FLAG_PARENTS;
		return 0;
	case 's':
		o->flags |= FLAG_SYMBOLIC;
		return 0;
	case 'L':
		o->flags |= FLAG_FOLLOW;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case 'v':
		o->verbose = true;
		return 0;
	default:
		if (opt >= OPT_FILE && opt <= OPT_JSON) {
			o->flags |= FLAG_BENCH;
			return apply_bench(opt, value, &o->bench);
		}
		return opt >= OPT_SERVER && opt <= OPT_RPCBIND_PORT ? apply_server(opt, value, o)
								    : 0;
	}
}

static int check_command(struct nfs_options *o)
{
	if (o->nargs == 0)
		return mistake("no command was given", "");
	for (uint32_t i = 0; i < nall_commands; i++)
		if (strcmp(all_commands[i].name, o->args[0]) == 0)
			o->command = &all_commands[i];
	if (!o->command)
		return mistake("no such command: ", o->args[0]);
	o->args++;
	o->nargs--;
	if (o->nargs < o->command->nargs_min || o->nargs > o->command->nargs_max) {
		fprintf(stderr, "weir-nfs: usage: weir-nfs [options] %s %s\n", o->command->name,
			o->command->usage);
		return -1;
	}
	if (o->flags & ~o->section_flags & ~o->command->flags)
		return mistake("an option is not valid for the command ", o->command->name);
	return 0;
}

static int check_server(struct nfs_options *o)
{
	uint16_t port = 0;

	o->has_ports = session_profile_has_ports(o->profile.driver);
	if (!o->server)
		return mistake("no server was given: --server", "");
	if (!o->has_ports) {
		if (o->server[0] == '\0' || strlen(o->server) > 100)
			return option_bad("server", o->server,
					  "expected a name of 1 to 100 characters");
		if (o->port_from != PORT_WELL_KNOWN)
			return mistake("--port: addresses of this driver have no port: ",
				       o->profile.driver);
		if (!o->mount.host)
			o->mount.host = "127.0.0.1";
		snprintf(o->host, sizeof(o->host), "%s", o->server);
	} else if (address_split(o->server, o->host, sizeof(o->host), &port) != 0) {
		return option_bad("server", o->server, "expected HOST, HOST:PORT or [V6]:PORT");
	}
	if (port != 0 && o->port_from != PORT_WELL_KNOWN)
		return mistake("two ports were given: leave out --port, or the port in --server",
			       "");
	if (port != 0) {
		o->port = port;
		o->port_from = PORT_GIVEN;
	}
	if (!o->mount.host)
		o->mount.host = o->host;
	if (o->command->needs_export && !o->export && o->handle.len_bytes == 0 &&
	    getenv(HANDLE_TEXT_VARIABLE) && parse_handle(NULL, &o->handle) != 0)
		return -1;
	if (o->command->needs_export && !o->export && o->handle.len_bytes == 0)
		return mistake("no export was given: --export, --handle or " HANDLE_TEXT_VARIABLE,
			       "");
	return 0;
}

/* Sets the numbers of buffers in the profile. Returns 0, or -1 if the profile is not valid. */
static int size_buffers(struct nfs_options *o, bool has_profile)
{
	session_profile_size(&o->profile, has_profile, o->depth, o->retries);
	if (o->timeout_seconds > 0)
		o->profile.call_timeout_ms = (uint32_t)(o->timeout_seconds * 1000);
	return option_check_profile(&o->profile);
}

/* Section [app:weir-nfs] of a profile can't have these options. */
static const char *const command_line_only[] = {"recursive", NULL};

static const struct program program = {
	.name = "weir-nfs",
	.version = WEIR_VERSION,
	.short_options = "lUrpsLqvh",
	.long_options = long_options,
	/* A profile must not turn each 'rm' into 'rm -r'. */
	.command_only = command_line_only,
	.help = help,
};

/* Applies the options of the profile's section and of the command line. Returns 0 or -1. */
static int apply_all(struct nfs_options *o)
{
	int opt;

	while ((opt = program_args_next()) != -1) {
		if (apply(opt, optarg, o) != 0)
			return -1;
		if (program_args_is_from_section())
			o->section_flags = o->flags;
	}
	o->args = program_args_rest(&o->nargs);
	return 0;
}

int nfs_options_parse(int argc, char **argv, const struct command *commands, uint32_t ncommands,
		      struct nfs_options *o)
{
	bool has_profile;
	int rc;

	*o = (struct nfs_options){
		.uid = geteuid(),
		.gid = getegid(),
		.depth = 16,
		.retries = 10,
		.mount.rpcbind_port = 111,
		.bench = {.file = ".weir-nfs-bench",
			  .size_bytes = 16u << 20,
			  .read_percent = 100,
			  .seconds = 5,
			  .warmup_seconds = 1},
	};
	all_commands = commands;
	nall_commands = ncommands;
	rc = program_args_read(&program, argc, argv, &o->profile, &has_profile);
	if (rc != 0)
		return rc;
	if (apply_all(o) != 0)
		return -1;
	if (program_args_shows_profile())
		return size_buffers(o, has_profile) == 0 ? program_args_show(&o->profile) : -1;
	if (check_command(o) != 0 || check_server(o) != 0 || size_buffers(o, has_profile) != 0)
		return -1;
	o->mount.uid = o->uid;
	o->mount.gid = o->gid;
	mount_find_groups(&o->mount);
	o->mount.timeout_ms = o->profile.connect_timeout_ms;
	return 0;
}
