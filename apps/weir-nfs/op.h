/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OP_H
#define OP_H

/*
 * An NFS procedure with everything that a retransmission needs. It keeps its arguments until it
 * ends. op.c encodes and decodes; session.c sends, waits and retransmits.
 */

#include <sys/queue.h>

#include <weir/call.h>

#include "nfs3_op.h"
#include "nfs3_xdr.h"

struct op {
	uint32_t proc; /* enum nfs3_proc */
	union nfs3_op_args args;
	/*
	 * READ and READLINK: memory for the data; WRITE and SYMLINK: the data. It is part of the
	 * session's memory.
	 */
	uint8_t *item;
	uint32_t item_bytes; /* READLINK: on input the maximum, on output the length of the path */
	/*
	 * READDIR and READDIRPLUS: decodes the entries from 'in', which is valid only during this
	 * call. Returns 0 or -EBADMSG.
	 */
	int (*take_entries)(struct op *op, struct weir_xdr_in *in);
	void *entries_arg;
	void (*done)(struct op *op);
	void *arg;

	int error; /* 0 if the server answered, see res.status; otherwise -errno */
	union nfs3_op_res res;

	/* The session uses the members below. */
	struct session *session;
	uint64_t number;	/* sequence number of the submission */
	bool is_echo;		/* the answer replaces a lost one and has no results */
	uint32_t delays;	/* number of answers of NFS3ERR_JUKEBOX */
	uint64_t not_before_ns; /* the op waits until this time */
	uint64_t sent_ns;	/* time of the transmission, or of a later reconnect */
	TAILQ_ENTRY(op) waiting;
};

/*
 * Returns 0 for success, a positive NFS status from the server, or -errno if there is no valid
 * answer.
 */
static inline int op_result(const struct op *op)
{
	return op->error ? op->error : (int)op->res.status;
}

/* Returns the part of the request that bounds the reply's size, see weir_ulb_nfs_results_max(). */
uint32_t op_reply_count(const struct op *op);

/* Encodes the arguments and adds the items. Returns 0, or -errno from weir. */
int op_put_args(const struct op *op, struct weir_call *call, const struct weir_region *region);

/* Decodes the results. Returns 0, or -EBADMSG if they cannot be decoded or violate the protocol. */
int op_get_results(struct op *op, const struct weir_call *call, const struct weir_result *result);

/*
 * Returns whether the error of a retransmitted procedure can result from its own first execution,
 * whose reply was lost. Examples are a name that exists already and a name that does not exist any
 * more.
 */
bool op_is_own_echo(const struct op *op);

#endif
