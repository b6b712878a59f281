/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROFILE_KEYS_H
#define PROFILE_KEYS_H

/* The table of a profile's keys, and the text form of their values. */

#include <weir/profile.h>

#define PROFILE_KEYS_MAX 96u

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

enum profile_key_type {
	PROFILE_NUMBER,
	PROFILE_BYTES,	/* a number with an optional suffix k, m or g */
	PROFILE_CHOICE, /* a word that stands for a number */
	PROFILE_TEXT,
};

struct profile_choice {
	const char *word; /* NULL ends the list */
	uint64_t value;
};

struct profile_key {
	const char *section;
	const char *name;
	enum profile_key_type type;
	uint64_t min, max; /* NUMBER, BYTES */
	uint64_t step;	   /* NUMBER, BYTES: the value must be a multiple of it */
	const struct profile_choice *choices;
	bool (*is_valid)(const char *text); /* TEXT */
	const char *allowed;		    /* TEXT: description of the allowed values */
	const char *unit;		    /* NUMBER: unit for messages */
	const char *initial;		    /* the default, in the file's syntax */
	const char *example;		    /* NULL: the default */
	const char *help;
	size_t offset, size; /* of the field */
};

extern const struct profile_key profile_keys[];
extern const uint32_t profile_nkeys;

/* Returns the key with this name. NULL: there is none. */
const struct profile_key *profile_key_find(const char *section, const char *name);

/* Parses 'text' and stores the value in the key's field. Returns false if 'text' is not valid. Then
 * *profile is unchanged, and 'why' contains the reason. */
bool profile_key_set(const struct profile_key *key, const char *text, struct weir_profile *profile,
		     char *why, size_t why_bytes);

/* Returns whether the field holds a value that profile_key_set() could have stored. If not, 'why'
 * contains the reason. */
bool profile_key_check(const struct profile_key *key, const struct weir_profile *profile, char *why,
		       size_t why_bytes);

struct fabric_ops;

/* Checks keys, each of which is in its range, for two kinds of conflicts: keys that exclude each
 * other, and values that no device of the driver supports. Returns the key to change, or NULL. */
const struct profile_key *profile_conflict(const struct weir_profile *profile,
					   const struct fabric_ops *ops, char *why,
					   size_t why_bytes);

/* Writes the allowed values, such as "1 to 1024" or "auto, spin, yield or sleep". */
void profile_key_allowed(const struct profile_key *key, char *text, size_t bytes);

#endif
