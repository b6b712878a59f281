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

#include "caller.h"
#include "cred.h"
#include "fs.h"
#include "handle.h"
#include "nfs3_op.h"
#include "nfs3_xdr.h"

#define OPS_MAX 8192u /* ops of a poller */

struct dir_queue;
struct dir_user;
struct op;
struct poller;
struct server;

/* A message to another poller. */
struct op_mail {
	struct poller *to;
	void (*fn)(struct weir_engine *engine, void *arg);
	void *arg; /* the op itself; or memory to release, and then the sender keeps the op */
};

struct op {
	struct server *server;
	struct poller *home;
	struct weir_request *req; /* belongs to the home; the owner only reads what cannot change
				     during a call */
	uint32_t proc;
	bool is_away; /* was handed to an owner that is not its home, or is on the way back */
	struct op_mail mail;
	struct export *export;
	struct caller *caller; /* belongs to the home */
	struct holder holder;  /* copied from the caller, so that any thread can read it */
	const struct export_rules *rules; /* rules by which the caller may use the export */
	struct cred cred;
	union nfs3_op_args args;
	struct handle_id id; /* file of the first handle */
	struct handle_id
		id2; /* file of the second handle: RENAME's target directory, LINK's directory */
	const uint8_t *data; /* WRITE's data or SYMLINK's path, in the request's memory */
	uint32_t data_bytes;

	union nfs3_op_res res;
	/*
	 * READ and READLINK with NFS3_OK: the address of the data, which stay valid until 'on_sent'
	 */
	const struct weir_region *region;
	const void *item;
	uint32_t item_bytes;
	void (*on_sent)(void *arg); /* runs on the owner's thread; may be NULL */
	void (*on_sent_mail)(struct weir_engine *engine,
			     void *arg); /* the same function in the form for a mailbox */
	void *on_sent_arg;
	/* READDIR, READDIRPLUS: the encoded entries */
	struct weir_xdr_out entries;
	uint8_t *entries_buf;
	uint32_t entries_left; /* bytes that the client can still take */
	uint32_t names_left; /* READDIRPLUS: bytes of names and cookies that the client still wants
			      */
	bool eof;

	void *fs_data;	   /* This member and all later ones belong to the back end. */
	bool is_decided;   /* a thread has decided whether the caller may make the call */
	bool is_cacheable; /* the file had not changed shortly before that decision */
	struct timespec decided_ctime; /* the file's ctime at that decision */
	bool is_begun; /* a thread has taken it; the threads' lock guards it and 'queue' */
	struct dir_queue *queue; /* the queue in which it waits for a thread */
	struct dir_user *user;	 /* the client, while the op waits or 'has_slot' is set */
	bool has_slot;		 /* it may open one more file */
	uint32_t fs_state;
	bool is_watched;
	uint64_t started_ns;
	TAILQ_ENTRY(op) watched;
	TAILQ_ENTRY(op) entry;
};

TAILQ_HEAD(op_list, op);

/* Callbacks of the program. 'arg' is the struct server. */
void op_handle(struct weir_request *req, void *arg);
/* Releases what is known of the client when its connection ends. */
void op_conn_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg);
int op_place(struct weir_request *req, uint32_t item, uint32_t len_bytes,
	     struct weir_arg_sink *sink, void *arg);

/*
 * Ends a call. The back end has filled op->res, which was zero before, and the other members of
 * 'op' that the procedure needs.
 */
void op_done(struct op *op);

/* Ends a call with a status and no other results. */
void op_fail(struct op *op, enum nfs3_status status);

/*
 * Returns a call that replaces 'op' towards the client. A back end calls it on its owner's thread
 * when a thread or a file system holds 'op' and may go on using its arguments and results. The back
 * end answers the new call, and passes 'op' to op_discard() when it gets 'op' back. Returns NULL if
 * there is no memory; nothing has changed then.
 */
struct op *op_replace(struct op *op);
void op_discard(struct op *op);

/* Makes a handle for a file of the op's export. */
void op_make_fh(const struct op *op, const struct handle_id *id, struct nfs3_fh *fh);

/*
 * Checks the count that the client gave and prepares for op_entry(). Returns NFS3_OK,
 * NFS3ERR_TOOSMALL or NFS3ERR_SERVERFAULT.
 */
enum nfs3_status op_entries_begin(struct op *op);
/* Adds an entry. Returns false if the entry does not fit; the reply ends before it. */
bool op_entry(struct op *op, const struct nfs3_entry *entry);

/* The functions below are for op.c, op_done.c and poller.c. */

/*
 * Takes an op for a call of the caller. The members before 'res' are not set, apart from 'server',
 * 'home' and 'caller'. Returns NULL in these cases:
 *
 * - the client or its connection already has its share of the poller's ops
 * - there is no memory
 */
struct op *op_take(struct poller *home, struct caller *caller);
void op_reply(struct op *op);
void op_free(struct op *op);
void op_free_all(struct poller *poller);
void op_returned(struct weir_engine *engine,
		 void *op); /* runs at home when the owner has finished */

#endif
