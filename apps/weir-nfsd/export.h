/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EXPORT_H
#define EXPORT_H

/* The exports: names, each with a back end and the rules by which clients may use it. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define EXPORTS_MAX	   32u
#define EXPORT_NAME_BYTES  256u
#define EXPORT_PATH_BYTES  1024u
#define EXPORT_CLIENTS_MAX 64u
#define CLIENT_ADDRS_MAX   32u /* of the name of one host */
#define EXPORT_KEYS	   9u  /* number of keys of export_set(); each is shorter than 16 bytes */

struct dir_root;
struct fs;
struct fs_ops;
struct poller;

/* Rules of an export or of one of its clients. The bits of 'own' are 1 << one of these. */
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
	uint32_t own; /* rules that the client itself was given; the others are the export's */
};

/*
 * Kinds of clients. If two entries match, the one of the lower rank, kind / CLIENT_RANK, applies.
 */
enum client_kind {
	CLIENT_HOST = 0,    /* a host's address or name */
	CLIENT_UID = 1,	    /* a user of this host, by shm */
	CLIENT_NETWORK = 2, /* addresses with a common prefix */
	CLIENT_LOCAL = 3,   /* all users of this host, by shm */
	CLIENT_ANY = 4,	    /* everyone */
};

#define CLIENT_RANK 2u

struct export_client {
	enum client_kind kind;
	char *host;	 /* a name to look up, or NULL */
	uint32_t naddrs; /* number of a host's addresses; a network has one */
	struct in6_addr addrs[CLIENT_ADDRS_MAX]; /* IPv4 as ::ffff:a.b.c.d */
	uint32_t prefix;			 /* network: number of significant bits, of 128 */
	uint32_t uid;
	struct export_rules rules;
};

struct export
{
	char name[EXPORT_NAME_BYTES]; /* starts with one '/' and does not end with one */
	uint32_t id; /* a hash of the name; it is part of handles and the same after a restart */
	const struct fs_ops *ops;
	uint64_t bound; /* dir: hash of the directory's identity from handle_bind(); it is part of
			   handles */
	char path[EXPORT_PATH_BYTES];  /* dir: the directory */
	struct dir_root *root;	       /* dir: the same directory, opened by dir/root.c */
	uint64_t size_bytes;	       /* ram: memory for data */
	struct export_rules rules;     /* for clients that have no rules of their own */
	uint32_t nclients;	       /* 0 if everyone may use it */
	struct export_client *clients; /* in the order of the list */
	struct fs *fs;
	struct poller *owner; /* only its thread calls the back end */
};

struct exports {
	uint32_t n;
	struct export all[EXPORTS_MAX];
};

/*
 * Adds the export that "NAME=ram[:SIZE]" or "NAME=dir:PATH" describes. Returns 0, or -1 after it
 * has printed the error on standard error.
 */
int export_add(struct exports *exports, const char *text);

/*
 * Adds exports from an INI file, see export_file.c. Returns 0, or -1 after it has printed the error
 * on standard error.
 */
int export_file_load(struct exports *exports, const char *path);

/*
 * Adds an export of this name with the default rules and no back end. Returns NULL after it has
 * printed the error on standard error.
 */
struct export *export_make(struct exports *exports, const char *name, const char *where);

/*
 * Sets one key of an export, as in the file. 'where' starts an error message. Returns 0, or -1
 * after it has printed the error on standard error.
 */
int export_set(struct export *export, const char *key, const char *value, const char *where);

/* Sets the key 'clients', like export_set(). */
int export_set_clients(struct export *export, const char *value, const char *where);

/*
 * The functions of export_value.c are for keys and for options of clients. export_bad() prints an
 * error and returns -1. export_parse_id() parses the number of a user or a group; it returns 0, or
 * -1 after it has printed the error.
 */
int export_bad(const char *where, const char *what, const char *value, const char *expected);
int export_parse_id(const char *key, const char *value, const char *where, uint32_t *to);
void export_set_flag(struct export_rules *rules, enum export_rule rule, bool value);

/*
 * Completes the exports after all have been added: gives clients the export's rules where they have
 * none of their own, and looks up the names of hosts. It may wait for a name server. Returns 0, or,
 * after it has printed the error on standard error:
 *
 * - -ENOENT: a name has no address
 * - -E2BIG: a name has more than CLIENT_ADDRS_MAX addresses
 */
int exports_complete(struct exports *exports);

/* Releases the memory of the list. */
void exports_free(struct exports *exports);

/* Returns NULL if no export has this id. */
struct export *export_by_id(struct exports *exports, uint32_t id);

#endif
