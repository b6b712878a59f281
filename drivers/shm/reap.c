/* SPDX-License-Identifier: BSD-3-Clause */
/* The jobs and the workers of the reaper. One lock guards the lines of all users and the numbers of
 * workers. All devices of the process share the workers. */
#include "reap.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "account.h"
#include "helper.h"
#include "limit.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_work = PTHREAD_COND_INITIALIZER;
static pthread_cond_t is_done = PTHREAD_COND_INITIALIZER;
/* Lines that have jobs and that no worker serves, by is_suspect. */
static STAILQ_HEAD(ready_lines, reap_line) ready[2] = {
	STAILQ_HEAD_INITIALIZER(ready[0]),
	STAILQ_HEAD_INITIALIZER(ready[1]),
};
static uint32_t ndevices;
/* The numbers of all workers, of idle workers, and of workers that carry out a suspect job. */
static uint32_t nworkers, nidle, nsuspect;
static uint32_t nstarting; /* workers that are being started, and are not in 'nworkers' yet */
static bool lacks_worker;  /* the latest attempt to start a worker failed */
static _Atomic uint32_t njobs;

void reap_queue_init(struct reap_queue *queue)
{
	*queue = (struct reap_queue){0};
	STAILQ_INIT(&queue->lines[false].jobs);
	STAILQ_INIT(&queue->lines[true].jobs);
}

static uint64_t reap_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Returns whether a worker is allowed to begin a suspect job, which can block the worker. While
 * there are devices, another worker must remain for the jobs that are not suspect. While there are
 * no devices, it must remain possible to start a worker for the next device. The caller holds the
 * lock. */
static bool may_block(void)
{
	return nsuspect + 1 < (ndevices > 0 ? nworkers : REAP_WORKERS_MAX);
}

/* Returns the next line to serve: a line of suspect jobs first, if may_block() permits it. Returns
 * NULL if there is no line that is allowed to be served. The caller holds the lock. */
static struct reap_line *next_line(void)
{
	struct reap_line *line = may_block() ? STAILQ_FIRST(&ready[true]) : NULL;

	return line ? line : STAILQ_FIRST(&ready[false]);
}

/* Wakes an idle worker for the lines that are ready, if there are any. If no idle worker is allowed
 * to serve them, and another worker can be started, the function counts it in 'nstarting' and
 * returns true. The caller then starts it after it has released the lock, which it holds. The new
 * worker also serves the other waiting lines. */
static bool call_worker(void)
{
	bool has_suspect = !STAILQ_EMPTY(&ready[true]);

	if (!has_suspect && STAILQ_EMPTY(&ready[false]))
		return false;
	pthread_cond_signal(&has_work);
	if ((nidle > 0 && (may_block() || !has_suspect)) || nstarting > 0 ||
	    nworkers >= REAP_WORKERS_MAX)
		return false;
	nstarting++;
	return true;
}

static int start_worker(void);

/* Carries out the first job of a line, which is the first line of its list 'ready'. If the line has
 * further jobs, it then moves to the end of the list. The caller holds the lock, which is released
 * during the job. */
static void serve(struct reap_line *line)
{
	struct reap_job *job = STAILQ_FIRST(&line->jobs);
	struct shm_account *account = job->account;
	bool is_suspect = job->is_suspect, wants;

	STAILQ_REMOVE_HEAD(&ready[is_suspect], entry);
	STAILQ_REMOVE_HEAD(&line->jobs, entry);
	line->is_served = true;
	line->since_ns = reap_now_ns();
	nsuspect += is_suspect;
	wants = call_worker(); /* this worker might be busy for long */
	pthread_mutex_unlock(&lock);
	if (wants)
		(void)start_worker();
	job->run(job);
	pthread_mutex_lock(&lock);
	nsuspect -= is_suspect;
	line->is_served = false;
	line->since_ns = 0;
	if (!STAILQ_EMPTY(&line->jobs))
		STAILQ_INSERT_TAIL(&ready[is_suspect], line, entry);
	line->njobs--;
	if (--njobs == 0)
		pthread_cond_broadcast(&is_done);
	pthread_mutex_unlock(&lock);
	shm_account_put(account);
	pthread_mutex_lock(&lock);
}

