/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_ENGINE_H
#define WEIR_ENGINE_H

/*
 * Engines. An engine has all objects of weir that one polling thread uses: a device, connections,
 * buffers and keys. It has no thread of its own, and works only inside weir_engine_poll(). The
 * thread that owns the engine calls that function in a loop. This can be a DPDK lcore, an SPDK
 * reactor or any other thread. Use everything that belongs to an engine on that thread only.
 * Another thread can run a function on it with weir_engine_post().
 *
 * Sleeping. A thread that finds no work can poll again at once, or it can sleep until there is
 * work. weir_engine_idle() does what the profile's 'idle' says. A thread that also waits for other
 * descriptors sleeps by its own poll(2), epoll(7) or io_uring:
 *
 *   int fd = weir_engine_fd(engine);
 *   uint64_t timeout_ns;
 *
 *   for (;;) {
 *           while (weir_engine_poll(engine, 0, now_ns()) > 0)
 *                   ;
 *           if (weir_engine_arm(engine, now_ns(), &timeout_ns) == -EAGAIN)
 *                   continue;
 *           wait until 'fd' is readable, for at most timeout_ns;
 *           weir_engine_disarm(engine);
 *   }
 *
 * No work is lost between the last poll and the sleep. weir_engine_arm() first marks the engine as
 * armed, then makes a full memory barrier, and then checks whether there is work. Who creates work,
 * such as a peer that sends a message, first stores the work and then reads the mark, with a full
 * barrier in between. So the engine sees the work, or the other side sees the mark and makes 'fd'
 * readable. Over shm, the barrier of the sender is made by membarrier(2) in weir_engine_arm(), so
 * that a sender pays nothing for it while the receiver polls.
 *
 * Threads. The first thread that polls an engine is its owner, until the thread ends or calls
 * weir_engine_disown(). Before that, and after that, any one thread may use the engine. A build of
 * weir with -Dthread_checks=enabled, which is the default for builds of type 'debug', checks this
 * at the beginning of each function. If another thread calls:
 *   - The function changes nothing, sets errno to EPERM, and logs an error with its own name and
 *     both threads. At most ten such lines are logged.
 *   - Functions that return an error return -EPERM. The others return NULL, 0 or false.
 * Functions whose description says "Thread: any" are not checked, nor are those that store or
 * return the user's pointer of an object: a program may call them on any thread, while the object
 * exists.
 *
 * Callbacks. weir calls functions of the application inside weir_engine_poll() and
 * weir_engine_destroy(), and some of them also inside functions that send, such as
 * weir_request_reply(). Unless its description says otherwise, a callback may call all functions
 * of weir except five on its own engine: weir_engine_poll() and weir_engine_destroy(), which fail
 * with errno EDEADLK, weir_engine_arm(), weir_engine_idle() and weir_engine_idle_until().
 *
 * fork(2). An engine belongs to the process that created it. In a child process:
 *   - Functions on the engine, and on its connections, listeners, calls and requests, fail with
 *     -ECHILD. Functions that return a pointer or a count set errno to ECHILD. Functions that
 *     return nothing do nothing. weir_conn_is_open() returns false. weir_engine_counters() returns
 *     the counts at the time of the fork. weir_call_reuse(), weir_call_args() and the functions
 *     that describe a call or results can still work on the child's copy, but weir_call_submit()
 *     fails. No callback runs. The first such use logs one line.
 *   - weir_engine_destroy() releases the child's copy of the engine's memory. It reports nothing to
 *     peers. It does not free connections and calls, which end with the process.
 *   - fork() closes the child's copies of sockets. A child therefore does not hide the end of its
 *     parent from peers. Peers over shm also notice the end of the process if the child was created
 *     by clone(2) or _Fork(3), which do not run handlers of pthread_atfork(3). Such a child must
 *     not call weir. Over RDMA, a child keeps the device open, so it should soon exit or call exec.
 *   - Regions stay mapped and are shared with the parent. The child may read them and must not
 *     write to them.
 *   - A child may create engines of its own if no other thread of the parent was inside weir or
 *     DPDK at the time of the fork.
 * exec closes all descriptors of weir, and those of EAL if weir started it. vfork(2) and
 * posix_spawn(3) need no care.
 */

#include <weir/common.h>
#include <weir/memory.h>
#include <weir/profile.h>

WEIR_BEGIN_DECLS

struct weir_engine;

