/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RAM_H
#define RAM_H

/*
 * The back end 'ram': files in one region of memory that the engine knows. The data of a READ are
 * sent directly from the file's memory, and the data of a WRITE are pulled directly to that memory.
 * Everything runs on one thread.
 *
 * A file is divided into chunks of 1 MiB. Each chunk has a block, which is as long as necessary (4
 * KiB to 1 MiB), or no block (a hole). The file's map records the blocks (ram/map.h). A READ of a
 * hole is answered from one block of zeros that all files share. While a reply sends from a block,
 * or a WRITE is pulled into it, the block is referenced, so that no other file gets it, even if
 * this file is removed. Bytes of a block after the file's end are zero, except where the data of a
 * WRITE are being pulled.
 *
 *   backend.c               start and stop, and the table of procedures
 *   ../block_pool.[ch]      the memory: blocks of pages, and which are free
 *   map.[ch]                the blocks of one file
 *   data.c                  the content of a file, by its map: chunks, holes, and the blocks that
 *                           it gets as it grows
 *   inode.c, dir.c, attr.c  inodes, names, and attributes with the rights to them
 *   io.c, list.c            READ, WRITE, COMMIT, READLINK; READDIR, READDIRPLUS
 *   create.c, remove.c      procedures that make names; those that remove or move names
 *   place.c                 selects the memory that the data of a WRITE are pulled to
 *   pulls.c                 the list of WRITEs whose data are being pulled
 */

#include "block_pool.h"
#include "op.h"
#include "map.h"
#include "server.h"
#include "server_clock.h"

#define RAM_SIZE_MIN   (4ull << 20)
#define RAM_SIZE_MAX   (1ull << 40)
#define RAM_SIZE_USUAL (256ull << 20)
#define RAM_CHUNK      BLOCK_POOL_MAX /* maximum bytes of a file per block */
#define RAM_NO_SLOT    UINT32_MAX     /* means "no inode" */
#define RAM_LINKS_MAX  65000u
/* The set-user-ID and set-group-ID bits of a mode. A WRITE by any user except root clears them. */
#define RAM_SET_IDS    06000u
#define RAM_COOKIE_MAX (UINT64_MAX >> 1)
/* A directory can be moved to at most this many levels below the root. */
#define RAM_MOVE_LEVELS_MAX 1024u
/*
 * Maximum bytes of a file. The limit does not depend on the size of the export, because files can
 * have holes.
 */
#define RAM_FILE_MAX ((uint64_t)RAM_MAP_CHUNKS * RAM_CHUNK)

/* ---- inodes ---- */

/* An entry of a directory. */
struct ram_dirent {
	struct ram_dirent *next; /* next entry of the same bucket */
	uint64_t cookie;
	uint32_t dir;  /* slot of the inode of the directory */
	uint32_t slot; /* slot of the inode that the entry names */
	uint32_t len_bytes;
	char name[];
};

/*
 * An element of a directory's array of entries, which is in the order of cookies. New entries get
 * increasing cookies, and cookies are never reused. A removed entry leaves a gap. A directory never
 * has more gaps than entries.
 */
struct ram_cookie {
	uint64_t cookie : 63; /* up to RAM_COOKIE_MAX, which no directory reaches in practice */
	uint64_t is_gap : 1;
	union {
		struct ram_dirent *entry;
		uint32_t nskip; /* for a gap: number of consecutive gaps that begin with this
				   element, as far as it is known; at least 1 */
	};
};

struct ram_dir {
	uint32_t parent;      /* slot of the parent directory; the root is its own parent */
	uint32_t nlive;	      /* number of entries */
	uint32_t ncookies;    /* number of entries and gaps */
	uint32_t capacity;    /* number of elements of 'cookies': at most 8 times 'nlive', or 8 */
	uint64_t next_cookie; /* cookie of the next entry that is added */
	struct ram_cookie *cookies;
};

/* A WRITE whose data are being pulled to a block. */
struct ram_placement {
	struct ram_fs *fs;
	/* 'slot' and 'generation' identify the inode */
	uint32_t slot;
	uint32_t generation;
	uint32_t block; /* the block to which the data are pulled; this struct has a reference to it
			 */
	bool is_done;	/* the WRITE was carried out */
	uint64_t offset;
	uint32_t len_bytes;
	/* in the list of the inode, or in the list of free placements */
	LIST_ENTRY(ram_placement) entry;
};

LIST_HEAD(ram_placements, ram_placement);

struct ram_inode {
	bool is_used;
	bool has_create_verf; /* 'create_verf' is set, and the file is unchanged since its CREATE */
	uint8_t create_verf[NFS3_VERF_BYTES];
	uint32_t generation;
	struct nfs3_fattr attr; /* 'attr.used' is in bytes */
	struct ram_map map;	/* for a regular file: the blocks of its chunks */
	uint32_t block;		/* for a symbolic link: the block of its path */
	struct ram_dir dir;	/* for a directory: its entries */
	struct ram_placements placements;
	uint32_t next_free;
};

