/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DIR_H
#define DIR_H

/*
 * The back end 'dir': the files below a directory of this host.
 *
 * The poller never waits for a disk. READ, WRITE and COMMIT use io_uring, with the memory of
 * replies and calls registered as its buffers. Their files stay open in a small cache for some
 * seconds. Threads do everything else: a call waits in a queue, a thread carries it out as the
 * caller (fsuid, fsgid, groups) and posts it back to the poller, which replies.
 *
 * A file's id is the kernel's own handle (name_to_handle_at()). It is valid as long as the file
 * exists, even after a restart of this server or the host. Together with handles that cannot be
 * forged, these rules keep clients inside the export:
 *
 * - The exported directory is the root of a mount that only this process has, see dir/root.c, so
 *   nothing is mounted below it.
 * - Names are looked up one at a time with openat2(), which follows no symbolic link and crosses no
 *   mount.
 * - Only files of that mount get an id.
 * - ".." ends at the export's root.
 *
 * Each file of this list calls only files above it.
 *
 * Any thread:
 *   creds.c      the user as whom a thread acts
 *   handle.c     ids of files, names, attributes
 *   rights.c     a caller's rights
 *   root.c       the exported directory; limits.c: limits of its file system
 *
 * Code that runs on worker threads (dir/proc.h):
 *   made.c       keeps or removes what a call has made
 *   open.c       descriptors for data
 *   attr.c, create.c, remove.c, list.c: the procedures
 *   listing.c    reads the entries of a directory, and encodes an entry for list.c
 *   list_sorted.c  lists a directory whose file system has no steady offsets
 *   proc.c       the table of procedures
 *   locks.c      which jobs may begin; queues.c: which is next
 *   worker.c     the threads
 *
 * The poller:
 *   users.c      clients: their files, and their calls that wait
 *   blocks.c     memory for data
 *   sync.c       requests for the sync of a file
 *   submit.[ch]  prepares entries of the ring
 *   answer.c     start and answer of a call
 *   fds.c        open files; slots.c: how many of them a client may have
 *   ring.c       start and stop of the ring
 *   io.c         READ, WRITE and COMMIT; passes the entries to the kernel, and handles completions
 *   watch.c      calls that take too long
 *   call.c       the path of a call
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

#define DIR_THREADS 10u /* worker threads; up to 4 for a connection and 5 for a client: holds.h */
#define DIR_TOGETHER                                                                               \
	3u /* the threads that may wait for one file or directory at a time: dir/locks.c */
#define DIR_OF_CLIENT 2u   /* of these threads, those for one client */
#define DIR_QUEUES    64u  /* queues of clients that wait for threads: dir/queues.c */
#define DIR_LOOK      256u /* calls of a queue that a thread examines to find one that can begin */
#define DIR_GRANTS    4u   /* callers whose rights to an open file are stored */
#define DIR_FDS	      256u /* open files per export, or fewer if the process may not open so many */
#define DIR_BUCKETS   256u
#define DIR_RING      256u
#define DIR_CALLS_MAX                                                                              \
	512u /* maximum calls in the kernel; 204 for a connection, 256 for a client                \
	      */
#define DIR_MEMORY (64u << 20)

/* Maximum number of WRITEs of one file that are in the kernel at a time. The kernel locks the file
 * and carries these WRITEs out one after the other. Each WRITE that waits for the lock occupies a
 * kernel thread. More than one WRITE hides the time from the end of a WRITE to the start of the
 * next. */
#define DIR_FILE_WRITES 4u

/*
 * A call that has waited for a thread, memory or the file system for DIR_OVERDUE_NS is answered
 * NFS3ERR_JUKEBOX, see dir/watch.c. If a call takes longer than DIR_SLOW_NS, the file system is
 * taken to be slow for the next DIR_CAREFUL_NS.
 */
#define DIR_OVERDUE_NS (5ull * 1000000000u)
#define DIR_SLOW_NS    (1ull * 1000000000u)
#define DIR_CAREFUL_NS (60ull * 1000000000u)
#define DIR_FRESH_NS                                                                               \
	(1ull * 1000000000u) /* age up to which the poller relies on a remote file's               \
				attributes */

