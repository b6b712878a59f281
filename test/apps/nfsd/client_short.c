/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that set the arguments of the most frequent calls and make them (client.h). */
#include "client.h"

void client_name(struct nfs3_name *name, const char *text)
{
	name->len_bytes = (uint32_t)strlen(text);
	memcpy(name->data, text, name->len_bytes);
}

static void set_dirop(struct client *c, const struct nfs3_fh *dir, const char *name)
{
	memset(&c->args, 0, sizeof(c->args));
	c->args.dirop.dir = *dir;
	client_name(&c->args.dirop.name, name);
}

static enum nfs3_status made(struct client *c, uint32_t proc, struct nfs3_fh *fh)
{
	enum nfs3_status status = client_call(c, proc);

	if (status == NFS3_OK) {
		assert_true(c->res.create.fh.is_set);
		if (fh)
			*fh = c->res.create.fh.fh;
	}
	return status;
}

enum nfs3_status client_lookup(struct client *c, const struct nfs3_fh *dir, const char *name,
			       struct nfs3_fh *fh)
{
	enum nfs3_status status;

	set_dirop(c, dir, name);
	status = client_call(c, NFS3_LOOKUP);
	if (status == NFS3_OK && fh)
		*fh = c->res.lookup.fh;
	return status;
}

enum nfs3_status client_create(struct client *c, const struct nfs3_fh *dir, const char *name,
			       struct nfs3_fh *fh)
{
	set_dirop(c, dir, name);
	c->args.create.mode = NFS3_GUARDED;
	c->args.create.attr.set_mode = true;
	c->args.create.attr.mode = 0644;
	return made(c, NFS3_CREATE, fh);
}

enum nfs3_status client_mkdir(struct client *c, const struct nfs3_fh *dir, const char *name,
			      struct nfs3_fh *fh)
{
	set_dirop(c, dir, name);
	c->args.mkdir.attr.set_mode = true;
	c->args.mkdir.attr.mode = 0755;
	return made(c, NFS3_MKDIR, fh);
}

enum nfs3_status client_remove(struct client *c, uint32_t proc, const struct nfs3_fh *dir,
			       const char *name)
{
	set_dirop(c, dir, name);
	return client_call(c, proc);
}

enum nfs3_status client_rename(struct client *c, const struct nfs3_fh *from_dir, const char *from,
			       const struct nfs3_fh *to_dir, const char *to)
{
	set_dirop(c, from_dir, from);
	c->args.rename.to.dir = *to_dir;
	client_name(&c->args.rename.to.name, to);
	return client_call(c, NFS3_RENAME);
}

enum nfs3_status client_getattr(struct client *c, const struct nfs3_fh *fh, struct nfs3_fattr *attr)
{
	enum nfs3_status status;

	c->args.fh = *fh;
	status = client_call(c, NFS3_GETATTR);
	if (status == NFS3_OK && attr)
		*attr = c->res.getattr.attr;
	return status;
}

enum nfs3_status client_truncate(struct client *c, const struct nfs3_fh *fh, uint64_t size)
{
	memset(&c->args, 0, sizeof(c->args));
	c->args.setattr.fh = *fh;
	c->args.setattr.attr.set_size = true;
	c->args.setattr.attr.size = size;
	return client_call(c, NFS3_SETATTR);
}

enum nfs3_status client_symlink(struct client *c, const struct nfs3_fh *dir, const char *name,
				const char *path, uint32_t path_bytes)
{
	set_dirop(c, dir, name);
	memcpy(c->mem, path, path_bytes);
	c->data_bytes = path_bytes;
	return made(c, NFS3_SYMLINK, NULL);
}

enum nfs3_status client_write(struct client *c, const struct nfs3_fh *fh, uint64_t offset,
			      uint32_t count, enum nfs3_stable stable)
{
	c->args.write = (struct nfs3_write_head){*fh, offset, count, stable};
	return client_call(c, NFS3_WRITE);
}

enum nfs3_status client_read(struct client *c, const struct nfs3_fh *fh, uint64_t offset,
			     uint32_t count)
{
	c->args.read = (struct nfs3_read_args){*fh, offset, count};
	return client_call(c, NFS3_READ);
}

enum nfs3_status client_readdir(struct client *c, const struct nfs3_fh *dir, bool plus,
				uint64_t cookie, uint32_t count)
{
	uint8_t verf[NFS3_VERF_BYTES] = {0};

	/* A listing that continues must send the verifier of the previous answer. */
	if (cookie != 0)
		memcpy(verf, c->res.readdir.verf, sizeof(verf));
	memset(&c->args, 0, sizeof(c->args));
	c->args.readdir.dir = *dir;
	c->args.readdir.cookie = cookie;
	memcpy(c->args.readdir.verf, verf, sizeof(verf));
	c->args.readdir.dircount = c->args.readdir.maxcount = count;
	return client_call(c, plus ? NFS3_READDIRPLUS : NFS3_READDIR);
}
