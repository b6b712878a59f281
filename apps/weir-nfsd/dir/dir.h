/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DIR_H
#define DIR_H

/*
 * The back end 'dir': the files below a directory of this host.
 *
 * The poller never waits for a disk. READ, WRITE and COMMIT go to io_uring, with the memory that
 * replies and calls use registered as its buffers; their files stay open in a small cache, for some
 * seconds. All else is done by threads: a call waits in a queue, a thread carries it out as the
 * caller (fsuid, fsgid, groups) and posts it back to the poller, which replies.
 *
 * A file's id is the kernel's own handle of it (name_to_handle_at()), good as long as the file is,
 * over restarts of this server and of the host. The exported directory is the root of a mount that
 * only this process has, see dir/root.c, so that nothing is mounted below it. Names are looked up
 * one at a time with openat2(), which follows no symbolic link and crosses no mount; an id is given
 * out for files of that mount alone; ".." ends at the export's root. Together with handles that
 * can't be made up nothing outside is reached.
 *
 * Each file calls only those above it.
 *
 * Any thread:
 *   creds.c      as whom a thread acts
 *   handle.c     ids of files, names, attributes
 *   rights.c     what a caller may do
 *   root.c       the exported directory; limits.c: what its file system allows
 *
 * Code that runs on worker threads (dir/proc.h):
 *   made.c       what a call has made is kept or removed
 *   open.c       descriptors for data
 *   attr.c, create.c, remove.c, listing.c, list_sorted.c, list.c: the procedures
 *   proc.c       which of them a call needs
 *   locks.c      which jobs may begin; lines.c: which is next
 *   worker.c     the threads
 *
 * The poller:
 *   users.c      clients: their files, and their calls that wait
 *   blocks.c     memory for data
 *   sync.c       who waits for the sync of a file
 *   submit.c     what the ring is asked for
 *   answer.c     start and answer of a call
 *   fds.c        open files; slots.c: how many of them a client may have
 *   ring.c       start and stop of the ring
 *   io.c         READ, WRITE and COMMIT
 *   watch.c      calls that take too long
 *   call.c       the ways of a call
 *   retry.c      calls that have waited
 *   backend.c    start, stop and polls
 */

#include <liburing.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "block_pool.h"
#include "op.h"
#include "server.h"

#define DIR_THREADS 10u /* four of them for one connection, five for one client: holds.h */
#define DIR_TOGETHER                                                                               \
	3u /* of the threads, those that may wait for one file or directory: dir/locks.c */
#define DIR_OF_CLIENT 2u   /* of these, those that work for one client */
#define DIR_LINES     64u  /* of clients that wait for threads: dir/lines.c */
#define DIR_LOOK      256u /* calls of a line among which a thread looks for one that can begin */
#define DIR_GRANTS    4u   /* callers of an open file whose rights are known */
#define DIR_FDS	      256u /* of an export, where the process may have so many */
#define DIR_BUCKETS   256u
#define DIR_RING      256u
#define DIR_PLACES    512u /* calls that the kernel has: 204 of one connection, 256 of one client */
#define DIR_MEMORY    (64u << 20)

/*
 * WRITEs of a file that the kernel has at a time. It carries them out one after the other, because
 * it locks the file, and each that waits for the lock has a thread. More than one hides the time
 * from one WRITE's end to the next one's start.
 */
#define DIR_FILE_WRITES 4u

/*
 * A call that has waited for a thread, memory or the file system for as long as DIR_OVERDUE_NS is
 * answered NFS3ERR_JUKEBOX, see dir/watch.c. One that takes longer than DIR_SLOW_NS shows that the
 * file system is slow, which it stays for DIR_CAREFUL_NS.
 */
#define DIR_OVERDUE_NS (5ull * 1000000000u)
#define DIR_SLOW_NS    (1ull * 1000000000u)
#define DIR_CAREFUL_NS (60ull * 1000000000u)
#define DIR_FRESH_NS                                                                               \
	(1ull * 1000000000u) /* the age of a remote file's attributes up to which the poller goes  \
				by them */

#define DIR_FD_IDLE_NS	 (3ull * 1000000000u) /* a file that was not used for this long is closed */
#define DIR_FDS_PER_TICK 8u
#define DIR_TICK_POLLS	 256u

TAILQ_HEAD(dir_ios, dir_io);

