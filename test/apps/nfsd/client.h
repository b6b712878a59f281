/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_H
#define CLIENT_H

/*
 * A client of weir-nfsd for tests. It starts the server as a process and connects to it over shm.
 * Most functions make one call at a time. Each function fails the test if a result is not as
 * described.
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

#include "nfs3_list.h"
#include "nfs3_op.h"

#define CLIENT_MEM     (8u << 20)
#define CLIENT_ENTRIES 4096u

union client_args {
	struct nfs3_fh fh;
	struct nfs3_dirop dirop;
	struct nfs3_setattr_args setattr;
	struct nfs3_access_args access;
	struct nfs3_read_args read;
	struct nfs3_write_head write;
	struct nfs3_create_args create;
	struct nfs3_mkdir_args mkdir;
	struct nfs3_mknod_args mknod;
	struct nfs3_rename_args rename;
	struct nfs3_link_args link;
	struct nfs3_readdirplus_args readdir;
	struct nfs3_commit_args commit;
};

union client_res {
	enum nfs3_status status;
	struct nfs3_getattr_res getattr;
	struct nfs3_wcc_res wcc;
	struct nfs3_lookup_res lookup;
	struct nfs3_access_res access;
	struct nfs3_readlink_head readlink;
	struct nfs3_read_head read;
	struct nfs3_write_res write;
	struct nfs3_create_res create;
	struct nfs3_rename_res rename;
	struct nfs3_link_res link;
	struct nfs3_readdir_head readdir;
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
	uint8_t *mem; /* WRITE sends data from the start; READ stores data in the second half */
	int opened, closed;
	/* the roots of the exports, in the order in which the exports were given */
	struct nfs3_fh roots[4];
	uint32_t nroots;
	uint32_t uid, gid; /* user and group of the calls; both are 1000 at first */
	bool is_anonymous; /* calls use AUTH_NONE */
	bool sends_inline; /* calls use no chunks, so that their data are inside the message */
	bool is_patient;   /* client_call() tries again after NFS3ERR_JUKEBOX, as NFS clients do */

	/* Arguments and results of the latest call. */
	union client_args args;
	union client_res res;
	int status;	      /* status of the call as weir reports it */
	uint32_t accept_stat; /* accept_stat of the RPC reply */
	uint32_t reply_stat;
	/* bytes of data of READ and READLINK, which are at mem + CLIENT_MEM / 2 */
	uint32_t data_bytes;
	const uint8_t *data;
	uint32_t nentries;
	struct nfs3_entryplus entries[CLIENT_ENTRIES];
	bool eof;
	int done;	   /* number of calls that ended since client_end() */
	uint32_t proc;	   /* the procedure of all active calls */
	uint32_t njukebox; /* number of answers with NFS3ERR_JUKEBOX */
};

/*
 * Parses the arguments of a test program, which are either:
 * - "kernel", an address, and the handle of a root: a server that already runs at the address, over
 *   verbs
 * - the path of weir-nfsd; then the back end, "ram" or "dir", the latter in a new directory; and
 *   optionally "two"
 *
 * With "two" the server runs on two lcores. The first export belongs to one of them. The client's
 * connection can be on either, which depends on the address of its process.
 */
void client_main(int argc, char **argv);
extern const char *client_program;
extern const char *client_backend;
extern bool client_has_two;
extern char client_dir[64]; /* the directory for the state, and for exports of the back end "dir" */

/*
 * Writes the text of an export "vol" of client_backend to 'text', for the option --export. Each
 * such export of "dir" has a new directory. client_main() removes the directories when the program
 * exits.
 */
void client_export(char *text, size_t bytes);

/*
 * Starts a server with the arguments in 'args', whose last element is NULL. Adds --driver, --listen
 * and --foreground, and with "two" also --profile.
 */
void client_start_server(struct client *c, const char *const *args);
/* sends the signal and waits until the server has ended */
void client_kill_server(struct client *c, int signo);
void client_connect(struct client *c);
void client_disconnect(struct client *c);
/*
 * Starts a server and connects to it. If 'args' is NULL, the server has one export, "vol", of
 * client_backend, in which root is not squashed.
 */
void client_start(struct client *c, const char *const *args);
void client_stop(struct client *c);
/* Connects a further client to the server of 'first'. */
void client_join(struct client *c, const struct client *first);

/*
 * Makes a call of 'proc' with c->args. WRITE (args.write.count bytes) and SYMLINK (data_bytes) also
 * send data. Fails the test if the reply does not accept the call. Returns the NFS status, and
 * stores other results in c->res.
 */
enum nfs3_status client_call(struct client *c, uint32_t proc);
/* Polls the engine, and sleeps for a while if there is no work. */
void client_poll(struct client *c);
/*
 * client_begin() begins a call and does not wait. client_end() waits until the n calls that were
 * begun have ended. The data and results of these calls overwrite each other.
 */
void client_begin(struct client *c, uint32_t proc);
void client_end(struct client *c, int n);
/*
 * Makes a call that can fail as an RPC. c->status, c->reply_stat and c->accept_stat say how it
 * ended.
 */
void client_try(struct client *c, uint32_t proc);
/*
 * Makes a call that can fail as an RPC, with the 'bytes' bytes at 'raw' as arguments. c->status,
 * c->reply_stat and c->accept_stat say how it ended.
 */
void client_call_raw(struct client *c, uint32_t proc, const void *raw, uint32_t bytes);

/* These functions set c->args and make the most frequent calls. Each returns the NFS status. */
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
/* Write the start of c->mem to a file, and read a file. */
enum nfs3_status client_write(struct client *c, const struct nfs3_fh *fh, uint64_t offset,
			      uint32_t count, enum nfs3_stable stable);
enum nfs3_status client_read(struct client *c, const struct nfs3_fh *fh, uint64_t offset,
			     uint32_t count);
enum nfs3_status client_readdir(struct client *c, const struct nfs3_fh *dir, bool plus,
				uint64_t cookie, uint32_t count);

#endif
