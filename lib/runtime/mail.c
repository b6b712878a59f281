/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes messages between the threads of a runtime, through the mailboxes of their engines. */
#include "runtime.h"

#include "log.h"
#include "owner.h"

static bool try_to_post(struct weir_runtime_mail *mail)
{
	/* After a message without 'posted' was posted, its memory can be gone. */
	void (*posted)(struct weir_runtime_mail *) = mail->posted;

	if (weir_engine_post(mail->to, mail->fn, mail->arg) != 0)
		return false;
	if (posted)
		posted(mail);
	return true;
}

uint32_t runtime_mail_flush(struct runtime_thread *thread)
{
	uint32_t n = 0;

	while (thread->first_mail) {
		struct weir_runtime_mail *mail = thread->first_mail, *next = mail->next;

		/* The message leaves the list first, because 'posted' can send another one. */
		thread->first_mail = next;
		if (!try_to_post(mail)) {
			thread->first_mail = mail;
			return n > 0 ? n : 1;
		}
		n++;
	}
	return n;
}

void weir_runtime_send(struct weir_runtime *runtime, uint32_t from, uint32_t to,
		       struct weir_runtime_mail *mail)
{
	struct runtime_thread *sender;

	if (from >= runtime->nthreads || to >= runtime->nthreads) {
		LOG(ENGINE, ERROR,
		    "weir_runtime_send() from thread %u to %u drops its message: the runtime has "
		    "%u threads",
		    from, to, runtime->nthreads);
		return;
	}
	sender = &runtime->threads[from];
	if (OTHER_THREAD(sender->engine))
		return;
	mail->to = runtime->threads[to].engine;
	mail->next = NULL;
	if (sender->first_mail)
		sender->last_mail->next = mail;
	else if (!try_to_post(mail))
		sender->first_mail = mail;
	else
		return;
	sender->last_mail = mail;
}
