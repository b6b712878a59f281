/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the threads that carry out jobs which can wait for a disk. A thread acts as the caller of
 * the job.
 */
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "proc.h"

/*
 * This number is added to the server's nice value. A thread then gets about a tenth of the server's
 * share of a CPU.
 */
#define WORKER_NICE 10

static void close_file(struct dir_fs *fs, struct dir_fd *file)
{
	struct stat st;

	/* A removed file needs no sync, because its data can no longer be read. */
	if (file->is_dirty && !(fstat(file->fd, &st) == 0 && st.st_nlink == 0) &&
	    fsync(file->fd) != 0)
		dir_mark_data_loss(fs);
	close(file->fd);
	if (file->user)
		atomic_fetch_sub_explicit(&file->user->nclosing, 1, memory_order_release);
	free(file);
}

/*
 * Returns true if one more thread is allowed to work for the client of 'holder' (holds.h). Slow
 * calls and closes of one client must not occupy all threads.
 */
static bool may_have_thread(const struct dir_fs *fs, const struct holder *holder)
{
	return holds_allow(&fs->running, holder, DIR_THREADS, DIR_THREADS - fs->nrunning, 1);
}

/* The next job of a thread: a call or the close of a file. */
struct job {
	struct op *op;
	struct dir_fd *file;
	struct dir_queue *queue; /* queue in which the job waits */
	struct hold hold;	 /* the thread that the client of the call or of the file holds */
	struct dir_locks locks;
};

static bool may_begin_call(const struct dir_fs *fs, const struct op *op)
{
	return may_have_thread(fs, &op->holder) && dir_locks_allow(fs, op, NULL);
}

static bool may_begin_close(const struct dir_fs *fs, const struct dir_fd *file)
{
	return may_have_thread(fs, &file->holder) && dir_locks_allow(fs, NULL, file);
}

/*
 * Finds a job in a queue that can begin. Returns false if there is none. Closes precede calls,
 * because they make it possible for calls to open files.
 */
static bool find_job_in(const struct dir_fs *fs, struct dir_queue *queue, struct job *job)
{
	uint32_t n = 0;

	job->queue = queue;
	job->op = NULL;
	TAILQ_FOREACH(job->file, &queue->closes, age)
	if (may_begin_close(fs, job->file))
		return true;
	TAILQ_FOREACH(job->op, &queue->calls, entry)
	{
		if (n++ == DIR_LOOK)
			break;
		if (may_begin_call(fs, job->op))
			return true;
	}
	job->op = NULL;
	return false;
}

/*
 * Finds a job that can begin. Among the clients that have one, it selects the client that was
 * served least recently. Returns false if no job can begin. The caller holds fs->lock.
 */
static bool find_job(struct dir_fs *fs, struct job *job)
{
	struct dir_queue *queue;

	job->op = NULL;
	job->file = NULL;
	if (fs->nrunning == DIR_THREADS || fs->nqueued == 0)
		return false;
	TAILQ_FOREACH(queue, &fs->by_turn, entry)
	if (find_job_in(fs, queue, job))
		return true;
	return false;
}

static void begin_job(struct dir_fs *fs, struct job *job)
{
	dir_queues_serve(fs, job->queue, job->op, job->file);
	if (job->op)
		job->op->is_begun = true;
	holds_add(&fs->running, &job->hold, job->file ? &job->file->holder : &job->op->holder, 1);
	dir_locks_add(fs, &job->locks, job->op, job->file);
	fs->nrunning++;
}

static void end_job(struct dir_fs *fs, struct job *job)
{
	if (job->hold.n == 0)
		return;
	holds_remove(&job->hold);
	job->hold.n = 0;
	dir_locks_remove(&job->locks);
	fs->nrunning--;
}

/*
 * Wakes other threads after this thread has ended a job or taken one. When the back end stops, all
 * threads wait for the last job, so all are woken. Otherwise one thread is woken if a job can
 * begin. No thread is woken for jobs that cannot begin, of which one client can have many.
 */
static void wake_next(struct dir_fs *fs)
{
	struct job next;

	if (fs->stop)
		pthread_cond_broadcast(&fs->wake);
	else if (find_job(fs, &next))
		pthread_cond_signal(&fs->wake);
}

/*
 * Ends this thread's last job, if *job is one, and waits for the next job. Returns true with *job
 * set, or false if there will be no more jobs.
 */