/* A caller who may read or write a file as long as the file has this ctime. */
struct dir_grant {
	struct cred cred;
	uint32_t want;
	struct timespec ctime;
};

/* An open file. */
struct dir_fd {
	struct handle_id id;
	struct holder holder; /* whose thread closes it: whose call opened or removed it */
	/* of 'holder', among whose files it counts; NULL: it does not count */
	struct dir_user *user;
	bool is_written;   /* open for writing, only; else for reading, only */
	bool is_forgotten; /* to be closed when it is no longer in use */
	bool is_dirty;	   /* was written to since the start of the latest sync */
	uint32_t noverdue; /* WRITEs that were answered NFS3ERR_JUKEBOX, and that the kernel may
			      still carry out */
	uint64_t fresh_ns; /* when a thread last asked the file system for its attributes */
	int fd;
	uint32_t refs;
	uint32_t nwriting;     /* WRITEs that the kernel has: DIR_FILE_WRITES at most */
	struct op_list behind; /* WRITEs that wait until it has fewer */
	uint64_t used_ns;
	struct dir_ios syncing; /* those whom the sync that is under way is for */
	struct dir_ios to_sync; /* and the next; see dir/sync.c */
	int sync_result;	/* of the latest, 0 or -errno */
	uint32_t nlost;		/* syncs that failed */
	uint32_t ngrants;
	struct dir_grant grants[DIR_GRANTS];
	TAILQ_ENTRY(dir_fd) pending_syncs;
	LIST_ENTRY(dir_fd) bucket;
	TAILQ_ENTRY(dir_fd) age; /* of its client's; or of those to be closed */
};

TAILQ_HEAD(dir_fd_list, dir_fd);

/* A client that has files open, or calls that wait: dir/users.c. */
struct dir_user {
	TAILQ_ENTRY(dir_user) entry;
	struct client_key client;
	uint32_t nopen;	   /* files: open, or with a thread that opens them */
	uint32_t nleaving; /* of them, those that are closed when their last use or sync ends */
	_Atomic uint32_t
		nclosing; /* further ones: with threads that close them, or in their queue */
	struct dir_fd_list by_age; /* the open ones, the least recently used first */
	struct op_list waiting;	   /* for memory, places in the ring, or a further open file */
};

TAILQ_HEAD(dir_user_list, dir_user);

/* A READ, WRITE, COMMIT, or what SETATTR made stable, from its start to its reply, and a WRITE's
 * memory before that. */
struct dir_io {
	struct dir_fs *fs;
	struct op *op; /* NULL: a WRITE whose data are being pulled; the sync of a file that is to
			  be closed; or a call that was answered before its end */
	struct dir_fd *file;
	struct hold place; /* in the kernel; n is 0 if nobody is charged for it */
	bool is_writing;   /* a WRITE, whose data the kernel may take at any time */
	uint32_t block;	   /* BLOCK_POOL_NONE: none */
	struct hold hold;  /* of its pages, where there is one */
	int result;	   /* bytes, or -errno */
	int sync_result;
	bool is_second;		       /* COMMIT: by the other of two open files */
	uint32_t nlost;		       /* the file's, at its start */
	uint8_t verf[NFS3_VERF_BYTES]; /* WRITE's: of its start, as what is lost from then on may be
					  its own */
	LIST_ENTRY(dir_io) entry;      /* of the free ones */
	TAILQ_ENTRY(dir_io) sync;
};

/*
 * The files and directories that one job of a thread may wait for. The thread has copies, as a
 * call's own ids change.
 */
struct dir_locks {
	LIST_ENTRY(dir_locks) entry;
	struct client_key client;
	struct handle_id ids[2]; /* of length 0: none */
	bool is_move; /* it moves a name between directories, for which a file system has one lock
		       */
};

/* The jobs of a client that wait for a thread. */
struct dir_line {
	TAILQ_ENTRY(dir_line) entry;
	struct client_key client;
	struct op_list calls;
	struct dir_fd_list closes;
};

TAILQ_HEAD(dir_line_list, dir_line);

struct dir_fs {
	struct server *server;
	struct export *export;
	int root_fd;	  /* the directory there */
	bool is_private;  /* there is such a mount, so nothing is ever mounted below root_fd */
	int mount_id;	  /* of root_fd */
	bool is_remote;	  /* the file system may wait for another host or process to tell attributes
			   */
	bool is_unsteady; /* the file system's offsets are not good as cookies, see
			     dir/list_sorted.c */
	dev_t dev;
	ino_t root_ino;
	struct handle_id root_id;
	uint64_t file_max; /* bytes of a file; see dir/limits.c */
	uint32_t link_max;

