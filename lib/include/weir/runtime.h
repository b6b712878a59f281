/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_RUNTIME_H
#define WEIR_RUNTIME_H

/*
 * Runtimes. A runtime starts the threads that a profile names, and gives each of them an engine.
 * An application that has threads of its own does not need a runtime: it creates engines and polls
 * them (weir/engine.h).
 *
 * Each CPU of the profile's 'lcores' has one thread, which is pinned to the CPU. If 'lcores' is ""
 * or "any", the threads are not pinned. A thread creates its engine after it was pinned, so the
 * memory of the engine is on the NUMA node of its CPU. If the profile has a section [engine:CPUS]
 * for the CPU, the section overrides keys of the profile for this engine. A thread whose poll found
 * no work does what the profile's 'idle' says. By default a pinned thread polls again at once, and
 * uses its CPU in full. The life of a runtime:
 *
 *   weir_runtime_create()   starts the threads. Each runs 'init', and then waits.
 *   weir_runtime_listen()   accepts connections, and distributes them over the threads
 *   weir_runtime_start()    lets the threads poll
 *   weir_runtime_wait()     waits for weir_runtime_quit(), which a handler of a signal can call
 *   weir_runtime_stop()     closes the listeners, waits for the end of calls and requests, lets
 *                           each thread run 'fini', and ends the threads
 *   weir_runtime_destroy()  destroys the engines
 *
 * Who owns the engines. Between create and start, and after stop, no thread polls. The thread that
 * calls these functions then owns all engines: it can add regions, listen, and poll by
 * weir_runtime_poll(). Between start and stop, each engine belongs to its thread.
 *
 * Names of threads. A thread has the name "NAME-CPU", such as "weir-3", or "NAME-INDEX" if it is
 * not pinned. NAME is that of the options. The threads block the signals that the kernel sends to
 * the process as a whole, so that other threads of the application handle them.
 *
 * Other threads. weir and EAL have helper threads, for example for connections over shm. While a
 * runtime with pinned threads exists, they run on the other CPUs that they are allowed to use, if
 * there are any. weir_runtime_keep_off() does the same for a thread of the application.
 *
 * Thread of all functions: the one that created the runtime, unless a description says otherwise. A
 * build with checks of threads (weir/engine.h) refuses calls from other threads: the functions
 * change nothing, set errno to EPERM, log this, and return -EPERM, 0 or nothing.
 */

#include <weir/engine.h>
#include <weir/request.h>

WEIR_BEGIN_DECLS

struct weir_runtime;

/** The maximum number of threads of a runtime. */
#define WEIR_RUNTIME_THREADS_MAX 64u

/** Options of weir_runtime_create(). All members except struct_bytes may be zero. */
struct weir_runtime_options {
	size_t struct_bytes; /**< size of the structure; set by the application; see weir/common.h
			      */
	const char *name;    /**< start of the threads' names; at most 10 bytes; NULL: "weir" */
	uint32_t nthreads;   /**< number of threads if they are not pinned; 0: one */
	/**
	 * Called on each thread, after its engine was created. A negative errno ends the start.
	 * The calls are made one after the other, in the order of the threads.
	 */
	int (*init)(struct weir_runtime *runtime, uint32_t thread, void *arg);
	/**
	 * Called on each thread after each poll of its engine, with the time of the poll. Returns
	 * the amount of other work that the thread has done. A thread sleeps only if that is 0.
	 */
	uint32_t (*poll)(struct weir_runtime *runtime, uint32_t thread, uint64_t now_ns, void *arg);
	/**
	 * Called once on each thread instead of the poll loop. The function polls the engine, does
	 * what 'idle' says by weir_engine_idle(), and returns soon after
	 * weir_runtime_is_stopping() returns true. 'poll' and 'is_busy' are not called then.
	 */
	void (*run)(struct weir_runtime *runtime, uint32_t thread, void *arg);
	/**
	 * Called on each thread while the runtime stops. Returns true as long as the thread must
	 * continue to poll. NULL: as long as the engine has calls or requests.
	 */
	bool (*is_busy)(struct weir_runtime *runtime, uint32_t thread, void *arg);
	/** Called on each thread whose 'init' succeeded, before the thread ends. */
	void (*fini)(struct weir_runtime *runtime, uint32_t thread, void *arg);
	void *arg; /**< passed to all of these functions */
	char *err; /**< receives the reason in one line if the function fails; NULL: the log */
	size_t err_bytes; /**< size of err; 512 bytes suffice */
};