/**
 * Creates an engine.
 *
 * The function opens the profile's driver, and allocates and registers all buffers. If the process
 * has not initialised DPDK's EAL, the function initialises it. Call it on the thread that will own
 * the engine, or before that thread starts.
 *
 * @param profile the configuration; copied
 * @param[out] engine the engine; set if the function returns 0
 * @retval 0 success
 * @retval -EINVAL the profile is not valid; weir_profile_check() says why
 * @retval -E2BIG the profile has members that are not 0 and that this version of weir does not know
 * @retval -ENOMEM memory is exhausted
 * @retval -EBUSY the process already has the maximum number of engines
 * @retval other an error of the driver
 * @owner the caller, until weir_engine_destroy()
 */
WEIR_API int weir_engine_create(const struct weir_profile *profile, struct weir_engine **engine);

/**
 * Destroys an engine.
 *
 * The function closes all connections and listeners. Each call ends with -ECONNABORTED. Callbacks
 * run inside the function. In these callbacks, weir_connect() and weir_listen() fail with
 * -ECANCELED. Over shm the function waits for peers that are writing to this side's memory, for at
 * most two seconds in total.
 *
 * Requests that have no reply yet remain valid, without arguments, until weir_request_reply(),
 * which only frees them. The regions that were added are removed, and still belong to the caller.
 *
 * In a callback of the engine, the function changes nothing, logs an error (at most ten times in a
 * process), and sets errno to EDEADLK. Return from the callback first, and destroy the engine then.
 * In a child of fork(2), see the top of this header.
 *
 * @param engine the engine; NULL is allowed
 */
WEIR_API void weir_engine_destroy(struct weir_engine *engine);

/**
 * Does pending work: completions, connection events, timers and posted functions. Then it posts the
 * messages that were queued. Callbacks run inside the function.
 *
 * In a callback of the engine, the function does nothing, sets errno to EDEADLK, and logs an error
 * once in the process. Thread: the owner.
 *
 * @param engine the engine
 * @param budget maximum number of completions; 0: the profile's poll_budget
 * @param now_ns the time in ns, by any clock that never goes back. All time-outs are measured by
 * this clock.
 * @return the amount of work done; 0 if there was none, or, with errno ECHILD, in a child of
 * fork(2), or, with errno EDEADLK, in a callback of the engine
 */
WEIR_API uint32_t weir_engine_poll(struct weir_engine *engine, uint32_t budget, uint64_t now_ns);

/**
 * Ends the ownership of the calling thread. The next thread that polls the engine becomes its
 * owner. A program needs this if it moves an engine to another thread while the first one still
 * runs. It has to make sure that the other thread uses the engine only after this function has
 * returned. In a build without checks of threads, the function does nothing. Thread: the owner.
 *
 * @param engine the engine
 */
WEIR_API void weir_engine_disown(struct weir_engine *engine);

/**
 * Returns the time of the latest poll. Thread: the owner.
 *
 * @param engine the engine
 * @return the now_ns of the latest weir_engine_poll(); 0 before the first
 */
WEIR_API uint64_t weir_engine_now(const struct weir_engine *engine);

/**
 * Runs a function on the owner's thread.
 *
 * A later poll, or weir_engine_destroy(), calls fn(engine, arg). Functions posted by one thread run
 * in order. Thread: any.
 *
 * @param engine the engine; it must exist
 * @param fn the function
 * @param arg passed to fn
 * @retval 0 fn will run
 * @retval -EAGAIN the mailbox is full; try again after the owner has polled
 * @retval -ECHILD the process is a child of fork(2)
 */
WEIR_API int weir_engine_post(struct weir_engine *engine, void (*fn)(struct weir_engine *, void *),
			      void *arg);

/**
 * Returns a descriptor that becomes readable while the engine is armed and there is work.
 *
 * The first call creates the descriptor. It is an epoll descriptor, which collects those of the
 * driver. Add it to an epoll instance, or pass it to poll(2) or to IORING_OP_POLL_ADD, for input.
 * Do not read from it, and do not change it. It can become readable without a cause. Thread: the
 * owner.
 *
 * @param engine the engine
 * @return the descriptor, which belongs to the engine and is closed by weir_engine_destroy(); or a
 * negative errno: see below
 * @retval -EOPNOTSUPP the driver cannot wake a thread
 * @retval -EMFILE the process has no free descriptor
 * @retval -ECHILD the process is a child of fork(2)
 * @retval other the system cannot create the descriptor
 */
