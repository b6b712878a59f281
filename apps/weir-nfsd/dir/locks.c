/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits how many threads of an export may wait for one file or directory.
 *
 * The kernel locks a directory while a name in it is looked up, made or removed, and while it is
 * listed. It locks a file while its attributes are set. A local process can hold such a lock for as
 * long as it wants, if it lists a directory into memory whose pages a FUSE file system of its own
 * provides. Then each call for that directory occupies its thread. The shares of clients (holds.h)
 * do not help, because many clients can each make one such call. Therefore at most DIR_TOGETHER
 * threads work on the same file or directory. Further calls wait in the queue, where they are
 * answered NFS3ERR_JUKEBOX when they are overdue (dir/watch.c).
 *
 * A client that lists the directory again and again could occupy all of these threads, even
 * without holding the lock. Therefore at most DIR_OF_CLIENT of these threads work for
 * the same client. The other threads are reserved for other clients, even if none of them has a
 * call for the directory.
 *
 * A call that moves a name from one directory to another also takes a lock of the whole file
 * system, and waits for the directories while it holds that lock. Therefore the limits also apply
 * to all such calls of an export together.
 */
#include <string.h>

#include "dir.h"

/*
 * Procedures whose calls can wait for the kernel's lock of a file or directory that they name.
 * Other calls, such as GETATTR and READ, continue while the lock is held. There is no limit for the
 * latter, and they do not wait for the former.
 */
static const bool takes_lock[NFS3_NPROCS] = {
	[NFS3_SETATTR] = true, [NFS3_LOOKUP] = true,  [NFS3_CREATE] = true,
	[NFS3_MKDIR] = true,   [NFS3_SYMLINK] = true, [NFS3_MKNOD] = true,
	[NFS3_REMOVE] = true,  [NFS3_RMDIR] = true,   [NFS3_RENAME] = true,
	[NFS3_LINK] = true,    [NFS3_READDIR] = true, [NFS3_READDIRPLUS] = true,
};

static bool is_same(const struct handle_id *a, const struct handle_id *b)
{
	return a->len_bytes == b->len_bytes && memcmp(a->data, b->data, a->len_bytes) == 0;
}

static bool is_move(const struct op *op)
{
	return op->proc == NFS3_RENAME && !is_same(&op->id, &op->id2);
}

/*
 * Sets ids[] to the files and directories for which a job can have to wait. Unused elements are
 * NULL. In a remote file system, any call can have to wait for its file.
 */
static void find_ids(const struct dir_fs *fs, const struct op *op, const struct dir_fd *file,
		     const struct handle_id *ids[2])
{
	ids[0] = ids[1] = NULL;
	if (!op) {
		ids[0] = &file->id;
	} else if (fs->is_remote || takes_lock[op->proc]) {
		ids[0] = &op->id;
		ids[1] = op->proc == NFS3_RENAME || op->proc == NFS3_LINK ? &op->id2 : NULL;
	}
}

static const struct client_key *client_of(const struct op *op, const struct dir_fd *file)
{
	return op ? &op->holder.client : &file->holder.client;
}

/*
 * Returns true if one more thread is allowed to work for this client on the file 'id'. If 'id' is
 * NULL, returns true if one more thread is allowed to move a name to another directory.
 */
static bool has_room(const struct dir_fs *fs, const struct handle_id *id,
		     const struct client_key *client)
{
	const struct dir_locks *locks;
	uint32_t n = 0, of_client = 0;

	LIST_FOREACH(locks, &fs->locks, entry)
	{
		if (id ? !is_same(&locks->ids[0], id) && !is_same(&locks->ids[1], id)
		       : !locks->is_move)
			continue;
		n++;
		of_client += client_key_equal(&locks->client, client);
	}
	return n < DIR_TOGETHER && of_client < DIR_OF_CLIENT;
}

bool dir_locks_allow(const struct dir_fs *fs, const struct op *op, const struct dir_fd *file)
{
	const struct client_key *client = client_of(op, file);
	const struct handle_id *ids[2];

	if (fs->nrunning < DIR_OF_CLIENT)
		return true;
	if (op && is_move(op) && !has_room(fs, NULL, client))
		return false;
	find_ids(fs, op, file, ids);
	for (int i = 0; i < 2; i++)
		if (ids[i] && ids[i]->len_bytes > 0 && !has_room(fs, ids[i], client))
			return false;
	return true;
}

void dir_locks_add(struct dir_fs *fs, struct dir_locks *locks, const struct op *op,
		   const struct dir_fd *file)
{
	const struct handle_id *ids[2];

	find_ids(fs, op, file, ids);
	for (int i = 0; i < 2; i++) {
		if (ids[i])
			locks->ids[i] = *ids[i];
		else
			locks->ids[i].len_bytes = 0;
	}
	locks->is_move = op && is_move(op);
	locks->client = *client_of(op, file);
	LIST_INSERT_HEAD(&fs->locks, locks, entry);
}

void dir_locks_remove(struct dir_locks *locks)
{
	LIST_REMOVE(locks, entry);
}
