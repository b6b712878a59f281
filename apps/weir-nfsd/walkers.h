/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WALKERS_H
#define WALKERS_H

/*
 * Threads that walk for MOUNT to directories below exports (walk.h), each of them for one call. A
 * walk into a file system that hangs does not end. Its thread is counted until it does, and so the
 * number of those threads is limited: for each export, and for each client of an export. One client
 * therefore leaves threads to others, and one export all of theirs to the others.
 *
 * Calls beyond these limits wait, clients in turn. They are not answered with an error at once,
 * because a walk usually takes far less than a millisecond, and because there is no status of MNT
 * that means "try again": Linux's mount(8) gives up at each of them. What waits too long is
 * answered NFS3ERR_IO, as is what walks too long.
 *
 * All functions are for one thread, that of MOUNT, or for another when that one has ended.
 */

#include <netdb.h>

#include "walk.h"

#define WALKERS_EXPORT 4u /* threads for an export, at a time; one of them for one client */
/* A call waits so long for a thread, and then so long for its end. */
#define WALKERS_WAIT_S 5u

struct walkers;

/* A call of MNT. */
struct walkers_call {
	uint64_t id;
	struct client_key client;
	char host[NI_MAXHOST];
	struct walk walk;
};

struct walkers_user {
	/* The result of a call, with *fh if it is NFS3_OK. Called once for each, by walkers_poll().
	 */
	void (*answer)(void *arg, const struct walkers_call *call, enum nfs3_status status,
		       const struct nfs3_fh *fh);
	/* There is something to do for walkers_poll(). Called on any thread. */
	void (*wake)(void *arg);
	void *arg;
};

/* Returns NULL if there is no memory. '*user' is copied. */
struct walkers *walkers_create(struct server *server, const struct walkers_user *user);
/* Walk for a call, now or when it may. '*call' is copied. Returns 0 or -ENOMEM. */
int walkers_add(struct walkers *walkers, const struct walkers_call *call);
/* Nobody wants the answer to this call any more. It may have been answered. */
void walkers_drop(struct walkers *walkers, uint64_t id);
/* Answer what has ended or takes too long, and begin what may begin. To be called a few times a
 * second, too. */
void walkers_poll(struct walkers *walkers);
/*
 * Drop all calls, and release what has ended. Returns NULL if no thread is left, or an export that
 * one of them walks in.
 */
const struct export *walkers_end(struct walkers *walkers);
/* When no thread is left. NULL is allowed. */
void walkers_destroy(struct walkers *walkers);

#endif
