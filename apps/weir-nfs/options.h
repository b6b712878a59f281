/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NFS_OPTIONS_H
#define NFS_OPTIONS_H

/* Parses the options and arguments of weir-nfs. */

#include <weir/engine.h>

#include "mount.h"
#include "nfs3_xdr.h"
#include "uaddr.h"

#define NFS_DEPTH_MAX  1024u
#define NFS_BLOCK_MIN  1u
#define NFS_BLOCK_MAX  (16u << 20)
#define NFS_MEMORY_MAX (1ull << 30) /* maximum bytes of all blocks in flight */

/* The source of the server's port: the three ways of RFC 8267 section 5. */
enum port_from { PORT_WELL_KNOWN, PORT_GIVEN, PORT_RPCBIND };

/*
 * The exit status of weir-nfs. EXIT_NFS: the server answered with an error. EXIT_USAGE: the command
 * line is wrong. EXIT_TRANSPORT: there was no valid answer. EXIT_LOCAL: a local file cannot be read
 * or written.
 */
enum exit_status { EXIT_OK = 0, EXIT_NFS = 1, EXIT_USAGE = 2, EXIT_TRANSPORT = 3, EXIT_LOCAL = 4 };

/* The options that only some commands accept, as bits. */
enum command_flag {
	FLAG_LONG = 1,
	FLAG_UNSORTED = 2,
	FLAG_RECURSIVE = 4,
	FLAG_PARENTS = 8,
	FLAG_SYMBOLIC = 16,
	FLAG_FOLLOW = 32,
	FLAG_SYNC = 64,
	FLAG_TRANSFER = 128, /* --depth and --block */
	FLAG_BENCH = 256,
};

/* The options of the command bench. */
struct bench_load {
	const char *file; /* path on the server */
	uint64_t size_bytes;
	uint32_t read_percent;
	bool is_sequential;
	double seconds;
	double warmup_seconds;
	bool verify;
	bool keep; /* do not remove the file at the end */
	const char *json;
};

struct nfs_options {
	struct weir_profile profile;
	bool has_ports;	     /* the driver's addresses are hosts with ports, not names */
	const char *server;  /* argument of --server */
	char host[HOST_MAX]; /* the host in 'server' without its port, or the whole text if the
				driver's addresses are names */
	uint16_t port;	     /* port of --port or of 'server'; 0 if 'port_from' is not PORT_GIVEN */
	enum port_from port_from;
	const char *export;    /* argument of --export; NULL: it was not given */
	struct nfs3_fh handle; /* the export's root handle; length 0: MOUNT is asked for the handle
				  of 'export' */
	struct mount_options mount;
	uint32_t uid;
	uint32_t gid;
	uint32_t depth;
	uint32_t block_bytes; /* size of one READ or WRITE; 0: the server's preferred size */
	uint32_t retries;
	double timeout_seconds;
	bool quiet;
	bool verbose;
	/* prints a line of the session; NULL: it goes to standard error, after "weir-nfs: " */
	void (*message)(void *arg, const char *line);
	void *message_arg;
	bool is_pinned;
	uint32_t lcore;
	uint32_t flags;		/* bits of enum command_flag for the options that were given */
	uint32_t section_flags; /* those of the profile's section, which a command can ignore */
	struct bench_load bench;
	const struct command *command;
	char **args;
	int nargs;
};

struct session;

struct command {
	const char *name;
	const char *usage; /* syntax of the arguments, for help */
	const char *help;
	int (*run)(const struct nfs_options *options); /* returns an enum exit_status */
	int nargs_min;
	int nargs_max;
	uint32_t flags; /* bits of enum command_flag for the options that the command accepts */
	bool needs_export;
};

/*
 * Parses argv to *options. Options override the profile that --profile names, and the profile
 * overrides the defaults. Returns 0; 1 if help, the version or the profile was printed; or -1 after
 * it has printed an error on standard error.
 */
int nfs_options_parse(int argc, char **argv, const struct command *commands, uint32_t ncommands,
		      struct nfs_options *options);

#endif