WEIR_API int weir_engine_fd(struct weir_engine *engine);

/**
 * Prepares for a sleep: from this call on, new work makes the descriptor of weir_engine_fd()
 * readable.
 *
 * Messages, connection requests, other events of connections and functions of weir_engine_post()
 * are work. Deadlines are not: the caller must not sleep for longer than *timeout_ns. Between this
 * call and weir_engine_disarm(), the thread must only wait. Do not call the function in a callback.
 * Thread: the owner.
 *
 * @param engine the engine
 * @param now_ns the time in ns, by the clock of weir_engine_poll()
 * @param[out] timeout_ns the time in ns until the next deadline, such as the time-out of a call or
 * the next attempt to reconnect; UINT64_MAX: there is none. It is set if the function returns 0.
 * @retval 0 the engine is armed
 * @retval -EAGAIN the engine has work, or a deadline is over: poll again. The engine is not armed.
 * @retval -EINVAL the function was called in a callback, or before weir_engine_fd()
 * @retval -ECHILD the process is a child of fork(2)
 */
WEIR_API int weir_engine_arm(struct weir_engine *engine, uint64_t now_ns, uint64_t *timeout_ns);

/**
 * Ends what weir_engine_arm() began. From this call on, work does not make the descriptor readable.
 *
 * Call the function after each sleep, before the next poll. It does nothing if the engine is not
 * armed. Thread: the owner.
 *
 * @param engine the engine
 */
WEIR_API void weir_engine_disarm(struct weir_engine *engine);

/**
 * Does what the profile's 'idle' says after a poll, for a thread that serves only this engine.
 *
 * Call the function after each weir_engine_poll(). If there was work, it returns at once. Otherwise
 * it can pause, give up the rest of the time slice, or sleep until there is work, for at most
 * 100 ms. A thread that waits for other descriptors, too, calls weir_engine_arm() instead. If the
 * driver cannot wake a thread, each sleep takes 50 us. Do not call the function in a callback.
 * Thread: the owner.
 *
 * @param engine the engine
 * @param work what weir_engine_poll() returned; more if the thread has done other work
 * @param now_ns the time in ns that was passed to weir_engine_poll()
 */
WEIR_API void weir_engine_idle(struct weir_engine *engine, uint32_t work, uint64_t now_ns);

/**
 * Does the same as weir_engine_idle(), except that a sleep ends at a time of the caller.
 *
 * A program uses it if it has deadlines of its own, such as the time of its next call. The kernel
 * may end a sleep later by its timer slack, which is 50 us by default; see PR_SET_TIMERSLACK in
 * prctl(2). Do not call the function in a callback. Thread: the owner.
 *
 * @param engine the engine
 * @param work see weir_engine_idle()
 * @param now_ns see weir_engine_idle()
 * @param until_ns the time in ns, by the same clock, at which a sleep ends at the latest. If it is
 * not after now_ns, the function does not sleep. UINT64_MAX: the function does what
 * weir_engine_idle() does.
 */
WEIR_API void weir_engine_idle_until(struct weir_engine *engine, uint32_t work, uint64_t now_ns,
				     uint64_t until_ns);

/**
 * Registers a region with the engine's device, so that calls and replies can name it.
 *
 * Registration can take long: do it before the first call. Thread: the owner.
 *
 * @param engine the engine
 * @param region the region; it must exist until it is removed or the engine is destroyed
 * @retval 0 success
 * @retval -ENOSPC the engine already has 48 regions
 * @retval -ECHILD the process is a child of fork(2)
 * @retval other an error of the driver
 */
WEIR_API int weir_engine_add_region(struct weir_engine *engine, struct weir_region *region);

/**
 * Removes a region that no call and no reply names any more.
 *
 * weir_engine_destroy() removes all regions that are left. Thread: the owner.
 *
 * @param engine the engine
 * @param region a region that was added
 */
WEIR_API void weir_engine_remove_region(struct weir_engine *engine, struct weir_region *region);

/**
 * Returns the exposure policy that is in effect. Thread: any.
 *
 * @param engine the engine
 * @return WEIR_EXPOSURE_WINDOW or WEIR_EXPOSURE_POOL; if the profile says 'auto', the policy that
 * weir chose for the device
 */
WEIR_API enum weir_exposure weir_engine_exposure(const struct weir_engine *engine);

WEIR_END_DECLS

#endif