#define DIR_FD_IDLE_NS	 (3ull * 1000000000u) /* a file that was not used for this long is closed */
#define DIR_FDS_PER_TICK 8u
#define DIR_TICK_POLLS	 256u
#define DIR_TICK_NS	 10000000u

TAILQ_HEAD(dir_ios, dir_io);

/* The right of a caller to use a file, for as long as the file's ctime is 'ctime'. */
struct dir_grant {
	struct cred cred;
	uint32_t want; /* MAY_READ or MAY_WRITE */
	struct timespec ctime;
};

/* An open file. */
struct dir_fd {
	struct handle_id id;
	struct holder holder; /* the close counts as a job of this client, whose call opened or
				 removed the file */
	/* the client of 'holder', among whose files this file counts; NULL if it does not count */
	struct dir_user *user;
	bool is_written;   /* true: open only for writing; false: only for reading */
	bool is_forgotten; /* the file is closed when its last use ends */
	bool is_dirty;	   /* was written to since the start of the latest sync */
	uint32_t noverdue; /* WRITEs that were answered NFS3ERR_JUKEBOX and that the kernel might
			      still carry out */
	uint64_t fresh_ns; /* time when a thread last asked the file system for the attributes */
	int fd;
	uint32_t refs;
	uint32_t nwriting;	/* WRITEs in the kernel, at most DIR_FILE_WRITES */
	struct op_list behind;	/* WRITEs that wait because 'nwriting' is at its maximum */
	uint64_t used_ns;	/* time when a call last got the file from the cache */
	struct dir_ios syncing; /* requests that the present sync serves */
	struct dir_ios to_sync; /* requests for the next sync, see dir/sync.c */
	int sync_result;	/* result of the latest sync, 0 or -errno */
	uint32_t nlost;		/* number of failed syncs */
	uint32_t ngrants;
	struct dir_grant grants[DIR_GRANTS];
	TAILQ_ENTRY(dir_fd) pending_syncs;
	LIST_ENTRY(dir_fd) bucket;
	/* links the files of 'user', or the files that wait in a queue for their close */
	TAILQ_ENTRY(dir_fd) age;
};

TAILQ_HEAD(dir_fd_list, dir_fd);

/* A client that has open files or calls that wait: dir/users.c. */
struct dir_user {
	TAILQ_ENTRY(dir_user) entry;
	struct client_key client;
	uint32_t nopen;	   /* files that are open, or that a thread opens */
	uint32_t nleaving; /* of 'nopen', files that are closed when their last use or sync ends */
	/* further files: those that a thread closes, or that wait for a thread */
	_Atomic uint32_t nclosing;
	struct dir_fd_list by_age; /* the open files, the least recently used first */
	struct op_list waiting;	   /* calls that wait for memory, the ring, or one more open file */
};

TAILQ_HEAD(dir_user_list, dir_user);

/* A READ, WRITE or COMMIT, or the sync after a SETATTR or CREATE, from its start to its reply.
 * Before a WRITE starts, the struct only holds the memory for the WRITE's data. */
struct dir_io {
	struct dir_fs *fs;
	struct op *op; /* NULL for a WRITE whose data are being pulled, for the sync of a file that
			  will be closed, and for a call that was answered before its end */
	struct dir_fd *file;
	struct hold call_hold; /* the client's hold of one call in the kernel; n is 0 if no client
			      is charged */
	bool is_writing;       /* the kernel might read the data of this WRITE at any time */
	uint32_t block;	       /* number of a block in fs->pool, or BLOCK_POOL_NONE */
	struct hold hold;      /* the client's hold of the block's pages, if there is a block */
	int result;	       /* of the READ or WRITE: bytes, or -errno */
	int sync_result;       /* of the sync: 0 or -errno */
	bool is_second;	       /* COMMIT: waits for a sync of the file's other descriptor */
	uint32_t nlost;	       /* value of file->nlost at the start of this operation */
	uint8_t verf[NFS3_VERF_BYTES]; /* WRITE: the verifier at its start, because a later loss
					  might include its data */
	LIST_ENTRY(dir_io) entry;      /* in the list of free ones */
	TAILQ_ENTRY(dir_io) sync;
};