struct ram_fs {
	struct server *server;
	struct export *export;
	struct weir_region *region;
	struct block_pool pool;
	uint64_t size_bytes;
	uint32_t zeros;		/* block of zeros, from which READs of holes are answered */
	struct ram_nodes nodes; /* number of the nodes of all maps, and its maximum */
	uint32_t ninodes_max, ninodes, nslots, free_slot;
	struct ram_inode *inodes;
	uint32_t nentries, nentries_max;
	uint32_t nbuckets;
	struct ram_dirent **buckets;
	uint8_t secret[16]; /* key of the hash that selects a bucket */
	struct ram_placements free_placements;
	uint32_t nplacements;
};

/* ram/inode.c */
void ram_id_of(const struct ram_fs *fs, const struct ram_inode *inode, struct handle_id *id);
/* Returns the inode with an id, or NULL if it does not exist any more. */
struct ram_inode *ram_inode_of(struct ram_fs *fs, const struct handle_id *id);
/* Makes an inode. Returns NULL if there is no free slot. */
struct ram_inode *ram_inode_make(struct ram_fs *fs, enum nfs3_ftype type, uint32_t mode,
				 uint32_t uid, uint32_t gid);
void ram_inode_free(struct ram_fs *fs, struct ram_inode *inode);
/* Records that one name of an inode was removed, and frees the inode if that was its last name. */
void ram_inode_unlink(struct ram_fs *fs, struct ram_inode *inode);

static inline uint32_t ram_slot(const struct ram_fs *fs, const struct ram_inode *inode)
{
	return (uint32_t)(inode - fs->inodes);
}

/* Sets ctime to the present, and also mtime if the content was modified. */
static inline void ram_touch(struct ram_inode *inode, bool is_modified)
{
	inode->attr.ctime = time_now();
	if (is_modified)
		inode->attr.mtime = inode->attr.ctime;
}

/* Returns true if the mode permits all of 'want' to the caller. */
static inline bool ram_may(const struct op *op, const struct ram_inode *inode, uint32_t want)
{
	return cred_may(&op->cred, inode->attr.uid, inode->attr.gid, inode->attr.mode,
			inode->attr.type == NFS3_DIR, want);
}

static inline void ram_post(const struct ram_inode *inode, struct nfs3_post_op_attr *post)
{
	post->is_set = true;
	post->attr = inode->attr;
}

static inline void ram_before(const struct ram_inode *inode, struct nfs3_wcc *wcc)
{
	wcc->has_before = true;
	wcc->before =
		(struct nfs3_wcc_attr){inode->attr.size, inode->attr.mtime, inode->attr.ctime};
}

static inline void ram_after(const struct ram_inode *inode, struct nfs3_wcc *wcc)
{
	ram_post(inode, &wcc->after);
}

/*
 * ram/dir.c: entries of directories. 'dir' and 'slot' are slots of inodes. These functions do not
 * check rights.
 */
struct ram_dirent *ram_entry_find(struct ram_fs *fs, uint32_t dir, const char *name,
				  uint32_t len_bytes);
enum nfs3_status ram_entry_add(struct ram_fs *fs, uint32_t dir, const char *name,
			       uint32_t len_bytes, uint32_t slot);
/*
 * Makes an entry name another inode. The new inode must be a directory if and only if the present
 * one is a directory. The function cannot fail, because it allocates no memory.
 */
void ram_entry_replace(struct ram_fs *fs, struct ram_dirent *entry, uint32_t slot);
void ram_entry_remove(struct ram_fs *fs, struct ram_dirent *entry);
/* Returns the index of the first element of dir->places after 'cookie'. */
uint32_t ram_dir_seek(const struct ram_dir *dir, uint64_t cookie);
/*
 * Finds the next entry of a listing. 'i' is an index up to dir->ncookies. Returns the index of the
 * first element from 'i' on that is an entry, or dir->ncookies. Repeated walks over the same gaps
 * are fast, because a walk changes each gap so that it leads to the end of the gaps.
 */
uint32_t ram_dir_live(struct ram_dir *dir, uint32_t i);
void ram_dir_fini(struct ram_dir *dir);

/* ram/data.c: content of files */
/*
 * Finds the data of a file at 'offset', which must be before the file's end. Returns the number of
 * bytes, up to 'len_bytes', that are contiguous in memory. *data is their address and *block is
 * their block, to which the function adds no reference.
 */
uint32_t ram_data_at(struct ram_fs *fs, const struct ram_inode *inode, uint64_t offset,
		     uint32_t len_bytes, uint32_t *block, const uint8_t **data);
/*
 * Makes sure that the bytes from 'offset' on have memory. Returns the address at which the caller
 * can write them, or NULL if there is no memory. All bytes must be in one chunk. *block is the
 * block of the chunk.
 */