	struct weir_region *region;
	struct block_pool pool;
	struct holds holds; /* pages of 'pool' */
	bool has_room;	    /* something came back that calls may wait for */
	struct io_uring ring;
	bool has_ring;
	uint16_t personality; /* the ring's, for WRITEs of all but root */
	uint32_t nios;	      /* calls in the ring */
	struct holds places;  /* of them, up to DIR_PLACES */
	LIST_HEAD(, dir_io) free_ios;
	uint8_t write_verf[NFS3_VERF_BYTES]; /* of dir_verf() */
	atomic_bool has_lost;		     /* data that were written, as a sync has said */
	struct dir_user_list users;	     /* those whose waiting calls come next first */
	struct dir_user rest;		     /* all for whom there was no memory */
	uint32_t nwaiting;		     /* calls of all users */
	uint32_t nwaits;		     /* counts dir_wait() */
	TAILQ_HEAD(, dir_fd) pending_syncs;  /* whose sync waits for a place in the ring */

	LIST_HEAD(, dir_fd) buckets[DIR_BUCKETS];
	uint32_t nfds, nfds_max;
	uint32_t npolls; /* since the clock was looked at */
	uint64_t now_ns; /* what it said */
	uint64_t careful_until_ns;
	struct op_list watched; /* calls that may be answered before their end, the oldest first */

	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t wake;
	struct dir_line lines[DIR_LINES];
	struct dir_line_list by_turn; /* all lines, the least recently served first */
	uint32_t nqueued;	      /* jobs in them */
	struct holds running;	      /* one for each call or close that a thread has */
	uint32_t nrunning;
	LIST_HEAD(, dir_locks) locks; /* of the same calls and closes */
	uint32_t nclosing;	      /* closes in lines, and those that threads have */
	bool stop;
	pthread_t threads[DIR_THREADS];
	uint32_t nthreads;
	uint32_t nworking; /* the poller's: calls that threads have */
	/* what the poller does with a call that a thread has carried out */
	void (*worked)(struct weir_engine *engine, void *op);
};

/* The states of a call, as the poller sees it: op->fs_state. */
enum dir_state {
	DIR_UNWATCHED, /* nowhere yet, or it is not answered before its end */
	DIR_WAITING,   /* in op->user->waiting */
	DIR_WORKING,   /* with the threads, or in their queue */
	DIR_BEHIND,    /* in the 'behind' of its file, which is op->fs_data */
	DIR_IN_RING,   /* op->fs_data is the struct dir_io */
	DIR_ANSWERED,  /* another took its place: see op_replace() */
};

/* A sync has failed: what it was to make stable may be lost, and the next one will not say so. Any
 * thread. */
static inline void dir_mark_data_loss(struct dir_fs *fs)
{
	atomic_store_explicit(&fs->has_lost, true, memory_order_release);
}

/*
 * Returns true if a kernel of this release keeps the offset of a tmpfs directory's entry for as
 * long as the entry exists. Linux does so since 6.6. The release is the text that uname(2) reports.
 * If it cannot be parsed, the function returns false, because listings are then slow but correct.
 */
bool dir_tmpfs_is_steady(const char *release);

/*
 * dir/creds.c: never on a thread that polls, as the kernel then refuses it its RDMA device.
 *
 * dir_obey_quotas() is for good, on this thread and those that it makes: quotas bind all, who come
 * from clients. 0 or -errno.
 */
int dir_obey_quotas(void);
/* Act as a caller on this thread, and as oneself again. 0, or -EPERM: the kernel would not have it,
 * and one is oneself. */
int dir_set_creds(const struct cred *cred);
void dir_reset_creds(void);

/* dir/worker.c */
int dir_work_start(struct dir_fs *fs, void (*worked)(struct weir_engine *engine, void *op));
void dir_work_stop(struct dir_fs *fs);
/* Let a thread have the call: dir_carry_out() there, fs->worked() back on the poller. */
void dir_work(struct dir_fs *fs, struct op *op);
/* Take a call back that no thread has begun. False: one has. The poller. */
bool dir_work_cancel(struct dir_fs *fs, struct op *op);
/* How many files threads close, or are to close. */
uint32_t dir_work_nclosing(struct dir_fs *fs);
/*
 * Let a thread close and free it, after a sync if it is dirty: nobody could be told later of what
 * was lost. A close can take as long as a call, and counts as one of file->holder's. When there are
 * no threads any more, the file is closed at once. The poller.
 */