/* The files and directories for which one job of a thread can have to wait. The ids are copies,
 * because the ids of a call change. */
struct dir_locks {
	LIST_ENTRY(dir_locks) entry;
	struct client_key client;
	struct handle_id ids[2]; /* length 0 if unused */
	bool is_move; /* moves a name between directories, for which a file system has one lock */
};

/* The jobs of a client that wait for a thread. */
struct dir_queue {
	TAILQ_ENTRY(dir_queue) entry;
	struct client_key client;
	struct op_list calls;
	struct dir_fd_list closes;
};

TAILQ_HEAD(dir_queue_list, dir_queue);

struct dir_fs {
	struct server *server;
	struct export *export;
	int root_fd;	  /* the directory on the private mount */
	bool is_private;  /* there is a private mount, so nothing is ever mounted below root_fd */
	int mount_id;	  /* mount of root_fd */
	bool is_remote;	  /* attributes might have to come from another host or process */
	bool is_unsteady; /* the file system's offsets cannot be cookies, see dir/list_sorted.c */
	dev_t dev;
	ino_t root_ino;
	struct handle_id root_id;
	uint64_t file_max; /* bytes of a file, see dir/limits.c */
	uint32_t link_max;

	struct weir_region *region;
	struct block_pool pool;
	struct holds holds; /* blocks that clients hold, in pages of 'pool' */
	bool has_room;	    /* a resource that calls can wait for was released */
	struct io_uring ring;
	bool has_ring;
	uint16_t personality;	   /* the ring's credentials for WRITEs by all users but root */
	uint32_t nios;		   /* operations in the kernel, with or without a call */
	struct holds client_calls; /* of these, the calls of clients, up to DIR_CALLS_MAX */
	LIST_HEAD(, dir_io) free_ios;
	uint8_t write_verf[NFS3_VERF_BYTES]; /* verifier that dir_verf() returns */
	atomic_bool has_lost;		     /* a sync has reported the loss of written data */
	/* all clients; first those whose waiting calls are retried next */
	struct dir_user_list users;
	struct dir_user rest; /* represents all clients for whom there was no memory */
	uint32_t nwaiting;    /* waiting calls of all clients */
	uint32_t nwaits;      /* how often dir_wait() was called */
	/* files whose sync waits for a free entry of the ring */
	TAILQ_HEAD(, dir_fd) pending_syncs;

	LIST_HEAD(, dir_fd) buckets[DIR_BUCKETS];
	uint32_t nfds, nfds_max;
	uint32_t npolls; /* polls since the latest tick */
	uint64_t now_ns; /* time of the latest tick */
	uint64_t careful_until_ns;
	struct op_list watched; /* calls that can be answered before their end, the oldest first */

	pthread_mutex_t lock; /* guards all members below */
	pthread_cond_t wake;
	struct dir_queue queues[DIR_QUEUES];
	struct dir_queue_list by_turn; /* all queues, the least recently served first */
	uint32_t nqueued;	       /* jobs in the queues */
	struct holds running;	       /* one hold for each call or close that a thread has */
	uint32_t nrunning;
	LIST_HEAD(, dir_locks) locks; /* locks of the calls and closes of 'running' */
	uint32_t nclosing;	      /* closes in the queues and those that threads have */
	bool stop;
	pthread_t threads[DIR_THREADS];
	uint32_t nthreads;
	uint32_t nworking; /* calls that threads have; belongs to the poller */
	/* runs on the poller after a thread has carried out a call */
	void (*worked)(struct weir_engine *engine, void *op);
};

/* The states of a call from the view of the poller: op->fs_state. */
enum dir_state {
	DIR_UNWATCHED, /* not started, or in a step in which dir/watch.c does not answer it */
	DIR_WAITING,   /* in op->user->waiting */
	DIR_WORKING,   /* with a thread, or in a queue for one */
	DIR_BEHIND,    /* in 'behind' of its file, which is op->fs_data */
	DIR_IN_RING,   /* op->fs_data is the struct dir_io */
	DIR_ANSWERED,  /* another op was answered instead: see op_replace() */
};

