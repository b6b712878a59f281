/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the command line of weir-check. The profile is an argument without an option. */
#include "options.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/runtime.h>

#include "facts.h"
#include "number.h"
#include "program_args.h"

#define USER_MAX 32u /* longest name of a user */

enum { OPT_JSON = OPT_OWN, OPT_VERBOSE, OPT_ENGINES, OPT_FIX, OPT_YES, OPT_USER, OPT_SYSROOT };

static const struct option long_options[] = {
	PROGRAM_LONG_OPTIONS,
	{"json", no_argument, NULL, OPT_JSON},
	{"verbose", no_argument, NULL, OPT_VERBOSE},
	{"engines", required_argument, NULL, OPT_ENGINES},
	{"fix", no_argument, NULL, OPT_FIX},
	{"yes", no_argument, NULL, OPT_YES},
	{"user", required_argument, NULL, OPT_USER},
	{"sysroot", required_argument, NULL, OPT_SYSROOT},
	{NULL, 0, NULL, 0},
};

static void help(void)
{
	puts("Usage: weir-check [options] PROFILE\n"
	     "Check whether this machine has what programs with a profile need, and print the "
	     "cause, "
	     "the effect\n"
	     "and the remedy of each difference.\n"
	     "\n"
	     "  --fix                  apply the remedies that need no reboot, after a question; "
	     "needs root\n"
	     "  --yes                  with --fix: do not ask\n"
	     "  --json                 print JSON\n"
	     "  --verbose              also print notes: facts that are not known, or need no "
	     "remedy\n"
	     "  --engines N            number of engines if the profile names no CPUs; default: 1\n"
	     "  --user NAME            the user of the programs, for the limit of locked memory; "
	     "default: this user\n"
	     "  --sysroot DIR          read DIR/proc, DIR/sys, DIR/dev and DIR/etc instead of "
	     "this machine's\n"
	     "  --driver NAME          a driver of the list below; default: the profile's\n"
	     "  --driver-options S     key=value,...\n"
	     "  --profile FILE         the profile, instead of the argument\n"
	     "  --show-profile         print the profile in effect, and end\n"
	     "  -h, --help, --version\n"
	     "\n"
	     "Exit status: 0: nothing to report; 1: the output can't be written, or a remedy was "
	     "not applied;\n"
	     "2: usage, or the profile can't be read; 3: warnings: programs start, and are slower; "
	     "4: errors:\n"
	     "programs do not start.\n"
	     "\n"
	     "Drivers:");
	option_print_drivers();
}

/* Section [app:weir-check] of a profile can't have these options. A profile must not change the
 * machine. */
static const char *const command_line_only[] = {"fix", "yes", "sysroot", NULL};

static const struct program program = {
	.name = "weir-check",
	.version = WEIR_VERSION,
	.short_options = "h",
	.long_options = long_options,
	.command_only = command_line_only,
	.help = help,
};

static char **joined; /* the command line with --profile */

/* Checks the name of a user, which becomes a part of a file's name. */
static int apply_user(const char *value, struct check_options *o)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_.-";

	if (value[0] == '\0' || value[0] == '-' || value[0] == '.' || strlen(value) > USER_MAX ||
	    strspn(value, allowed) != strlen(value))
		return option_bad("user", value, "expected the name of a user");
	o->user = value;
	return 0;
}

static int apply(int opt, const char *value, struct check_options *o)
{
	switch (opt) {
	case OPT_DRIVER:
		return option_driver(value, &o->profile);
	case OPT_DRIVER_OPTIONS:
		return option_driver_options(value, &o->profile);
	case OPT_JSON:
		o->is_json = true;
		return 0;
	case OPT_VERBOSE:
		o->is_verbose = true;
		return 0;
	case OPT_ENGINES:
		return option_u32("engines", value, 1, WEIR_RUNTIME_THREADS_MAX, &o->nengines);
	case OPT_FIX:
		o->fixes = true;
		return 0;
	case OPT_YES:
		o->is_confirmed = true;
		return 0;
	case OPT_USER:
		return apply_user(value, o);
	case OPT_SYSROOT:
		if (strlen(value) >= FACTS_ROOT_BYTES)
			return option_bad("sysroot", value, "too long: expected at most 255 bytes");
		o->sysroot = value;
		return 0;
	default: /* program_args_read() has applied the others */
		return 0;
	}
}

/* Finds the path of the profile: the argument that is no option, or that of --profile. Returns 0
 * or -1. */
static int find_profile(int argc, char **argv, struct check_options *o)
{
	const char *given = NULL;
	int opt;

	/* Errors are reported later. getopt_long() moves arguments that are no options to the
	 * end. */
	opterr = 0;
	optind = 0;
	while ((opt = getopt_long(argc, argv, program.short_options, long_options, NULL)) != -1)
		if (opt == OPT_PROFILE)
			given = optarg;
	opterr = 1;
	if (argc - optind > 1 || (given && optind < argc)) {
		fprintf(stderr, "weir-check: '%s': there can be only one profile. See --help\n",
			argv[given ? optind : optind + 1]);
		return -1;
	}
	o->path = optind < argc ? argv[optind] : given;
	return 0;
}

/* Makes the command line on which the profile is an option. Returns its length, or -1. */
static int join(int argc, char **argv)
{
	static char option[] = "--profile";
	int n = 0;

	joined = calloc((size_t)argc + 3, sizeof(joined[0]));
	if (!joined) {
		fprintf(stderr, "weir-check: no memory for the options\n");
		return -1;
	}
	joined[n++] = argv[0];
	if (optind < argc) {
		joined[n++] = option;
		joined[n++] = argv[optind];
	}
	for (int i = 1; i < argc && i < optind; i++)
		if (strcmp(argv[i], "--") != 0 || i + 1 < optind)
			joined[n++] = argv[i];
	return n;
}

/* Checks options that depend on each other. Returns 0 or -1. */
static int check_together(const struct check_options *o)
{
	if (o->is_confirmed && !o->fixes)
		return option_bad("yes", NULL, "this option goes with --fix");
	if (o->user[0] != '\0' && o->sysroot[0] == '\0' && !getpwnam(o->user))
		return option_bad("user", o->user, "there is no such user");
	if (o->nengines > 0 && o->profile.lcores[0] != '\0' &&
	    strcmp(o->profile.lcores, "any") != 0)
		return option_bad("engines", NULL,
				  "the profile has an engine for each CPU of lcores");
	return option_check_profile(&o->profile);
}

int check_options_read(int argc, char **argv, struct check_options *o)
{
	bool has_profile;
	int rc, opt;

	*o = (struct check_options){.sysroot = "", .user = ""};
	if (find_profile(argc, argv, o) != 0)
		return -1;
	argc = join(argc, argv);
	if (argc < 0)
		return -1;
	rc = program_args_read(&program, argc, joined, &o->profile, &has_profile);
	if (rc != 0)
		return rc;
	if (!has_profile && !program_args_shows_profile()) {
		fprintf(stderr, "weir-check: name a profile, such as those in config or "
				"share/weir. See --help\n");
		return -1;
	}
	while ((opt = program_args_next()) != -1)
		if (apply(opt, optarg, o) != 0)
			return -1;
	if (check_together(o) != 0)
		return -1;
	return program_args_shows_profile() ? program_args_show(&o->profile) : 0;
}

void check_options_free(void)
{
	free(joined);
	joined = NULL;
}
