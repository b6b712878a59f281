/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads a profile from a file, and checks profiles. profile_file.c reads the file. */

#include <weir/profile.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "engine.h"
#include "profile_engines.h"
#include "profile_file.h"
#include "profile_keys.h"
#include "sized.h"
#include "sized_why.h"

static const struct sized_type profile_type = SIZED_TYPE(weir_profile, windows);

/* Returns the place that an error about a key names: the line that sets the key in the section of
 * engines or, if that is NULL or has no such line, elsewhere; or the file if no line does. */
static struct profile_place place_of(const struct profile_load *load,
				     const struct profile_section *section,
				     const struct profile_key *key)
{
	struct profile_place place = load->places[key - profile_keys];
	int line = section ? profile_section_line(section, key) : -1;

	if (line >= 0)
		place = load->engine_places[line];
	if (!place.path)
		place.path = load->path;
	return place;
}

static int fail_driver(const struct profile_load *load, const char *name)
{
	char known[128] = "";
	size_t used = 0;

	for (uint32_t i = 0; fabric_driver_at(i) && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "",
					 fabric_driver_at(i)->name);
	return profile_fail(load, place_of(load, NULL, profile_key_find("engine", "driver")),
			    "[engine] driver: no driver '%s' in this build; known: %s", name,
			    known);
}

/* Checks the conditions that concern several keys or the driver: those of all engines or, if
 * 'section' is not NULL, those of the engines of a section, which have the profile 'profile'.
 * Returns 0, or -EINVAL after an error. */
static int check_engines(const struct profile_load *load, const struct profile_section *section,
			 const struct weir_profile *profile)
{
	const struct fabric_ops *ops = fabric_driver_find(profile->driver);
	const struct profile_key *key = profile_key_find("engine", "driver_options");
	char why[192];

	if (!ops)
		return fail_driver(load, profile->driver);
	/* The options are checked even if they are empty, because a driver can require some. */
	if (ops->options_check && ops->options_check(profile->driver_options) != 0)
		return profile_fail(load, place_of(load, section, key),
				    "[%s] driver_options: '%.64s' are not valid for driver %s: "
				    "%s",
				    section ? section->name : key->section, profile->driver_options,
				    ops->name, ops->summary);
	key = profile_conflict(profile, ops, why, sizeof(why));
	if (!key)
		return 0;
	return profile_fail_value(load, place_of(load, section, key),
				  section ? section->name : key->section, key, why);
}

/* Checks that lcores names the CPUs of a section of engines. Returns 0, or -EINVAL after an error.
 */
static int check_cpus(const struct profile_load *load, const struct profile_section *section)
{
	struct profile_place place = load->engine_places[section->line];
	cpu_set_t lcores;

	profile_cpus(load->profile.lcores, &lcores);
	if (CPU_COUNT(&lcores) == 0)
		return profile_fail(load, place,
				    "[%s]: lcores in section [engine] names no CPUs; example: "
				    "lcores = %s",
				    section->name, section->name + strlen(PROFILE_ENGINE));
	for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &section->cpus) && !CPU_ISSET(cpu, &lcores))
			return profile_fail(load, place,
					    "[%s]: CPU %u is not in lcores = %s; add it there, or "
					    "remove it here",
					    section->name, cpu, load->profile.lcores);
	return 0;
}

/* Checks the conditions that concern several keys, sections or the driver. Returns 0, or -EINVAL
 * after an error. */
static int check_together(const struct profile_load *load)
{
	struct profile_section section = {0};
	struct weir_profile own;
	int rc = check_engines(load, NULL, &load->profile);

	while (rc == 0 && profile_section_next(&load->profile, &section)) {
		rc = check_cpus(load, &section);
		if (rc != 0)
			break;
		own = load->profile;
		profile_section_apply(&section, &own);
		rc = check_engines(load, &section, &own);
	}
	return rc;
}

/* Checks that the application's profile has room for the sections of engines. Returns 0, or
 * -EINVAL after an error. */
static int check_room(const struct profile_load *load, const struct weir_profile *profile)
{
	const size_t needed = offsetof(struct weir_profile, engines) + sizeof(profile->engines);
	struct profile_section section = {0};

	if (profile->struct_bytes >= needed || !profile_section_next(&load->profile, &section))
		return 0;
	return profile_fail(load, load->engine_places[section.line],
			    "[%s]: the program was built with headers of weir that do not have "
			    "this section; remove the section, or build the program again",
			    section.name);
}

