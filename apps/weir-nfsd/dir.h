/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DIR_H
#define DIR_H

/*
 * The back end 'dir': the files below a directory of this host.
 *
 * The poller never waits for a disk. READ, WRITE and COMMIT go to io_uring, with the memory that replies and calls use
 * registered as its buffers; their files stay open in a small cache. All else is done by threads: a call waits in a
 * queue, a thread carries it out as the caller (fsuid, fsgid, groups) and posts it back to the poller, which replies.
 *
 * A file's id is the kernel's own handle of it (name_to_handle_at()), good as long as the file is, over restarts of this
 * server and of the host. Names are looked up one at a time with openat2(), which follows no symbolic link and
 * crosses no mount; ".." ends at the export's root. Together with handles that can't be made up nothing outside is reached.
 */

#include <liburing.h>
#include <pthread.h>
#include <sys/stat.h>

#include "op.h"
#include "ram_blocks.h"
#include "server.h"

#define DIR_THREADS 4u
#define DIR_FDS	    256u
#define DIR_BUCKETS 256u
#define DIR_RING    256u
#define DIR_MEMORY  (64u << 20)

/* An open file. */
struct dir_fd {
	struct handle_id id;
	int fd;
	uint32_t refs;
	LIST_ENTRY(dir_fd) bucket;
	TAILQ_ENTRY(dir_fd) age; /* the least recently used first */
};

/* A READ, WRITE or COMMIT, from its start to its reply, and a WRITE's memory before that. */
struct dir_io {
	struct dir_fs *fs;
	struct op *op; /* NULL: a WRITE whose data are being pulled */
	struct dir_fd *file;
	uint32_t block; /* RAM_NONE: none */
	uint32_t ncqes; /* completions to come */
	int result;	/* bytes, or -errno */
	int sync_result;
	LIST_ENTRY(dir_io) entry; /* of the free ones */
};

struct dir_fs {
	struct server *server;
	struct export *export;
	int root_fd;
	dev_t dev;
	ino_t root_ino;
	struct handle_id root_id;

	struct weir_region *region;
	struct ram_blocks blocks;
	struct io_uring ring;
	bool has_ring;
	uint32_t nios;	  /* calls in the ring */
	uint32_t nqueued; /* work requests not yet submitted */
	LIST_HEAD(, dir_io) free_ios;
	struct op_list waiting; /* for memory or places in the ring */

	LIST_HEAD(, dir_fd) buckets[DIR_BUCKETS];
	TAILQ_HEAD(dir_fd_list, dir_fd) by_age;
	uint32_t nfds;

	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t wake;
	struct op_list queue;
	bool stop;
	pthread_t threads[DIR_THREADS];
	uint32_t nthreads;
	uint32_t nworking; /* the poller's: calls that threads have */
};

/* dir_work.c */
int dir_work_start(struct dir_fs *fs);
void dir_work_stop(struct dir_fs *fs);
/* Let a thread have the call: dir_carry_out() there, dir_worked() back on the poller. */
void dir_work(struct dir_fs *fs, struct op *op);
/* Act as a caller on this thread, and as oneself again. */
void dir_become(const struct cred *cred);
void dir_become_self(void);

/* dir.c: on a thread; on the poller */
void dir_carry_out(struct dir_fs *fs, struct op *op);
void dir_worked(struct dir_fs *fs, struct op *op);

/* dir_handle.c: any thread. Descriptors or -errno. */
int dir_open_id(const struct dir_fs *fs, const struct handle_id *id, int flags);
int dir_open_name(int dir, const struct nfs3_name *name, int flags, mode_t mode);
int dir_open_parent(const struct dir_fs *fs, int dir);
int dir_id_of(int dir, const char *name, struct handle_id *id); /* 0 or -errno; name "": 'dir' itself */
void dir_fattr(const struct dir_fs *fs, const struct stat *st, struct nfs3_fattr *attr);
void dir_post(const struct dir_fs *fs, int fd, struct nfs3_post_op_attr *post);
enum nfs3_status dir_status(int error); /* of a negative errno; 0 is NFS3_OK */
bool dir_may(const struct cred *cred, const struct stat *st, uint32_t want);
void dir_text(const struct nfs3_name *name, char text[NFS3_NAME_MAX + 1]);

/* dir_attr.c, dir_make.c, dir_remove.c, dir_list.c: procedures, on a thread */
enum nfs3_status dir_getattr(struct dir_fs *fs, struct op *op);
enum nfs3_status dir_setattr(struct dir_fs *fs, struct op *op);
enum nfs3_status dir_access(struct dir_fs *fs, struct op *op);
enum nfs3_status dir_fsstat(struct dir_fs *fs, struct op *op);
enum nfs3_status dir_readlink(struct dir_fs *fs, struct op *op);
enum nfs3_status dir_lookup(struct dir_fs *fs, struct op *op);
enum nfs3_status dir_create(struct dir_fs *fs, struct op *op);
enum nfs3_status dir_make(struct dir_fs *fs, struct op *op);
enum nfs3_status dir_link(struct dir_fs *fs, struct op *op);
enum nfs3_status dir_remove(struct dir_fs *fs, struct op *op);
enum nfs3_status dir_rename(struct dir_fs *fs, struct op *op);
enum nfs3_status dir_readdir(struct dir_fs *fs, struct op *op);
/* Set attributes of 'fd' (O_PATH will do) as op's caller. 0 or -errno. */
int dir_apply(struct op *op, int fd, const struct nfs3_sattr *attr);

/* dir_fds.c: open files, for the poller */
struct dir_fd *dir_fd_get(struct dir_fs *fs,
			  const struct handle_id *id); /* with a reference; NULL: not open */
struct dir_fd *dir_fd_add(struct dir_fs *fs, const struct handle_id *id, int fd); /* with a reference */
void dir_fd_put(struct dir_fs *fs, struct dir_fd *file);
void dir_fd_forget(struct dir_fs *fs, const struct handle_id *id); /* close it when it is not in use */
void dir_fds_close(struct dir_fs *fs);

/* dir_io.c: data, on the poller */
int dir_io_start(struct dir_fs *fs);
void dir_io_stop(struct dir_fs *fs);
void dir_transfer(struct dir_fs *fs,
		  struct op *op); /* READ, WRITE, COMMIT: opens the file first if it has to */
void dir_opened(struct dir_fs *fs, struct op *op, int fd); /* a thread has opened it, or fd is -errno */
int dir_open_data(struct dir_fs *fs, struct op *op);	   /* on a thread */
int dir_place(struct fs *fs, struct weir_request *req, const struct handle_id *id, const struct cred *cred,
	      uint64_t offset, uint32_t len_bytes, struct weir_place *place);
uint32_t dir_poll(struct fs *fs);
/* Memory for a READLINK's path, before it goes to a thread. */
bool dir_link_begin(struct dir_fs *fs, struct op *op);

#endif
