/* SPDX-License-Identifier: BSD-3-Clause */
/* The sections of a profile for the engines of some CPUs. profile_engines.h describes their text.
 */
#include "profile_engines.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LINE_BYTES (PROFILE_NAME_BYTES + PROFILE_VALUE_BYTES + 8)

void profile_cpus(const char *list, cpu_set_t *set)
{
	uint32_t cpus[CPU_SETSIZE];
	int n = weir_profile_lcores(list, cpus, CPU_SETSIZE);

	CPU_ZERO(set);
	for (int i = 0; i < n; i++)
		CPU_SET(cpus[i], set);
}

/* Returns the text after a line. */
static const char *after_line(const char *line)
{
	return line + strcspn(line, "\n") + 1;
}

bool profile_section_next(const struct weir_profile *profile, struct profile_section *section)
{
	const char *text = section->keys ? section->keys : profile->engines;
	uint32_t line = section->keys ? section->line + 1 : 0;

	for (; *text != '\0' && *text != '['; text = after_line(text))
		line++;
	if (*text == '\0')
		return false;
	snprintf(section->name, sizeof(section->name), "%.*s", (int)strcspn(text + 1, "]"),
		 text + 1);
	profile_cpus(section->name + strlen(PROFILE_ENGINE), &section->cpus);
	section->line = line;
	section->keys = after_line(text);
	return true;
}

/* Returns whether a line sets the key. */
static bool is_of_key(const char *line, const struct profile_key *key)
{
	size_t len = strlen(key->name);

	return strncmp(line, key->name, len) == 0 && line[len] == ' ';
}

int profile_section_line(const struct profile_section *section, const struct profile_key *key)
{
	int line = (int)section->line + 1;

	for (const char *text = section->keys; *text != '\0' && *text != '[';
	     text = after_line(text), line++)
		if (is_of_key(text, key))
			return line;
	return -1;
}

/* Returns the key with this name that a section of engines can have. Otherwise returns NULL. */
static const struct profile_key *find_key(const char *name)
{
	const struct profile_key *key = profile_key_find("engine", name);

	if (!key)
		key = profile_key_find("memory", name);
	return key && !key->is_of_process ? key : NULL;
}

void profile_section_apply(const struct profile_section *section, struct weir_profile *profile)
{
	for (const char *text = section->keys; *text != '\0' && *text != '[';
	     text = after_line(text)) {
		size_t name_len = strcspn(text, " ");
		size_t value_at = name_len + strlen(" =");
		char name[PROFILE_NAME_BYTES], value[PROFILE_VALUE_BYTES], why[192];
		const struct profile_key *key;

		value_at += text[value_at] == ' ';
		snprintf(name, sizeof(name), "%.*s", (int)name_len, text);
		snprintf(value, sizeof(value), "%.*s", (int)strcspn(text + value_at, "\n"),
			 text + value_at);
		key = find_key(name);
		/* profile_engines_set() has found the key and the value to be valid. */
		if (key)
			(void)profile_key_set(key, value, profile, why, sizeof(why));
	}
}

void profile_for_cpu(struct weir_profile *profile, int cpu)
{
	const struct weir_profile all = *profile;
	struct profile_section section = {0};

	memset(profile->engines, 0, sizeof(profile->engines));
	while (cpu >= 0 && cpu < CPU_SETSIZE && profile_section_next(&all, &section))
		if (CPU_ISSET((unsigned)cpu, &section.cpus))
			profile_section_apply(&section, profile);
}

/* Inserts a line before the line with the index 'at', which begins at 'offset' of the text. Returns
 * 0, or -EINVAL after an error if there is no room. */
static int insert_line(struct profile_load *load, uint32_t at, size_t offset, const char *line,
		       struct profile_place place)
{
	char *text = load->profile.engines;
	size_t used = strlen(text), len = strlen(line);

	if (load->nengine_lines == PROFILE_ENGINE_LINES_MAX ||
	    used + len >= sizeof(load->profile.engines))
		return profile_fail(load, place,
				    "[" PROFILE_ENGINE "...]: these sections have more than %u "
				    "lines or %zu characters in total; remove some",
				    PROFILE_ENGINE_LINES_MAX, sizeof(load->profile.engines) - 1);
	memmove(text + offset + len, text + offset, used - offset + 1);
	memcpy(text + offset, line, len);
	memmove(&load->engine_places[at + 1], &load->engine_places[at],
		(load->nengine_lines - at) * sizeof(place));
	load->engine_places[at] = place;
	load->nengine_lines++;
	return 0;
}

/* Removes the line with the index 'at', which begins at 'offset' of the text. */
static void remove_line(struct profile_load *load, uint32_t at, size_t offset)
{
	char *text = load->profile.engines;
	size_t used = strlen(text), len = strcspn(text + offset, "\n") + 1;

	memmove(text + offset, text + offset + len, used - offset - len + 1);
	memset(text + used - len, 0, len); /* equal profiles have equal bytes */
	load->nengine_lines--;
	memmove(&load->engine_places[at], &load->engine_places[at + 1],
		(load->nengine_lines - at) * sizeof(load->engine_places[0]));
}

/* Checks the list of CPUs of a section. Returns 0, or -EINVAL after an error. */
static int check_list(const struct profile_load *load, struct profile_place place, const char *name)
{
	uint32_t cpus[CPU_SETSIZE];

	if (strlen(name) < PROFILE_SECTION_BYTES &&
	    weir_profile_lcores(name + strlen(PROFILE_ENGINE), cpus, CPU_SETSIZE) > 0)
		return 0;
	return profile_fail(load, place,
			    "[%.63s]: after '" PROFILE_ENGINE "' stand CPUs, each once, in at most "
			    "%u characters; example: [" PROFILE_ENGINE "8-15]",
			    name, PROFILE_LIST_BYTES - 1);
}

