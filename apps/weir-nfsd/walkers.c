/* SPDX-License-Identifier: BSD-3-Clause */
/* Queues walks for MOUNT, and runs each in a thread of its own. */
#include "walkers.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "server_clock.h"

struct job {
	TAILQ_ENTRY(job) entry;
	struct walkers *walkers;
	struct walkers_call call;
	uint64_t since_ns; /* time at which the job began to wait, or at which its thread began to
			      walk */
	bool is_answered;  /* the answer was given, or nobody waits for it any more */
	pthread_t thread;
	atomic_bool is_done; /* the thread has set the members below and is about to end */
	enum nfs3_status status;
	struct nfs3_fh fh;
};

TAILQ_HEAD(jobs, job);

struct walkers {
	struct server *server;
	struct walkers_user user;
	struct jobs waiting; /* jobs without a thread, in the order in which they start */
	struct jobs walking; /* jobs with a thread */
};

struct walkers *walkers_create(struct server *server, const struct walkers_user *user)
{
	struct walkers *walkers = calloc(1, sizeof(*walkers));

	if (!walkers)
		return NULL;
	walkers->server = server;
	walkers->user = *user;
	TAILQ_INIT(&walkers->waiting);
	TAILQ_INIT(&walkers->walking);
	return walkers;
}

/*
 * Runs the walk of a job. Other threads do not access the job until 'is_done' is set. An exception
 * is job->call, which does not change.
 */
static void *walkers_run(void *arg)
{
	struct job *job = arg;

	(void)pthread_setname_np(pthread_self(), "nfsd-walk");
	job->status = walk_run(&job->call.walk, job->walkers->server, &job->fh);
	atomic_store(&job->is_done, true);
	/* The job still exists here, because it is freed only after this thread has been joined. */
	job->walkers->user.wake(job->walkers->user.arg);
	return NULL;
}

static void walkers_answer(struct job *job, enum nfs3_status status)
{
	const struct walkers_user *user = &job->walkers->user;

	if (!job->is_answered)
		user->answer(user->arg, &job->call, status, &job->fh);
	job->is_answered = true;
}

static bool is_late(const struct job *job)
{
	return server_now_ns() - job->since_ns >= WALKERS_WAIT_S * 1000000000ull;
}

static bool is_of_client(const struct job *job, const struct client_key *client)
{
	return client_key_equal(&job->call.client, client);
}

static bool may_walk(const struct job *job)
{
	const struct job *other;
	uint32_t n = 0;

	TAILQ_FOREACH(other, &job->walkers->walking, entry)
	{
		if (other->call.walk.export != job->call.walk.export)
			continue;
		if (is_of_client(other, &job->call.client) || ++n == WALKERS_EXPORT)
			return false;
	}
	return true;
}

/*
 * Moves the waiting jobs of a client to the end of the queue, after one of the client's jobs has
 * started.
 */
static void walkers_end_turn(struct jobs *waiting, const struct client_key *client)
{
	struct jobs further = TAILQ_HEAD_INITIALIZER(further);
	struct job *job, *next;

	for (job = TAILQ_FIRST(waiting); job; job = next) {
		next = TAILQ_NEXT(job, entry);
		if (!is_of_client(job, client))
			continue;
		TAILQ_REMOVE(waiting, job, entry);
		TAILQ_INSERT_TAIL(&further, job, entry);
	}
	TAILQ_CONCAT(waiting, &further, entry);
}

/* Starts a job that has waited and is in no list. */
static void start(struct walkers *walkers, struct job *job)
{
	job->since_ns = server_now_ns();
	if (pthread_create(&job->thread, NULL, walkers_run, job) != 0) {
		walkers_answer(job, NFS3ERR_SERVERFAULT);
		free(job);
		return;
	}
	TAILQ_INSERT_TAIL(&walkers->walking, job, entry);
	walkers_end_turn(&walkers->waiting, &job->call.client);
}

static struct job *find_ready(struct walkers *walkers)
{
	struct job *job;

	TAILQ_FOREACH(job, &walkers->waiting, entry)
	if (may_walk(job))
		return job;
	return NULL;
}

static void start_ready(struct walkers *walkers)
{
	struct job *job;

	while ((job = find_ready(walkers))) {
		TAILQ_REMOVE(&walkers->waiting, job, entry);
		start(walkers, job);
	}
}

int walkers_add(struct walkers *walkers, const struct walkers_call *call)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return -ENOMEM;
	job->walkers = walkers;
	job->call = *call;
	job->since_ns = server_now_ns();
	/*
	 * walkers_poll() starts the job, so that no answer is given before this function returns.
	 */
	TAILQ_INSERT_TAIL(&walkers->waiting, job, entry);
	return 0;
}

void walkers_drop(struct walkers *walkers, uint64_t id)
{
	struct job *job;

	TAILQ_FOREACH(job, &walkers->walking, entry)
	if (job->call.id == id)
		job->is_answered = true;
	TAILQ_FOREACH(job, &walkers->waiting, entry)
	if (job->call.id == id)
		break;
	if (job) {
		TAILQ_REMOVE(&walkers->waiting, job, entry);
		free(job);
	}
}

static void walkers_release(struct walkers *walkers, struct job *job)
{
	pthread_join(job->thread, NULL);
	TAILQ_REMOVE(&walkers->walking, job, entry);
	free(job);
}

void walkers_poll(struct walkers *walkers)
{
	struct job *job, *next;

	for (job = TAILQ_FIRST(&walkers->walking); job; job = next) {
		next = TAILQ_NEXT(job, entry);
		if (atomic_load(&job->is_done)) {
			walkers_answer(job, job->status);
			walkers_release(walkers, job);
		} else if (is_late(job)) {
			walkers_answer(job, NFS3ERR_IO);
		}
	}
	start_ready(walkers);
	for (job = TAILQ_FIRST(&walkers->waiting); job; job = next) {
		next = TAILQ_NEXT(job, entry);
		if (!is_late(job))
			continue;
		TAILQ_REMOVE(&walkers->waiting, job, entry);
		walkers_answer(job, NFS3ERR_IO);
		free(job);
	}
}

const struct export *walkers_end(struct walkers *walkers)
{
	struct job *job, *next;

	while ((job = TAILQ_FIRST(&walkers->waiting))) {
		TAILQ_REMOVE(&walkers->waiting, job, entry);
		free(job);
	}
	for (job = TAILQ_FIRST(&walkers->walking); job; job = next) {
		next = TAILQ_NEXT(job, entry);
		if (atomic_load(&job->is_done))
			walkers_release(walkers, job);
	}
	job = TAILQ_FIRST(&walkers->walking);
	return job ? job->call.walk.export : NULL;
}

void walkers_destroy(struct walkers *walkers)
{
	free(walkers);
}