void dir_work_close(struct dir_fs *fs, struct dir_fd *file);

/*
 * dir/lines.c: jobs that wait for a thread, in a line for each client. Any thread; fs->lock is
 * held, except in dir_lines_init().
 */
void dir_lines_init(struct dir_fs *fs);
void dir_lines_add_call(struct dir_fs *fs, struct op *op);
void dir_lines_add_close(struct dir_fs *fs, struct dir_fd *file);
/* The call has to be in a line. */
void dir_lines_remove_call(struct dir_fs *fs, struct op *op);
/* Remove a call, or the close of 'file' if 'op' is NULL, because a thread begins it: other lines go
 * first. */
void dir_lines_serve(struct dir_fs *fs, struct dir_line *line, struct op *op, struct dir_fd *file);

/*
 * dir/locks.c: calls and closes that may wait for one file or directory leave threads to others,
 * and those of one client leave some of that file's threads to other clients. Any thread; fs->lock
 * is held. dir_locks_allow() and dir_locks_add() are for a call, or for the close of 'file' if 'op'
 * is NULL.
 */
bool dir_locks_allow(const struct dir_fs *fs, const struct op *op, const struct dir_fd *file);
void dir_locks_add(struct dir_fs *fs, struct dir_locks *locks, const struct op *op,
		   const struct dir_fd *file);
void dir_locks_remove(struct dir_locks *locks);

/* dir/call.c: the ways of a call, on the poller */
void dir_start(struct fs *fs, struct op *op);
/* Begin, or try again, what may have to open a file that stays open. */
void dir_resume(struct dir_fs *fs, struct op *op);
/* A thread has carried out a call: the argument is a struct op. */
void dir_worked(struct weir_engine *engine, void *arg);

static inline bool dir_is_transfer(const struct op *op)
{
	return op->proc == NFS3_READ || op->proc == NFS3_WRITE || op->proc == NFS3_COMMIT;
}

/*
 * dir/root.c: the exported directory. Both return 0 or -errno. dir_root_prepare() sets
 * export->root, and prints the reason if it fails.
 */
int dir_root_prepare(struct export *export);
int dir_root_open(struct dir_fs *fs);
void dir_root_close(struct dir_fs *fs);

/* dir/handle.c: any thread. Descriptors or -errno. */
int dir_open_id(const struct dir_fs *fs, const struct handle_id *id, int flags);
int dir_open_name(int dir, const struct nfs3_name *name, int flags, mode_t mode);
/*
 * The parent of a directory. The parent of the export's root is the root itself. -ESTALE: the
 * export's root is not above the directory.
 */
int dir_open_parent(const struct dir_fs *fs, int dir);
/*
 * Set *id to the id of a name in 'dir', or of 'dir' itself if the name is "". Returns 0 or -errno:
 * -EXDEV if the file is not on the export's mount.
 */
int dir_id_of(const struct dir_fs *fs, int dir, const char *name, struct handle_id *id);
void dir_fattr(const struct dir_fs *fs, const struct stat *st, struct nfs3_fattr *attr);
void dir_post(const struct dir_fs *fs, int fd, struct nfs3_post_op_attr *post);
/*
 * The attributes of an open file, as the kernel has them, without waiting. The poller; 0 or -errno.
 */
int dir_stat(const struct dir_fs *fs, int fd, struct stat *st);
/* The file's attributes in the reply of a READ, WRITE or COMMIT. */
void dir_put_attr(struct op *op, const struct stat *st);
enum nfs3_status dir_status(int error); /* of a negative errno; 0 is NFS3_OK */
void dir_text(const struct nfs3_name *name, char text[NFS3_NAME_MAX + 1]);

/*
 * dir/rights.c. Functions return 0, -EACCES or another -errno, and run on a worker thread, unless
 * their comments say otherwise.
 *
 * dir_ask() decides for the user that the thread acts as, and dir_check() for a caller. Both ask
 * for all of 'want' at once, because one entry of an access control list has to grant all of it.
 * 'fd' may be an O_PATH descriptor.
 */