/* Records that a sync has failed. The data that this sync should have made stable might be lost,
 * and the next sync does not report that. Any thread is allowed to call this function. */
static inline void dir_mark_data_loss(struct dir_fs *fs)
{
	atomic_store_explicit(&fs->has_lost, true, memory_order_release);
}

/* Returns true if a kernel of this release keeps the offset of a tmpfs directory's entry for as
 * long as the entry exists. Linux does so since 6.6. 'release' is the text that uname(2) reports.
 * Returns false if 'release' cannot be parsed, because listings are then slow but correct. */
bool dir_tmpfs_is_steady(const char *release);

/*
 * dir/creds.c: not for threads that poll, because the kernel then refuses them their RDMA device.
 *
 * dir_obey_quotas() subjects this thread, and all threads that it makes, to quotas from then on,
 * because all calls come from clients. Returns 0 or -errno.
 */
int dir_obey_quotas(void);
/*
 * Makes this thread act as a caller. Returns 0, or -EPERM if the kernel refuses; the thread then
 * acts as the server. dir_reset_creds() makes the thread act as the server again.
 */
int dir_set_creds(const struct cred *cred);
void dir_reset_creds(void);

/* dir/worker.c: starts threads that carry out jobs (returns 0 or -errno), and stops them */
int dir_work_start(struct dir_fs *fs, void (*worked)(struct weir_engine *engine, void *op));
void dir_work_stop(struct dir_fs *fs);
/* Queues a call for a thread, which runs dir_carry_out(). Then the poller runs fs->worked(). */
void dir_work(struct dir_fs *fs, struct op *op);
/* Removes a call from its queue. Returns false if a thread has begun the call. For the poller. */
bool dir_work_cancel(struct dir_fs *fs, struct op *op);
/* Returns the number of files that threads close or will close. */
uint32_t dir_work_nclosing(struct dir_fs *fs);
/* Has a thread close and free the file, after a sync if it is dirty, because a later loss of data
 * could not be reported. A close can take as long as a call, and counts as a call of file->holder.
 * If there are no threads, the file is closed at once. For the poller. */
void dir_work_close(struct dir_fs *fs, struct dir_fd *file);

/*
 * dir/queues.c: a queue per client of jobs that wait for a thread. For any thread that holds
 * fs->lock. dir_queues_init() does not need the lock.
 */
void dir_queues_init(struct dir_fs *fs);
void dir_queues_add_call(struct dir_fs *fs, struct op *op);
void dir_queues_add_close(struct dir_fs *fs, struct dir_fd *file);
/* The call must be in a queue. */
void dir_queues_remove_call(struct dir_fs *fs, struct op *op);
/* Removes a call, or the close of 'file' if 'op' is NULL, from the queue 'line', because a thread
 * begins this job. All other queues are served before this queue is served again. */
void dir_queues_serve(struct dir_fs *fs, struct dir_queue *queue, struct op *op,
		      struct dir_fd *file);

/* dir/locks.c: limits the threads that wait for one file or directory, in total and for one client.
 * For any thread that holds fs->lock. dir_locks_allow() and dir_locks_add() are for a call, or for
 * the close of 'file' if 'op' is NULL. */
bool dir_locks_allow(const struct dir_fs *fs, const struct op *op, const struct dir_fd *file);
void dir_locks_add(struct dir_fs *fs, struct dir_locks *locks, const struct op *op,
		   const struct dir_fd *file);
void dir_locks_remove(struct dir_locks *locks);

/* dir/call.c: the path of a call, on the poller */
void dir_start(struct fs *fs, struct op *op);
/* Begins or retries a call that might have to open a file that stays open. */
void dir_resume(struct dir_fs *fs, struct op *op);
/* Continues a call that a thread has carried out. The argument is a struct op. */
void dir_worked(struct weir_engine *engine, void *arg);

