/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool of ops of a poller. It is divided among clients and their connections, as doc/limits.rst
 * describes.
 */
#include <stdlib.h>
#include <string.h>

#include "op.h"
#include "poller.h"

struct op *op_take(struct poller *home, struct caller *caller)
{
	struct op *op;

	if (!holds_allow(&home->op_holds, &caller->ops.holder, OPS_MAX, OPS_MAX - home->nops_used,
			 1))
		return NULL;
	op = TAILQ_FIRST(&home->free_ops);
	if (op)
		TAILQ_REMOVE(&home->free_ops, op, entry);
	else
		op = malloc(sizeof(*op));
	if (!op)
		return NULL;
	/*
	 * The arguments and other members before 'res' are not cleared. They are large, and always
	 * written before they are read.
	 */
	memset(&op->res, 0, sizeof(*op) - offsetof(struct op, res));
	op->server = home->server;
	op->home = home;
	op->caller = caller;
	op->holder = caller->ops.holder;
	caller_add_op(caller, &home->op_holds);
	home->nops_used++;
	return op;
}

void op_free(struct op *op)
{
	free(op->entries_buf);
	op->home->nops_used--;
	caller_remove_op(op->caller);
	TAILQ_INSERT_HEAD(&op->home->free_ops, op, entry);
}

/*
 * The caller and the poller count one op, first the old one and then the new one. op_discard()
 * therefore does not change these counts.
 */
struct op *op_replace(struct op *op)
{
	struct op *other = malloc(sizeof(*other));

	if (!other)
		return NULL;
	memset(&other->res, 0, sizeof(*other) - offsetof(struct op, res));
	other->server = op->server;
	other->home = op->home;
	other->req = op->req;
	other->proc = op->proc;
	other->is_away = op->is_away;
	other->export = op->export;
	other->caller = op->caller;
	other->holder = op->holder;
	other->is_read_only = op->is_read_only;
	other->cred = op->cred;
	other->data = NULL;
	other->data_bytes = 0;
	return other;
}

void op_discard(struct op *op)
{
	free(op->entries_buf);
	free(op);
}

void op_free_all(struct poller *poller)
{
	struct op *op;

	while ((op = TAILQ_FIRST(&poller->free_ops))) {
		TAILQ_REMOVE(&poller->free_ops, op, entry);
		free(op);
	}
}
