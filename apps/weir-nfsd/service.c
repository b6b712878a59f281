/* SPDX-License-Identifier: BSD-3-Clause */
/* Reloads the exports on SIGHUP, and reports to the service manager that the server works. */
#include "service.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server.h"
#include "server_clock.h"

#define MESSAGE_BYTES 1024u /* a longer message to the service manager is cut */

static void wake_server(void *arg)
{
	server_wake(arg);
}

int service_open(struct service *service, const struct options *options)
{
	bool is_known = options->is_foreground;

	service->options = options;
	service->reload = (struct reload){.options = options,
					  .served = &service->server->exports,
					  .on_end = wake_server,
					  .arg = service->server};
	return notify_open(&service->notify, is_known ? getenv("NOTIFY_SOCKET") : NULL);
}

void service_hang_up(struct service *service)
{
	atomic_store(&service->wants_reload, true);
	server_wake(service->server);
}

static uint32_t count_usable(const struct exports *exports)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < exports->n; i++)
		n += !exports->all[i].is_withdrawn;
	return n;
}

/* Reports that the server is ready, after its start or after a reload. */
static void report_ready(const struct service *service, const char *more)
{
	uint32_t n = count_usable(&service->server->exports);
	char text[MESSAGE_BYTES];

	snprintf(text, sizeof(text), "READY=1\nSTATUS=Serving %u export%s on %s (%s)%s", n,
		 n == 1 ? "" : "s", service->options->listen, service->options->profile.driver,
		 more);
	notify_send(&service->notify, text);
}

static void begin_reload(struct service *service)
{
	char text[MESSAGE_BYTES];

	service->is_reloading = true;
	snprintf(text, sizeof(text),
		 "RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "\nSTATUS=Reading the exports",
		 server_now_ns() / 1000u);
	notify_send(&service->notify, text);
	reload_start(&service->reload);
}

static void end_reload(struct service *service)
{
	bool is_good = service->reload.state == RELOAD_DONE;
	uint32_t n = count_usable(&service->server->exports);

	service->is_reloading = false;
	if (is_good)
		fprintf(stderr, "weir-nfsd: the exports were read again: %u can be used\n", n);
	else
		fprintf(stderr, "weir-nfsd: the exports stay as they were\n");
	report_ready(service, is_good ? ""
				      : ". The last reload failed, and the exports stay as they "
					"were: see the messages");
}

static void look_at_pollers(struct service *service)
{
	struct server *server = service->server;
	uint64_t polls[POLLERS_MAX];

	for (uint32_t i = 0; i < server->npollers; i++)
		polls[i] = atomic_load_explicit(&server->pollers[i].npolls, memory_order_relaxed);
	if (watchdog_look(&service->watchdog, polls, server->npollers, server_now_ns()))
		notify_send(&service->notify, "WATCHDOG=1");
}

void service_run(struct service *service)
{
	struct server *server = service->server;
	uint64_t timeout_ns = 0;

	if (service->notify.fd >= 0)
		timeout_ns = notify_watchdog_ns(getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"),
						getpid());
	watchdog_init(&service->watchdog, timeout_ns, server_now_ns());
	if (!*server->stop)
		report_ready(service, "");
	while (!*server->stop) {
		server_wait(server, watchdog_wait_ms(&service->watchdog, server_now_ns()));
		if (service->is_reloading && !service_is_reloading(service))
			end_reload(service);
		if (!service->is_reloading && atomic_exchange(&service->wants_reload, false))
			begin_reload(service);
		look_at_pollers(service);
	}
	/*
	 * This is the last report. The end takes no longer than the limits of server.h and
	 * rpcbind.h allow, and these are shorter than WatchdogSec= of the unit.
	 */
	notify_send(&service->notify, "STOPPING=1\nWATCHDOG=1\nSTATUS=Waiting for calls to end");
}

bool service_is_reloading(const struct service *service)
{
	return service->reload.state == RELOAD_RUNS;
}

void service_close(struct service *service)
{
	notify_close(&service->notify);
}