/**
 * A message from one thread of a runtime to another. It belongs to the sender again when 'posted'
 * or 'fn' is called, whichever is first.
 */
struct weir_runtime_mail {
	void (*fn)(struct weir_engine *engine, void *arg); /**< runs on the receiving thread */
	void *arg;					   /**< passed to fn */
	/** Called on the sending thread when the receiver has the message. May be NULL. */
	void (*posted)(struct weir_runtime_mail *mail);
	struct weir_engine *to;		/**< weir's */
	struct weir_runtime_mail *next; /**< weir's */
};

/**
 * Starts the threads of a profile. Each creates its engine, runs 'init' and waits for
 * weir_runtime_start().
 *
 * If a step fails, the function undoes all steps before it returns: it runs 'fini' on the threads
 * whose 'init' succeeded, ends all threads and destroys all engines. Thread: any.
 *
 * @param profile the profile of all engines, with its sections for some of them; copied
 * @param options the options; copied
 * @param[out] runtime the runtime; set if the function returns 0
 * @retval 0 success
 * @retval -EINVAL the profile is not valid, struct_bytes of the options is too small, or the name
 * is too long
 * @retval -E2BIG there would be more than WEIR_RUNTIME_THREADS_MAX threads; or the profile or the
 * options have members that are not 0 and that this version of weir does not know
 * @retval -ENODEV a CPU of the profile is absent, offline or not allowed
 * @retval -EAGAIN a thread cannot be created
 * @retval -ENOMEM memory is exhausted
 * @retval other an error of weir_engine_create() or of 'init'
 * @owner the caller, until weir_runtime_destroy()
 */
WEIR_API int weir_runtime_create(const struct weir_profile *profile,
				 const struct weir_runtime_options *options,
				 struct weir_runtime **runtime);

/**
 * Stops a runtime that is not stopped yet, without waiting for calls, and destroys it. Thread: any
 * but those of the runtime. On one of these, and in a callback of weir_runtime_poll(), the function
 * changes nothing, logs this, and sets errno to EDEADLK.
 *
 * @param runtime the runtime; NULL is allowed
 */
WEIR_API void weir_runtime_destroy(struct weir_runtime *runtime);

/**
 * Returns the number of threads. Thread: any.
 *
 * @param runtime the runtime
 * @return the number, from 1 to WEIR_RUNTIME_THREADS_MAX
 */
WEIR_API uint32_t weir_runtime_threads(const struct weir_runtime *runtime);

/**
 * Returns the engine of a thread. A requester chooses the thread of a connection by the engine that
 * it passes to weir_connect(). Thread: any.
 *
 * @param runtime the runtime
 * @param thread index of the thread, from 0
 * @return the engine, which belongs to the runtime; NULL: there is no such thread, or its engine is
 * not created yet
 */
WEIR_API struct weir_engine *weir_runtime_engine(const struct weir_runtime *runtime,
						 uint32_t thread);

/**
 * Returns the CPU of a thread. Thread: any.
 *
 * @param runtime the runtime
 * @param thread index of the thread, from 0
 * @return the CPU to which the thread is pinned; -1: the thread is not pinned or does not exist
 */
WEIR_API int weir_runtime_cpu(const struct weir_runtime *runtime, uint32_t thread);

/**
 * Finds the thread of an engine, for example the one that weir_request_engine() returned. Thread:
 * any.
 *
 * @param runtime the runtime
 * @param engine the engine
 * @retval index the index of the thread, from 0
 * @retval -ENOENT the engine is not one of this runtime
 */
WEIR_API int weir_runtime_find(const struct weir_runtime *runtime,
			       const struct weir_engine *engine);

/**
 * Listens for connections on thread 0, and distributes them over the threads.
 *
 * weir_listen_options.engines says how connections are distributed. If it is NULL, it stands for
 * the engines of all threads. weir_runtime_stop() closes the listener, and the application must not
 * close it. It does not close listeners of weir_listen(). Thread: the owner of the engine of thread
 * 0.
 *
 * @param runtime the runtime
 * @param addr address in the driver's form; see weir_connect()
 * @param options see weir_listen()
 * @retval 0 success
 * @retval -ENOSPC the runtime already has WEIR_RUNTIME_THREADS_MAX listeners
 * @retval -ECANCELED the runtime is stopping
 * @retval other an error of weir_listen()
 */
