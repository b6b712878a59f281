/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NFS3_RANDOM_H
#define NFS3_RANDOM_H

/*
 * Generates valid values of the NFSv3 types from a seed. Equal seeds give equal values with every
 * compiler. Therefore no initialiser has two random numbers: their order is not defined in C.
 */

#include <string.h>

#include "nfs3_xdr.h"

struct random {
	uint64_t state;
};

static inline uint32_t random_u32(struct random *r)
{
	r->state = r->state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(r->state >> 33) ^ (uint32_t)(r->state << 7);
}

static inline uint64_t random_u64(struct random *r)
{
	uint64_t high = random_u32(r);

	return high << 32 | random_u32(r);
}

static inline uint32_t random_below(struct random *r, uint32_t n)
{
	return (random_u32(r) >> 8) % n;
}

static inline bool random_bool(struct random *r)
{
	return random_below(r, 2) == 1;
}

static inline void random_bytes(struct random *r, void *to, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		((uint8_t *)to)[i] = (uint8_t)random_u32(r);
}

static inline void random_fh(struct random *r, struct nfs3_fh *fh)
{
	fh->len_bytes = random_below(r, NFS3_FH_MAX + 1);
	random_bytes(r, fh->data, fh->len_bytes);
}

static inline void random_dirop(struct random *r, struct nfs3_dirop *dirop)
{
	random_fh(r, &dirop->dir);
	dirop->name.len_bytes = random_below(r, NFS3_NAME_MAX + 1);
	random_bytes(r, dirop->name.data, dirop->name.len_bytes);
}

static inline struct nfs3_time random_time(struct random *r)
{
	struct nfs3_time time;

	time.seconds = random_u32(r);
	time.nseconds = random_u32(r);
	return time;
}

static inline struct nfs3_specdata random_specdata(struct random *r)
{
	struct nfs3_specdata data;

	data.major = random_u32(r);
	data.minor = random_u32(r);
	return data;
}

static inline void random_post_attr(struct random *r, struct nfs3_post_op_attr *post)
{
	struct nfs3_fattr *attr = &post->attr;

	post->is_set = random_bool(r);
	attr->type = (enum nfs3_ftype)(1 + random_below(r, 7));
	attr->mode = random_u32(r);
	attr->nlink = random_u32(r);
	attr->uid = random_u32(r);
	attr->gid = random_u32(r);
	attr->size = random_u64(r);
	attr->used = random_u64(r);
	attr->rdev = random_specdata(r);
	attr->fsid = random_u64(r);
	attr->fileid = random_u64(r);
	attr->atime = random_time(r);
	attr->mtime = random_time(r);
	attr->ctime = random_time(r);
}

static inline void random_wcc(struct random *r, struct nfs3_wcc *wcc)
{
	wcc->has_before = random_bool(r);
	wcc->before.size = random_u64(r);
	wcc->before.mtime = random_time(r);
	wcc->before.ctime = random_time(r);
	random_post_attr(r, &wcc->after);
}

static inline void random_sattr(struct random *r, struct nfs3_sattr *attr)
{
	attr->set_mode = random_bool(r);
	attr->set_uid = random_bool(r);
	attr->set_gid = random_bool(r);
	attr->set_size = random_bool(r);
	attr->mode = random_u32(r);
	attr->uid = random_u32(r);
	attr->gid = random_u32(r);
	attr->size = random_u64(r);
	attr->atime_how = (enum nfs3_time_how)random_below(r, 3);
	attr->mtime_how = (enum nfs3_time_how)random_below(r, 3);
	attr->atime = random_time(r);
	attr->mtime = random_time(r);
}

static inline enum nfs3_status random_status(struct random *r)
{
	static const enum nfs3_status some[] = {NFS3_OK,	NFS3_OK,       NFS3_OK,
						NFS3ERR_PERM,	NFS3ERR_STALE, NFS3ERR_BADHANDLE,
						NFS3ERR_JUKEBOX};

	return some[random_below(r, sizeof(some) / sizeof(some[0]))];
}

#endif
