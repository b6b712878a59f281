/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RELOAD_H
#define RELOAD_H

/*
 * Reads the exports again while the server runs. The rules of each export, and its clients, become
 * those of the files at once, for all connections. Connections stay. An export that the files no
 * more contain is withdrawn, and can come back by a later reload. A new export, another back end
 * and another size need a restart, because memory, io_uring and private mounts are acquired before
 * the sandbox forbids that. If anything is wrong, all exports stay as they were.
 *
 * A thread does this, because the names of clients are looked up, which can take many seconds. The
 * main thread meanwhile handles signals and the watchdog.
 */

#include <stdatomic.h>
#include <stdbool.h>

#include "options.h"

enum reload_state { RELOAD_IDLE, RELOAD_RUNS, RELOAD_DONE, RELOAD_FAILED };

struct reload {
	const struct options *options;
	struct exports *served;
	void (*on_end)(void *arg); /* called on the thread at its end */
	void *arg;
	_Atomic uint32_t state; /* enum reload_state */
};

/*
 * Reads the exports of the command line and its files, and replaces the rules of the exports
 * 'served'. Returns 0, or -1 after it has printed the reason on standard error.
 */
int reload_exports(const struct options *options, struct exports *served);

/*
 * Starts a thread that calls reload_exports(). The state must not be RELOAD_RUNS. It becomes
 * RELOAD_DONE or RELOAD_FAILED, also if there is no thread.
 */
void reload_start(struct reload *reload);

#endif