int dir_ask(int fd, uint32_t want);
int dir_check(const struct cred *cred, int fd, uint32_t want);
/* READ, WRITE, COMMIT: decide whether the caller may do it, and record the decision in 'op'. */
int dir_decide(struct op *op, int fd, const struct stat *st);
uint32_t dir_want(const struct op *op); /* any thread: MAY_READ or MAY_WRITE */
/*
 * Any thread. No decision is needed for root, who may read and write every file, and for the owner,
 * who may go on with a file that a client has opened, whatever its mode (RFC 1813 section 4.4).
 */
bool dir_is_exempt(const struct op *op, const struct stat *st);
/*
 * The poller. dir_is_granted() tells whether an earlier decision allows the call. dir_grant() keeps
 * the decision that was made for 'op', if later calls can rely on it.
 */
bool dir_is_granted(const struct dir_fd *file, const struct op *op, const struct stat *st);
void dir_grant(struct dir_fd *file, const struct op *op);

/* dir/limits.c: at the start, when the root is open */
void dir_limits_find(struct dir_fs *fs);

/* dir/fds.c: open files, on the poller */
void dir_fds_start(struct dir_fs *fs);
/* With a reference; NULL: not open. */
struct dir_fd *dir_fd_get(struct dir_fs *fs, const struct handle_id *id, bool is_written);
/*
 * Keep open what a call has opened, among the files of 'user', which dir_slot_use() has returned.
 * With a reference: this one, or that which was there already.
 */
struct dir_fd *dir_fd_add(struct dir_fs *fs, struct dir_user *user, struct dir_fd *file);
/* Close what a call has opened, because it is of no use. 'user' is as above. */
void dir_fd_discard(struct dir_fs *fs, struct dir_user *user, struct dir_fd *file);
/*
 * A file that several clients use counts for one that has few. Otherwise, one that goes round many
 * files would have those of others closed.
 */
void dir_fd_used_by(struct dir_fs *fs, struct dir_fd *file, const struct holder *holder);
void dir_fd_put(struct dir_fs *fs, struct dir_fd *file);
/* The same file, opened for the other purpose, if it is; without a reference. */
struct dir_fd *dir_fd_other(struct dir_fs *fs, const struct dir_fd *file);
/*
 * Close it as soon as it is not in use. Its last close may be slow, as that of a large file which
 * was removed: it counts as a job of 'holder', who made the call that is the reason.
 */
void dir_fd_forget(struct dir_fs *fs, const struct holder *holder, const struct handle_id *id);
void dir_fds_shrink(struct dir_fs *fs, uint32_t n);    /* close 'n', or all that are not in use */
void dir_fds_tick(struct dir_fs *fs, uint64_t now_ns); /* close some that are idle */
/* Close the file that the client used least recently, of those that are not in use. False: all are.
 */
bool dir_fd_drop_idle(struct dir_fs *fs, struct dir_user *user);
void dir_fds_close(struct dir_fs *fs);

/* dir/users.c: what clients have of the cache of open files, and calls that wait. The poller. */
void dir_users_init(struct dir_fs *fs);
void dir_users_free(struct dir_fs *fs); /* after dir_fds_close() */
void dir_users_tick(struct dir_fs *fs); /* forget those that have nothing */
struct dir_user *dir_user_of(struct dir_fs *fs, const struct holder *holder);
struct dir_user *dir_user_of_most(struct dir_fs *fs); /* of the files that stay open */
/* Have the call wait: dir_resume() is called when it may go on, unless dir_wait_end() is called
 * before. */
void dir_wait(struct dir_fs *fs, struct op *op);
void dir_wait_end(struct dir_fs *fs, struct op *op);

/* The files of a client that threads close, or that are in their queue. */
static inline uint32_t dir_user_nclosing(const struct dir_user *user)
{
	return atomic_load_explicit(&user->nclosing, memory_order_acquire);
}

/* The open files of a client that are not about to be closed. */
static inline uint32_t dir_user_nstaying(const struct dir_user *user)
{
	return user->nopen - user->nleaving;
}

/*
 * dir/slots.c: the files that a call may have opened and kept open. The poller.
 *
 * Let the call's client have one more open file, which the call then has. False: not now, because
 * the client has its share, or too many files wait to be closed, which a slow disk causes.
 */
bool dir_slot_take(struct dir_fs *fs, struct op *op);
/* Give it back, if the call has one, because the call has opened no file. */
void dir_slot_release(struct op *op);
/* A file takes the call's place, or a further one if the call has none. */
struct dir_user *dir_slot_use(struct dir_fs *fs, struct op *op);