static inline bool dir_is_transfer(const struct op *op)
{
	return op->proc == NFS3_READ || op->proc == NFS3_WRITE || op->proc == NFS3_COMMIT;
}

/*
 * dir/root.c: the exported directory. dir_root_prepare() and dir_root_open() return 0 or -errno.
 * dir_root_prepare() sets export->root, and prints the reason if it fails.
 */
int dir_root_prepare(struct export *export);
int dir_root_open(struct dir_fs *fs);
void dir_root_close(struct dir_fs *fs);

/* dir/handle.c: for any thread. These return descriptors or -errno. */
int dir_open_id(const struct dir_fs *fs, const struct handle_id *id, int flags);
int dir_open_name(int dir, const struct nfs3_name *name, int flags, mode_t mode);
/*
 * Opens the parent of a directory. The parent of the export's root is the root itself. Returns
 * -ESTALE if the directory is not below the export's root.
 */
int dir_open_parent(const struct dir_fs *fs, int dir);
/*
 * Sets *id to the id of a name in 'dir', or of 'dir' itself if the name is "". Returns 0 or -errno:
 * -EXDEV if the file is not on the export's mount.
 */
int dir_id_of(const struct dir_fs *fs, int dir, const char *name, struct handle_id *id);
void dir_fattr(const struct dir_fs *fs, const struct stat *st, struct nfs3_fattr *attr);
void dir_post(const struct dir_fs *fs, int fd, struct nfs3_post_op_attr *post);
/* Gets those attributes of an open file that the kernel has in memory. Does not wait. Returns 0 or
 * -errno. For the poller. */
int dir_stat(const struct dir_fs *fs, int fd, struct stat *st);
/* Puts the file's attributes into the reply of a READ, WRITE or COMMIT. */
void dir_put_attr(struct op *op, const struct stat *st);
enum nfs3_status dir_status(int error); /* converts a negative errno; 0 is NFS3_OK */
void dir_text(const struct nfs3_name *name, char text[NFS3_NAME_MAX + 1]);

/*
 * dir/rights.c. Functions return 0, -EACCES or another -errno, and run on a worker thread, unless
 * their comments say otherwise.
 *
 * dir_ask() decides for the user that the thread acts as, dir_check() for a caller. Both ask for
 * all rights of 'want' at once, because one entry of an access control list has to grant all of
 * them. 'fd' can be an O_PATH descriptor.
 */
int dir_ask(int fd, uint32_t want);
int dir_check(const struct cred *cred, int fd, uint32_t want);
/* Decides whether the caller has the right to do a READ, WRITE or COMMIT, and records this in 'op'.
 */
int dir_decide(struct op *op, int fd, const struct stat *st);
uint32_t dir_want(const struct op *op); /* for any thread: MAY_READ or MAY_WRITE */
/*
 * For any thread. Returns true for callers that need no decision: root, who may read and write
 * every file, and the owner, who may continue with a file that a client has opened, whatever its
 * mode (RFC 1813 section 4.4).
 */
bool dir_is_exempt(const struct op *op, const struct stat *st);
/*
 * For the poller. dir_is_granted() returns true if an earlier decision allows the call. dir_grant()
 * keeps the decision for 'op' if later calls can rely on it.
 */
bool dir_is_granted(const struct dir_fd *file, const struct op *op, const struct stat *st);
void dir_grant(struct dir_fd *file, const struct op *op);

/* dir/limits.c: is called at the start, when the root is open */
void dir_limits_find(struct dir_fs *fs);

/* dir/fds.c: open files, on the poller */
void dir_fds_start(struct dir_fs *fs);
/* Returns an open file with a new reference, or NULL if it is not open. */
struct dir_fd *dir_fd_get(struct dir_fs *fs, const struct handle_id *id, bool is_written);
/* Adds a file that a call has opened to the open files of 'user', which dir_slot_use() has
 * returned. Returns the file with a reference. If it was open already, closes the new descriptor
 * and returns the older struct. */
