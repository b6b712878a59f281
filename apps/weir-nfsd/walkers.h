/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WALKERS_H
#define WALKERS_H

/*
 * Runs threads that walk to directories below exports for MOUNT (walk.h). Each thread serves one
 * call.
 *
 * A walk into a file system that hangs does not end, and its thread counts until the walk ends.
 * Therefore the number of threads is limited per export, and per client of an export. One client
 * cannot use up the threads of other clients, and calls for one export cannot use up the threads
 * for other exports.
 *
 * Calls beyond these limits wait in a queue that serves clients round-robin. They are not answered
 * with an error at once, for two reasons:
 *
 * - A walk usually takes far less than a millisecond.
 * - There is no status of MNT that means "try again". Linux's mount(8) gives up at each status.
 *
 * A call that waits too long, or walks too long, is answered NFS3ERR_IO.
 *
 * Only MOUNT's thread is allowed to call these functions. After that thread has ended, another
 * thread is.
 */

#include <netdb.h>

#include "walk.h"

#define WALKERS_EXPORT 4u /* threads for an export at a time; at most one of them for a client */
/* The time limit of a call in seconds, once for its wait for a thread and once for its walk. */
#define WALKERS_WAIT_S 5u

struct walkers;

/* A call of MNT. */
struct walkers_call {
	uint64_t id; /* identifies the call for the answer */
	struct client_key client;
	char host[NI_MAXHOST];
	struct walk walk;
};

struct walkers_user {
	/*
	 * Receives the result of a call. *fh is set if the status is NFS3_OK. walkers_poll() calls
	 * this function once for each call that was not dropped.
	 */
	void (*answer)(void *arg, const struct walkers_call *call, enum nfs3_status status,
		       const struct nfs3_fh *fh);
	/* Reports that walkers_poll() has something to do. Any thread can call this function. */
	void (*wake)(void *arg);
	void *arg;
};

/* Makes an object without threads. Copies '*user'. Returns NULL if there is no memory. */
struct walkers *walkers_create(struct server *server, const struct walkers_user *user);
/* Queues a walk for a call of MNT. Copies '*call'. Returns 0 or -ENOMEM. */
int walkers_add(struct walkers *walkers, const struct walkers_call *call);
/*
 * Drops the answer to the call 'id', because nobody waits for it. Has no effect if the call was
 * answered already.
 */
void walkers_drop(struct walkers *walkers, uint64_t id);
/*
 * Answers the calls whose walks have ended or that take too long, and starts waiting walks within
 * the limits. The caller must call this function several times a second even without wake().
 */
void walkers_poll(struct walkers *walkers);
/*
 * Drops all calls and releases the threads that have ended. Returns NULL if no thread is left.
 * Otherwise returns an export in which one of the threads walks.
 */
const struct export *walkers_end(struct walkers *walkers);
/* Frees 'walkers', which has no thread left and is allowed to be NULL. */
void walkers_destroy(struct walkers *walkers);

#endif
