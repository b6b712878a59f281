/* SPDX-License-Identifier: BSD-3-Clause */
/* The ops of a poller: a pool that is divided among clients and their connections, as doc/limits.rst says. */
#include <stdlib.h>
#include <string.h>

#include "op.h"
#include "poller.h"

struct op *op_take(struct poller *home, struct caller *caller)
{
	struct op *op;

	if (!holds_allow(&home->op_holds, &caller->ops.holder, OPS_MAX, OPS_MAX - home->nops_used, 1))
		return NULL;
	op = TAILQ_FIRST(&home->free_ops);
	if (op)
		TAILQ_REMOVE(&home->free_ops, op, entry);
	else
		op = malloc(sizeof(*op));
	if (!op)
		return NULL;
	/* Not the arguments, which are large, and written before they are read. */
	memset(&op->res, 0, sizeof(*op) - offsetof(struct op, res));
	op->server = home->server;
	op->home = home;
	op->caller = caller;
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

void op_free_all(struct poller *poller)
{
	struct op *op;

	while ((op = TAILQ_FIRST(&poller->free_ops))) {
		TAILQ_REMOVE(&poller->free_ops, op, entry);
		free(op);
	}
}