struct dir_fd *dir_fd_add(struct dir_fs *fs, struct dir_user *user, struct dir_fd *file);
/* Closes a file that a call has opened and does not need. dir_slot_use() has returned 'user'. */
void dir_fd_discard(struct dir_fs *fs, struct dir_user *user, struct dir_fd *file);
/* If the client of 'holder' (holds.h) has fewer open files than the client for which 'file' counts,
 * counts 'file' for the client of 'holder'. Without this rule, a client that accesses many files in
 * turn would cause the files of other clients to be closed. */
void dir_fd_used_by(struct dir_fs *fs, struct dir_fd *file, const struct holder *holder);
void dir_fd_put(struct dir_fs *fs, struct dir_fd *file); /* releases a reference */
/* Returns the file as it is open for the other purpose (reading or writing), without a reference,
 * or NULL. */
struct dir_fd *dir_fd_other(struct dir_fs *fs, const struct dir_fd *file);
/* Closes the file as soon as it is not in use. The last close can be slow, as for a large file that
 * was removed. The close counts as a job of 'holder' (holds.h), whose call is the reason. */
void dir_fd_forget(struct dir_fs *fs, const struct holder *holder, const struct handle_id *id);
void dir_fds_shrink(struct dir_fs *fs,
		    uint32_t n); /* closes 'n' files, or all that are not in use */
void dir_fds_tick(struct dir_fs *fs, uint64_t now_ns); /* closes some idle files */
/* Closes the client's least recently used file that is not in use. Returns false if there is none.
 */
bool dir_fd_drop_idle(struct dir_fs *fs, struct dir_user *user);
void dir_fds_close(struct dir_fs *fs);

/* dir/users.c: clients' open files, and calls that wait. For the poller. */
void dir_users_init(struct dir_fs *fs);
void dir_users_free(struct dir_fs *fs); /* is called after dir_fds_close() */
void dir_users_tick(struct dir_fs *fs); /* forgets clients that have nothing */
struct dir_user *dir_user_of(struct dir_fs *fs, const struct holder *holder);
/* Returns the client with the most files that will stay open. */
struct dir_user *dir_user_of_most(struct dir_fs *fs);
/* Adds the call to its client's waiting calls. dir_resume() is called when the call can continue,
 * unless dir_wait_end() is called earlier. */
void dir_wait(struct dir_fs *fs, struct op *op);
void dir_wait_end(struct dir_fs *fs, struct op *op);

/* Returns the number of a client's files that threads close, or that wait for a thread to close
 * them. */
static inline uint32_t dir_user_nclosing(const struct dir_user *user)
{
	return atomic_load_explicit(&user->nclosing, memory_order_acquire);
}

/* Returns the number of a client's open files that will stay open. */
static inline uint32_t dir_user_nstaying(const struct dir_user *user)
{
	return user->nopen - user->nleaving;
}

/*
 * dir/slots.c: slots. A slot is the right of a call to open one more file and keep it open. For the
 * poller.
 *
 * Gives the call a slot for one more open file of its client. Returns false if the client has its
 * share of open files, or if too many files wait for their close, as with a slow disk.
 */
bool dir_slot_take(struct dir_fs *fs, struct op *op);
/* Gives back the slot, if the call has one, because the call has opened no file. */
void dir_slot_release(struct op *op);
/* Converts the call's slot to an open file. If the call has no slot, counts one more open file.
 * Returns the client for which the file counts. */
struct dir_user *dir_slot_use(struct dir_fs *fs, struct op *op);

/* dir/retry.c: retries one waiting call of each client. Returns how many continued. For the poller.
 */
uint32_t dir_wait_retry(struct dir_fs *fs);

/*
 * dir/answer.c: the start and the answer of a call. For the poller. dir_watch_begin() is called
 * first for each call, and dir_done() or dir_fail() ends it. dir_watch_end() removes the call from
 * the list that dir/watch.c checks.
 */
void dir_watch_begin(struct dir_fs *fs, struct op *op);
void dir_watch_end(struct dir_fs *fs, struct op *op);
void dir_done(struct dir_fs *fs, struct op *op);
void dir_fail(struct dir_fs *fs, struct op *op, enum nfs3_status status);

