/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HELPER_H
#define HELPER_H

/*
 * Helper threads: the threads that weir and its drivers start beside those that poll. They block
 * all signals, because the application's threads handle signals. They keep off the CPUs to which
 * threads of a runtime (weir/runtime.h) are pinned, if they are allowed to use other CPUs. So do
 * the helper threads of EAL.
 */

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

/* Starts a helper thread. Its name has at most 15 bytes. Returns 0 or -errno. Any thread may call
 * this function. */
int helper_create(pthread_t *thread, const char *name, void *(*fn)(void *), void *arg);

/* Reserves the CPUs of a set for pinned threads, and moves helper threads off them. helper_allow()
 * ends this. A CPU that is reserved twice is reserved until both have ended. Any thread may call
 * these functions. */
void helper_keep_off(const cpu_set_t *pinned);
void helper_allow(const cpu_set_t *pinned);

/* Removes the reserved CPUs from 'set'. Returns false, with an unchanged set, if none were left. */
bool helper_subtract_reserved(cpu_set_t *set);

#endif
