/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_H
#define SERVER_H

/* The whole: what all files of this program share. */

#include <stdatomic.h>

#include "client_rules.h"
#include "export.h"
#include "handle.h"
#include "op.h"
#include "poller.h"

struct server {
	struct weir_profile profile;
	uint32_t npollers;
	struct poller pollers[POLLERS_MAX]; /* the first one listens */
	struct weir_listener *listener;
	struct exports exports;
	struct handle_key key;
	uint8_t write_verf[NFS3_VERF_BYTES]; /* of this start: data written UNSTABLE before it may
						be lost */
	uint32_t transfer_max;		     /* READ and WRITE, of any export */
	uint32_t readdir_max;		     /* bytes of results of READDIR */
	atomic_bool *stop;
	bool is_lost;	  /* the device is gone, and with it all clients */
	bool is_single;	  /* the pollers' threads have ended: who is left may do everything */
	bool is_stopping; /* new calls are told to come back: to the next server */
};

/*
 * Acquire what the exports need capabilities for, before the process gives them up, and before
 * server_start(). Returns 0, or -errno, for which the reason was printed on standard error.
 */
int server_prepare(struct server *server);
/* server->exports and server->stop are set, the rest zero. 0 or -errno, said on standard error;
 * then server_drain() and server_stop() are to be called, too. */
int server_start(struct server *server, const struct weir_profile *profile, const char *addr,
		 const char *state);
/* What is under way when the server stops, and MOUNT's threads, may take so long. */
#define SERVER_DRAIN_S 10u
/*
 * Take no more calls, and let those that are under way come to their end. Returns false after a
 * message if the file system of an export does not answer: then the process has to end at once, by
 * _exit().
 */
bool server_drain(struct server *server);
/* Release everything, after server_drain(). */
void server_stop(struct server *server);
/* Poll, on this thread and as many more as there are lcores, until *server->stop, which is set here
 * when the device is lost. 0, or -errno, said on standard error: a thread could not be made. */
int server_run(struct server *server);
/* Before server_run(), or after it: poll all once. */
void server_poll(struct server *server);
/* The handle of an export's root. */
void server_root(struct server *server, const struct export *export, struct nfs3_fh *fh);

#endif
