/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REAP_H
#define REAP_H

/*
 * The reaper closes and unmaps what peers have passed. close(2) can block for as long as a peer
 * likes: on a TCP socket with SO_LINGER whose data nobody takes, or on a file of a FUSE file
 * system. The same holds for closing a connection's socket, because the kernel then closes the
 * descriptors that wait in its queue unread.
 *
 * Therefore such work is queued as a job, by user (account.h). Worker threads carry the jobs out,
 * without a lock and with all signals blocked. A user's jobs are in two lines. One line has the
 * jobs that can block, which are called suspect. The other line has the jobs that cannot block, and
 * which never wait for suspect ones. At most one worker serves a line at a time. Therefore a job
 * that blocks delays the later suspect jobs of its user, and no other job.
 *
 * A worker is started when a job would otherwise wait for a busy worker, up to REAP_WORKERS_MAX
 * workers. Starting a worker can fail (RLIMIT_NPROC). Therefore one worker is always reserved for
 * the jobs that cannot block, and REAP_WORKERS_MIN workers exist from the beginning. Idle workers
 * above this number end.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define REAP_WORKERS_MIN 2u
#define REAP_WORKERS_MAX 64u
/* A user with this number of suspect jobs is not allowed to connect until one of them has ended. */
#define REAP_SUSPECTS_MAX 16u
/* A user with REAP_JOBS_MAX jobs that are not suspect is not allowed to connect either, while one
 * of them has taken REAP_SLOW_NS or longer, because the files of the other jobs stay open until
 * this job ends. With more jobs, a proportionally shorter time is enough. */
#define REAP_JOBS_MAX 64u
#define REAP_SLOW_NS  1000000000u

struct shm_account;

/* A job. It is a member of the object that the job closes or unmaps. */
struct reap_job {
	/* closes or unmaps what the object has, and frees the object */
	void (*run)(struct reap_job *job);
	struct shm_account *account; /* the user; the job has a reference to the account */
	/* The job can block: the peer did something that no honest peer does, or the queue of its
	 * socket was not empty. */
	bool is_suspect;
	STAILQ_ENTRY(reap_job) entry;
};

/* Jobs that are carried out one after the other. */
struct reap_line {
	STAILQ_HEAD(, reap_job) jobs;
	bool is_served;
	_Atomic uint32_t njobs; /* number of jobs that wait or are carried out */
	_Atomic uint64_t
		/* start of the job that is carried out, CLOCK_MONOTONIC; 0: there is none */
		since_ns;
	STAILQ_ENTRY(reap_line) entry;
};

/* The jobs of one user. */
struct reap_queue {
	struct reap_line lines[2]; /* by is_suspect */
};

void reap_queue_init(struct reap_queue *queue);

/* Each device calls reap_start() when it is opened, and reap_stop() when it is closed. reap_start()
 * returns 0 or -errno. After success, REAP_WORKERS_MIN workers exist that are not blocked by an
 * earlier job, unless REAP_WORKERS_MAX exist. */
int reap_start(void);
/* Waits until the jobs of all users have ended, but no longer than 'wait_ms' (in whole seconds). A
 * blocked job continues after the device is closed. */
void reap_stop(uint32_t wait_ms);

/* Queues a job, whose members 'run', 'account' and 'is_suspect' are set. The function never fails,
 * and never waits for a job. It can be called on any thread. */
void reap(struct reap_job *job);

/* Returns whether a user is not allowed to connect because of its jobs: see REAP_SUSPECTS_MAX and
 * REAP_JOBS_MAX. */
bool reap_is_refused(const struct reap_queue *queue);
/* Returns the number of a user's jobs that have not ended. */
uint32_t reap_queue_count(const struct reap_queue *queue);
/* Returns the number of all users' jobs that have not ended. */
uint32_t reap_count(void);

/* Called before and after a fork(2), in the parent and in the child. They hold the lock of the
 * reaper meanwhile, because otherwise another thread might hold it at the fork, and the child could
 * never take it. A child begins with neither workers nor jobs. */
void reap_fork_begin(void);
void reap_fork_end(bool is_child);

#endif