static void *work(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	nstarting--;
	nworkers++;
	for (;;) {
		struct reap_line *line = next_line();

		if (line) {
			serve(line);
			continue;
		}
		if (nidle >= REAP_WORKERS_MIN || ndevices == 0)
			break;
		nidle++;
		pthread_cond_wait(&has_work, &lock);
		nidle--;
	}
	nworkers--;
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Starts a worker that is counted in 'nstarting' already. Returns 0 or -errno. */
static int start_worker(void)
{
	pthread_t thread;
	int rc = helper_create(&thread, "weir-shm-reap", work, NULL);

	if (rc == 0)
		pthread_detach(thread);
	pthread_mutex_lock(&lock);
	lacks_worker = rc != 0;
	if (rc != 0)
		nstarting--;
	pthread_mutex_unlock(&lock);
	mem_explain_limit(rc);
	return rc;
}

int reap_start(void)
{
	int rc = 0;

	pthread_mutex_lock(&lock);
	ndevices++;
	/* Workers that are blocked by a job of an earlier device do not count. */
	while (rc == 0 && nworkers + nstarting < nsuspect + REAP_WORKERS_MIN &&
	       nworkers + nstarting < REAP_WORKERS_MAX) {
		nstarting++;
		pthread_mutex_unlock(&lock);
		rc = start_worker();
		pthread_mutex_lock(&lock);
	}
	if (rc != 0 && --ndevices == 0)
		pthread_cond_broadcast(&has_work);
	pthread_mutex_unlock(&lock);
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
	/* A child of fork(2) can close a device of its parent. 'ndevices' does not count this
	 * device in the child. */
	if (ndevices > 0 && --ndevices == 0)
		pthread_cond_broadcast(&has_work);
	pthread_mutex_unlock(&lock);
}

void reap(struct reap_job *job)
{
	struct reap_line *line = &job->account->queue.lines[job->is_suspect];
	bool wants = false;

	pthread_mutex_lock(&lock);
	njobs++;
	line->njobs++;
	if (STAILQ_EMPTY(&line->jobs) && !line->is_served) {
		STAILQ_INSERT_TAIL(&ready[job->is_suspect], line, entry);
		wants = call_worker();
	} else if (lacks_worker && !line->is_served) {
		/* The line waits already, because no worker could be started for it. */
		wants = call_worker();
	}
	STAILQ_INSERT_TAIL(&line->jobs, job, entry);
	pthread_mutex_unlock(&lock);
	if (wants)
		(void)start_worker(); /* on failure, a worker that ends its job takes over, or the
					 next call tries again */
}

bool reap_is_refused(const struct reap_queue *queue)
{
	uint64_t since_ns = queue->lines[false].since_ns, n = queue->lines[false].njobs;

	return queue->lines[true].njobs >= REAP_SUSPECTS_MAX ||
	       (n >= REAP_JOBS_MAX && since_ns != 0 &&
		reap_now_ns() - since_ns >= REAP_SLOW_NS / n * REAP_JOBS_MAX);
}

uint32_t reap_queue_count(const struct reap_queue *queue)
{
	return queue->lines[false].njobs + queue->lines[true].njobs;
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
		STAILQ_INIT(&ready[false]);
		STAILQ_INIT(&ready[true]);
		ndevices = nworkers = nidle = nsuspect = nstarting = 0;
		lacks_worker = false;
		njobs = 0;
		pthread_cond_init(&has_work, NULL);
		pthread_cond_init(&is_done, NULL);
	}
	pthread_mutex_unlock(&lock);
}
