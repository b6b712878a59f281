/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_H
#define SERVER_H

/*
 * Declares the server as a whole, which all files of this program share. The files of this folder:
 *
 *   main.c, options.[ch]    start, command line
 *   background.[ch]         the start in the background
 *   service.[ch]            the loop of the main thread: reloads, and the service manager
 *   notify.[ch], watchdog.[ch]  messages to the service manager, and when it hears of the server
 *   reload.[ch]             reads the exports again
 *   server.c                starts and stops what the pollers own
 *   poller.[ch]             what each thread of weir's runtime owns, and messages between threads
 *   memory.[ch], region.[ch], block_pool.[ch]  memory, its registration, and blocks of it
 *   log_output.[ch]         messages that do not wait for the reader of standard error
 *   sandbox.[ch]            capabilities; sandbox_filter.c: system calls
 *
 *   export.[ch]             the exports; export_file.c, export_keys.c, export_value.c parse them
 *   export_clients.c        the key 'clients' of an export
 *   client_rules.[ch]       the rules by which a client may use an export
 *   mountd.[ch]             MOUNT; walk.[ch] and walkers.[ch] find the directory that it names
 *   rpcbind.[ch]            registration with rpcbind
 *
 *   op.[ch]                 an NFS call from its arguments to the back end; op_done.c: to its reply
 *   op_table.[ch]           the differences between procedures
 *   op_name.[ch]            names that procedures take
 *   op_pool.c               ops, divided among clients
 *   caller.[ch]             the client of a connection, and its ops
 *   holds.[ch]              what calls hold of a pool, by connection and peer
 *   cred.[ch]               the user of a call, and what mode bits permit
 *   handle.[ch]             file handles; handle_key.c: the secret that signs them
 *   fs.h                    the interface of a back end: dir/dir.h, ram/ram.h
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
	struct poller pollers[POLLERS_MAX]; /* the poller at index 0 listens */
	struct weir_runtime *runtime;	    /* NULL before it exists */
	_Atomic int wake_fd; /* an eventfd, which ends server_wait(); -1 before it exists */
	struct exports exports;
	struct handle_key key;
	uint8_t write_verf[NFS3_VERF_BYTES]; /* differs between starts, because data written
						UNSTABLE before a restart might be lost */
	uint32_t transfer_max;		     /* maximum bytes of READ and WRITE, for any export */
	uint32_t readdir_max;		     /* maximum bytes of results of READDIR */
	atomic_bool *stop;		     /* set by server_quit(); the pollers then stop */
	bool is_listening;
	bool is_lost;	  /* the device was removed, and all connections with it */
	bool is_single;	  /* the pollers' threads have ended, and the remaining thread can access
			     everything */
	bool is_stopping; /* new calls get NFS3ERR_JUKEBOX, so that clients send them again to the
			     next server */
};

/*
 * Acquires everything for which the exports need capabilities. The caller calls this function
 * before the process gives up capabilities, and before server_start(). Returns 0, or -errno after
 * it has printed the reason on standard error.
 */
int server_prepare(struct server *server);
/*
 * Starts the server. The caller has set server->exports and server->stop; all other members are
 * zero. Returns 0, or -errno after it has printed the reason on standard error. After an error, the
 * caller must call server_drain() and server_stop() as well.
 */
int server_start(struct server *server, const struct weir_profile *profile, const char *addr,
		 const char *state);
/*
 * Limit for the end of the calls that are under way when the server stops, and for the end of
 * MOUNT's threads, in seconds.
 */
#define SERVER_DRAIN_S 10u
/*
 * Answers calls that still arrive with NFS3ERR_JUKEBOX, and waits until the calls under way have
 * ended and their replies were sent. Returns true if they have ended. If the file system of an
 * export does not answer, prints a message and returns false. The process must then end at once, by
 * _exit().
 */
bool server_drain(struct server *server);
/* Releases everything. server_drain() must have returned true before. */
void server_stop(struct server *server);
/*
 * Lets the pollers run, each on its thread of the runtime. server_halt() ends that: no client can
 * connect any more, and the threads end.
 */
void server_begin(struct server *server);
void server_halt(struct server *server);
/*
 * Makes the descriptor with which server_wake() ends server_wait(), also one that begins later.
 * Returns 0, or -errno after it has printed the reason on standard error.
 */
int server_make_wake(struct server *server);
/* Waits for server_wake(), or for 'wait_ms' milliseconds unless this is -1. */
void server_wait(struct server *server, int wait_ms);
/* Any thread and any handler of a signal may call this function. */
void server_wake(struct server *server);
/*
 * Sets *server->stop, and wakes the main thread. Any thread and any handler of a signal may call
 * this function. The server itself calls it when the device is removed.
 */
void server_quit(struct server *server);
/*
 * Polls all pollers once, and returns the amount of work done. Must not be called between
 * server_begin() and server_halt().
 */
uint32_t server_poll(struct server *server);
/* Makes the handle of the root of an export. */
void server_root(struct server *server, const struct export *export, struct nfs3_fh *fh);

#endif
