/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OP_H
#define OP_H

/*
 * An NFS procedure with everything that a retransmission needs. An op keeps its arguments until it
 * ends. op.c encodes the arguments and decodes the results. session.c sends ops, waits for their
 * replies, and retransmits them.
 */

#include <sys/queue.h>

#include <weir/call.h>

#include "nfs3_list.h"
#include "nfs3_names.h"
#include "nfs3_op.h"

struct op {
	uint32_t proc; /* enum nfs3_proc */
	union nfs3_op_args args;
	/*
	 * For READ and READLINK, the memory that receives the data. For WRITE and SYMLINK, the data
	 * to send. This memory is part of 'region'.
	 */
	uint8_t *item;
	const struct weir_region *region; /* NULL: the session's region */
	uint32_t item_bytes; /* bytes of 'item'; READLINK sets it to the length of the path */
	/*
	 * For READDIR and READDIRPLUS, decodes the entries from 'in', which is valid only during
	 * this function. Returns 0 or -EBADMSG.
	 */
	int (*take_entries)(struct op *op, struct weir_xdr_in *in);
	void *entries_arg;	     /* for the use of 'take_entries' */
	void (*done)(struct op *op); /* called once when the op has ended */
	void *arg;		     /* for the use of 'done' */

	int error; /* 0 if the server answered, and res.status is the result; otherwise -errno */
	union nfs3_op_res res;

	/* The session uses the members below. */
	struct session *session;
	uint64_t number; /* number of this op among those that the session was given; the wait queue
			    is in this order */
	bool is_echo; /* the answer is the repeated one of a retransmitted call and has no results,
			 see op_is_own_echo() */
	uint32_t delays;	/* number of answers NFS3ERR_JUKEBOX to this op */
	uint64_t not_before_ns; /* time before which a waiting op is not sent */
	uint64_t sent_ns;	/* time of the transmission, or of a later reconnect; an answer is
				   expected within a limit from then on */
	TAILQ_ENTRY(op) waiting;
};

/*
 * Returns the result of an op that has ended: 0 for success, a positive NFS status of the server,
 * or -errno if there is no valid answer.
 */
static inline int op_result(const struct op *op)
{
	return op->error ? op->error : (int)op->res.status;
}

/*
 * Returns the 'maxcount' of READDIR or READDIRPLUS, which limits the size of the results, or 0 for
 * every other procedure. The caller passes it to weir_ulb_nfs_results_max().
 */
uint32_t op_reply_count(const struct op *op);

/*
 * Encodes the arguments of the op into 'call', and adds its item, which is in 'region'. Returns 0,
 * -EINVAL for a procedure that weir-nfs does not use, or an error of weir.
 */
int op_put_args(const struct op *op, struct weir_call *call, const struct weir_region *region);

/*
 * Decodes the results of the op into op->res. Returns 0, or -EBADMSG if they cannot be decoded or
 * violate the protocol.
 */
int op_get_results(struct op *op, const struct weir_call *call, const struct weir_result *result);

/*
 * Returns true if the op has an error that its own first execution can cause. The caller has
 * retransmitted the op, so the server might have executed the first transmission and its reply did
 * not arrive. The second execution then finds that the name exists already, or that it no longer
 * exists.
 */
bool op_is_own_echo(const struct op *op);

#endif