static bool next_job(struct dir_fs *fs, struct job *job)
{
	bool is_found;

	pthread_mutex_lock(&fs->lock);
	end_job(fs, job);
	while (!(is_found = find_job(fs, job)) && !(fs->stop && fs->nqueued == 0))
		pthread_cond_wait(&fs->wake, &fs->lock);
	if (is_found)
		begin_job(fs, job);
	wake_next(fs);
	pthread_mutex_unlock(&fs->lock);
	return is_found;
}

/*
 * Lowers the priority of this thread. The poller's thread serves all clients of all its exports,
 * and yields the CPU when it is idle. Calls that compute, such as listings, would keep the poller
 * from a CPU that it shares with these threads. In Linux the priority belongs to the calling
 * thread, and no privilege is needed to lower it. If that fails nevertheless, the thread works at
 * the usual priority.
 */
static void give_way(void)
{
	setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + WORKER_NICE);
}

static void *worker_run(void *arg)
{
	struct dir_fs *fs = arg;
	struct job job = {.op = NULL};

	(void)pthread_setname_np(pthread_self(), "nfsd-dir");
	give_way();
	dir_obey_quotas(); /* cannot fail, because it succeeded for the ring's writer */
	while (next_job(fs, &job)) {
		if (job.file) {
			close_file(fs, job.file);
			pthread_mutex_lock(&fs->lock);
			fs->nclosing--;
			pthread_mutex_unlock(&fs->lock);
			continue;
		}
		dir_carry_out(fs, job.op);
		/*
		 * A full mailbox has space again soon, because the poller never waits for this
		 * thread.
		 */
		while (weir_engine_post(fs->export->owner->engine, fs->worked, job.op) != 0)
			sched_yield();
	}
	return NULL;
}

void dir_work_close(struct dir_fs *fs, struct dir_fd *file)
{
	if (fs->nthreads == 0) {
		close_file(fs, file);
		return;
	}
	pthread_mutex_lock(&fs->lock);
	/* If the job cannot begin yet, a thread that ends another job finds it later. */
	if (may_begin_close(fs, file))
		pthread_cond_signal(&fs->wake);
	dir_queues_add_close(fs, file);
	fs->nclosing++;
	pthread_mutex_unlock(&fs->lock);
}

void dir_work(struct dir_fs *fs, struct op *op)
{
	fs->nworking++;
	op->fs_state = DIR_WORKING;
	op->is_begun = false;
	pthread_mutex_lock(&fs->lock);
	if (may_begin_call(fs, op))
		pthread_cond_signal(&fs->wake);
	dir_queues_add_call(fs, op);
	pthread_mutex_unlock(&fs->lock);
}

bool dir_work_cancel(struct dir_fs *fs, struct op *op)
{
	bool is_queued;

	pthread_mutex_lock(&fs->lock);
	is_queued = !op->is_begun;
	if (is_queued) {
		dir_queues_remove_call(fs, op);
		/*
		 * The removed call no longer counts among the DIR_LOOK calls that a thread
		 * examines, so another call might be able to begin.
		 */
		pthread_cond_signal(&fs->wake);
	}
	pthread_mutex_unlock(&fs->lock);
	fs->nworking -= is_queued;
	return is_queued;
}

uint32_t dir_work_nclosing(struct dir_fs *fs)
{
	uint32_t n;

	pthread_mutex_lock(&fs->lock);
	n = fs->nclosing;
	pthread_mutex_unlock(&fs->lock);
	return n;
}

int dir_work_start(struct dir_fs *fs, void (*worked)(struct weir_engine *engine, void *op))
{
	fs->worked = worked;
	pthread_mutex_init(&fs->lock, NULL);
	pthread_cond_init(&fs->wake, NULL);
	for (; fs->nthreads < DIR_THREADS; fs->nthreads++) {
		int rc = pthread_create(&fs->threads[fs->nthreads], NULL, worker_run, fs);

		if (rc != 0)
			return -rc;
	}
	return 0;
}

void dir_work_stop(struct dir_fs *fs)
{
	if (fs->nthreads == 0)
		return;
	pthread_mutex_lock(&fs->lock);
	fs->stop = true;
	pthread_cond_broadcast(&fs->wake);
	pthread_mutex_unlock(&fs->lock);
	while (fs->nthreads > 0)
		pthread_join(fs->threads[--fs->nthreads], NULL);
}