uint8_t *ram_data_reserve(struct ram_fs *fs, struct ram_inode *inode, uint64_t offset,
			  uint32_t len_bytes, uint32_t *block);
/*
 * Replaces the block of a chunk by another one with the same data. If a WRITE is being pulled to
 * the old block, its handler will find that this is not the file's block any more. Returns false if
 * there is no memory, and then nothing has changed.
 */
bool ram_data_copy(struct ram_fs *fs, struct ram_inode *inode, uint64_t chunk);
/*
 * Writes data to a file. Returns the number of bytes written, which is less than 'len_bytes' if
 * there is no memory.
 */
uint32_t ram_data_write(struct ram_fs *fs, struct ram_inode *inode, uint64_t offset,
			const uint8_t *data, uint32_t len_bytes);
enum nfs3_status ram_data_truncate(struct ram_fs *fs, struct ram_inode *inode, uint64_t size);
/*
 * Releases blocks that are completely after the file's end. WRITEs that were not carried out can
 * have left them.
 */
void ram_data_trim(struct ram_fs *fs, struct ram_inode *inode);
void ram_data_free(struct ram_fs *fs, struct ram_inode *inode);

/*
 * ram/pulls.c: lists of the WRITEs whose data are being pulled. ram_placement_take() returns NULL
 * if there are too many such WRITEs, or if there is no memory.
 */
struct ram_placement *ram_placement_take(struct ram_fs *fs);
void ram_placement_give_back(struct ram_placement *placement);
/* Records that the WRITE was carried out. */
void ram_placement_done(struct ram_placement *placement);
/*
 * Returns true if a WRITE other than 'except' is being pulled to the bytes from 'from' up to 'to'
 * of the file, in this block.
 */
bool ram_placement_overlaps(const struct ram_inode *inode, uint32_t block, uint64_t from,
			    uint64_t to, const struct ram_placement *except);
void ram_placements_forget(struct ram_inode *inode);
void ram_placements_fini(struct ram_fs *fs);

/* ram/place.c: pulls the data of WRITEs directly to their blocks */
int ram_place(struct fs *fs, struct weir_request *req, const struct handle_id *id,
	      const struct cred *cred, uint64_t offset, uint32_t len_bytes,
	      struct weir_arg_sink *sink);
/*
 * Diverts the WRITEs that are being pulled to the file. The rest of their data is then pulled to
 * memory that is not the file's, and their handlers write all of it to the file. Returns false if
 * there is no memory. Some data might then still be pulled to the file.
 */
bool ram_placements_divert(struct ram_fs *fs, struct ram_inode *inode);

/*
 * The procedures, in ram/attr.c, ram/io.c, ram/create.c, ram/remove.c and ram/list.c. Each
 * procedure fills op->res and returns its status, and the caller ends the op.
 */
enum nfs3_status ram_getattr(struct ram_fs *fs, struct op *op);
enum nfs3_status ram_setattr(struct ram_fs *fs, struct op *op);
enum nfs3_status ram_access(struct ram_fs *fs, struct op *op);
enum nfs3_status ram_fsstat(struct ram_fs *fs, struct op *op);
enum nfs3_status ram_readlink(struct ram_fs *fs, struct op *op);
enum nfs3_status ram_read(struct ram_fs *fs, struct op *op);
enum nfs3_status ram_write(struct ram_fs *fs, struct op *op);
enum nfs3_status ram_commit(struct ram_fs *fs, struct op *op);
enum nfs3_status ram_lookup(struct ram_fs *fs, struct op *op);
enum nfs3_status ram_create(struct ram_fs *fs, struct op *op);
enum nfs3_status ram_make(struct ram_fs *fs, struct op *op); /* MKDIR, SYMLINK and MKNOD */
enum nfs3_status ram_link(struct ram_fs *fs, struct op *op);
enum nfs3_status ram_remove(struct ram_fs *fs, struct op *op); /* REMOVE and RMDIR */
enum nfs3_status ram_rename(struct ram_fs *fs, struct op *op);
enum nfs3_status ram_readdir(struct ram_fs *fs, struct op *op); /* READDIR and READDIRPLUS */

/*
 * Sets the attributes of a file that 'attr' selects. The caller of this function has checked the
 * rights of the user. Returns NFS3_OK or the reason of the failure.
 */
enum nfs3_status ram_apply(struct ram_fs *fs, struct ram_inode *inode, const struct cred *cred,
			   const struct nfs3_sattr *attr);
/*
 * Checks the caller's right to remove the entry of 'victim' from 'dir': the rights to write and
 * search 'dir', and its sticky bit. Returns NFS3_OK, NFS3ERR_ACCES or NFS3ERR_PERM.
 */
enum nfs3_status ram_may_remove(const struct op *op, const struct ram_inode *dir,
				const struct ram_inode *victim);

#endif
