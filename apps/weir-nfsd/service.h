/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVICE_H
#define SERVICE_H

/*
 * This is the loop of the main thread while the pollers run. The loop reloads the exports on
 * SIGHUP. It also reports to the service manager what the server does, and that the pollers work.
 */

#include "notify.h"
#include "options.h"
#include "reload.h"
#include "watchdog.h"

struct server;

struct service {
	struct server *server;
	const struct options *options;
	struct notify notify;
	struct watchdog watchdog;
	struct reload reload;
	atomic_bool wants_reload; /* set by a handler of a signal */
	bool is_reloading;
};

/*
 * Opens the socket of the service manager that the environment names. A server in the background
 * sends nothing, because the service manager does not know its process. The caller has set
 * service->server. Returns 0, or -errno after it has printed the reason on standard error.
 */
int service_open(struct service *service, const struct options *options);
/* Asks for a reload of the exports. A handler of a signal may call this function. */
void service_hang_up(struct service *service);
/* Runs until server_quit() is called. The pollers must run. */
void service_run(struct service *service);
/*
 * Returns true if the thread that reloads the exports still runs. It uses the exports, so that they
 * must not be released.
 */
bool service_is_reloading(const struct service *service);
void service_close(struct service *service);

#endif
