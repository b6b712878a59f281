/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WATCHDOG_H
#define WATCHDOG_H

/*
 * Decides when the server reports to the service manager that it works. It does so only if the
 * thread of each engine has polled since the last report. If a thread hangs, the service manager
 * hears nothing, and ends and restarts the server. A thread that finds no work polls every 100 ms.
 *
 * Nothing here reads a clock or sends a message: the caller passes the time and the numbers of
 * polls.
 */

#include <stdbool.h>
#include <stdint.h>

#include "poller.h"

struct watchdog {
	uint64_t interval_ns;	    /* time between two looks; 0 if there is no watchdog */
	uint64_t next_ns;	    /* time of the next look */
	uint64_t seen[POLLERS_MAX]; /* the polls of each thread at the last report */
};

/*
 * Initializes the watchdog. 'timeout_ns' is the time within which the service manager wants to hear
 * of the server, or 0 if it does not. The server looks four times in that time. A thread that does
 * not poll for half of that time therefore has no consequence.
 */
void watchdog_init(struct watchdog *watchdog, uint64_t timeout_ns, uint64_t now_ns);

/* Returns the time until the next look in milliseconds, or -1 if there is none. */
int watchdog_wait_ms(const struct watchdog *watchdog, uint64_t now_ns);

/*
 * Returns true if the server must report at the time 'now_ns' that it works.
 * polls[i] is the number of polls that thread i of n has made.
 */
bool watchdog_look(struct watchdog *watchdog, const uint64_t *polls, uint32_t n, uint64_t now_ns);

#endif
