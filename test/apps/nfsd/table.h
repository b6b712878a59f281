/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TABLE_H
#define TABLE_H

/*
 * Functions of tests that make the same calls to different servers. The servers are the two back
 * ends of weir-nfsd. With the arguments "kernel ADDR HANDLE", the server is Linux's nfsd, over
 * verbs. A test contains the expected answers of all servers. Where the answers of weir-nfsd and of
 * Linux's nfsd differ, it contains the reason. A test continues after a wrong answer.
 */
#include <stdio.h>
#include <unistd.h>

#include "fixture.h"

#define ANY 0xfffffffeu /* a value that depends on the host and is not checked */

/* the directory of a test, which belongs to uid 1000 and has mode 0755 */
static struct nfs3_fh dir;
static uint32_t nwrong;

static inline bool is_kernel(void)
{
	return strcmp(client_backend, "kernel") == 0;
}

static inline void differs(const char *what, uint64_t got, uint64_t ours, uint64_t kernels)
{
	uint64_t expected = is_kernel() ? kernels : ours;

	if (got == expected || expected == ANY)
		return;
	nwrong++;
	print_message("%s: %llu, not %llu\n", what, (unsigned long long)got,
		      (unsigned long long)expected);
}

static inline void is(const char *what, uint64_t got, uint64_t expected)
{
	differs(what, got, expected, expected);
}

/* Starts a server with an export in which root is not squashed. */
static inline void setup_trusting(void **state)
{
	char export[128], path[96];
	const char *args[] = {"--exports", path, "--state", client_dir, NULL};
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/exports", client_dir);
	if (is_kernel()) {
		start(NULL);
		return;
	}
	client_export(export, sizeof(export));
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "[/vol]\nbackend = %s\nroot_squash = no\n", strchr(export, '=') + 1);
	fclose(file);
	start(args);
}

static inline int setup_dir(void **state)
{
	static int serial;
	char name[32];

	setup_trusting(state);
	nwrong = 0;
	snprintf(name, sizeof(name), "table-%d-%d", (int)getpid(), serial++);
	assert_int_equal(client_mkdir(c, &root, name, &dir), NFS3_OK);
	return 0;
}

static inline int teardown_dir(void **state)
{
	teardown(state);
	return nwrong == 0 ? 0 : -1;
}

static inline void as(uint32_t uid)
{
	c->uid = c->gid = uid;
}

static inline enum nfs3_status set(const struct nfs3_fh *fh, const struct nfs3_sattr *attr)
{
	memset(&c->args, 0, sizeof(c->args));
	c->args.setattr.fh = *fh;
	c->args.setattr.attr = *attr;
	return client_call(c, NFS3_SETATTR);
}

static inline enum nfs3_status set_mode(const struct nfs3_fh *fh, uint32_t mode)
{
	return set(fh, &(struct nfs3_sattr){.set_mode = true, .mode = mode});
}

static inline enum nfs3_status make_link(const struct nfs3_fh *fh, const struct nfs3_fh *to,
					 const char *name)
{
	memset(&c->args, 0, sizeof(c->args));
	c->args.link.fh = *fh;
	c->args.link.link.dir = *to;
	client_name(&c->args.link.link.name, name);
	return client_call(c, NFS3_LINK);
}

static inline enum nfs3_status make_node(const struct nfs3_fh *at, const char *name,
					 enum nfs3_ftype type)
{
	memset(&c->args, 0, sizeof(c->args));
	c->args.mknod.where.dir = *at;
	client_name(&c->args.mknod.where.name, name);
	c->args.mknod.type = type;
	if (type == NFS3_CHR || type == NFS3_BLK)
		c->args.mknod.rdev = (struct nfs3_specdata){1, 3};
	return client_call(c, NFS3_MKNOD);
}

static inline enum nfs3_status create(const struct nfs3_fh *at, const char *name,
				      enum nfs3_createmode mode)
{
	memset(&c->args, 0, sizeof(c->args));
	c->args.create.where.dir = *at;
	client_name(&c->args.create.where.name, name);
	c->args.create.mode = mode;
	memcpy(c->args.create.verf, "verifier", NFS3_VERF_BYTES);
	return client_call(c, NFS3_CREATE);
}

static inline enum nfs3_status commit(const struct nfs3_fh *fh)
{
	memset(&c->args, 0, sizeof(c->args));
	c->args.commit.fh = *fh;
	return client_call(c, NFS3_COMMIT);
}

static inline enum nfs3_status readlink_of(const struct nfs3_fh *fh)
{
	c->args.fh = *fh;
	return client_call(c, NFS3_READLINK);
}

/* Returns the access that ACCESS grants if the caller asks for all kinds of access. */
static inline uint32_t access_to(const struct nfs3_fh *fh)
{
	c->args.access = (struct nfs3_access_args){*fh, 0x3f};
	return client_call(c, NFS3_ACCESS) == NFS3_OK ? c->res.access.access : UINT32_MAX;
}

static inline struct nfs3_fattr attr_of(const struct nfs3_fh *fh)
{
	struct nfs3_fattr attr = {0};

	is("GETATTR", client_getattr(c, fh, &attr), NFS3_OK);
	return attr;
}

#define COURSE(test) cmocka_unit_test_setup_teardown(test, setup_dir, teardown_dir)

#endif
