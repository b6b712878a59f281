/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the threads that poll, and passes ops between them. */
#include "poller.h"

#include <errno.h>
#include <rte_lcore.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server.h"
#include "server_clock.h"

#define IDLE_POLLS    64u
#define IDLE_SLEEP_US 50u

int poller_init(struct poller *poller, struct server *server, int cpu)
{
	int rc;

	poller->server = server;
	poller->cpu = cpu;
	TAILQ_INIT(&poller->free_ops);
	TAILQ_INIT(&poller->outbox);
	LIST_INIT(&poller->op_holds);
	rc = weir_engine_create(&server->profile, &poller->engine);
	if (rc != 0)
		fprintf(stderr, "weir-nfsd: can't create an engine (driver %s): %s\n",
			server->profile.driver, strerror(-rc));
	return rc;
}

void poller_fini(struct poller *poller)
{
	op_free_all(poller);
}

static bool try_to_send(struct op *op)
{
	return weir_engine_post(op->mail.to->engine, op->mail.fn, op->mail.arg) == 0;
}

static uint32_t empty_outbox(struct poller *poller)
{
	struct op *op;
	uint32_t n = 0;

	while ((op = TAILQ_FIRST(&poller->outbox))) {
		bool is_release = op->mail.arg != op;

		/*
		 * The op is removed first, because the receiver can use the op as soon as the
		 * message is posted.
		 */
		TAILQ_REMOVE(&poller->outbox, op, entry);
		if (!try_to_send(op)) {
			TAILQ_INSERT_HEAD(&poller->outbox, op, entry);
			break;
		}
		if (is_release)
			op_free(op);
		n++;
	}
	return n;
}

void poller_send(struct poller *from, struct poller *to, struct op *op, poller_mail_fn fn,
		 void *arg)
{
	op->mail = (struct op_mail){to, fn, arg};
	TAILQ_INSERT_TAIL(&from->outbox, op, entry);
	if (TAILQ_FIRST(&from->outbox) == op)
		empty_outbox(from);
}

uint32_t poller_poll(struct poller *poller)
{
	struct exports *exports = &poller->server->exports;
	uint32_t work = weir_engine_poll(poller->engine, 0, server_now_ns());

	if (!TAILQ_EMPTY(&poller->outbox))
		work += empty_outbox(poller);
	for (uint32_t i = 0; i < exports->n; i++) {
		struct export *export = &exports->all[i];

		if (export->owner == poller && export->ops->poll)
			work += export->ops->poll(export->fs);
	}
	return work;
}

/*
 * Pins the thread to the core that the profile names. Returns true if it has done so. A pinned
 * thread polls without a pause. Any other thread yields when it finds no work.
 */
static bool pin(const struct poller *poller)
{
	cpu_set_t set;

	if (poller->cpu < 0)
		return false;
	CPU_ZERO(&set);
	CPU_SET((unsigned)poller->cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) == 0)
		return true;
	fprintf(stderr, "weir-nfsd: can't run on core %d: %s. It runs on any core\n", poller->cpu,
		strerror(errno));
	return false;
}

void poller_run(struct poller *poller)
{
	struct server *server = poller->server;
	bool is_pinned = pin(poller);
	enum weir_idle idle = server->profile.idle;
	bool spins = idle == WEIR_IDLE_SPIN || (idle == WEIR_IDLE_AUTO && is_pinned);
	bool is_known = rte_lcore_id() == LCORE_ID_ANY && rte_thread_register() == 0;
	uint32_t empty = 0;

	while (!atomic_load_explicit(server->stop, memory_order_relaxed)) {
		empty = poller_poll(poller) > 0 ? 0 : empty + 1;
		if (spins || empty < IDLE_POLLS)
			continue;
		empty = 0;
		if (idle == WEIR_IDLE_ADAPTIVE || idle == WEIR_IDLE_EVENT)
			usleep(IDLE_SLEEP_US);
		else
			sched_yield();
	}
	if (is_known)
		rte_thread_unregister();
}
