/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TARGET_H
#define TARGET_H

/*
 * A target is what a job of fio reads and writes: files of an NFS server or the blocks of a block
 * store. It has one connection to the server and an engine of weir. The thread that runs the job
 * polls the engine, so that a target has no thread of its own.
 *
 * Functions that return an int return 0 or a positive errno. Before they return an error they pass
 * one line with the reason and the remedy to target_options.log.
 *
 * The files of this folder:
 *
 *   engine.c    the I/O engine: fio calls its functions; only this file includes fio's headers
 *   target.[ch] the interface between the I/O engine and the protocols, and the profile
 *   nfs.c       NFS version 3, by a session of weir-nfs
 *   block.c     the block store of apps/examples
 */

#include <stdbool.h>
#include <stdint.h>

#include <weir/engine.h>
#include <weir/memory.h>
#include <weir/profile.h>

#include "compiler.h"

enum target_protocol { TARGET_NFS = 1, TARGET_BLOCK };

/* The options of a job. Texts that were not given are NULL. */
struct target_options {
	const char *server;	    /* HOST[:PORT], or a name of shm */
	const char *driver;	    /* replaces the driver of the profile */
	const char *driver_options; /* replaces the driver options of the profile */
	const char *profile;	    /* path of a profile */
	const char *export;	    /* NFS: the export, for MOUNT */
	const char *handle;	    /* NFS: @FILE with the root's handle; replaces MOUNT */
	const char *mount_server;   /* NFS: host of MOUNT */
	uint32_t mount_port;	    /* NFS: TCP port of MOUNT; 0: rpcbind is asked */
	uint32_t timeout_ms;	    /* time limit for an answer; 0: the limit of the profile */
	uint32_t retries;	    /* maximum number of retransmissions of a call */
	uint32_t depth;		    /* maximum number of I/Os in flight */
	bool is_sync;		    /* NFS: WRITEs are FILE_SYNC */
	void (*log)(const char *line);
};

enum target_op { TARGET_READ, TARGET_WRITE, TARGET_FLUSH, TARGET_TRIM };

struct target_file;

/*
 * This structure describes one I/O. The caller sets the members up to 'arg'. It may change them
 * again when 'done' has been called. The caller allocates target_ops.io_bytes bytes of zeroes. This
 * structure is at their beginning.
 */
struct target_io {
	enum target_op op;
	struct target_file *file;
	uint64_t offset;
	uint64_t len_bytes;
	uint8_t *data; /* of READ and WRITE, in the region of target_ops.add_region() */
	void (*done)(struct target_io *io);
	void *arg;

	int error; /* 0 if all bytes were transferred, or a positive errno */
};

/* The beginning of the structure of each protocol's target. */
struct target {
	const struct target_ops *ops;
	void (*log)(const char *line);
	bool has_said;	     /* the first error of an I/O was logged */
	uint64_t page_bytes; /* size of pages for the region of the data, as in the profile */
	struct weir_region *region; /* of the data; NULL before add_region() */
};

struct target_ops {
	size_t io_bytes;      /* size of the protocol's structure that begins with a target_io */
	uint64_t block_bytes; /* offsets and lengths must be multiples of this */
	uint64_t max_bytes;   /* most bytes of a READ or WRITE */
	bool has_trim;
	bool has_files; /* the job can have several files, and can remove them */

	/* Connects to the server. */
	int (*open)(const struct target_options *options, struct target **target);
	/* Ends all I/Os and the connection. */
	void (*close)(struct target *target);
	int (*add_region)(struct target *target, struct weir_region *region);
	/* Gets the size of a file, which must exist, or of all blocks. */
	int (*size)(struct target *target, const char *name, uint64_t *size_bytes);
	/*
	 * Opens a file for I/Os below 'end_bytes'. If 'creates' is true, a missing file is created,
	 * and a shorter file is extended with zeroes. Otherwise both are errors.
	 */
	int (*open_file)(struct target *target, const char *name, uint64_t end_bytes, bool creates,
			 struct target_file **file);
	void (*close_file)(struct target *target, struct target_file *file);
	int (*unlink)(struct target *target, const char *name);
	/* Begins an I/O. 'done' is called once, in this function or in a later one. */
	void (*submit)(struct target *target, struct target_io *io);
	/* Polls the engine once. 'waits' says that the caller has nothing else to do. */
	void (*poll)(struct target *target, bool waits);
	/* Ends all I/Os with an error, now or in later polls. */
	void (*abort)(struct target *target);
};

extern const struct target_ops target_nfs_ops;
extern const struct target_ops target_block_ops;

/* Passes a line to 'log'. Returns 'error'. */
printf_like(3, 4) int target_say(void (*log)(const char *line), int error, const char *format, ...);

/* Ends an I/O. The first error of the target is logged, with 'why'. */
void target_io_end(struct target *target, struct target_io *io, int error, const char *why);

/* Registers the region of the data with the engine of the target. */
int target_add_region(struct target *target, struct weir_engine *engine,
		      struct weir_region *region);

/* Makes the profile for a target with the options. */
int target_profile(const struct target_options *options, struct weir_profile *profile);

#endif
