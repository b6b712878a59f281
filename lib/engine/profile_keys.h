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
	PROFILE_CHOICE, /* one of several words, each of which stands for a number */
	PROFILE_TEXT,
};

/* A word that a key of the type CHOICE accepts, and its number. */
struct profile_choice {
	const char *word; /* NULL ends the list */
	uint64_t value;
};

/* A key of a profile. Members that are only for some types name these types. */
struct profile_key {
	const char *section;
	const char *name;
	enum profile_key_type type;
	uint64_t min, max; /* NUMBER, BYTES */
	uint64_t step;	   /* NUMBER, BYTES: the value must be a multiple of 'step' */
	const struct profile_choice *choices;
	bool (*is_valid)(const char *text); /* TEXT */
	const char *allowed;		    /* TEXT: description of the allowed values */
	const char *unit;		    /* NUMBER: unit for messages */
	const char *initial;		    /* the default value, in the syntax of the file */
	/* an example of a value; NULL: the default value is the example */
	const char *example;
	const char *memory; /* effect on the memory of an engine, or "none" */
	const char *help;
	bool is_of_process; /* all engines have the same value: sections [engine:CPUS] lack the key
			     */
	/* offset and size in bytes of the key's field in struct weir_profile */
	size_t offset, size;
};

extern const struct profile_key profile_keys[];
extern const uint32_t profile_nkeys;

/* Returns the key with this name in this section. Returns NULL if there is no such key. */
const struct profile_key *profile_key_find(const char *section, const char *name);

/* Parses 'text' and stores the value in the key's field of *profile. Returns true. Returns false if
 * 'text' is not valid. In this case *profile is unchanged, and 'why' contains the reason. */
bool profile_key_set(const struct profile_key *key, const char *text, struct weir_profile *profile,
		     char *why, size_t why_bytes);

/* Returns whether the key's field of *profile holds a value that profile_key_set() could have
 * stored. If the result is false, 'why' contains the reason. */
bool profile_key_check(const struct profile_key *key, const struct weir_profile *profile, char *why,
		       size_t why_bytes);

/* Copies the profile of an application, which can be shorter or longer than weir's, to *own, and
 * checks it like weir_profile_check(). The results are those of weir_profile_check(). */
int profile_read(const struct weir_profile *theirs, struct weir_profile *own, char *err,
		 size_t err_bytes);

struct fabric_ops;

/* Checks a profile, in which each key is in its range, for two kinds of conflicts: keys that
 * exclude each other, and values that no device of the driver supports. Returns the key to change,
 * and 'why' contains the reason. Returns NULL if there is no conflict. */
const struct profile_key *profile_conflict(const struct weir_profile *profile,
					   const struct fabric_ops *ops, char *why,
					   size_t why_bytes);

/* Writes the key's value in *profile to 'text', in the syntax of the file. The value is valid. */
void profile_key_format(const struct profile_key *key, const struct weir_profile *profile,
			char *text, size_t bytes);

/* Returns the unit of the key's value, or "none" if it has no unit. */
const char *profile_key_unit(const struct profile_key *key);

/* Writes a description of the key's allowed values to 'text', such as "1 to 1024 calls" or "auto,
 * spin, yield or sleep". */
void profile_key_allowed(const struct profile_key *key, char *text, size_t bytes);

#endif
