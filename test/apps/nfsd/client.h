/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_H
#define CLIENT_H

/*
 * A client of weir-nfsd for tests. It starts the server as a process, over shm, and makes one call
 * at a time. An unexpected result fails the test.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/types.h>

#include <weir/call.h>

#include "nfs3_xdr.h"

#define CLIENT_MEM     (8u << 20)
#define CLIENT_ENTRIES 4096u

union client_args {
	struct nfs3_fh fh;
	struct nfs3_dirop dirop;
	struct nfs3_setattr_args setattr;
	struct nfs3_access_args access;
	struct nfs3_read_args read;
	struct nfs3_write_args write;
	struct nfs3_create_args create;
	struct nfs3_mkdir_args mkdir;
	struct nfs3_mknod_args mknod;
	struct nfs3_rename_args rename;
	struct nfs3_link_args link;
	struct nfs3_readdir_args readdir;
	struct nfs3_commit_args commit;
};

union client_res {
	enum nfs3_status status;
	struct nfs3_getattr_res getattr;
	struct nfs3_wcc_res wcc;
	struct nfs3_lookup_res lookup;
	struct nfs3_access_res access;
	struct nfs3_readlink_res readlink;
	struct nfs3_read_res read;
	struct nfs3_write_res write;
	struct nfs3_create_res create;
	struct nfs3_rename_res rename;
	struct nfs3_link_res link;
	struct nfs3_readdir_res readdir;
	struct nfs3_fsstat_res fsstat;
	struct nfs3_fsinfo_res fsinfo;
	struct nfs3_pathconf_res pathconf;
	struct nfs3_commit_res commit;
};

struct client {
	char addr[64];
	pid_t server;
	int server_out;
	struct weir_engine *engine;
	struct weir_conn *conn;
	struct weir_region *region;
	uint8_t *mem; /* WRITE reads its data from the start; READ stores data in the second half */
	int opened, closed;
	struct nfs3_fh roots[4]; /* of the exports, in the order in which they were given */
	uint32_t nroots;
	uint32_t uid, gid; /* both are 1000 at first */
	bool is_anonymous; /* uses AUTH_NONE */
	bool sends_inline; /* uses no chunks: data are inside the message */

	/* The arguments and the results of the latest call. */
	union client_args args;
	union client_res res;
	int status;	      /* of the weir call */
	uint32_t accept_stat; /* of the RPC */
	uint32_t reply_stat;
	uint32_t data_bytes; /* of READ and READLINK, at mem + CLIENT_MEM / 2 */
	const uint8_t *data;
	uint32_t nentries;
	struct nfs3_entry entries[CLIENT_ENTRIES];
	bool eof;
	int done;	   /* calls that ended since client_end() */
	uint32_t proc;	   /* of the active calls, which are all of one kind */
	uint32_t njukebox; /* answers with NFS3ERR_JUKEBOX so far */
};

/* Parses the arguments of a test program, which are either:
 * - "kernel", an address and a root's handle, for a server that already runs there, over verbs
 * - the server's program; then the back end: "ram", or "dir" in a new directory; and optionally
 *   "two"
 *
 * With "two" the server runs on two lcores. The first export is on one of them. The client, by the
 * address of its process, may be on either. */
void client_main(int argc, char **argv);
extern const char *client_program;
extern const char *client_backend;
extern bool client_has_two;
extern char client_dir[64]; /* the directory of "dir" */

/* Makes an export "vol" of client_backend, for --export, with a new directory each time.
 * client_main() removes the directories at exit. */
void client_export(char *text, size_t bytes);

/* Starts a server with these arguments, up to a NULL. Adds --driver, --listen and --foreground, and
 * with "two" also --profile. */
void client_start_server(struct client *c, const char *const *args);
void client_kill_server(struct client *c, int signo); /* and waits for its end */
void client_connect(struct client *c);
void client_disconnect(struct client *c);
/* Starts a server and connects. If 'args' is NULL, the server has one export, "vol", of
 * client_backend, without root squash. */
void client_start(struct client *c, const char *const *args);
void client_stop(struct client *c);
/* Connects another client to the server of 'first'. */
void client_join(struct client *c, const struct client *first);

/* Makes a call of 'proc' with c->args, and with 'data' for WRITE (args.write.count) and SYMLINK
 * (data_bytes). Expects an accepted reply. Returns the status, and the other results in c->res. */
enum nfs3_status client_call(struct client *c, uint32_t proc);
/*
 * Begins a call; waits for the ends of the 'n' calls that were begun. Their data and results
 * overwrite each other.
 */
void client_begin(struct client *c, uint32_t proc);
void client_end(struct client *c, int n);
/* Makes a call that may fail as a call: c->status, c->reply_stat and c->accept_stat say how. */
void client_try(struct client *c, uint32_t proc);
/* Makes a call whose RPC may fail, with 'raw' as its arguments: c->status, c->reply_stat and
 * c->accept_stat say how. */
void client_call_raw(struct client *c, uint32_t proc, const void *raw, uint32_t bytes);

/* Short forms of the most frequent calls. Each returns the status. */
void client_name(struct nfs3_name *name, const char *text);
enum nfs3_status client_lookup(struct client *c, const struct nfs3_fh *dir, const char *name,
			       struct nfs3_fh *fh);
enum nfs3_status client_create(struct client *c, const struct nfs3_fh *dir, const char *name,
			       struct nfs3_fh *fh);
enum nfs3_status client_mkdir(struct client *c, const struct nfs3_fh *dir, const char *name,
			      struct nfs3_fh *fh);
enum nfs3_status client_remove(struct client *c, uint32_t proc, const struct nfs3_fh *dir,
			       const char *name);
enum nfs3_status client_rename(struct client *c, const struct nfs3_fh *from_dir, const char *from,
			       const struct nfs3_fh *to_dir, const char *to);
enum nfs3_status client_getattr(struct client *c, const struct nfs3_fh *fh,
				struct nfs3_fattr *attr);
enum nfs3_status client_truncate(struct client *c, const struct nfs3_fh *fh, uint64_t size);
enum nfs3_status client_symlink(struct client *c, const struct nfs3_fh *dir, const char *name,
				const char *path, uint32_t path_bytes);
/* Write c->mem to the file, and read the file. */
enum nfs3_status client_write(struct client *c, const struct nfs3_fh *fh, uint64_t offset,
			      uint32_t count, enum nfs3_stable stable);
enum nfs3_status client_read(struct client *c, const struct nfs3_fh *fh, uint64_t offset,
			     uint32_t count);
enum nfs3_status client_readdir(struct client *c, const struct nfs3_fh *dir, bool plus,
				uint64_t cookie, uint32_t count);

#endif