/* Checks the size of the application's profile, which weir_profile_load() overwrites. Members that
 * weir does not know may have any value. Returns 0, or -EINVAL after an error. */
static int check_size(const struct profile_load *load, const struct weir_profile *profile)
{
	struct profile_place place = {.path = load->path};
	char why[SIZED_WHY_BYTES];
	int rc = sized_check_why(&profile_type, profile, why);

	return rc == -EINVAL ? profile_fail(load, place, "%s", why) : 0;
}

/* The parameters of weir_profile_load_app() that concern the program. */
struct app {
	const char *name;
	const char *(*set)(void *arg, const char *key, const char *value, const char *where);
	void *arg;
};

/* Prepares 'load' for the keys of the program's own section. Returns 0 or -ENOMEM. */
static int begin_app(struct profile_load *load, const struct app *app)
{
	struct profile_place place = {.path = load->path};

	load->entries = mem_zalloc(PROFILE_ENTRIES_MAX * sizeof(load->entries[0]));
	if (!load->entries) {
		profile_fail(load, place, "no memory for its keys");
		return -ENOMEM;
	}
	/* If the name is too long, no section can have it. */
	if (strlen(app->name) < sizeof(load->app) - strlen(PROFILE_APP))
		snprintf(load->app, sizeof(load->app), PROFILE_APP "%s", app->name);
	return 0;
}

/* Gives the program the keys of its own section. Returns 0, or -EINVAL after an error. */
static int give_entries(const struct profile_load *load, const struct app *app)
{
	char where[PATH_MAX + 16];

	for (uint32_t i = 0; i < load->nentries; i++) {
		const struct profile_entry *entry = &load->entries[i];
		const char *why;

		snprintf(where, sizeof(where), "%s:%u", entry->place.path, entry->place.line);
		why = app->set(app->arg, entry->key, entry->value, where);
		if (why)
			return profile_fail(load, entry->place, "[%s] %s: %s", load->app,
					    entry->key, why);
	}
	return 0;
}

/* Loads a profile, and the keys of the program's own section unless 'app' is NULL. */
static int load_profile(struct profile_load *load, const struct app *app,
			struct weir_profile *profile)
{
	int rc = check_size(load, profile);

	if (rc != 0)
		return rc;
	weir_profile_defaults(&load->profile);
	if (app)
		rc = begin_app(load, app);
	if (rc == 0)
		rc = profile_file_load(load);
	if (rc == 0)
		rc = check_together(load);
	if (rc == 0)
		rc = check_room(load, profile);
	if (rc == 0 && app)
		rc = give_entries(load, app);
	if (rc == 0)
		sized_fill(profile, &load->profile, sizeof(load->profile));
	profile_file_free(load);
	mem_free(load->entries);
	return rc;
}

int weir_profile_load(const char *path, struct weir_profile *profile, char *err, size_t err_bytes)
{
	struct profile_load load = {.path = path, .err = err, .err_bytes = err_bytes};

	return load_profile(&load, NULL, profile);
}

int weir_profile_load_app(const char *path, const char *app,
			  const char *(*set)(void *arg, const char *key, const char *value,
					     const char *where),
			  void *arg, struct weir_profile *profile, char *err, size_t err_bytes)
{
	struct profile_load load = {.path = path, .err = err, .err_bytes = err_bytes};
	const struct app program = {.name = app, .set = set, .arg = arg};

	return load_profile(&load, &program, profile);
}

/* Reads the sections of engines that the application has set, and replaces them by their form in
 * weir_profile_format(). Returns 0, or -EINVAL after an error. */
static int read_engines(struct profile_load *load)
{
	char text[sizeof(load->profile.engines)];
	const struct profile_place nowhere = {0};

	memcpy(text, load->profile.engines, sizeof(text));
	memset(load->profile.engines, 0, sizeof(load->profile.engines));
	if (strnlen(text, sizeof(text)) == sizeof(text))
		return profile_fail(load, nowhere, "engines: longer than %zu characters",
				    sizeof(text) - 1);
	return profile_file_scan_text(load, text);
}

