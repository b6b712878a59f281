/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROFILE_FILE_H
#define PROFILE_FILE_H

/* Reads files with a profile, and the files that they include. profile_fail.c has the functions
 * that write errors. */

#include <weir/profile.h>

#include "compiler.h"
#include "profile_keys.h"

/* An include in the first file has depth 1. */
#define PROFILE_DEPTH_MAX 8u
/* Bounds the files that are read in total, because each can include several others. */
#define PROFILE_FILES_MAX 32u

/* The place of a line: its file, and its number from 1. The number 0 stands for no line. */
struct profile_place {
	const char *path;
	uint32_t line;
};

/* Bounds the keys of a program's own section, in all files together. */
#define PROFILE_ENTRIES_MAX 64u
#define PROFILE_ENGINE	    "engine:" /* begins the name of a section for some engines */
#define PROFILE_LIST_BYTES  128u      /* size of a list of CPUs */
#define PROFILE_APP	    "app:"    /* begins the name of a program's own section */
#define PROFILE_NAME_BYTES  64u	      /* size of a name, CFG_NAME_LEN of rte_cfgfile */
#define PROFILE_VALUE_BYTES 256u      /* size of a value, CFG_VALUE_LEN of rte_cfgfile */
/* size of the name of a section, of which "engine:LIST" is the longest */
#define PROFILE_SECTION_BYTES (sizeof(PROFILE_ENGINE) - 1 + PROFILE_LIST_BYTES)
/* Bounds the lines of weir_profile.engines. */
#define PROFILE_ENGINE_LINES_MAX 256u

/* A key of the program's own section, which only the program understands. */
struct profile_entry {
	struct profile_place place;
	char key[PROFILE_NAME_BYTES];
	char value[PROFILE_VALUE_BYTES];
};

/* The state of loading or checking one profile. */
struct profile_load {
	/* the first file; NULL: the program has set the profile without a file */
	const char *path;
	char *err;
	size_t err_bytes;
	struct weir_profile profile; /* the values that have been read */
	/* the line that sets each key; the path is NULL if no line does */
	struct profile_place places[PROFILE_KEYS_MAX];
	/* the places from which the lines of profile.engines are (profile_engines.h) */
	struct profile_place engine_places[PROFILE_ENGINE_LINES_MAX];
	uint32_t nengine_lines;
	/* the paths of the included files, which 'places' refers to */
	char *paths[PROFILE_FILES_MAX];
	uint32_t npaths;
	/* the program's own section, such as "app:weir-bench"; "": none */
	char app[PROFILE_NAME_BYTES];
	/* the keys of this section; room for PROFILE_ENTRIES_MAX, or NULL if 'app' is "" */
	struct profile_entry *entries;
	uint32_t nentries;
};

/* Writes "path:line: " and the message to load->err. If place.line is 0, writes no line number. If
 * place.path is NULL, writes the message only. Returns -EINVAL, which the caller returns. */
printf_like(3, 4) int profile_fail(const struct profile_load *load, struct profile_place place,
				   const char *format, ...);

/* Writes an error about the value of a key, with the reason 'why' and the allowed values. 'section'
 * is the name of the section with the key. Returns -EINVAL. */
int profile_fail_value(const struct profile_load *load, struct profile_place place,
		       const char *section, const struct profile_key *key, const char *why);

/* Writes an error about a section that begins for the second time in a file. Returns -EINVAL. */
int profile_fail_twice(const struct profile_load *load, struct profile_place place,
		       const char *section);

/* Reads the file load->path and the files that it includes into load->profile, which holds the
 * defaults. Each value is in the range of its key. Returns 0, -EINVAL after an error in a file, or
 * another -errno if a file cannot be read. load->err describes each error. */
int profile_file_load(struct profile_load *load);

/* Reads sections [engine:CPUS] from a text into load->profile.engines, which is empty. Returns 0,
 * or -EINVAL after an error in the text. */
int profile_file_scan_text(struct profile_load *load, const char *text);

/* Frees what profile_file_load() has allocated. It may have failed. */
void profile_file_free(struct profile_load *load);

#endif
