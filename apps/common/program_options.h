/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROGRAM_OPTIONS_H
#define PROGRAM_OPTIONS_H

/*
 * The options that every program has which takes a profile: --driver, --driver-options, --profile,
 * --help and --version. Functions that return an int return 0, or -1 with the mistake said on
 * standard error.
 */

#include <getopt.h>

#include <weir/profile.h>

/* The values of getopt_long(). Those of a program's own long options begin at OPT_OWN. */
enum program_option {
	OPT_HELP = 'h',
	OPT_DRIVER = 256,
	OPT_DRIVER_OPTIONS,
	OPT_PROFILE,
	OPT_VERSION,
	OPT_OWN,
};

/* Entries of a program's table of long options. */
#define PROGRAM_LONG_OPTIONS                                                                       \
	PROGRAM_OPTION("driver", required_argument, OPT_DRIVER),                                   \
		PROGRAM_OPTION("driver-options", required_argument, OPT_DRIVER_OPTIONS),           \
		PROGRAM_OPTION("profile", required_argument, OPT_PROFILE),                         \
		PROGRAM_OPTION("help", no_argument, OPT_HELP),                                     \
		PROGRAM_OPTION("version", no_argument, OPT_VERSION)
#define PROGRAM_OPTION(name, has_arg, value)                                                       \
	(struct option)                                                                            \
	{                                                                                          \
		name, has_arg, NULL, value                                                         \
	}

/* Apply --driver or --driver-options. */
int option_driver(const char *value, struct weir_profile *profile);
int option_driver_options(const char *value, struct weir_profile *profile);

/* Load the file that --profile names. */
int option_profile(const char *path, struct weir_profile *profile);

/* Check a profile that all options were applied to. */
int option_check_profile(const struct weir_profile *profile);

/*
 * Check an address that --listen or --connect names.
 *
 * @option: the option's name
 */
int option_address(const char *option, const char *value);

/* Print the drivers of this build on standard output, one a line, for --help. */
void option_print_drivers(void);

#endif
