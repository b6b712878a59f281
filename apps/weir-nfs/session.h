/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SESSION_H
#define SESSION_H

/*
 * A session is a connection to a server, which a command uses. The command submits NFS procedures
 * (ops). Each op ends exactly once, whatever happens to the connection.
 *
 * An op is in flight, or it waits: for a slot or a buffer, or after an answer of NFS3ERR_JUKEBOX.
 * weir reconnects a lost connection and retransmits the ops in flight with the same XIDs, so that a
 * server with a duplicate request cache recognizes them. A call without an answer for too long
 * resets its connection, because RFC 8166 permits no other retransmission. An op ends with an error
 * if too many connections were lost while it was in flight. All ops end with an error if no
 * connection could be established for too long. --retries sets both limits.
 *
 * Procedures that are not idempotent are retransmitted as well, as other NFS clients do. If the
 * error of the answer is one that their own first execution would cause (REMOVE: no such file), it
 * counts as success.
 *
 * The files of this folder:
 *
 *   main.c              the table of commands; runs one of them
 *   options.[ch]        parses the options and arguments
 *   commands.h          declares the commands, which are in these files:
 *   cmd_list.c          ls, stat, readlink, df, ping and exports
 *   cmd_copy.c          get, cat and put
 *   cmd_modify.c        rm, rmdir, mkdir, mv, ln, chmod and truncate
 *   cmd_bench.c         bench
 *   cmd.[ch]            common parts of the commands: opens and ends a session, walks to a path
 *   copy.[ch]           copies trees from the server, and removes trees there
 *   copy_put.c          copies trees to the server
 *   transfer.[ch]       slots for the transfer of whole files, and fetches
 *   transfer_store.c    stores
 *   progress.c          shows the progress of a transfer (transfer.h)
 *   local.[ch]          local files
 *   tree.[ch]           files and directories of the server by name
 *   dir.[ch]            reads directories of the server
 *   path.[ch]           paths on the server
 *   session_profile.[ch] adapts the profile to a requester
 *   session.[ch]        sends ops, waits, retransmits, and ends them
 *   session_open.c      opens and closes a session: the port, MOUNT, the engine and its memory
 *   op.[ch]             encodes and decodes NFS procedures
 *   mount.[ch]          the MOUNT protocol
 *   rpcbind_query.[ch]  asks a server's rpcbind for addresses
 *   listener.[ch]       finds the user who listens on a TCP port of this host
 */

#include <signal.h>

#include <weir/engine.h>

#include "clock.h"
#include "compiler.h"
#include "op.h"
#include "options.h"

TAILQ_HEAD(op_queue, op);

struct session {
	const struct nfs_options *options;
	char addr[HOST_MAX + 8];   /* in the form that the driver takes */
	char where[HOST_MAX + 64]; /* for messages: the address, and the source of its port */
	struct weir_engine *engine;
	struct weir_conn *conn;
	struct bench_clock clock;
	uint64_t now_ns;
	uint16_t mount_port; /* 0 if MOUNT was not used */
	uint32_t mount_uid;  /* user who listens on that port, if NFS is over shm */

	struct weir_region *region;
	uint8_t *slots; /* bulk data: 'nslots' slots of 'slot_bytes' each */
	uint32_t nslots;
	uint32_t slot_bytes;
	uint8_t *path; /* NFS3_PATH_MAX bytes for the results of READLINK and the arguments of
			  SYMLINK */

	struct weir_rpc_auth cred;
	uint8_t cred_body[WEIR_RPC_AUTH_BODY_MAX];
	struct nfs3_fh root;

	struct op_queue waiting;
	struct op_queue flying; /* in flight, in the order of transmission */
	uint32_t in_flight;
	uint64_t nsubmitted;
	uint64_t patience_ns; /* time limit for an answer */
	uint32_t reconnects;
	int lost;	   /* reason of the latest loss of the connection */
	bool is_impatient; /* the connection was reset because an answer took too long */
	uint32_t empty_polls;
	bool is_up; /* the connection was open once and has not ended */
	bool is_closing;
	int error; /* all ops fail with this error */
};

/* Is set by signals. The session then ends all its ops with -EINTR. */
extern volatile sig_atomic_t session_interrupted;

/*
 * Finds the server's port, connects, and gets the export's root. Bulk data get 'nslots' slots of
 * 'slot_bytes'. Returns 0, or -errno or a positive status after it has printed the reason on
 * standard error.
 */
int session_open(const struct nfs_options *options, uint32_t nslots, uint32_t slot_bytes,
		 struct session **session);
void session_close(struct session *session);

/* Begins to connect, for session_open(). Returns 0 or an error of weir_connect(). */
int session_connect(struct session *session);

/* Sends 'op' now or later. op->done is called once, from this function or from a later poll. */
void session_submit(struct session *session, struct op *op);

/* Sends 'op' and waits for its end. Returns op_result(). Must not be called from 'done'. */
int session_call(struct session *session, struct op *op);

/*
 * Ends all waiting ops with an error, because none can succeed any more, and closes the connection.
 * The ops in flight end when the connection ends their calls. All later ops fail with the same
 * error.
 */
void session_fail(struct session *session, int error);

/* Passes a line to options->message. */
printf_like(2, 3) void session_message(const struct nfs_options *options, const char *format, ...);

/* Polls once. Yields or sleeps if there has been no work for long. */
void session_poll(struct session *session);

#endif