WEIR_API int weir_runtime_listen(struct weir_runtime *runtime, const char *addr,
				 const struct weir_listen_options *options);

/**
 * Lets the threads poll. Their time is that of CLOCK_MONOTONIC.
 *
 * @param runtime the runtime
 * @retval 0 success
 * @retval -EALREADY the threads were started before
 */
WEIR_API int weir_runtime_start(struct weir_runtime *runtime);

/**
 * Waits until weir_runtime_quit() was called, or 'run' has returned on all threads.
 *
 * @param runtime the runtime
 */
WEIR_API void weir_runtime_wait(struct weir_runtime *runtime);

/**
 * Ends weir_runtime_wait(), also one that begins later. Thread: any. A handler of a signal may call
 * the function, too.
 *
 * @param runtime the runtime
 */
WEIR_API void weir_runtime_quit(struct weir_runtime *runtime);

/**
 * Returns whether weir_runtime_stop() has begun to end the threads. Thread: any.
 *
 * @param runtime the runtime
 * @return true if 'run' must return
 */
WEIR_API bool weir_runtime_is_stopping(const struct weir_runtime *runtime);

/**
 * Stops the threads, in this order:
 * 1. Closes the listeners. Connections continue.
 * 2. Polls until no thread is busy and no message is under way, for at most drain_ms.
 * 3. Runs 'fini' on each thread, and waits for the end of each thread.
 *
 * The engines continue to exist, with their connections, and belong to the calling thread. If the
 * threads were not started, or the options have 'run', step 2 is left out, and step 1 comes last.
 * Thread: any but those of the runtime.
 *
 * @param runtime the runtime
 * @param drain_ms time limit of step 2, in ms; 0: step 2 is left out
 * @retval 0 success, or the threads were stopped before
 * @retval -ETIMEDOUT the threads have ended, and one was still busy
 * @retval -EDEADLK a thread of the runtime calls; nothing has changed
 */
WEIR_API int weir_runtime_stop(struct weir_runtime *runtime, uint32_t drain_ms);

/**
 * Polls all engines once on the calling thread: before weir_runtime_start() or after
 * weir_runtime_stop(). Also sends messages that wait, and calls 'poll'. Thread: the owner of all
 * engines.
 *
 * @param runtime the runtime
 * @return the amount of work done; 0 if the threads run
 */
WEIR_API uint32_t weir_runtime_poll(struct weir_runtime *runtime);

/**
 * Runs mail->fn on another thread.
 *
 * The function never fails: while the mailbox of the receiver is full, the message waits at the
 * sender, and so do the sender's later messages to all receivers. Messages of one sender arrive in
 * order at each receiver. Threads that do not belong to the runtime use weir_engine_post() instead.
 * If a thread does not exist, the message is dropped, and this is logged. Thread: the owner of the
 * engine of 'from'.
 *
 * @param runtime the runtime
 * @param from index of the sending thread, from 0
 * @param to index of the receiving thread, from 0; it can be equal to 'from'
 * @param mail the message, which must not change until it belongs to the sender again
 */
WEIR_API void weir_runtime_send(struct weir_runtime *runtime, uint32_t from, uint32_t to,
				struct weir_runtime_mail *mail);

/**
 * Wakes a sleeping thread while a descriptor is readable, for work that weir does not know.
 *
 * 'poll' of the options must handle the work, because a thread whose descriptor is readable does
 * not sleep. Closing the descriptor ends the watch. Thread: the owner of the engine of 'thread'.
 *
 * @param runtime the runtime
 * @param thread index of the thread, from 0
 * @param fd the descriptor
 * @retval 0 success; or the driver cannot wake a thread, and each sleep takes only 50 us
 * @retval -EINVAL there is no such thread
 * @retval -EEXIST the thread already watches the descriptor
 * @retval other a negative errno: the descriptor cannot be watched
 */
WEIR_API int weir_runtime_watch(struct weir_runtime *runtime, uint32_t thread, int fd);

/**
 * Moves the calling thread off the CPUs to which threads of runtimes are pinned, if it is allowed
 * to use others. Threads that it creates later inherit this. Thread: any.
 *
 * @retval 0 the thread was moved, or no thread is pinned
 * @retval -ENODEV the calling thread may use no other CPU; nothing was changed
 * @retval other a negative errno of sched_setaffinity(2)
 */
WEIR_API int weir_runtime_keep_off(void);

WEIR_END_DECLS

#endif
