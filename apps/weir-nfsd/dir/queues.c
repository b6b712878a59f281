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
 * If more than DIR_LINES clients have jobs, some share a queue.
 */
#include "dir.h"

void dir_lines_init(struct dir_fs *fs)
{
	TAILQ_INIT(&fs->by_turn);
	for (uint32_t i = 0; i < DIR_LINES; i++) {
		struct dir_line *line = &fs->lines[i];

		TAILQ_INIT(&line->calls);
		TAILQ_INIT(&line->closes);
		TAILQ_INSERT_TAIL(&fs->by_turn, line, entry);
	}
}

static bool is_empty(const struct dir_line *line)
{
	return TAILQ_EMPTY(&line->calls) && TAILQ_EMPTY(&line->closes);
}

static void end_turn(struct dir_fs *fs, struct dir_line *line)
{
	TAILQ_REMOVE(&fs->by_turn, line, entry);
	TAILQ_INSERT_TAIL(&fs->by_turn, line, entry);
}

/*
 * Returns the queue of a client. A client without a queue gets an empty one, which is served last
 * in the round. If such a queue were served first, a client that appears under ever new addresses
 * could prevent others from being served. If there is no empty queue, returns the queue that was
 * served least recently.
 */
static struct dir_line *line_of(struct dir_fs *fs, const struct client_key *client)
{
	struct dir_line *line, *empty = NULL;

	TAILQ_FOREACH_REVERSE(line, &fs->by_turn, dir_line_list, entry)
	{
		if (client_key_equal(&line->client, client))
			return line;
		if (is_empty(line))
			empty = line;
	}
	if (!empty)
		return TAILQ_FIRST(&fs->by_turn);
	empty->client = *client;
	end_turn(fs, empty);
	return empty;
}

void dir_lines_add_call(struct dir_fs *fs, struct op *op)
{
	op->line = line_of(fs, &op->holder.client);
	TAILQ_INSERT_TAIL(&op->line->calls, op, entry);
	fs->nqueued++;
}

void dir_lines_add_close(struct dir_fs *fs, struct dir_fd *file)
{
	TAILQ_INSERT_TAIL(&line_of(fs, &file->holder.client)->closes, file, age);
	fs->nqueued++;
}

void dir_lines_remove_call(struct dir_fs *fs, struct op *op)
{
	TAILQ_REMOVE(&op->line->calls, op, entry);
	fs->nqueued--;
}

void dir_lines_serve(struct dir_fs *fs, struct dir_line *line, struct op *op, struct dir_fd *file)
{
	if (op)
		TAILQ_REMOVE(&line->calls, op, entry);
	else
		TAILQ_REMOVE(&line->closes, file, age);
	fs->nqueued--;
	end_turn(fs, line);
}
