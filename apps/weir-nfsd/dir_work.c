/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that carry out what may wait for a disk, as the one who asks. */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dir.h"

/* By the kernel's own calls: the C library's would change all threads. */
static void set_groups(uint32_t n, const uint32_t *gids)
{
	gid_t groups[WEIR_RPC_GIDS_MAX];

	for (uint32_t i = 0; i < n; i++)
		groups[i] = gids[i];
	syscall(SYS_setgroups, (size_t)n, groups);
}

void dir_become(const struct cred *cred)
{
	set_groups(cred->ngids, cred->gids);
	setfsgid(cred->gid);
	/* Last: it takes the privileges over files away. */
	setfsuid(cred->uid);
}

void dir_become_self(void)
{
	setfsuid(0);
	setfsgid(0);
	set_groups(0, NULL);
}

static void on_posted(struct weir_engine *engine, void *arg)
{
	struct op *op = arg;

	(void)engine;
	dir_worked((struct dir_fs *)op->export->fs, op);
}

static void *run(void *arg)
{
	struct dir_fs *fs = arg;
	struct op *op;

	for (;;) {
		pthread_mutex_lock(&fs->lock);
		while (TAILQ_EMPTY(&fs->queue) && !fs->stop)
			pthread_cond_wait(&fs->wake, &fs->lock);
		op = TAILQ_FIRST(&fs->queue);
		if (op)
			TAILQ_REMOVE(&fs->queue, op, entry);
		pthread_mutex_unlock(&fs->lock);
		if (!op)
			return NULL;
		dir_carry_out(fs, op);
		/* A full mailbox empties: the poller never waits for this thread. */
		while (weir_engine_post(fs->export->owner->engine, on_posted, op) != 0)
			sched_yield();
	}
}

void dir_work(struct dir_fs *fs, struct op *op)
{
	fs->nworking++;
	pthread_mutex_lock(&fs->lock);
	TAILQ_INSERT_TAIL(&fs->queue, op, entry);
	pthread_cond_signal(&fs->wake);
	pthread_mutex_unlock(&fs->lock);
}

int dir_work_start(struct dir_fs *fs)
{
	pthread_mutex_init(&fs->lock, NULL);
	pthread_cond_init(&fs->wake, NULL);
	for (; fs->nthreads < DIR_THREADS; fs->nthreads++) {
		int rc = pthread_create(&fs->threads[fs->nthreads], NULL, run, fs);

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
