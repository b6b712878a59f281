/* SPDX-License-Identifier: BSD-3-Clause */
/* Joins the options of a profile's section [app:NAME] with those of the command line. */
#include "program_args.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

/* weir_profile_load_app() does not return more keys. */
#define KEYS_MAX 64u

#define VALUE_MAX 255u /* longest value in a profile */

/* A key of the section. */
struct section_key {
	const struct option *option;
	char *text;	   /* the option for getopt_long(), such as "--depth=8" */
	const char *value; /* the value in 'text'; NULL: the option has no argument */
	char *where;	   /* "FILE:LINE" */
	bool is_set;	   /* false for an option without an argument whose value is "no" */
};

/* An option of the command line. */
struct given {
	int value;	      /* the value that getopt_long() returns for it */
	const char *argument; /* NULL: none */
};

static struct {
	const struct program *program;
	uint32_t nkeys;
	struct section_key keys[KEYS_MAX];
	uint32_t nplaces; /* the keys that are in 'argv', in the order of 'argv' */
	const char *places[KEYS_MAX];
	struct given *given;
	uint32_t ngiven;
	bool shows_profile;
	int argc; /* the keys of the section, and then the command line */
	char **argv;
	uint32_t nreturned; /* by program_args_next() */
	char why[200];
} args;

static void drop_keys(void)
{
	for (uint32_t i = 0; i < args.nkeys; i++) {
		free(args.keys[i].text);
		free(args.keys[i].where);
	}
	args.nkeys = 0;
}

static void args_begin(const struct program *program)
{
	drop_keys();
	free(args.given);
	free(args.argv);
	memset(&args, 0, sizeof(args));
	args.program = program;
	option_set_place(NULL);
}

static int no_memory(void)
{
	fprintf(stderr, "%s: no memory for the options\n", args.program->name);
	return -1;
}

static const struct option *find_option(const char *name)
{
	for (const struct option *o = args.program->long_options; o->name; o++)
		if (strcmp(o->name, name) == 0)
			return o;
	return NULL;
}

static bool is_common(int value)
{
	return value == OPT_HELP || (value >= OPT_DRIVER && value < OPT_OWN);
}

