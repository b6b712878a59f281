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

/*
 * On x86, DPDK's rings rely on the memory order of the processor, which a thread sanitizer does not
 * know. Between RING_BEGIN() and RING_END(), it therefore ignores the accesses of a thread.
 * MAIL_SENT() and MAIL_TAKEN() inform it that the consumer of a message sees everything that the
 * producer of the message did before.
 */
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
/* The headers of the sanitizer do not declare these functions. */
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);

#define MAIL_SENT(mailbox)  __tsan_release(mailbox)
#define MAIL_TAKEN(mailbox) __tsan_acquire(mailbox)
#define RING_BEGIN()                                                                               \
	do {                                                                                       \
		AnnotateIgnoreReadsBegin(__FILE__, __LINE__);                                      \
		AnnotateIgnoreWritesBegin(__FILE__, __LINE__);                                     \
	} while (0)
#define RING_END()                                                                                 \
	do {                                                                                       \
		AnnotateIgnoreWritesEnd(__FILE__, __LINE__);                                       \
		AnnotateIgnoreReadsEnd(__FILE__, __LINE__);                                        \
	} while (0)
#else
#define MAIL_SENT(mailbox)  (void)(mailbox)
#define MAIL_TAKEN(mailbox) (void)(mailbox)
#define RING_BEGIN()	    (void)0
#define RING_END()	    (void)0
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
	int rc;

	if (engine_is_forked(engine))
		return engine_fork_refuse();
	MAIL_SENT(engine->mailbox);
	RING_BEGIN();
	rc = rte_ring_enqueue_elem(engine->mailbox, &mail, sizeof(mail));
	RING_END();
	if (rc != 0)
		return -EAGAIN;
	fabric_wake(&engine->waker);
	return 0;
}

bool mailbox_is_empty(const struct weir_engine *engine)
{
	bool is_empty;

	RING_BEGIN();
	is_empty = rte_ring_empty(engine->mailbox);
	RING_END();
	return is_empty;
}

uint32_t mailbox_poll(struct weir_engine *engine)
{
	struct mail mails[MAILBOX_BURST];
	uint32_t n;

	if (mailbox_is_empty(engine))
		return 0;
	RING_BEGIN();
	n = rte_ring_dequeue_burst_elem(engine->mailbox, mails, sizeof(mails[0]), MAILBOX_BURST,
					NULL);
	RING_END();
	MAIL_TAKEN(engine->mailbox);
	for (uint32_t i = 0; i < n; i++)
		mails[i].fn(engine, mails[i].arg);
	return n;
}