int profile_read(const struct weir_profile *theirs, struct weir_profile *own, char *err,
		 size_t err_bytes)
{
	struct profile_load load = {.err = err, .err_bytes = err_bytes};
	const struct profile_place nowhere = {0};
	char why[SIZED_WHY_BYTES];
	int rc = sized_check_why(&profile_type, theirs, why);

	if (rc != 0) {
		profile_fail(&load, nowhere, "%s", why);
		return rc;
	}
	/* Members that the application's profile does not have get their defaults. */
	weir_profile_defaults(&load.profile);
	memcpy(&load.profile, theirs,
	       theirs->struct_bytes < sizeof(*own) ? theirs->struct_bytes : sizeof(*own));
	load.profile.struct_bytes = sizeof(*own);
	for (uint32_t i = 0; i < profile_nkeys; i++)
		if (!profile_key_check(&profile_keys[i], &load.profile, why, sizeof(why)))
			return profile_fail_value(&load, nowhere, profile_keys[i].section,
						  &profile_keys[i], why);
	rc = read_engines(&load);
	if (rc == 0)
		rc = check_together(&load);
	if (rc == 0)
		*own = load.profile;
	return rc;
}

int weir_profile_check(const struct weir_profile *profile, char *err, size_t err_bytes)
{
	struct weir_profile own;

	return profile_read(profile, &own, err, err_bytes);
}

int weir_profile_for_cpu(const struct weir_profile *profile, int cpu, struct weir_profile *out)
{
	struct weir_profile own;
	char why[SIZED_WHY_BYTES];
	int rc = profile_read(profile, &own, NULL, 0);

	if (rc == 0 && sized_check_why(&profile_type, out, why) == -EINVAL)
		rc = -EINVAL;
	if (rc != 0)
		return rc;
	profile_for_cpu(&own, cpu);
	sized_fill(out, &own, sizeof(own));
	return 0;
}

/* Appends to 'text', of which 'used' bytes are used, a text of 'len' bytes, and truncates what does
 * not fit. Returns the length of the whole text. */
static size_t append_text(char *text, size_t text_bytes, size_t used, const char *more, size_t len)
{
	size_t left = used < text_bytes ? text_bytes - used : 0;

	return used + (size_t)snprintf(left ? text + used : NULL, left, "%.*s", (int)len, more);
}

/* Appends the sections of engines, each after an empty line. Returns the length of the whole text.
 */
static size_t append_engines(char *text, size_t text_bytes, size_t used, const char *engines)
{
	while (*engines != '\0') {
		size_t len = strcspn(engines, "\n") + 1;

		if (engines[0] == '[')
			used = append_text(text, text_bytes, used, "\n", 1);
		used = append_text(text, text_bytes, used, engines, len);
		engines += len;
	}
	return used;
}

int weir_profile_format(const struct weir_profile *profile, char *text, size_t text_bytes)
{
	const char *section = NULL;
	struct weir_profile own;
	size_t used = 0;
	int rc = profile_read(profile, &own, NULL, 0);

	if (rc != 0)
		return rc;
	for (uint32_t i = 0; i < profile_nkeys; i++) {
		const struct profile_key *key = &profile_keys[i];
		size_t left = used < text_bytes ? text_bytes - used : 0;
		char value[PROFILE_VALUE_BYTES], begin[PROFILE_NAME_BYTES] = "";

		if (!section || strcmp(section, key->section) != 0)
			snprintf(begin, sizeof(begin), "%s[%s]\n", section ? "\n" : "",
				 key->section);
		section = key->section;
		profile_key_format(key, &own, value, sizeof(value));
		used += (size_t)snprintf(left ? text + used : NULL, left, "%s%s =%s%s\n", begin,
					 key->name, value[0] ? " " : "", value);
	}
	return (int)append_engines(text, text_bytes, used, own.engines);
}

int weir_profile_init(struct weir_profile *profile, size_t struct_bytes)
{
	struct weir_profile own;
	char why[192];

	if (struct_bytes < profile_type.first_bytes)
		return -EINVAL;
	memset(&own, 0, sizeof(own)); /* also the bytes between members */
	/* No error is possible, because each default is in the range of its key. A unit test checks
	 * this. */
	for (uint32_t i = 0; i < profile_nkeys; i++)
		(void)profile_key_set(&profile_keys[i], profile_keys[i].initial, &own, why,
				      sizeof(why));
	profile->struct_bytes = struct_bytes;
	sized_fill(profile, &own, sizeof(own));
	return 0;
}
