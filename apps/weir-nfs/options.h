/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NFS_OPTIONS_H
#define NFS_OPTIONS_H

/* What weir-nfs was asked to do. */

#include <weir/engine.h>

#include "mount.h"
#include "uaddr.h"

#define NFS_DEPTH_MAX  1024u
#define NFS_BLOCK_MIN  1u
#define NFS_BLOCK_MAX  (16u << 20)
#define NFS_MEMORY_MAX (1ull << 30) /* of blocks in flight */

/* Where the port is from: the three ways of RFC 8267 section 5. */
enum port_from { PORT_WELL_KNOWN, PORT_GIVEN, PORT_RPCBIND };

enum exit_status { EXIT_OK = 0, EXIT_NFS = 1, EXIT_USAGE = 2, EXIT_TRANSPORT = 3, EXIT_LOCAL = 4 };

/* Options that only some commands take. */
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
	const char *file; /* on the server */
	uint64_t size_bytes;
	uint32_t read_percent;
	bool is_sequential;
	double seconds;
	double warmup_seconds;
	bool verify;
	bool keep; /* the file */
	const char *json;
};

struct nfs_options {
	struct weir_profile profile;
	bool has_ports;	    /* the driver's addresses are hosts with ports, not names */
	const char *server; /* as given */
	char host[HOST_MAX];
	uint16_t port; /* 0: see port_from */
	enum port_from port_from;
	const char *export;    /* NULL: none was named */
	struct nfs3_fh handle; /* of length 0: by MOUNT */
	struct mount_options mount;
	uint32_t uid;
	uint32_t gid;
	uint32_t depth;
	uint32_t block_bytes; /* 0: what the server prefers */
	uint32_t retries;
	double timeout_seconds;
	bool quiet;
	bool verbose;
	bool is_pinned;
	uint32_t lcore;
	uint32_t flags; /* enum command_flag that were given */
	struct bench_load bench;
	const struct command *command;
	char **args;
	int nargs;
};

struct session;

struct command {
	const char *name;
	const char *usage; /* of its arguments */
	const char *help;
	int (*run)(const struct nfs_options *options); /* an exit_status */
	int nargs_min;
	int nargs_max;
	uint32_t flags; /* that it takes */
	bool needs_export;
};

/* Parse argv over the profile named there and the defaults. 0: go on; 1: done (help); -1: a
 * mistake, said on standard error. */
int nfs_options_parse(int argc, char **argv, const struct command *commands, uint32_t ncommands,
		      struct nfs_options *options);

#endif