/* Writes an error about a CPU that another section has, too. Returns -EINVAL. */
static int fail_overlap(const struct profile_load *load, struct profile_place place,
			const char *name, const struct profile_section *other,
			const cpu_set_t *both)
{
	struct profile_place first = load->engine_places[other->line];
	char where[128] = "";
	uint32_t cpu = 0;

	while (!CPU_ISSET(cpu, both))
		cpu++;
	if (first.path)
		snprintf(where, sizeof(where), " (%.100s:%u)", first.path, first.line);
	return profile_fail(load, place,
			    "[%.63s]: CPU %u is also in [%.63s]%s; name it in one section", name,
			    cpu, other->name, where);
}

int profile_engines_begin(struct profile_load *load, struct profile_place place, const char *name)
{
	char line[PROFILE_SECTION_BYTES + 4];
	struct profile_section section = {0};
	cpu_set_t own, both;
	int rc = check_list(load, place, name);

	if (rc != 0)
		return rc;
	profile_cpus(name + strlen(PROFILE_ENGINE), &own);
	while (profile_section_next(&load->profile, &section)) {
		CPU_AND(&both, &own, &section.cpus);
		if (CPU_EQUAL(&own, &section.cpus)) {
			struct profile_place *first = &load->engine_places[section.line];

			if (first->path == place.path)
				return profile_fail_twice(load, place, name);
			*first = place;
			return 0;
		}
		if (CPU_COUNT(&both) > 0)
			return fail_overlap(load, place, name, &section, &both);
	}
	snprintf(line, sizeof(line), "[%s]\n", name);
	return insert_line(load, load->nengine_lines, strlen(load->profile.engines), line, place);
}

/* Writes an error about a key that a section of engines cannot have. Returns -EINVAL. */
static int fail_key(const struct profile_load *load, struct profile_place place,
		    const char *section, const char *name)
{
	for (uint32_t i = 0; i < profile_nkeys; i++) {
		const struct profile_key *key = &profile_keys[i];

		if (strcmp(key->name, name) != 0)
			continue;
		return profile_fail(load, place,
				    "[%s] %s: all engines have the same value; set it in section "
				    "[%s]",
				    section, name, key->section);
	}
	return profile_fail(load, place,
			    "[%s] %.64s: no such key; known: those of [engine] and [memory], "
			    "except some that hold for all engines; example: idle",
			    section, name);
}

/* Finds a section by its name or by another list of the same CPUs. */
static void find_section(const struct profile_load *load, const char *name,
			 struct profile_section *section)
{
	cpu_set_t cpus;

	profile_cpus(name + strlen(PROFILE_ENGINE), &cpus);
	*section = (struct profile_section){0};
	while (profile_section_next(&load->profile, section))
		if (CPU_EQUAL(&cpus, &section->cpus))
			return;
}

int profile_engines_set(struct profile_load *load, struct profile_place place, const char *section,
			const char *name, const char *value)
{
	const struct profile_key *key = find_key(name);
	char line[LINE_BYTES], text[PROFILE_VALUE_BYTES], why[192];
	struct profile_section own;
	struct weir_profile scratch;
	const char *end;
	uint32_t at;

	if (!key)
		return fail_key(load, place, section, name);
	if (!profile_key_set(key, value, &scratch, why, sizeof(why)))
		return profile_fail_value(load, place, section, key, why);
	find_section(load, section, &own);
	at = own.line + 1;
	for (end = own.keys; *end != '\0' && *end != '[';) {
		if (!is_of_key(end, key)) {
			end = after_line(end);
			at++;
			continue;
		}
		if (load->engine_places[at].path == place.path)
			return profile_fail(load, place,
					    "[%s] %s: set in line %u already; remove one", section,
					    name, load->engine_places[at].line);
		remove_line(load, at, (size_t)(end - load->profile.engines));
	}
	profile_key_format(key, &scratch, text, sizeof(text));
	snprintf(line, sizeof(line), "%s =%s%s\n", key->name, text[0] ? " " : "", text);
	return insert_line(load, at, (size_t)(end - load->profile.engines), line, place);
}

int profile_engines_keep_lcores(struct weir_profile *profile)
{
	char text[sizeof(profile->engines)] = "", list[PROFILE_LIST_BYTES];
	struct profile_section section = {0};
	cpu_set_t lcores, kept;
	const char *end;
	size_t used = 0;

	profile_cpus(profile->lcores, &lcores);
	while (profile_section_next(profile, &section)) {
		CPU_AND(&kept, &lcores, &section.cpus);
		if (CPU_COUNT(&kept) == 0)
			continue;
		if (!profile_list_cpus(&kept, list, sizeof(list)))
			return -E2BIG;
		for (end = section.keys; *end != '\0' && *end != '[';)
			end = after_line(end);
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "[" PROFILE_ENGINE "%s]\n%.*s", list,
					 (int)(end - section.keys), section.keys);
		if (used >= sizeof(text))
			return -E2BIG;
	}
	/* Equal profiles have equal bytes. */
	memset(text + used, 0, sizeof(text) - used);
	memcpy(profile->engines, text, sizeof(text));
	return 0;
}
