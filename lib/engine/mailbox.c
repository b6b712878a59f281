/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mailbox of an engine: functions that other threads post, and that the engine's thread runs in
 * its poll loop.
 */
#include "mailbox.h"

#include <errno.h>

#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "alloc.h"
#include "engine.h"
#include "forked.h"

#define MAILBOX_SIZE  1024u /* capacity of a mailbox in messages; a power of two */
#define MAILBOX_BURST 32u

/* MAIL_SENT() and MAIL_TAKEN() inform a thread sanitizer that the consumer of a message sees
 * everything that the producer of the message did before. On x86, DPDK's rings rely on the memory
 * order of the processor, which the sanitizer does not know. The suppressions exclude the code of
 * the rings from its checks. */
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#define MAIL_SENT(mailbox)  __tsan_release(mailbox)
#define MAIL_TAKEN(mailbox) __tsan_acquire(mailbox)

__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);

const char *__tsan_default_suppressions(void)
{
	return "race:rte_ring_elem_pvt.h\nrace:rte_ring_rts_elem_pvt.h\nrace:rte_ring_generic_pvt."
	       "h\n"
	       "race:rte_ring.h\nrace:rte_ring_elem.h\n";
}
#else
#define MAIL_SENT(mailbox)  (void)(mailbox)
#define MAIL_TAKEN(mailbox) (void)(mailbox)
#endif

struct mail {
	void (*fn)(struct weir_engine *, void *);
	void *arg;
};

int mailbox_create(struct weir_engine *engine)
{
	ssize_t bytes = rte_ring_get_memsize_elem(sizeof(struct mail), MAILBOX_SIZE);

	if (bytes < 0)
		return (int)bytes;
	engine->mailbox = mem_zalloc((size_t)bytes);
	if (!engine->mailbox)
		return -ENOMEM;
	/*
	 * RING_F_MP_RTS_ENQ: if a producer is descheduled during an enqueue, the other producers do
	 * not have to wait for it for long.
	 */
	return rte_ring_init(engine->mailbox, "weir_mailbox", MAILBOX_SIZE,
			     RING_F_MP_RTS_ENQ | RING_F_SC_DEQ);
}

void mailbox_destroy(struct weir_engine *engine)
{
	mem_free(engine->mailbox);
	engine->mailbox = NULL;
}

int weir_engine_post(struct weir_engine *engine, void (*fn)(struct weir_engine *, void *),
		     void *arg)
{
	struct mail mail = {fn, arg};

	if (engine_is_forked(engine))
		return engine_fork_refuse();
	MAIL_SENT(engine->mailbox);
	if (rte_ring_enqueue_elem(engine->mailbox, &mail, sizeof(mail)) != 0)
		return -EAGAIN;
	fabric_wake(&engine->waker);
	return 0;
}

bool mailbox_is_empty(const struct weir_engine *engine)
{
	return rte_ring_empty(engine->mailbox);
}

uint32_t mailbox_poll(struct weir_engine *engine)
{
	struct mail mails[MAILBOX_BURST];
	uint32_t n;

	if (rte_ring_empty(engine->mailbox))
		return 0;
	n = rte_ring_dequeue_burst_elem(engine->mailbox, mails, sizeof(mails[0]), MAILBOX_BURST,
					NULL);
	MAIL_TAKEN(engine->mailbox);
	for (uint32_t i = 0; i < n; i++)
		mails[i].fn(engine, mails[i].arg);
	return n;
}
