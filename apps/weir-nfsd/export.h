/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EXPORT_H
#define EXPORT_H

/* What is served: names, each with a back end and the rules by which clients may use it. */

#include <stdbool.h>
#include <stdint.h>

#define EXPORTS_MAX	  32u
#define EXPORT_NAME_BYTES 256u
#define EXPORT_PATH_BYTES 1024u
#define EXPORT_KEYS	  6u /* that export_set() knows, each of less than 16 bytes */

struct fs;
struct fs_ops;
struct poller;

struct export
{
	char name[EXPORT_NAME_BYTES]; /* starts with one '/' and ends without */
	uint32_t id;		      /* a hash of the name: handles have it, over restarts, too */
	const struct fs_ops *ops;
	uint64_t bound; /* dir: the directory's identity, which handles have, of handle_bind() */
	char path[EXPORT_PATH_BYTES]; /* dir: the directory */
	uint64_t size_bytes;	      /* ram: memory for data */
	bool is_read_only;
	bool squashes_root;
	uint32_t anon_uid, anon_gid;
	struct fs *fs;
	struct poller *owner; /* whose thread alone calls the back end */
};

struct exports {
	uint32_t n;
	struct export all[EXPORTS_MAX];
};

/* Add what "NAME=ram[:SIZE]" or "NAME=dir:PATH" says. 0, or -1 with the mistake said on standard error. */
int export_add(struct exports *exports, const char *text);

/* Add exports from an INI file, see export_file.c. 0, or -1 as above. */
int export_file_load(struct exports *exports, const char *path);

/* A new export of this name, with the usual rules and no back end; NULL: said on standard error. */
struct export *export_make(struct exports *exports, const char *name, const char *where);

/* One key of an export, as in the file. 0, or -1 as above; 'where' starts the message. */
int export_set(struct export *export, const char *key, const char *value, const char *where);

/* NULL when there is none. */
struct export *export_by_id(struct exports *exports, uint32_t id);

#endif
