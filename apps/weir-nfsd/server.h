/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_H
#define SERVER_H

/*
 * The server as a whole: what all files of this program share. Its files:
 *
 *   main.c, options.[ch]    start, command line
 *   background.[ch]         the start in the background
 *   server.c                starts and stops what the pollers own
 *   poller.[ch]             a thread with an engine, for each lcore
 *   memory.[ch], region.[ch], block_pool.[ch]  memory, its registration, and blocks of it
 *   log_output.[ch]         no thread waits for the reader of standard error
 *   sandbox.[ch]            capabilities; sandbox_filter.c: system calls
 *
 *   export.[ch]             what is served; export_file.c, export_keys.c, export_value.c read it
 *   export_clients.c        the key 'clients' of an export
 *   client_rules.[ch]       by which rules a client may use an export
 *   mountd.[ch]             MOUNT; walk.[ch] and walkers.[ch] find the directory that it names
 *   rpcbind.[ch]            registration with rpcbind
 *
 *   op.[ch]                 an NFS call on its way in; op_done.c: on its way out
 *   op_table.[ch]           what differs from procedure to procedure
 *   op_name.[ch]            names that procedures take
 *   op_pool.c               ops, divided among clients
 *   caller.[ch]             the client of a connection, and its ops
 *   holds.[ch]              what calls hold of a pool, by connection and peer
 *   cred.[ch]               who makes a call, and what mode bits permit
 *   handle.[ch]             file handles; handle_key.c: the secret that signs them
 *   fs.h                    what a back end does: dir/dir.h, ram/ram.h
 */

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
