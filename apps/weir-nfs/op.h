/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OP_H
#define OP_H

/*
 * This is an NFS procedure with everything that a retransmission needs. It keeps its arguments
 * until it ends. Encoding and decoding are in op.c; sending, waiting and sending again are in
 * session.c.
 */

#include <sys/queue.h>

#include <weir/call.h>

#include "nfs3_xdr.h"

union op_args {
	struct nfs3_fh fh;
	struct nfs3_dirop dirop;
	struct nfs3_setattr_args setattr;
	struct nfs3_access_args access;
	struct nfs3_read_args read;
	struct nfs3_write_args write;
	struct nfs3_create_args create;
	struct nfs3_mkdir_args mkdir;
	struct nfs3_rename_args rename;
	struct nfs3_link_args link;
	struct nfs3_readdir_args readdir;
	struct nfs3_commit_args commit;
};

union op_res {
	enum nfs3_status status; /* what all begin with */
	struct nfs3_getattr_res getattr;
	struct nfs3_wcc_res wcc;
	struct nfs3_lookup_res lookup;
	struct nfs3_readlink_res readlink;
	struct nfs3_read_res read;
	struct nfs3_write_res write;
	struct nfs3_create_res create;
	struct nfs3_rename_res rename;
	struct nfs3_link_res link;
	struct nfs3_readdir_res readdir;
	struct nfs3_fsstat_res fsstat;
	struct nfs3_fsinfo_res fsinfo;
	struct nfs3_commit_res commit;
};

struct op {
	uint32_t proc; /* enum nfs3_proc */
	union op_args args;
	/* READ and READLINK: where data go; WRITE and SYMLINK: where they are. In the session's
	 * memory. */
	uint8_t *item;
	uint32_t item_bytes; /* READLINK: in, the most that is taken, and out, what came */
	/* READDIR and READDIRPLUS: takes the entries, from 'in', which ends with this call. 0;
	 * -EBADMSG. */
	int (*take_entries)(struct op *op, struct weir_xdr_in *in);
	void *entries_arg;
	void (*done)(struct op *op);
	void *arg;

	int error; /* 0: the server answered, see res.status; or -errno */
	union op_res res;

	/* the session's */
	struct session *session;
	uint64_t number;	/* in the order of submission */
	bool is_echo;		/* the answer stands for one that was lost: there are no results */
	uint32_t delays;	/* answers of NFS3ERR_JUKEBOX */
	uint64_t not_before_ns; /* it waits until then */
	uint64_t sent_ns;	/* by a connection that was there then */
	TAILQ_ENTRY(op) waiting;
};

/* 0: it ended well. Above 0: the server's NFS status. Below: -errno, nobody answered or not in a
 * way that can be used. */
static inline int op_result(const struct op *op)
{
	return op->error ? op->error : (int)op->res.status;
}

/* What the request says of the reply's size: see weir_ulb_nfs_results_max(). */
uint32_t op_reply_count(const struct op *op);

/* Arguments and items. 0 or -errno of weir's calls. */
int op_put_args(const struct op *op, struct weir_call *call, const struct weir_region *region);

/* Results. 0; -EBADMSG: not decodable, or against the protocol. */
int op_get_results(struct op *op, const struct weir_call *call, const struct weir_result *result);

/* Returns whether the error of a retransmitted procedure can result from its own first execution,
 * whose reply was lost. Examples are a name that exists already and a name that is gone. */
bool op_is_own_echo(const struct op *op);

#endif
