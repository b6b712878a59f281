/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REAP_H
#define REAP_H

/*
 * The reaper closes and unmaps what peers have passed. close(2) can block for as long as a peer
 * likes: on a TCP socket with SO_LINGER whose data nobody takes, or on a file of a FUSE file
 * system. The same holds for closing a connection's socket, because the kernel then closes the
 * descriptors that wait in its queue unread.
 *
 * So such work is queued as a job, by user (account.h). Worker threads carry the jobs out, without
 * a lock and with all signals blocked. A user's jobs are in two lines: those that may block, which
 * are called suspect, and those that cannot, which never wait for suspect ones. At most one worker
 * serves a line at a time: a job that blocks holds up the later suspect jobs of its user, and
 * nobody else's.
 *
 * A worker is started when a job would otherwise wait for a busy one, up to REAP_WORKERS_MAX. It
 * may be that no more can be started (RLIMIT_NPROC). So one worker is always left to the jobs that
 * cannot block, and there are REAP_WORKERS_MIN from the beginning. Those above that number end when
 * they are idle.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define REAP_WORKERS_MIN 2u
#define REAP_WORKERS_MAX 64u
/* A user with this many suspect jobs may not connect until some of them have ended. */
#define REAP_SUSPECTS_MAX 16u
/* A user with this number of other jobs may not connect either, if one of them has taken
 * REAP_SLOW_NS, because what the jobs give up stays open until that job ends. With more jobs, less
 * time is enough. */
#define REAP_JOBS_MAX 64u
#define REAP_SLOW_NS  1000000000u

struct shm_account;

/* A part of the object that is given up. */
struct reap_job {
	void (*run)(struct reap_job *job); /* gives it up, and frees it */
	struct shm_account *account;	   /* the job has a reference to it */
	bool is_suspect; /* it may block: the peer did something that no honest peer does, or its
			    socket was not empty */
	STAILQ_ENTRY(reap_job) entry;
};

/* Jobs that are carried out one after the other. */
struct reap_line {
	STAILQ_HEAD(, reap_job) jobs;
	bool is_served;
	_Atomic uint32_t njobs; /* waiting, and the one that is carried out */
	_Atomic uint64_t
		since_ns; /* start of the job that is carried out, CLOCK_MONOTONIC; 0: none is */
	STAILQ_ENTRY(reap_line) entry;
};

/* The jobs of one user. */
struct reap_queue {
	struct reap_line lines[2]; /* by is_suspect */
};

void reap_queue_init(struct reap_queue *queue);

/* Each device calls these functions once. reap_start() returns 0 or -errno. After success,
 * REAP_WORKERS_MIN workers are available. */
int reap_start(void);
/* Waits until the jobs of all users have ended, but no longer than 'wait_ms': a blocked job
 * outlives the device. */
void reap_stop(uint32_t wait_ms);

/* Queues a job, whose user is set. It never blocks and never fails. May be called on any thread. */
void reap(struct reap_job *job);

/* Returns whether a user's jobs keep it from connecting. */
bool reap_is_refused(const struct reap_queue *queue);
/* Returns the number of a user's jobs that have not ended. */
uint32_t reap_queue_count(const struct reap_queue *queue);
/* Returns the same number for all users. */
uint32_t reap_count(void);

/* Call these functions around a fork(2), which may happen while another thread holds the lock. The
 * child has neither workers nor jobs. */
void reap_fork_begin(void);
void reap_fork_end(bool is_child);

#endif