/* dir/retry.c: try one call of each client again. Returns how many could go on. The poller. */
uint32_t dir_wait_retry(struct dir_fs *fs);

/*
 * dir/answer.c: the start and the answer of a call. The poller. dir_watch_begin() is called first
 * for each call, and dir_done() or dir_fail() ends it. dir_watch_end() takes the call off the list
 * of those that dir/watch.c looks at.
 */
void dir_watch_begin(struct dir_fs *fs, struct op *op);
void dir_watch_end(struct dir_fs *fs, struct op *op);
void dir_done(struct dir_fs *fs, struct op *op);
void dir_fail(struct dir_fs *fs, struct op *op, enum nfs3_status status);

/*
 * dir/watch.c: answers what takes too long. The poller. dir_watch_tick() answers what is overdue.
 * dir_watch_returned() takes back a call that was answered while a thread had it.
 */
void dir_watch_tick(struct dir_fs *fs);
void dir_watch_returned(struct dir_fs *fs, struct op *op);
/*
 * Returns true if calls of this export may hang: the file system is remote, or a call was slow a
 * moment ago. The caller then takes the slower path on which dir/watch.c can answer for the call.
 */
static inline bool dir_is_careful(const struct dir_fs *fs)
{
	return fs->is_remote || fs->now_ns < fs->careful_until_ns;
}

/* dir/blocks.c: memory for data, on the poller */
struct dir_io *dir_io_take(struct dir_fs *fs);
void dir_io_release(void *arg); /* a struct dir_io, as weir_request_on_sent() calls it */
void dir_io_mail(struct weir_engine *engine, void *arg);
/* Memory for a call of the holder's. False: there is none, or it is not for this connection now. */
bool dir_take_block(struct dir_io *io, const struct holder *holder, uint32_t bytes);
/*
 * Move a WRITE's data from its message to memory of io's, which they may stay in after the reply.
 * False: as above.
 */
bool dir_keep_data(struct dir_io *io, struct op *op);
int dir_place(struct fs *fs, struct weir_request *req, const struct handle_id *id,
	      const struct cred *cred, uint64_t offset, uint32_t len_bytes,
	      struct weir_arg_sink *place);
/* Memory for a READLINK's path, before it goes to a thread. */
bool dir_link_begin(struct dir_fs *fs, struct op *op);

/* dir/ring.c */
int dir_io_start(struct dir_fs *fs); /* memory */
int dir_ring_start(
	struct dir_fs *fs); /* then what the kernel is asked by; 0 or -errno, as of the others */
void dir_io_stop(struct dir_fs *fs);

/* dir/sync.c: who waits for syncs of a file; no sync is made here */
void dir_sync_init(struct dir_fd *file);
/* Have io->file's next sync be for it. True: none is under way or asked for, so ask for one. */
bool dir_sync_want(struct dir_io *io);
/* One is about to begin, for all who want it. True: it may be one of data alone. */
bool dir_sync_begin(struct dir_fd *file);
/* A sync ended with 'result', which is 0 or -errno. Before another one begins, the caller takes
 * requests from dir_sync_next() until that returns NULL, and ends each. */
void dir_sync_end(struct dir_fd *file, int result);
struct dir_io *dir_sync_next(struct dir_fd *file);

/* dir/io.c: data, on the poller */
void dir_transfer(struct dir_fs *fs,
		  struct op *op); /* READ, WRITE, COMMIT: opens the file first if it has to */
/* What was carried out has changed op->fs_data, an open file: sync it, then reply. */
void dir_sync_then_reply(struct dir_fs *fs, struct op *op);
/*
 * A worker has opened op->fs_data, or has decided that the caller may use it. If not,
 * op->res.status is the reason.
 */
void dir_opened(struct dir_fs *fs, struct op *op);
/* The verifier of WRITE and COMMIT: another one after each sync that failed, as what it lost may
 * have been any client's. */
const uint8_t *dir_verf(struct dir_fs *fs);
/* Let go of the call that op->fs_data has in the ring, so that it can be answered before its end.
 */
void dir_io_let_go(struct op *op);
/* Take a WRITE out of the 'behind' of its file, so that it can be answered. */
void dir_io_give_up(struct dir_fs *fs, struct op *op);
/* Take what the kernel has done. Returns how much. */
uint32_t dir_io_poll(struct dir_fs *fs);

#endif
