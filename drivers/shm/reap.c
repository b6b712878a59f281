/* SPDX-License-Identifier: BSD-3-Clause */
#include "reap.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <rte_lcore.h>

#include "account.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_work = PTHREAD_COND_INITIALIZER;
static pthread_cond_t is_done = PTHREAD_COND_INITIALIZER;
static STAILQ_HEAD(, reap_queue) ready = STAILQ_HEAD_INITIALIZER(ready); /* with jobs, and not served */
static uint32_t ndevices, nworkers, nidle;
static bool lacks_worker; /* the last attempt to start one failed */
static _Atomic uint32_t njobs;

void reap_queue_init(struct reap_queue *queue)
{
	*queue = (struct reap_queue){0};
	STAILQ_INIT(&queue->jobs);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Carries out one job of the first user in the list, which then goes to the list's end. The lock is held, and given up
 * meanwhile. */
static void serve(struct reap_queue *queue)
{
	struct reap_job *job = STAILQ_FIRST(&queue->jobs);
	struct shm_account *account = job->account;
	bool is_suspect = job->is_suspect;

	STAILQ_REMOVE_HEAD(&ready, entry);
	STAILQ_REMOVE_HEAD(&queue->jobs, entry);
	queue->is_served = true;
	queue->since_ns = now_ns();
	pthread_mutex_unlock(&lock);
	job->run(job);
	pthread_mutex_lock(&lock);
	queue->is_served = false;
	queue->since_ns = 0;
	if (!STAILQ_EMPTY(&queue->jobs))
		STAILQ_INSERT_TAIL(&ready, queue, entry);
	queue->nsuspects -= is_suspect;
	queue->njobs--;
	if (--njobs == 0)
		pthread_cond_broadcast(&is_done);
	pthread_mutex_unlock(&lock);
	shm_account_put(account);
	pthread_mutex_lock(&lock);
}

static int start_worker(void);

/* Whether a job would wait for a busy worker: then one is to be started, and is counted already. The lock is held. */
static bool wants_worker(void)
{
	if (nidle > 0 || nworkers >= REAP_WORKERS_MAX)
		return false;
	nworkers++;
	return true;
}

static void *work(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	for (;;) {
		struct reap_queue *queue = STAILQ_FIRST(&ready);

		if (queue && STAILQ_NEXT(queue, entry) && wants_worker()) {
			/* This worker may be busy for long: another one has to serve the users that wait behind. */
			int rc;

			pthread_mutex_unlock(&lock);
			rc = start_worker();
			pthread_mutex_lock(&lock);
			if (rc == 0)
				continue;
			/* If no other can be started, this one serves all of them. */
			queue = STAILQ_FIRST(&ready);
		}
		if (queue) {
			serve(queue);
			continue;
		}
		if (nidle > 0 || ndevices == 0)
			break;
		nidle++;
		pthread_cond_wait(&has_work, &lock);
		nidle--;
	}
	nworkers--;
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Starts a worker, which is counted already. */
static int start_worker(void)
{
	sigset_t all, old;
	pthread_t thread;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = rte_ctrl_thread_create(&thread, "weir-shm-reap", NULL, work, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc == 0)
		pthread_detach(thread);
	pthread_mutex_lock(&lock);
	lacks_worker = rc != 0;
	if (rc != 0)
		nworkers--;
	pthread_mutex_unlock(&lock);
	return rc;
}

int reap_start(void)
{
	bool wants;
	int rc;

	pthread_mutex_lock(&lock);
	ndevices++;
	wants = wants_worker();
	pthread_mutex_unlock(&lock);
	rc = wants ? start_worker() : 0;
	if (rc != 0) {
		pthread_mutex_lock(&lock);
		ndevices--;
		pthread_mutex_unlock(&lock);
	}
	return rc;
}

void reap_stop(uint32_t wait_ms)
{
	struct timespec until;
	int rc = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += wait_ms / 1000;
	pthread_mutex_lock(&lock);
	while (njobs > 0 && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&is_done, &lock, &until);
	/* A child of fork(2) may close a device that it has not opened. */
	if (ndevices > 0 && --ndevices == 0)
		pthread_cond_broadcast(&has_work);
	pthread_mutex_unlock(&lock);
}

void reap(struct reap_job *job)
{
	struct reap_queue *queue = &job->account->queue;
	bool wants = false;

	pthread_mutex_lock(&lock);
	njobs++;
	queue->njobs++;
	queue->nsuspects += job->is_suspect;
	if (STAILQ_EMPTY(&queue->jobs) && !queue->is_served) {
		STAILQ_INSERT_TAIL(&ready, queue, entry);
		wants = wants_worker();
		if (!wants)
			pthread_cond_signal(&has_work);
	} else if (lacks_worker && !queue->is_served) {
		/* The queue waits, and the worker that it wanted could not be started. */
		wants = wants_worker();
	}
	STAILQ_INSERT_TAIL(&queue->jobs, job, entry);
	pthread_mutex_unlock(&lock);
	if (wants)
		(void)start_worker(); /* if it fails, a worker that has ended its job takes over, or the next call tries again */
}

bool reap_is_refused(const struct reap_queue *queue)
{
	uint64_t since_ns = queue->since_ns, n = queue->njobs;

	return queue->nsuspects >= REAP_SUSPECTS_MAX ||
	       (n >= REAP_JOBS_MAX && since_ns != 0 &&
		now_ns() - since_ns >= REAP_SLOW_NS / n * REAP_JOBS_MAX);
}

uint32_t reap_count(void)
{
	return njobs;
}

void reap_fork_begin(void)
{
	pthread_mutex_lock(&lock);
}

void reap_fork_end(bool is_child)
{
	if (is_child) {
		STAILQ_INIT(&ready);
		ndevices = nworkers = nidle = 0;
		lacks_worker = false;
		njobs = 0;
		pthread_cond_init(&has_work, NULL);
		pthread_cond_init(&is_done, NULL);
	}
	pthread_mutex_unlock(&lock);
}
