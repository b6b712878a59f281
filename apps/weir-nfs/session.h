/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SESSION_H
#define SESSION_H

/*
 * A server as the commands see it: NFS procedures go out, and each ends once, whatever happens to
 * the connection.
 *
 * An op is waiting (for a slot or a buffer, or the server asked for patience) or in flight. The
 * connection is one that weir remakes when it is lost: ops in flight go out again, with the same
 * XIDs, so that a server which keeps replies knows them. A call without an answer for too long ends
 * its connection (RFC 8166 has no other way to send again), and so is the same. An op that was in
 * flight on too many connections that were lost ends with an error; so do all ops when no
 * connection could be made for too long. --retries says how many, and how long.
 *
 * Procedures that are not idempotent go out again, too, as other NFS clients do: if the answer is
 * then the one that their own first run would cause (REMOVE: no such file), it is taken as success.
 */

#include <signal.h>

#include <weir/engine.h>

#include "clock.h"
#include "op.h"
#include "options.h"

TAILQ_HEAD(op_queue, op);

struct session {
	const struct nfs_options *options;
	char addr[HOST_MAX + 8];   /* as the driver takes it */
	char where[HOST_MAX + 64]; /* for people: the address, and where its port is from */
	struct weir_engine *engine;
	struct weir_conn *conn;
	struct bench_clock clock;
	uint64_t now_ns;
	uint16_t mount_port; /* 0: MOUNT was not used */
	uint32_t mount_uid;  /* whose MOUNT that is, where NFS is over shm */

	struct weir_region *region;
	uint8_t *slots; /* nslots of slot_bytes each: bulk data */
	uint32_t nslots;
	uint32_t slot_bytes;
	uint8_t *path; /* NFS3_PATH_MAX bytes: what READLINK returns and SYMLINK takes */

	struct weir_rpc_auth cred;
	uint8_t cred_body[WEIR_RPC_AUTH_BODY_MAX];
	struct nfs3_fh root;

	struct op_queue waiting;
	struct op_queue flying; /* in flight, those sent first before the others */
	uint32_t in_flight;
	uint64_t nsubmitted;
	uint64_t patience_ns; /* for an answer */
	uint32_t reconnects;
	int lost;	   /* why the connection was lost the latest time */
	bool is_impatient; /* it is being lost because an answer took too long */
	uint32_t empty_polls;
	bool is_up; /* it was open, and has not ended */
	bool is_closing;
	int error; /* no op can succeed any more */
};

/* Set by signals; a session then ends all its ops with -EINTR. */
extern volatile sig_atomic_t session_interrupted;

/* Find the server's port, connect, and learn the export's root. 'nslots' of 'slot_bytes' for bulk
 * data. 0, or -errno or a positive status that was said on standard error. */
int session_open(const struct nfs_options *options, uint32_t nslots, uint32_t slot_bytes,
		 struct session **session);
void session_close(struct session *session);

/* session_open()'s: begin to connect. 0 or what weir_connect() says. */
int session_connect(struct session *session);

/* Send 'op', now or later; op->done is called once, from here or from a later poll. */
void session_submit(struct session *session, struct op *op);

/* Send it and wait for its end. Returns op_result(). Not from inside 'done'. */
int session_call(struct session *session, struct op *op);

/* Do what there is to do; yields or sleeps when that was nothing for long. */
void session_poll(struct session *session);

#endif
