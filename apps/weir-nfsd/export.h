/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EXPORT_H
#define EXPORT_H

/*
 * Declares the exports. An export is a name with a back end and the rules by which clients may use
 * it.
 */

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define EXPORTS_MAX	   32u
#define EXPORT_NAME_BYTES  256u
#define EXPORT_PATH_BYTES  1024u
#define EXPORT_CLIENTS_MAX 64u
#define CLIENT_ADDRS_MAX   32u /* addresses of one host that is given by its name */
/* Number of keys that export_set() knows; each is shorter than 16 bytes. */
#define EXPORT_KEYS 9u

struct dir_root;
struct fs;
struct fs_ops;
struct poller;

/*
 * Rules of an export or of one of its clients. The bits of export_rules.own are 1 << one of these
 * values.
 */
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
	uint32_t own; /* rules that an entry of the list of clients sets itself; for all others the
			 export's values apply */
};

/*
 * Kinds of entries in the list of clients. If several entries match a client, an entry of the
 * lowest rank applies. The rank is kind / CLIENT_RANK.
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
	char *host;	 /* the host's name, whose addresses are looked up; NULL if there is none */
	uint32_t naddrs; /* number of addresses of a host; a network has one */
	struct in6_addr addrs[CLIENT_ADDRS_MAX]; /* an IPv4 address is stored as ::ffff:a.b.c.d */
	uint32_t prefix; /* for a network: number of significant bits, of 128 */
	uint32_t uid;	 /* for CLIENT_UID */
	struct export_rules rules;
};

/* An export. 'dir' and 'ram' are the names of the back ends. */
struct export
{
	char name[EXPORT_NAME_BYTES]; /* starts with one '/' and does not end with one */
	uint32_t id; /* a hash of the name; it is part of handles and the same after a restart */
	const struct fs_ops *ops; /* operations of the back end, or NULL if it is not known yet */
	uint64_t bound; /* dir: hash of the directory's identity from handle_bind(); it is part of
			   handles */
	char path[EXPORT_PATH_BYTES]; /* dir: the directory */
	struct dir_root *root;	      /* dir: the same directory, opened by dir/root.c */
	uint64_t size_bytes;	      /* ram: memory for data */
	struct export_rules
		rules;	   /* for clients of an empty list; a client's own entry inherits them */
	uint32_t nclients; /* number of entries in 'clients'; 0: everyone may use the export */
	struct export_client *clients; /* the entries in the order in which the list gives them */
	struct fs *fs;		       /* the state of the back end while the export is open */
	struct poller *owner; /* poller of the export; only its thread calls the back end */
	/* a reload did not find the export in the files, and nobody may use it */
	atomic_bool is_withdrawn;
};

/*
 * The exports are made at the start. While the server runs, client_rules_replace() changes their
 * rules, their lists of clients and 'is_withdrawn', and nothing else of them changes.
 */
struct exports {
	uint32_t n;
	_Atomic uint32_t generation; /* number of changes of the rules */
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
 * Adds an export of this name with the default rules and no back end. 'where' is put at the start
 * of an error message. Returns NULL after it has printed the error on standard error.
 */
struct export *export_make(struct exports *exports, const char *name, const char *where);

/*
 * Sets one key of an export, as the file of exports does. 'where' is put at the start of an error
 * message. Returns 0, or -1 after it has printed the error on standard error.
 */
int export_set(struct export *export, const char *key, const char *value, const char *where);

/* Sets the key 'clients'. Returns the same as export_set(). */
int export_set_clients(struct export *export, const char *value, const char *where);

/*
 * The functions of export_value.c are for the keys of exports and for the options of clients.
 * export_bad() prints an error and returns -1. export_parse_id() parses the number of a user or a
 * group. It returns 0 with *to set, or -1 after it has printed the error. export_set_flag() sets a
 * rule that is true or false, and marks it in 'own'.
 */
int export_bad(const char *where, const char *what, const char *value, const char *expected);
int export_parse_id(const char *key, const char *value, const char *where, uint32_t *to);
void export_set_flag(struct export_rules *rules, enum export_rule rule, bool value);

/*
 * Completes the exports after all have been added. Gives each client the export's rules that its
 * entry does not set, and looks up the addresses of hosts. The function can wait for a name server.
 * Returns 0, or, after it has printed the error on standard error:
 *
 * - -ENOENT: a name has no address
 * - -E2BIG: a name has more than CLIENT_ADDRS_MAX addresses
 */
int exports_complete(struct exports *exports);

/* Releases the memory of the lists of clients. */
void exports_free(struct exports *exports);

/* Returns the export with an id, or NULL if there is none. */
struct export *export_by_id(struct exports *exports, uint32_t id);

#endif