/* Returns whether a list of options, which ends with NULL or is NULL, has the option. */
static bool is_in(const char *const *list, const char *name)
{
	for (uint32_t i = 0; list && list[i]; i++)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

/* Returns NULL if the section can have the key, or the reason why it cannot. */
static const char *refuse_key(const char *key, const struct option *option)
{
	const struct program *program = args.program;

	if (!option) {
		snprintf(args.why, sizeof(args.why),
			 "%s has no such option; '%s --help' lists the options", program->name,
			 program->name);
		return args.why;
	}
	if (option->val == OPT_DRIVER || option->val == OPT_DRIVER_OPTIONS)
		return "set driver and driver_options in section [engine] instead";
	if (is_common(option->val) || is_in(program->command_only, key))
		return "this option is only for the command line; remove the key";
	if (is_in(program->repeatable, key))
		return NULL;
	for (uint32_t i = 0; i < args.nkeys; i++)
		if (args.keys[i].option == option)
			return "the section sets this key twice; remove one";
	return NULL;
}

/* Takes one key of the section. weir_profile_load_app() describes the parameters and the result. */
static const char *take_key(void *arg, const char *key, const char *value, const char *where)
{
	const struct option *option = find_option(key);
	const char *why = refuse_key(key, option);
	struct section_key *entry;
	bool has_value;

	(void)arg;
	if (why)
		return why;
	has_value = option->has_arg != no_argument;
	if (!has_value && strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return "allowed: yes or no";
	if (args.nkeys == KEYS_MAX)
		return "too many keys; remove some";
	entry = &args.keys[args.nkeys];
	*entry = (struct section_key){.option = option};
	entry->is_set = has_value || strcmp(value, "yes") == 0;
	entry->where = strdup(where);
	if (asprintf(&entry->text, "--%s%s%s", key, has_value ? "=" : "", has_value ? value : "") <
	    0)
		entry->text = NULL;
	if (entry->text && has_value)
		entry->value = strchr(entry->text, '=') + 1;
	args.nkeys++; /* args_begin() frees what was allocated */
	return entry->where && entry->text ? NULL : "no memory";
}

static int load_profile(const char *path, struct weir_profile *profile)
{
	char error[512];

	drop_keys();
	if (weir_profile_load_app(path, args.program->name, take_key, NULL, profile, error,
				  sizeof(error)) == 0)
		return 0;
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, error);
	return -1;
}

static bool is_given(int value)
{
	for (uint32_t i = 0; i < args.ngiven; i++)
		if (args.given[i].value == value)
			return true;
	return false;
}

/* Makes the arguments for program_args_next(). Returns 0 or -1. */
static int args_join(int argc, char **argv)
{
	args.argv = calloc(args.nkeys + (size_t)argc + 2, sizeof(args.argv[0]));
	if (!args.argv)
		return no_memory();
	args.argv[args.argc++] = argc > 0 ? argv[0] : NULL;
	for (uint32_t i = 0; i < args.nkeys; i++) {
		const struct section_key *key = &args.keys[i];

		if (!key->is_set || is_given(key->option->val))
			continue;
		args.argv[args.argc++] = key->text;
		args.places[args.nplaces++] = key->where;
	}
	for (int i = 1; i < argc; i++)
		args.argv[args.argc++] = argv[i];
	optind = 0; /* getopt_long() begins with another array */
	return 0;
}

int program_args_read(const struct program *program, int argc, char **argv,
		      struct weir_profile *profile, bool *has_profile)
{
	int opt;

	args_begin(program);
	weir_profile_defaults(profile);
	*has_profile = false;
	/* An argument can contain several short options. */
	for (int i = 1; i < argc; i++)
		args.ngiven += (uint32_t)strlen(argv[i]) + 1;
	args.given = calloc(args.ngiven + 1, sizeof(args.given[0]));
	if (!args.given)
		return no_memory();
	args.ngiven = 0;
	optind = 0;
	while ((opt = getopt_long(argc, argv, program->short_options, program->long_options,
				  NULL)) != -1) {
		switch (opt) {
		case '?': /* getopt_long() has printed the reason */
			fprintf(stderr, "%s: --help lists the options\n", program->name);
			return -1;
		case OPT_HELP:
			program->help();
			return 1;
		case OPT_VERSION:
			printf("%s %s\n", program->name, program->version);
			return 1;
		case OPT_PROFILE:
			*has_profile = true;
			if (load_profile(optarg, profile) != 0)
				return -1;
			break;
		case OPT_SHOW_PROFILE:
			args.shows_profile = true;
			break;
		default:
			args.given[args.ngiven++] = (struct given){opt, optarg};
		}
	}
	return args_join(argc, argv);
}

int program_args_next(void)
{
	int opt = getopt_long(args.argc, args.argv, args.program->short_options,
			      args.program->long_options, NULL);

	args.nreturned++;
	option_set_place(program_args_is_from_section() ? args.places[args.nreturned - 1] : NULL);
	return opt;
}

bool program_args_is_from_section(void)
{
	return args.nreturned <= args.nplaces;
}

bool program_args_shows_profile(void)
{
	return args.shows_profile;
}

/* Returns whether a line of a profile can have the text as its value. */
static bool is_value(const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if (iscntrl((unsigned char)text[i]) || text[i] == '#' || text[i] == '\\')
			return false;
	return len <= VALUE_MAX && (len == 0 || (!isspace((unsigned char)text[0]) &&
						 !isspace((unsigned char)text[len - 1])));
}

/* Returns the name of the option with this value, or NULL if the section can't have it. */
static const char *section_name(int value)
{
	if (is_common(value))
		return NULL;
	for (const struct option *o = args.program->long_options; o->name; o++)
		if (o->val == value)
			return is_in(args.program->command_only, o->name) ? NULL : o->name;
	return NULL;
}

/* Returns whether a later option of the command line replaces this one. */
static bool is_replaced(uint32_t index, const char *name)
{
	for (uint32_t i = index + 1; i < args.ngiven; i++)
		if (args.given[i].value == args.given[index].value)
			return !is_in(args.program->repeatable, name);
	return false;
}

static void print_key(const char *name, const char *value)
{
	if (!value)
		printf("%s = yes\n", name);
	else if (value[0] == '\0')
		printf("%s =\n", name);
	else
		printf("%s = %s\n", name, value);
}

int program_args_show(const struct weir_profile *profile)
{
	char text[8192];
	int len = weir_profile_format(profile, text, sizeof(text));

	if (len < 0 || (size_t)len >= sizeof(text)) /* the profile is valid, and 'text' is large */
		return option_bad("show-profile", NULL, "the profile is not valid");
	for (uint32_t i = 0; i < args.ngiven; i++) {
		const char *name = section_name(args.given[i].value);

		if (name && args.given[i].argument && !is_value(args.given[i].argument))
			return option_bad(name, args.given[i].argument,
					  "a profile can't have this value, because it is longer "
					  "than 255 characters, has a blank at an end, or contains "
					  "'#', a backslash or a control character");
	}
	printf("# The profile in effect, by %s %s --show-profile.\n%s\n[app:%s]\n",
	       args.program->name, args.program->version, text, args.program->name);
	for (uint32_t i = 0; i < args.nkeys; i++)
		if (args.keys[i].is_set && !is_given(args.keys[i].option->val))
			print_key(args.keys[i].option->name, args.keys[i].value);
	for (uint32_t i = 0; i < args.ngiven; i++) {
		const char *name = section_name(args.given[i].value);

		if (name && !is_replaced(i, name))
			print_key(name, args.given[i].argument);
	}
	return 1;
}

char **program_args_rest(int *n)
{
	*n = args.argc - optind;
	return args.argv + optind;
}