/* dir/watch.c: answers calls that take too long. For the poller. dir_watch_tick() answers overdue
 * calls. dir_watch_returned() releases a call that was answered while a thread had it. */
void dir_watch_tick(struct dir_fs *fs);
void dir_watch_returned(struct dir_fs *fs, struct op *op);
/* Returns true if calls of this export might hang, because the file system is remote or a call was
 * slow recently. The caller then takes the slower path, on which dir/watch.c can answer for the
 * call. */
static inline bool dir_is_careful(const struct dir_fs *fs)
{
	return fs->is_remote || fs->now_ns < fs->careful_until_ns;
}

/* dir/blocks.c: memory for data, on the poller */
struct dir_io *dir_io_take(struct dir_fs *fs);
void dir_io_release(void *arg); /* 'arg' is a struct dir_io; the form for weir_request_on_sent() */
void dir_io_mail(struct weir_engine *engine, void *arg);
/* Allocates memory for a call of 'holder' (holds.h). Returns false if no memory is free, or if the
 * connection or client of 'holder' has its share. */
bool dir_take_block(struct dir_io *io, const struct holder *holder, uint32_t bytes);
/* Copies a WRITE's data from its message to memory of 'io', where they can stay after the reply.
 * Returns false in the cases of dir_take_block(). */
bool dir_keep_data(struct dir_io *io, struct op *op);
int dir_place(struct fs *fs, struct weir_request *req, const struct handle_id *id,
	      const struct cred *cred, uint64_t offset, uint32_t len_bytes,
	      struct weir_arg_sink *sink);
/* Allocates memory for a READLINK's path, before the call goes to a thread. */
bool dir_link_begin(struct dir_fs *fs, struct op *op);

/* dir/ring.c */
int dir_io_start(struct dir_fs *fs);   /* sets up the memory; these functions return 0 or -errno */
int dir_ring_start(struct dir_fs *fs); /* then sets up the ring, the interface to the kernel; is
					  called after dir_io_start() */
void dir_io_stop(struct dir_fs *fs);

/* dir/sync.c: requests for syncs of a file; the sync itself is submitted elsewhere */
void dir_sync_init(struct dir_fd *file);
/*
 * Adds 'io' to the requests of its file's next sync. Returns true if the caller must ask for that
 * sync, because none is under way or asked for.
 */
bool dir_sync_want(struct dir_io *io);
/* Begins a sync for all requests. Returns true if a sync of data alone is enough. */
bool dir_sync_begin(struct dir_fd *file);
/*
 * Ends a sync with 'result', which is 0 or -errno. Before another one begins, the caller takes
 * requests from dir_sync_next() until that returns NULL, and ends each.
 */
void dir_sync_end(struct dir_fd *file, int result);
struct dir_io *dir_sync_next(struct dir_fd *file);

/* dir/io.c: data, on the poller */
void dir_transfer(struct dir_fs *fs,
		  struct op *op); /* READ, WRITE, COMMIT: opens the file first if necessary */
/* Syncs op->fs_data, an open file that the call has changed, and then replies. */
void dir_sync_then_reply(struct dir_fs *fs, struct op *op);
/*
 * Continues a call after a worker has opened op->fs_data, or has decided that the caller may use
 * it. If neither succeeded, op->res.status is the reason.
 */
void dir_opened(struct dir_fs *fs, struct op *op);
/* Returns the verifier for WRITE and COMMIT. It changes after each failed sync, because the lost
 * data might belong to any client. */
const uint8_t *dir_verf(struct dir_fs *fs);
/* Detaches the call from its operation in the ring, so that the call can be answered before the
 * operation ends. */
void dir_io_let_go(struct op *op);
/* Removes a WRITE from the 'behind' list of its file, so that the WRITE can be answered. */
void dir_io_give_up(struct dir_fs *fs, struct op *op);
/* Processes completions of the kernel. Returns their number. */
uint32_t dir_io_poll(struct dir_fs *fs);

#endif
