/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROFILE_KEYS_H
#define PROFILE_KEYS_H

/* The table of a profile's keys, and their values as text. */

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
	uint64_t step;	   /* NUMBER, BYTES: the value is a multiple of it */
	const struct profile_choice *choices;
	bool (*is_valid)(const char *text); /* TEXT */
	const char *allowed;		    /* TEXT: in words */
	const char *unit;		    /* NUMBER: for people */
	const char *initial;		    /* the default, in the file's syntax */
	const char *example;		    /* NULL: the default */
	const char *help;
	size_t offset, size; /* of the field */
};

extern const struct profile_key profile_keys[];
extern const uint32_t profile_nkeys;

/* NULL: no such key. */
const struct profile_key *profile_key_find(const char *section, const char *name);

/* Parse 'text' into the key's field. false: *profile is untouched, and 'why' says what is wrong. */
bool profile_key_set(const struct profile_key *key, const char *text, struct weir_profile *profile,
		     char *why, size_t why_bytes);

/* Whether the field holds what profile_key_set() could have put there. */
bool profile_key_check(const struct profile_key *key, const struct weir_profile *profile, char *why,
		       size_t why_bytes);

struct fabric_ops;

/* Keys, each in its range, that do not go together, or that devices of the driver do not serve,
 * whatever the machine. Returns the key to blame, or NULL. */
const struct profile_key *profile_conflict(const struct weir_profile *profile,
					   const struct fabric_ops *ops, char *why,
					   size_t why_bytes);

/* "1 to 1024", "auto, spin, yield or sleep". */
void profile_key_allowed(const struct profile_key *key, char *text, size_t bytes);

#endif
