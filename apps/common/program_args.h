/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROGRAM_ARGS_H
#define PROGRAM_ARGS_H

/*
 * The options of a program, from the section [app:NAME] of its profile and from the command line.
 * A key of the section is a long option without "--". An option on the command line replaces the
 * key.
 *
 * There is one set of options in a process, as for getopt_long(). program_args_read() begins a new
 * one.
 */

#include <stdbool.h>

#include "program_options.h"

struct program {
	const char *name; /* the name of the program and of its section */
	const char *version;
	const char *short_options;
	const struct option *long_options;
	/* the options that may be given several times, with NULL at the end; NULL: none */
	const char *const *repeatable;
	/* the options that the section can't have, with NULL at the end; NULL: none */
	const char *const *command_only;
	void (*help)(void);
};

/*
 * Reads the command line, and sets *profile to the profile that --profile names, or to the
 * defaults. *has_profile says whether --profile was given. Returns 0; 1 after it has printed the
 * help or the version; or -1 after it has printed an error on standard error.
 */
int program_args_read(const struct program *program, int argc, char **argv,
		      struct weir_profile *profile, bool *has_profile);

/*
 * Returns the value of the next option as getopt_long() does, with the argument in 'optarg', or -1
 * after the last one. The options of the section come first. Errors that option_bad() prints about
 * one of them name its file and line. Arguments stay valid until the next program_args_read().
 */
int program_args_next(void);

/* Returns whether the option that program_args_next() has returned is from the section. */
bool program_args_is_from_section(void);

/* Returns whether --show-profile was given. */
bool program_args_shows_profile(void);

/*
 * Prints 'profile', which is valid, and the section [app:NAME] with all options of the section and
 * the command line. A file with this text is a profile with the same effect. Returns 1, or -1 after
 * it has printed an error on standard error.
 */
int program_args_show(const struct weir_profile *profile);

/*
 * Returns the arguments that are no options, after program_args_next() has returned -1. Sets *n to
 * their number.
 */
char **program_args_rest(int *n);

#endif
