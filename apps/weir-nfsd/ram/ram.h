/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RAM_H
#define RAM_H

/*
 * The back end 'ram': files in one region of memory that the engine knows, so that READ is answered
 * from where the data lie and WRITE is pulled to where they are to be. All within one thread.
 *
 * A file is cut into chunks of 1 MiB. Each has a block of 4 KiB to 1 MiB, as long as it needs, or
 * none (a hole), which the file's map (ram/map.h) tells. A READ of a hole is answered from one
 * block of zeros that all files share. A block in a reply that is being sent, or that a WRITE is
 * being pulled into, is referenced, so that it is not given to another file meanwhile, whatever
 * becomes of this one. Bytes of a block behind the file's end are zero, save where a WRITE is being
 * pulled to.
 *
 *   backend.c               what it takes at start, and its procedures
 *   ../block_pool.[ch]      the memory: blocks of pages, and which are free
 *   map.[ch]                the blocks of one file
 *   data.c                  what is in a file, by its map: chunks, holes, and the blocks that it
 *                           gets as it grows
 *   inode.c, dir.c, attr.c  inodes, names, and attributes with the rights to them
 *   io.c, list.c            READ, WRITE, COMMIT, READLINK; READDIR, READDIRPLUS
 *   create.c, remove.c      names that come; names that go or move
 *   place.c                 where the data of a WRITE are pulled to
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
#define RAM_CHUNK      BLOCK_POOL_MAX /* a file's bytes that one block holds */
#define RAM_NO_SLOT    UINT32_MAX     /* the number of no inode */
#define RAM_LINKS_MAX  65000u
/* Of the mode: set-user-ID and set-group-ID. A WRITE by any but root clears them. */
#define RAM_SET_IDS    06000u
#define RAM_COOKIE_MAX (UINT64_MAX >> 1)
/* A directory that moves may come to lie at most this many levels below the root. */
#define RAM_MOVE_LEVELS_MAX 1024u
/* Bytes of the longest file, whatever the size of its export: files may have holes. */
#define RAM_FILE_MAX ((uint64_t)RAM_MAP_CHUNKS * RAM_CHUNK)

/* ---- inodes ---- */

struct ram_dirent {
	struct ram_dirent *next; /* of its bucket */
	uint64_t cookie;
	uint32_t dir; /* slots */
	uint32_t slot;
	uint32_t len_bytes;
	char name[];
};

/*
 * A directory's entries by cookie. Cookies only grow and are never used again. An entry that is
 * removed leaves a gap. A directory never has more gaps than entries.
 */
struct ram_place {
	uint64_t cookie : 63; /* up to RAM_COOKIE_MAX, which no directory lives to see */
	uint64_t is_gap : 1;
	union {
		struct ram_dirent *entry;
		uint32_t nskip; /* of a gap: this many places from here on are gaps; at least 1 */
	};
};

struct ram_dir {
	uint32_t parent;   /* slot; the root's is its own */
	uint32_t nlive;	   /* entries */
	uint32_t nplaces;  /* entries and gaps */
	uint32_t capacity; /* of 'places': at most 8 times 'nlive', or 8 */
	uint64_t next_cookie;
	struct ram_place *places;
};

/* A WRITE whose data are being pulled to a block. */
struct ram_placement {
	struct ram_fs *fs;
	uint32_t slot;
	uint32_t generation;
	uint32_t block; /* referenced */
	bool is_done;	/* it was carried out */
	uint64_t offset;
	uint32_t len_bytes;
	LIST_ENTRY(ram_placement) entry; /* of its inode, or of the free ones */
};

LIST_HEAD(ram_placements, ram_placement);

struct ram_inode {
	bool is_used;
	bool has_create_verf;
	uint8_t create_verf[NFS3_VERF_BYTES];
	uint32_t generation;
	struct nfs3_fattr attr; /* 'used' in bytes */
	struct ram_map map;	/* regular: the blocks of its chunks */
	uint32_t block;		/* symbolic link: its path */
	struct ram_dir dir;	/* directory */
	struct ram_placements placements;
	uint32_t next_free;
};

struct ram_fs {
	struct server *server;
	struct export *export;
	struct weir_region *region;
	struct block_pool pool;
	uint64_t size_bytes;
	uint32_t zeros;		/* a block of zeros, for holes */
	struct ram_nodes nodes; /* of all files' maps */
	uint32_t ninodes_max, ninodes, nslots, free_slot;
	struct ram_inode *inodes;
	uint32_t nentries, nentries_max;
	uint32_t nbuckets;
	struct ram_dirent **buckets;
	uint8_t secret[16]; /* of the buckets' hash */
	struct ram_placements free_placements;
	uint32_t nplacements;
};

/* ram/inode.c */
void ram_id_of(const struct ram_fs *fs, const struct ram_inode *inode, struct handle_id *id);
struct ram_inode *ram_inode_of(struct ram_fs *fs, const struct handle_id *id); /* NULL: stale */
struct ram_inode *ram_inode_make(struct ram_fs *fs, enum nfs3_ftype type, uint32_t mode,
				 uint32_t uid, uint32_t gid); /* NULL: no space */
void ram_inode_free(struct ram_fs *fs, struct ram_inode *inode);
/* A name of it is gone: free it when that was the last. */
void ram_inode_unlink(struct ram_fs *fs, struct ram_inode *inode);

