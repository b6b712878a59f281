/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NFS_OPTIONS_H
#define NFS_OPTIONS_H

/* The options and arguments of weir-nfs. */

#include <weir/engine.h>

#include "mount.h"
#include "uaddr.h"

#define NFS_DEPTH_MAX  1024u
#define NFS_BLOCK_MIN  1u
#define NFS_BLOCK_MAX  (16u << 20)
#define NFS_MEMORY_MAX (1ull << 30) /* bytes of all blocks in flight */

/* The source of the port: the three ways of RFC 8267 section 5. */
enum port_from { PORT_WELL_KNOWN, PORT_GIVEN, PORT_RPCBIND };

enum exit_status { EXIT_OK = 0, EXIT_NFS = 1, EXIT_USAGE = 2, EXIT_TRANSPORT = 3, EXIT_LOCAL = 4 };

/* Options that only some commands accept. */
enum command_flag {
	FLAG_LONG = 1,
	FLAG_UNSORTED = 2,
	FLAG_RECURSIVE = 4,
	FLAG_PARENTS = 8,
	FLAG_SYMBOLIC = 16,
	FLAG_FOLLOW = 32,
	FLAG_SYNC = 64,
	FLAG_TRANSFER = 128, /* --depth, --block */
	FLAG_BENCH = 256,
};

struct bench_load {
	const char *file; /* path on the server */
	uint64_t size_bytes;
	uint32_t read_percent;
	bool is_sequential;
	double seconds;
	double warmup_seconds;
	bool verify;
	bool keep; /* keep the file */
	const char *json;
};

struct nfs_options {
	struct weir_profile profile;
	bool has_ports;	    /* the driver's addresses are hosts with ports, not names */
	const char *server; /* text of the option */
	char host[HOST_MAX];
	uint16_t port; /* 0 if 'port_from' does not provide it */
	enum port_from port_from;
	const char *export;    /* NULL if there is none */
	struct nfs3_fh handle; /* length 0: ask MOUNT */
	struct mount_options mount;
	uint32_t uid;
	uint32_t gid;
	uint32_t depth;
	uint32_t block_bytes; /* 0: the server's preference */
	uint32_t retries;
	double timeout_seconds;
	bool quiet;
	bool verbose;
	bool is_pinned;
	uint32_t lcore;
	uint32_t flags; /* the enum command_flag of the options that were given */
	struct bench_load bench;
	const struct command *command;
	char **args;
	int nargs;
};

struct session;

struct command {
	const char *name;
	const char *usage; /* syntax of the arguments */
	const char *help;
	int (*run)(const struct nfs_options *options); /* returns an exit_status */
	int nargs_min;
	int nargs_max;
	uint32_t flags; /* options that the command accepts */
	bool needs_export;
};

/*
 * Parses argv. Its options override the profile that it names and the defaults. Returns 0; 1 if
 * help or the version was printed; or -1 after it has printed an error on standard error.
 */
int nfs_options_parse(int argc, char **argv, const struct command *commands, uint32_t ncommands,
		      struct nfs_options *options);

#endif
