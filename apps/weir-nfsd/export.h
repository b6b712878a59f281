/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EXPORT_H
#define EXPORT_H

/* What is served: names, each with a back end and the rules by which clients may use it. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define EXPORTS_MAX	   32u
#define EXPORT_NAME_BYTES  256u
#define EXPORT_PATH_BYTES  1024u
#define EXPORT_CLIENTS_MAX 64u
#define CLIENT_ADDRS_MAX   32u /* of one host's name */
#define EXPORT_KEYS	   9u  /* that export_set() knows, each of less than 16 bytes */

struct dir_root;
struct fs;
struct fs_ops;
struct poller;

/* What may be said of an export and of each of its clients: bits of 'own' are 1 << one of these. */
enum export_rule {
	EXPORT_READ_ONLY,
	EXPORT_SQUASH_ROOT,
	EXPORT_SQUASH_ALL,
	EXPORT_SECURE_PORT,
	EXPORT_ANON_UID,
	EXPORT_ANON_GID,
};

struct export_rules {
	bool is_read_only;
	bool squashes_root;
	bool squashes_all;
	bool needs_secure_port;
	uint32_t anon_uid, anon_gid;
	uint32_t own; /* those that the client itself was given; the others are the export's */
};

/* Sorts of clients. Of two that match, the one of the lower rank applies: kind / CLIENT_RANK. */
enum client_kind {
	CLIENT_HOST = 0,    /* a host's address or name */
	CLIENT_UID = 1,	    /* a user of this host, by shm */
	CLIENT_NETWORK = 2, /* addresses that begin alike */
	CLIENT_LOCAL = 3,   /* all users of this host, by shm */
	CLIENT_ANY = 4,	    /* everyone */
};

#define CLIENT_RANK 2u

struct export_client {
	enum client_kind kind;
	char *host;				 /* a name that is to be looked up, or NULL */
	uint32_t naddrs;			 /* of a host; a network has one */
	struct in6_addr addrs[CLIENT_ADDRS_MAX]; /* IPv4 as ::ffff:a.b.c.d */
	uint32_t prefix;			 /* network: the bits that count, of 128 */
	uint32_t uid;
	struct export_rules rules;
};

struct export
{
	char name[EXPORT_NAME_BYTES]; /* starts with one '/' and ends without */
	uint32_t id;		      /* a hash of the name: handles have it, over restarts, too */
	const struct fs_ops *ops;
	uint64_t bound; /* dir: the directory's identity, which handles have, of handle_bind() */
	char path[EXPORT_PATH_BYTES];  /* dir: the directory */
	struct dir_root *root;	       /* dir: the same, opened, of dir/root.c */
	uint64_t size_bytes;	       /* ram: memory for data */
	struct export_rules rules;     /* of clients that have none of their own */
	uint32_t nclients;	       /* 0: everyone may use it */
	struct export_client *clients; /* in the order in which they were given */
	struct fs *fs;
	struct poller *owner; /* whose thread alone calls the back end */
};

struct exports {
	uint32_t n;
	struct export all[EXPORTS_MAX];
};

/* Add what "NAME=ram[:SIZE]" or "NAME=dir:PATH" says. 0, or -1 with the mistake said on standard
 * error. */
int export_add(struct exports *exports, const char *text);

/* Add exports from an INI file, see export_file.c. 0, or -1 as above. */
int export_file_load(struct exports *exports, const char *path);

/* A new export of this name, with the usual rules and no back end; NULL: said on standard error. */
struct export *export_make(struct exports *exports, const char *name, const char *where);

/* One key of an export, as in the file. 0, or -1 as above; 'where' starts the message. */
int export_set(struct export *export, const char *key, const char *value, const char *where);

/* The key 'clients', as export_set(). */
int export_set_clients(struct export *export, const char *value, const char *where);

/*
 * export_value.c, for keys and for options of clients. export_bad() prints a mistake and returns
 * -1. export_parse_id() reads a user's or group's number; 0, or -1 as above.
 */
int export_bad(const char *where, const char *what, const char *value, const char *expected);
int export_parse_id(const char *key, const char *value, const char *where, uint32_t *to);
void export_set_flag(struct export_rules *rules, enum export_rule rule, bool value);

/* When all are there: give clients the rules that they were not given themselves, and look up the
 * names of hosts. 0, or -ENOENT, which was said on standard error. Waits for a name server. */
int exports_complete(struct exports *exports);

/* Release what the list holds. */
void exports_free(struct exports *exports);

/* NULL when there is none. */
struct export *export_by_id(struct exports *exports, uint32_t id);

#endif
