/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_H
#define SERVER_H

/* The whole: what all files of this program share. */

#include <signal.h>
#include <time.h>

#include "export.h"
#include "handle.h"
#include "op.h"
#include "weir_engine.h"

struct server {
	struct weir_profile profile;
	struct weir_engine *engine;
	struct weir_listener *listener;
	struct exports exports;
	struct handle_key key;
	uint8_t write_verf[NFS3_VERF_BYTES]; /* of this start: data written UNSTABLE before it may be lost */
	uint32_t transfer_max;		     /* READ and WRITE, of any export */
	uint32_t readdir_max;		     /* bytes of results of READDIR */
	bool is_stopping;		     /* new calls are told to come back: to the next server */
	struct op_list free_ops;
	uint32_t nops; /* made so far */
};

/* server->exports is set, the rest zero. 0 or -errno, said on standard error; then server_stop() is to be called, too. */
int server_start(struct server *server, const struct weir_profile *profile, const char *addr,
		 const char *state);
void server_stop(struct server *server);
/* Poll until *stop. */
void server_run(struct server *server, const volatile sig_atomic_t *stop);
uint64_t server_now_ns(void); /* the clock of the engine's polls */
/* The handle of an export's root. */
void server_root(struct server *server, const struct export *export, struct nfs3_fh *fh);

static inline struct nfs3_time time_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (struct nfs3_time){(uint32_t)ts.tv_sec, (uint32_t)ts.tv_nsec};
}

#endif
