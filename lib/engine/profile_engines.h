/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROFILE_ENGINES_H
#define PROFILE_ENGINES_H

/*
 * Sections [engine:CPUS] of a profile, which override keys for the engines of some CPUs.
 *
 * weir_profile.engines has them as a text in one form: lines "[engine:CPUS]", each with lines
 * "key = value" after it. Each line ends with '\n', and there are no other characters. No two
 * sections have a CPU in common. profile_file_scan_text() brings other texts into this form.
 */

#include <sched.h>

#include "profile_file.h"

/* A section. */
struct profile_section {
	char name[PROFILE_SECTION_BYTES]; /* "engine:CPUS" */
	cpu_set_t cpus;
	uint32_t line;	  /* index of its first line in weir_profile.engines, from 0 */
	const char *keys; /* the text after the first line; NULL before the first section */
};

/* Writes the CPUs of a valid list, such as that of the key 'lcores', to a set. */
void profile_cpus(const char *list, cpu_set_t *set);

/* Writes the CPUs of a set to 'text' as a list such as "0-3,8". Returns false if the list does not
 * fit into 'bytes' bytes, and is truncated. */
bool profile_list_cpus(const cpu_set_t *set, char *text, size_t bytes);

/*
 * Adds a section to load->profile.engines, or continues the one with the same CPUs of another file.
 * 'name' is "engine:CPUS". Returns 0, or -EINVAL after an error if the list is not valid, the file
 * has the section already, or another section has some of the CPUs.
 */
int profile_engines_begin(struct profile_load *load, struct profile_place place, const char *name);

/*
 * Sets a key in a section that has begun. Returns 0, or -EINVAL after an error if a section of
 * engines cannot have the key, the value is not valid, or the file sets the key already.
 */
int profile_engines_set(struct profile_load *load, struct profile_place place, const char *section,
			const char *name, const char *value);

/* Goes to the next section, at first to the first one. Returns false if there is none. The caller
 * sets the members of *section to 0 before the first call. */
bool profile_section_next(const struct weir_profile *profile, struct profile_section *section);

/* Returns the index of the line that sets the key in the section, or -1 if no line does. */
int profile_section_line(const struct profile_section *section, const struct profile_key *key);

/* Sets the keys of a section in another copy of the profile that has the section. */
void profile_section_apply(const struct profile_section *section, struct weir_profile *profile);

/* Changes a profile that profile_read() has read to that of the engine of a CPU, or of an engine
 * that is not pinned if 'cpu' is -1. */
void profile_for_cpu(struct weir_profile *profile, int cpu);

/* Removes the CPUs from the sections that 'lcores' of the profile does not name. All else of the
 * profile is valid. Returns 0. Returns -E2BIG, with the profile unchanged, if the sections do not
 * fit, because a list such as "0,2,4" is longer than "0-4". */
int profile_engines_keep_lcores(struct weir_profile *profile);

#endif
