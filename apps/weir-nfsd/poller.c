/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of a thread that serves exports, and messages that carry ops between threads. */
#include "poller.h"

#include <stddef.h>

#include "server.h"

void poller_init(struct poller *poller, struct server *server, uint32_t index)
{
	poller->server = server;
	poller->index = index;
	poller->engine = weir_runtime_engine(server->runtime, index);
	TAILQ_INIT(&poller->free_ops);
	LIST_INIT(&poller->op_holds);
}

void poller_fini(struct poller *poller)
{
	op_free_all(poller);
}

/* Frees the op whose message to release memory has been sent. */
static void on_release_sent(struct weir_runtime_mail *mail)
{
	struct op *op = (struct op *)((char *)mail - offsetof(struct op, mail));

	op->home->nreleases--;
	op_free(op);
}

void poller_send(struct poller *from, struct poller *to, struct op *op, poller_mail_fn fn,
		 void *arg)
{
	bool is_release = arg != op;

	from->nreleases += is_release;
	op->mail = (struct weir_runtime_mail){
		.fn = fn, .arg = arg, .posted = is_release ? on_release_sent : NULL};
	weir_runtime_send(from->server->runtime, from->index, to->index, &op->mail);
}

int poller_watch(struct poller *poller, int fd)
{
	return weir_runtime_watch(poller->server->runtime, poller->index, fd);
}

uint32_t poller_poll(struct poller *poller, uint64_t now_ns)
{
	struct exports *exports = &poller->server->exports;
	uint32_t work = 0;

	for (uint32_t i = 0; i < exports->n; i++) {
		struct export *export = &exports->all[i];

		if (export->owner == poller && export->ops->poll)
			work += export->ops->poll(export->fs, now_ns);
	}
	return work;
}