static inline uint32_t ram_slot(const struct ram_fs *fs, const struct ram_inode *inode)
{
	return (uint32_t)(inode - fs->inodes);
}

/* Set ctime, and mtime if the content is modified. */
static inline void ram_touch(struct ram_inode *inode, bool is_modified)
{
	inode->attr.ctime = time_now();
	if (is_modified)
		inode->attr.mtime = inode->attr.ctime;
}

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

/* ram/dir.c: entries of directories. No checks of rights. */
struct ram_dirent *ram_entry_find(struct ram_fs *fs, uint32_t dir, const char *name,
				  uint32_t len_bytes);
enum nfs3_status ram_entry_add(struct ram_fs *fs, uint32_t dir, const char *name,
			       uint32_t len_bytes, uint32_t slot);
/*
 * Let an entry name another inode, which is a directory if and only if the present one is. This
 * takes no memory, so that it cannot fail.
 */
void ram_entry_replace(struct ram_fs *fs, struct ram_dirent *entry, uint32_t slot);
void ram_entry_remove(struct ram_fs *fs, struct ram_dirent *entry);
/* The index of the first place of 'dir' behind 'cookie'. */
uint32_t ram_dir_seek(const struct ram_dir *dir, uint64_t cookie);
/*
 * Find the next entry of a listing.
 *
 * @i: an index up to dir->nplaces
 * Returns the index of the first place from @i on that has an entry, or dir->nplaces. The time does
 * not grow with the number of gaps: a walk over gaps makes each of them lead to its end.
 */
uint32_t ram_dir_live(struct ram_dir *dir, uint32_t i);
void ram_dir_fini(struct ram_dir *dir);

/* ram/data.c: content of files */
/* From where to read up to 'len_bytes' at 'offset', which is before the end: *block is not
 * referenced. Returns how many. */
uint32_t ram_data_at(struct ram_fs *fs, const struct ram_inode *inode, uint64_t offset,
		     uint32_t len_bytes, uint32_t *block, const uint8_t **data);
/* Where to write at 'offset', all within one chunk; NULL: no memory. */
uint8_t *ram_data_reserve(struct ram_fs *fs, struct ram_inode *inode, uint64_t offset,
			  uint32_t len_bytes, uint32_t *block);
/*
 * Give a chunk that has a block another one with the same data. A WRITE that is being pulled to the
 * old one finds that it is no longer the file's. False: no memory, and nothing has changed.
 */
bool ram_data_copy(struct ram_fs *fs, struct ram_inode *inode, uint64_t chunk);
/* Write what fits; how much. */
uint32_t ram_data_write(struct ram_fs *fs, struct ram_inode *inode, uint64_t offset,
			const uint8_t *data, uint32_t len_bytes);
enum nfs3_status ram_data_truncate(struct ram_fs *fs, struct ram_inode *inode, uint64_t size);
/* Give back the blocks behind the file's end, which WRITEs that were not carried out have left. */
void ram_data_trim(struct ram_fs *fs, struct ram_inode *inode);
void ram_data_free(struct ram_fs *fs, struct ram_inode *inode);

/*
 * ram/pulls.c: the WRITEs whose data are being pulled. ram_placement_take() returns NULL if
 * there are too many or there is no memory.
 */
struct ram_placement *ram_placement_take(struct ram_fs *fs);
void ram_placement_give_back(struct ram_placement *placement);
/* The WRITE was carried out. */
void ram_placement_done(struct ram_placement *placement);
/* Is a WRITE being pulled to these bytes of this block of the file? */
bool ram_placement_overlaps(const struct ram_inode *inode, uint32_t block, uint64_t from,
			    uint64_t to, const struct ram_placement *except);
void ram_placements_forget(struct ram_inode *inode);
void ram_placements_fini(struct ram_fs *fs);

/* ram/place.c: WRITE's data, straight to their blocks */
int ram_place(struct fs *fs, struct weir_request *req, const struct handle_id *id,
	      const struct cred *cred, uint64_t offset, uint32_t len_bytes,
	      struct weir_arg_sink *place);
/*
 * Have what is still to come of WRITEs that are being pulled come to memory that is not the file's.
 * Their handlers write it to the file. False: no memory, and some may still come to the file.
 */
bool ram_placements_divert(struct ram_fs *fs, struct ram_inode *inode);

/* Procedures: ram/attr.c, ram/io.c, ram/create.c, ram/remove.c, ram/list.c. Each fills op->res; the
 * caller ends the op. */
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
enum nfs3_status ram_make(struct ram_fs *fs, struct op *op); /* MKDIR, SYMLINK, MKNOD */
enum nfs3_status ram_link(struct ram_fs *fs, struct op *op);
enum nfs3_status ram_remove(struct ram_fs *fs, struct op *op); /* REMOVE, RMDIR */
enum nfs3_status ram_rename(struct ram_fs *fs, struct op *op);
enum nfs3_status ram_readdir(struct ram_fs *fs, struct op *op); /* READDIRPLUS, too */

/* Apply what 'attr' sets to a file; rights were checked. */
enum nfs3_status ram_apply(struct ram_fs *fs, struct ram_inode *inode, const struct cred *cred,
			   const struct nfs3_sattr *attr);
/* May the entry 'victim' of 'dir' be taken away (write, search, sticky)? */
enum nfs3_status ram_may_remove(const struct op *op, const struct ram_inode *dir,
				const struct ram_inode *victim);

#endif
