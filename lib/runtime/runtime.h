/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUNTIME_H
#define RUNTIME_H

/*
 * A runtime: pinned threads, each with an engine (weir/runtime.h). The files of this folder:
 *
 *   create.c   the start, and its undoing
 *   thread.c   what a thread does
 *   stop.c     the start of polling, the end, and polls without threads
 *   mail.c     messages between threads
 *   needs.[ch] what an engine needs of a machine
 *   runtime.c  functions that describe a runtime, listeners and the wait for the end
 *
 * The creating thread sets the phase of a runtime. The threads obey it:
 *
 *   PARKED:    a thread that has started waits on 'changed'
 *   RUNNING:   it polls
 *   DRAINING:  it polls, never sleeps, and reports whether it has work
 *   ENDING:    it runs 'fini' and ends
 *
 * A thread that polls reads the phase without the lock. If it sleeps, the creating thread posts a
 * function to its engine after a change of the phase.
 */

#include <pthread.h>
#include <stdatomic.h>

#include <weir/runtime.h>

#include "compiler.h"

#define RUNTIME_LISTENERS_MAX WEIR_RUNTIME_THREADS_MAX
#define RUNTIME_NAME_MAX      10u

enum runtime_phase { RUNTIME_PARKED, RUNTIME_RUNNING, RUNTIME_DRAINING, RUNTIME_ENDING };

struct runtime_thread {
	struct weir_runtime *runtime;
	uint32_t index;
	int cpu; /* -1: the thread is not pinned */
	pthread_t id;
	struct weir_engine *engine;
	/* messages that the mailbox of their receiver had no room for, in order */
	struct weir_runtime_mail *first_mail, *last_mail;
	bool has_thread;
	bool has_started; /* the start has ended, with the result 'rc'; guarded by the lock */
	bool has_init;	  /* 'init' succeeded, and 'fini' has not run */
	int rc;
	char why[400]; /* the reason of a failed start */
	/* DRAINING: the number of polls, and the number of those after which the thread had work */
	_Atomic uint32_t npolls, nbusy;
} aligned_to(64);

struct weir_runtime {
	struct weir_runtime_options options;
	struct weir_profile profile;
	char name[RUNTIME_NAME_MAX + 1];
	uint32_t nthreads;
	bool is_pinned; /* the CPUs in 'pinned' are reserved */
	cpu_set_t pinned;
	bool is_stopped;
	bool is_polling; /* weir_runtime_poll() runs; belongs to the owner of the engines */
	const struct engine_owner *creator; /* NULL: threads are not checked (owner.h) */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	_Atomic uint32_t phase; /* enum runtime_phase; changes under the lock */
	uint32_t nreturned;	/* threads whose 'run' has returned; guarded by the lock */
	int quit_fd;		/* an eventfd, which is readable after weir_runtime_quit() */
	uint32_t nlisteners;	/* this and 'listeners' belong to the owner of engine 0 */
	struct weir_listener *listeners[RUNTIME_LISTENERS_MAX];
	struct runtime_thread threads[WEIR_RUNTIME_THREADS_MAX];
};

static inline enum runtime_phase runtime_phase(const struct weir_runtime *runtime)
{
	return (enum runtime_phase)atomic_load_explicit(&runtime->phase, memory_order_acquire);
}

/* Sets the phase, and wakes all threads. */
void runtime_set_phase(struct weir_runtime *runtime, enum runtime_phase phase);

/* Returns the time of CLOCK_MONOTONIC. */
uint64_t runtime_now_ns(void);

/* thread.c. runtime_thread_create() starts a thread, and waits until its start has ended. It
 * returns 0, or -errno with the reason in thread->why. runtime_thread_join() waits for the end of a
 * thread, if there is one. runtime_thread_poll() polls the engine of a thread once, and returns the
 * amount of work done. runtime_is_own_thread() returns whether a thread of the runtime calls. */
int runtime_thread_create(struct runtime_thread *thread);
void runtime_thread_join(struct runtime_thread *thread);
uint32_t runtime_thread_poll(struct runtime_thread *thread, uint64_t now_ns);
bool runtime_is_own_thread(const struct weir_runtime *runtime);

/* mail.c: sends messages that wait. Returns how many were sent, and at least 1 if some still wait.
 */
uint32_t runtime_mail_flush(struct runtime_thread *thread);

#endif
