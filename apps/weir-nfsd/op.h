/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OP_H
#define OP_H

/*
 * One NFS call, from its arguments to its reply.
 *
 *   op_handle()  home: decodes, checks handles and names
 *   run()        owner: asks the back end
 *   back end     owner: fills 'res', at once or later, and calls
 *   op_done()    owner: hands it back
 *   op_reply()   home: encodes, replies, frees; without a buffer it waits, and op_handle() calls it
 *                again
 *
 * Home and owner are pollers, see poller.h; most often the same. A call that ends early (bad
 * handle, bad name, read-only) goes to op_done() at home, without a back end.
 */

#include <sys/queue.h>
#include <time.h>

#include <weir/connection.h>
#include <weir/request.h>

#include "caller.h"
#include "cred.h"
#include "fs.h"
#include "handle.h"
#include "nfs3_xdr.h"

#define OPS_MAX 8192u /* of a poller */

struct dir_line;
struct dir_user;
struct op;
struct poller;
struct server;

union op_args {
	struct nfs3_fh fh; /* each starts with the first handle */
	struct nfs3_dirop dirop;
	struct nfs3_setattr_args setattr;
	struct nfs3_access_args access;
	struct nfs3_read_args read;
	struct nfs3_write_args write;
	struct nfs3_create_args create;
	struct nfs3_mkdir_args mkdir; /* SYMLINK, too */
	struct nfs3_mknod_args mknod;
	struct nfs3_rename_args rename;
	struct nfs3_link_args link;
	struct nfs3_readdir_args readdir;
	struct nfs3_commit_args commit;
};

union op_res {
	enum nfs3_status status; /* each starts with it */
	struct nfs3_getattr_res getattr;
	struct nfs3_wcc_res wcc; /* SETATTR, REMOVE, RMDIR */
	struct nfs3_lookup_res lookup;
	struct nfs3_access_res access;
	struct nfs3_readlink_res readlink;
	struct nfs3_read_res read;
	struct nfs3_write_res write;
	struct nfs3_create_res create; /* MKDIR, SYMLINK, MKNOD, too */
	struct nfs3_rename_res rename;
	struct nfs3_link_res link;
	struct nfs3_readdir_res readdir;
	struct nfs3_fsstat_res fsstat;
	struct nfs3_fsinfo_res fsinfo;
	struct nfs3_pathconf_res pathconf;
	struct nfs3_commit_res commit;
};

/* On its way to another poller. */
struct op_mail {
	struct poller *to;
	void (*fn)(struct weir_engine *engine, void *arg);
	void *arg; /* the op itself; else it is memory to be released, and the op its sender's */
};

struct op {
	struct server *server;
	struct poller *home;
	struct weir_request *req; /* the home's, but for what is read with a call in hand */
	uint32_t proc;
	bool is_away; /* with an owner that is not its home, or back from there */
	struct op_mail mail;
	struct export *export;
	struct caller *caller;		  /* the home's */
	struct holder holder;		  /* of the caller, for any thread */
	const struct export_rules *rules; /* by which the caller may use the export */
	struct cred cred;
	union op_args args;
	struct handle_id id;  /* the first handle's file */
	struct handle_id id2; /* the second's: RENAME's target directory, LINK's directory */
	const uint8_t *data;  /* WRITE's data, SYMLINK's path; in place */
	uint32_t data_bytes;

	union op_res res;
	/* READ, READLINK with NFS3_OK: where the data lie. They stay until 'on_sent'. */
	const struct weir_region *region;
	const void *item;
	uint32_t item_bytes;
	void (*on_sent)(void *arg); /* or NULL; on the owner's thread */
	void (*on_sent_mail)(struct weir_engine *engine,
			     void *arg); /* the same, as a mailbox calls it */
	void *on_sent_arg;
	/* READDIR, READDIRPLUS: entries, encoded */
	struct weir_xdr_out entries;
	uint8_t *entries_buf;
	uint32_t entries_left; /* bytes that the client takes */
	uint32_t names_left;   /* READDIRPLUS: bytes of names and cookies that the client wants */
	bool eof;

	void *fs_data;		       /* the back end's own, as is what follows */
	bool is_decided;	       /* a thread has decided whether the caller may do it */
	bool is_settled;	       /* and the file had not changed shortly before that */
	struct timespec decided_ctime; /* the file's at that time */
	bool is_begun;		       /* a thread has it; under the threads' lock, as is 'line' */
	struct dir_line *line;	       /* where it waits for a thread */
	struct dir_user *user;	       /* its client, while it waits or 'has_slot' */
	bool has_slot;		       /* it may open one more file */
	uint32_t fs_state;
	bool is_watched;
	uint64_t started_ns;
	TAILQ_ENTRY(op) watched;
	TAILQ_ENTRY(op) entry;
};

TAILQ_HEAD(op_list, op);

/* The program's callbacks; 'arg' is the struct server. */
void op_handle(struct weir_request *req, void *arg);
/* A connection has ended: what is known of its client goes. */
void op_conn_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg);
int op_place(struct weir_request *req, uint32_t item, uint32_t len_bytes,
	     struct weir_arg_sink *place, void *arg);

/* The back end has filled op->res (zeroed before), and more of 'op' as its procedure says. */
void op_done(struct op *op);

/* Short for a failure without more to say. */
void op_fail(struct op *op, enum nfs3_status status);

/*
 * For a back end, on its owner's thread: a call that takes the place of 'op' towards the client,
 * because a thread or a file system holds 'op' and may go on using its arguments and results. The
 * caller answers the call that is returned, and passes 'op' to op_discard() when it comes back.
 * Returns NULL if there is no memory; nothing has changed then.
 */
struct op *op_replace(struct op *op);
void op_discard(struct op *op);

/* A handle for a file of the op's export. */
void op_make_fh(const struct op *op, const struct handle_id *id, struct nfs3_fh *fh);

/* Prepare for op_entry(), after checking the count that the client gave: NFS3_OK, NFS3ERR_TOOSMALL,
 * NFS3ERR_SERVERFAULT. */
enum nfs3_status op_entries_begin(struct op *op);
/* Add an entry; false: it does not fit any more, the reply ends before it. */
bool op_entry(struct op *op, const struct nfs3_entry *entry);

/* For op.c, op_done.c and poller.c. */

/*
 * Take an op for a call of the caller. What comes before 'res' is not set, apart from 'server',
 * 'home' and 'caller'.
 *
 * Returns NULL if the client or its connection has its share of the poller's ops, or if there is no
 * memory.
 */
struct op *op_take(struct poller *home, struct caller *caller);
void op_reply(struct op *op);
void op_free(struct op *op);
void op_free_all(struct poller *poller);
void op_returned(struct weir_engine *engine, void *op); /* home: the owner is done with it */

#endif
