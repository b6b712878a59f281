/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queues of the jobs of an export that wait for a thread. A job is a call or the close of a file.
 *
 * Each client has its own queue, and a thread takes the next job from the queue that was served
 * least recently. A client with many calls therefore does not make other clients wait for all of
 * its calls. Calls in a queue keep their order, except that a thread skips those that cannot begin
 * yet. A thread examines at most DIR_LOOK of them, because the poller's thread might have to wait
 * for fs->lock meanwhile.
 *
 * A queue keeps its client after its last job, so that the client keeps its position in the round.
 * If more than DIR_QUEUES clients have jobs, some share a queue.
 */
#include "dir.h"

void dir_queues_init(struct dir_fs *fs)
{
	TAILQ_INIT(&fs->by_turn);
	for (uint32_t i = 0; i < DIR_QUEUES; i++) {
		struct dir_queue *queue = &fs->queues[i];

		TAILQ_INIT(&queue->calls);
		TAILQ_INIT(&queue->closes);
		TAILQ_INSERT_TAIL(&fs->by_turn, queue, entry);
	}
}

static bool is_empty(const struct dir_queue *queue)
{
	return TAILQ_EMPTY(&queue->calls) && TAILQ_EMPTY(&queue->closes);
}

static void end_turn(struct dir_fs *fs, struct dir_queue *queue)
{
	TAILQ_REMOVE(&fs->by_turn, queue, entry);
	TAILQ_INSERT_TAIL(&fs->by_turn, queue, entry);
}

/*
 * Returns the queue of a client. A client without a queue gets an empty one, which is served last
 * in the round. If such a queue were served first, a client that appears under ever new addresses
 * could prevent others from being served. If there is no empty queue, returns the queue that was
 * served least recently.
 */
static struct dir_queue *queue_of(struct dir_fs *fs, const struct client_key *client)
{
	struct dir_queue *queue, *empty = NULL;

	TAILQ_FOREACH_REVERSE(queue, &fs->by_turn, dir_queue_list, entry)
	{
		if (client_key_equal(&queue->client, client))
			return queue;
		if (is_empty(queue))
			empty = queue;
	}
	if (!empty)
		return TAILQ_FIRST(&fs->by_turn);
	empty->client = *client;
	end_turn(fs, empty);
	return empty;
}

void dir_queues_add_call(struct dir_fs *fs, struct op *op)
{
	op->queue = queue_of(fs, &op->holder.client);
	TAILQ_INSERT_TAIL(&op->queue->calls, op, entry);
	fs->nqueued++;
}

void dir_queues_add_close(struct dir_fs *fs, struct dir_fd *file)
{
	TAILQ_INSERT_TAIL(&queue_of(fs, &file->holder.client)->closes, file, age);
	fs->nqueued++;
}

void dir_queues_remove_call(struct dir_fs *fs, struct op *op)
{
	TAILQ_REMOVE(&op->queue->calls, op, entry);
	fs->nqueued--;
}

void dir_queues_serve(struct dir_fs *fs, struct dir_queue *queue, struct op *op,
		      struct dir_fd *file)
{
	if (op)
		TAILQ_REMOVE(&queue->calls, op, entry);
	else
		TAILQ_REMOVE(&queue->closes, file, age);
	fs->nqueued--;
	end_turn(fs, queue);
}
