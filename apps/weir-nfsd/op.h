/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OP_H
#define OP_H

/*
 * One NFS call, from its arguments to its reply.
 *
 *   op_handle()  home: decodes, checks handles and names
 *   op_run()     owner: passes the call to the back end
 *   back end     owner: fills 'res', at once or later, and calls op_done()
 *   op_done()    owner: passes the op back to its home
 *   op_reply()   home: encodes, replies and frees the op; if no buffer is free, op_handle()
 *                calls it again later
 *
 * Home and owner are pollers, see poller.h. Usually they are the same poller. A call that ends
 * early (bad handle, bad name, read-only export) goes to op_done() at home, without a back end.
 */

#include <sys/queue.h>
#include <time.h>

#include <weir/connection.h>
#include <weir/request.h>
#include <weir/runtime.h>

#include "caller.h"
#include "cred.h"
#include "fs.h"
#include "handle.h"
#include "nfs3_op.h"

#define OPS_MAX 8192u /* ops of a poller */

struct dir_queue;
struct dir_user;
struct op;
struct poller;
struct server;

struct op {
	struct server *server;
	struct poller *home;
	struct weir_request *req; /* belongs to the home. The owner reads only those parts that do
				     not change during a call. */
	uint32_t proc;
	bool is_away; /* the op was handed to an owner that is not its home, or is on the way back
		       */
	/* A message to another poller. Its argument is the op itself, or memory to release. In the
	 * second case the sender frees the op. */
	struct weir_runtime_mail mail;
	struct export *export;
	struct caller *caller; /* belongs to the home */
	/* the caller's connection and client (holds.h), to which the op's parts of pools are
	 * charged; copied so that any thread can read them */
	struct holder holder;
	bool is_read_only; /* by the rules, the caller may only read the export */
	struct cred cred;
	union nfs3_op_args args;
	struct handle_id id; /* the file of the first handle in the arguments */
	struct handle_id
		/*
		 * the file of the second handle: the target directory of RENAME, or the directory
		 * of LINK
		 */
		id2;
	const uint8_t *data; /* the data of WRITE or the path of SYMLINK, in the request's memory */
	uint32_t data_bytes;

	union nfs3_op_res res;
	/*
	 * The data of READ and READLINK with NFS3_OK. 'item' is their address, and 'region'
	 * contains them. They stay valid until 'on_sent' runs.
	 */
	const struct weir_region *region;
	const void *item;
	uint32_t item_bytes;
	void (*on_sent)(void *arg); /* releases the memory of 'item'; runs on the owner's thread;
				       can be NULL */
	void (*on_sent_mail)(struct weir_engine *engine,
			     void *arg); /* does the same in the form for a mailbox */
	void *on_sent_arg;
	/* READDIR and READDIRPLUS: the encoded entries of the directory */
	struct weir_xdr_out entries;
	uint8_t *entries_buf;  /* memory of 'entries' */
	uint32_t entries_left; /* bytes of entries for which the results still have space */
	uint32_t names_left;   /* READDIRPLUS: bytes of names and cookies that are left of the
				  client's 'dircount' */
	bool eof;	       /* the last entry of the directory is in 'entries' */

	void *fs_data; /* This member and all later ones belong to the back end. Those below are for
			  the back end 'dir'. */
	bool is_decided; /* a thread has decided whether the caller has the right to make this call
			  */
	bool is_cacheable; /* the file's ctime was old enough at that decision, see dir/rights.c */
	struct timespec decided_ctime; /* the file's ctime at that decision */
	bool is_begun; /* a thread has begun the call; fs->lock guards this member and 'line' */
	struct dir_queue *queue; /* the queue in which the call waits for a thread */
	/* the client, while the call waits in its list or 'has_slot' is set */
	struct dir_user *user;
	bool has_slot;	     /* the call is allowed to open one more file, see dir/slots.c */
	uint32_t fs_state;   /* enum dir_state */
	bool is_watched;     /* the op is in the list 'watched', see dir/watch.c */
	uint64_t started_ns; /* time of the start, for dir/watch.c */
	TAILQ_ENTRY(op) watched;
	TAILQ_ENTRY(op) entry;
};

TAILQ_HEAD(op_list, op);

/*
 * These functions are callbacks of weir, see struct weir_program and weir_listen_options. 'arg' is
 * the struct server. op_handle() begins a call, or continues one for whose reply no buffer was
 * free.
 */
void op_handle(struct weir_request *req, void *arg);
/* Releases the caller of a connection when the connection ends. */
void op_conn_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg);
/*
 * Chooses the memory to which the data of a WRITE are pulled. Returns 0 with *place set, or -1 if
 * weir must choose a buffer.
 */
int op_place(struct weir_request *req, uint32_t item, uint32_t len_bytes,
	     struct weir_arg_sink *sink, void *arg);

/*
 * Ends a call and replies. The back end has filled op->res, which was zero at the start, and the
 * other members of 'op' that the procedure needs.
 */
void op_done(struct op *op);

/* Ends a call with an error status and no other results. */
void op_fail(struct op *op, enum nfs3_status status);

/*
 * Returns a new op for the call of 'op', which the back end answers instead of 'op'. The back end
 * calls this function on the owner's thread, if a thread or a file system has 'op' and might still
 * use its arguments and results. When that use has ended, the back end passes 'op' to op_discard(),
 * which frees 'op'. Returns NULL if there is no memory. Then nothing has changed.
 */
struct op *op_replace(struct op *op);
void op_discard(struct op *op);

/* Makes the handle of the file 'id' of the op's export. */
void op_make_fh(const struct op *op, const struct handle_id *id, struct nfs3_fh *fh);

/*
 * Prepares READDIR or READDIRPLUS for calls of op_entry(). Returns NFS3_OK, NFS3ERR_TOOSMALL if the
 * results cannot fit in the client's count, or NFS3ERR_SERVERFAULT if there is no memory.
 */
enum nfs3_status op_entries_begin(struct op *op);
/*
 * Adds an entry to the results. Returns false if the entry does not fit. The results then end
 * before this entry.
 */
bool op_entry(struct op *op, const struct nfs3_entryplus *entry);

/* The functions below are only for op.c, op_done.c and poller.c. */

/*
 * Takes an op for a call of 'caller' from the pool of 'home'. Of the members before 'res', only
 * 'server', 'home', 'caller' and 'holder' are set. Returns NULL in these cases:
 *
 * - the client or its connection already has its share of the poller's ops
 * - there is no memory
 */
struct op *op_take(struct poller *home, struct caller *caller);
/*
 * Encodes the results and sends the reply. Frees the op, unless it must exist until the reply has
 * been sent, or waits for a buffer.
 */
void op_reply(struct op *op);
void op_free(struct op *op);
void op_free_all(struct poller *poller);
/* Runs at home when the owner has ended the op. 'op' is the struct op. */
void op_returned(struct weir_engine *engine, void *op);

#endif
