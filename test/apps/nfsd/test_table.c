/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of the answers of each procedure. table.h describes the servers. */
#include "table.h"

/* ---- each procedure on each kind of file ---- */

enum kind { REG, DIR, LNK, FIFO, GONE, NKINDS };

static const char *const kinds[NKINDS] = {"REG", "DIR", "LNK", "FIFO", "GONE"};

static void make_kinds(struct nfs3_fh fhs[NKINDS])
{
	assert_int_equal(client_create(c, &dir, "reg", &fhs[REG]), NFS3_OK);
	assert_int_equal(client_mkdir(c, &dir, "dir", &fhs[DIR]), NFS3_OK);
	assert_int_equal(client_symlink(c, &dir, "lnk", "reg", 3), NFS3_OK);
	fhs[LNK] = c->res.create.fh.fh;
	assert_int_equal(make_node(&dir, "fifo", NFS3_FIFO), NFS3_OK);
	fhs[FIFO] = c->res.create.fh.fh;
	assert_int_equal(client_create(c, &dir, "gone", &fhs[GONE]), NFS3_OK);
	assert_int_equal(client_remove(c, NFS3_REMOVE, &dir, "gone"), NFS3_OK);
}

static enum nfs3_status call_with(uint32_t proc, const struct nfs3_fh *fh)
{
	memset(&c->args, 0, sizeof(c->args));
	c->args.fh = *fh;
	c->data_bytes = 1;
	memset(c->mem, 'x', 1);
	switch (proc) {
	case NFS3_SETATTR:
		c->args.setattr.attr.set_size = true;
		break;
	case NFS3_READ:
		c->args.read.count = 10;
		break;
	case NFS3_WRITE:
		c->args.write.count = 1;
		break;
	case NFS3_ACCESS:
		c->args.access.access = 0x3f;
		break;
	case NFS3_MKNOD:
		c->args.mknod.type = NFS3_FIFO;
		client_name(&c->args.mknod.where.name, "new node");
		break;
	case NFS3_LOOKUP:
	case NFS3_REMOVE:
	case NFS3_RMDIR:
		client_name(&c->args.dirop.name, "none");
		break;
	case NFS3_CREATE:
	case NFS3_MKDIR:
	case NFS3_SYMLINK:
		client_name(&c->args.dirop.name, proc == NFS3_CREATE  ? "new"
						 : proc == NFS3_MKDIR ? "d"
								      : "l");
		break;
	case NFS3_RENAME:
		client_name(&c->args.rename.from.name, "none");
		c->args.rename.to.dir = dir;
		client_name(&c->args.rename.to.name, "other");
		break;
	case NFS3_LINK:
		c->args.link.link.dir = dir;
		client_name(&c->args.link.link.name, "hard");
		break;
	case NFS3_READDIR:
	case NFS3_READDIRPLUS:
		c->args.readdir.dircount = c->args.readdir.maxcount = 4096;
		break;
	default:
		break;
	}
	return client_call(c, proc);
}

static void procs__on_each_kind_of_file(void **state)
{
	static const struct {
		const char *name;
		uint32_t proc;
		enum nfs3_status ours[NKINDS];
		/* the answer of Linux's nfsd if it differs; otherwise NFS3_OK */
		enum nfs3_status kernels[NKINDS];
	} rows[] = {
		{"GETATTR", NFS3_GETATTR, {0, 0, 0, 0, 70}, {0}},
		{"SETATTR", NFS3_SETATTR, {0, 21, 22, 22, 70}, {0}},
		{"LOOKUP", NFS3_LOOKUP, {20, 2, 20, 20, 70}, {0}},
		{"ACCESS", NFS3_ACCESS, {0, 0, 0, 0, 70}, {0}},
		/* RFC 1813 section 3.3.5 has INVAL for "the object is not a symbolic link". */
		{"READLINK", NFS3_READLINK, {22, 22, 0, 22, 70}, {[DIR] = 21}},
		{"READ", NFS3_READ, {0, 21, 22, 22, 70}, {0}},
		{"WRITE", NFS3_WRITE, {0, 21, 22, 22, 70}, {0}},
		{"CREATE", NFS3_CREATE, {20, 0, 20, 20, 70}, {0}},
		{"MKDIR", NFS3_MKDIR, {20, 0, 20, 20, 70}, {0}},
		{"SYMLINK", NFS3_SYMLINK, {20, 0, 20, 20, 70}, {0}},
		{"MKNOD", NFS3_MKNOD, {20, 0, 20, 20, 70}, {0}},
		{"REMOVE", NFS3_REMOVE, {20, 2, 20, 20, 70}, {0}},
		{"RMDIR", NFS3_RMDIR, {20, 2, 20, 20, 70}, {0}},
		{"RENAME", NFS3_RENAME, {20, 2, 20, 20, 70}, {0}},
		{"LINK", NFS3_LINK, {0, 21, 0, 0, 70}, {0}},
		{"READDIR", NFS3_READDIR, {20, 0, 20, 20, 70}, {0}},
		{"READDIRPLUS", NFS3_READDIRPLUS, {20, 0, 20, 20, 70}, {0}},
		{"FSSTAT", NFS3_FSSTAT, {0, 0, 0, 0, 70}, {0}},
		{"FSINFO", NFS3_FSINFO, {0, 0, 0, 0, 70}, {0}},
		{"PATHCONF", NFS3_PATHCONF, {0, 0, 0, 0, 70}, {0}},
		{"COMMIT", NFS3_COMMIT, {0, 21, 22, 22, 70}, {0}},
	};
	struct nfs3_fh fhs[NKINDS];
	char what[64];

	(void)state;
	make_kinds(fhs);
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (enum kind kind = REG; kind < NKINDS; kind++) {
			enum nfs3_status ours = rows[i].ours[kind], kernels = rows[i].kernels[kind];

			snprintf(what, sizeof(what), "%s of %s", rows[i].name, kinds[kind]);
			differs(what, call_with(rows[i].proc, &fhs[kind]), ours,
				kernels ? kernels : ours);
			if (rows[i].proc == NFS3_LINK && c->res.status == NFS3_OK)
				client_remove(c, NFS3_REMOVE, &dir, "hard");
		}
	}
}

/* ---- existing names ---- */

static void create__where_the_name_is_taken(void **state)
{
	static const char *const names[] = {"reg", "dir", "lnk", "fifo"};
	struct nfs3_fh fhs[NKINDS];
	char what[64];

	(void)state;
	make_kinds(fhs);
	for (enum kind kind = REG; kind <= FIFO; kind++) {
		for (enum nfs3_createmode mode = NFS3_UNCHECKED; mode <= NFS3_EXCLUSIVE; mode++) {
			bool is_same = kind == REG && mode == NFS3_UNCHECKED;

			snprintf(what, sizeof(what), "CREATE over %s, mode %d", kinds[kind], mode);
			/*
			 * Linux's nfsd returns the existing object, whatever its type is. Its
			 * client checks the type.
			 */
			differs(what, create(&dir, names[kind], mode),
				is_same ? NFS3_OK : NFS3ERR_EXIST,
				mode == NFS3_UNCHECKED ? NFS3_OK : NFS3ERR_EXIST);
		}
		snprintf(what, sizeof(what), "new names over %s", kinds[kind]);
		is(what, client_mkdir(c, &dir, names[kind], NULL), NFS3ERR_EXIST);
		is(what, client_symlink(c, &dir, names[kind], "x", 1), NFS3ERR_EXIST);
		is(what, make_node(&dir, names[kind], NFS3_SOCK), NFS3ERR_EXIST);
		is(what, make_link(&fhs[FIFO], &dir, names[kind]), NFS3ERR_EXIST);
	}
	is("MKNOD of REG", make_node(&dir, "n", NFS3_REG), NFS3ERR_BADTYPE);
	is("MKNOD of DIR", make_node(&dir, "n", NFS3_DIR), NFS3ERR_BADTYPE);
	is("MKNOD of LNK", make_node(&dir, "n", NFS3_LNK), NFS3ERR_BADTYPE);
	is("MKNOD of CHR", make_node(&dir, "n", NFS3_CHR), NFS3ERR_PERM);
	is("MKNOD of BLK", make_node(&dir, "n", NFS3_BLK), NFS3ERR_PERM);
}

static void create__exclusive(void **state)
{
	struct nfs3_fh fh;

	(void)state;
	is("CREATE", create(&dir, "e", NFS3_EXCLUSIVE), NFS3_OK);
	fh = c->res.create.fh.fh;
	is("CREATE again", create(&dir, "e", NFS3_EXCLUSIVE), NFS3_OK);
	assert_memory_equal(c->res.create.fh.fh.data, fh.data, fh.len_bytes);
	is("GUARDED over it", create(&dir, "e", NFS3_GUARDED), NFS3ERR_EXIST);
	is("SETATTR", set_mode(&fh, 0640), NFS3_OK);
	is("its mode", attr_of(&fh).mode, 0640);
	is("WRITE", client_write(c, &fh, 0, 10, NFS3_FILE_SYNC), NFS3_OK);
	is("times now",
	   set(&fh, &(struct nfs3_sattr){.atime_how = NFS3_SET_TO_SERVER_TIME,
					 .mtime_how = NFS3_SET_TO_SERVER_TIME}),
	   NFS3_OK);
	/*
	 * The verifier is lost when the times that store it change. If it is stored in addition to
	 * them, it is lost when data are written.
	 */
	is("CREATE of a file in use", create(&dir, "e", NFS3_EXCLUSIVE), NFS3ERR_EXIST);
}

/* ---- names that are removed and moved ---- */

static void remove__what_is_and_what_is_not(void **state)
{
	struct nfs3_fh fhs[NKINDS];

	(void)state;
	make_kinds(fhs);
	is("MKDIR in it", client_mkdir(c, &fhs[DIR], "sub", NULL), NFS3_OK);
	is("REMOVE of DIR", client_remove(c, NFS3_REMOVE, &dir, "dir"), NFS3ERR_ISDIR);
	is("wcc", c->res.wcc.wcc.after.is_set, true);
	is("RMDIR of REG", client_remove(c, NFS3_RMDIR, &dir, "reg"), NFS3ERR_NOTDIR);
	is("RMDIR of LNK", client_remove(c, NFS3_RMDIR, &dir, "lnk"), NFS3ERR_NOTDIR);
	is("RMDIR, not empty", client_remove(c, NFS3_RMDIR, &dir, "dir"), NFS3ERR_NOTEMPTY);
	/* The answer is INVAL (RFC 1813 section 3.3.13). */
	differs("RMDIR of .", client_remove(c, NFS3_RMDIR, &dir, "."), NFS3ERR_INVAL,
		NFS3ERR_ACCES);
	is("RMDIR in it", client_remove(c, NFS3_RMDIR, &fhs[DIR], "sub"), NFS3_OK);
	is("RMDIR", client_remove(c, NFS3_RMDIR, &dir, "dir"), NFS3_OK);
	is("REMOVE of LNK", client_remove(c, NFS3_REMOVE, &dir, "lnk"), NFS3_OK);
	is("REMOVE of FIFO", client_remove(c, NFS3_REMOVE, &dir, "fifo"), NFS3_OK);
	is("REMOVE", client_remove(c, NFS3_REMOVE, &dir, "reg"), NFS3_OK);
	is("REMOVE again", client_remove(c, NFS3_REMOVE, &dir, "reg"), NFS3ERR_NOENT);
	is("LOOKUP in what is gone", client_lookup(c, &fhs[DIR], "sub", NULL), NFS3ERR_STALE);
	is("CREATE in what is gone", client_create(c, &fhs[DIR], "x", NULL), NFS3ERR_STALE);
}

static void rename__over_each_kind(void **state)
{
	struct nfs3_fh fhs[NKINDS], other;

	(void)state;
	make_kinds(fhs);
	is("MKDIR", client_mkdir(c, &fhs[DIR], "sub", NULL), NFS3_OK);
	is("MKDIR", client_mkdir(c, &dir, "full", &other), NFS3_OK);
	is("CREATE", client_create(c, &other, "f", NULL), NFS3_OK);
	/*
	 * The answer is EXIST (RFC 1813 section 3.3.14: "or is incompatible"). Linux's nfsd uses
	 * the errors of rename(2).
	 */
	differs("REG over DIR", client_rename(c, &dir, "reg", &dir, "full"), NFS3ERR_EXIST,
		NFS3ERR_ISDIR);
	is("wcc", c->res.rename.from_wcc.after.is_set && c->res.rename.to_wcc.after.is_set, true);
	differs("DIR over REG", client_rename(c, &dir, "dir", &dir, "reg"), NFS3ERR_EXIST,
		NFS3ERR_NOTDIR);
	differs("DIR over LNK", client_rename(c, &dir, "dir", &dir, "lnk"), NFS3ERR_EXIST,
		NFS3ERR_NOTDIR);
	is("DIR over one that is full", client_rename(c, &dir, "dir", &dir, "full"),
	   NFS3ERR_NOTEMPTY);
	is("DIR into itself", client_rename(c, &dir, "dir", &fhs[DIR], "x"), NFS3ERR_INVAL);
	/* The host only reports that the target directory is not empty. */
	is("DIR over one above", client_rename(c, &fhs[DIR], "sub", &dir, "dir"), NFS3ERR_NOTEMPTY);
	is("of none", client_rename(c, &dir, "none", &dir, "x"), NFS3ERR_NOENT);
	is("of .", client_rename(c, &dir, ".", &dir, "x"), is_kernel() ? ANY : NFS3ERR_INVAL);
	is("LINK", make_link(&fhs[REG], &dir, "hard"), NFS3_OK);
	is("over another name of the same", client_rename(c, &dir, "reg", &dir, "hard"), NFS3_OK);
	is("both are there", client_lookup(c, &dir, "reg", NULL), NFS3_OK);
	is("links", attr_of(&fhs[REG]).nlink, 2);
	is("REG over LNK", client_rename(c, &dir, "reg", &dir, "lnk"), NFS3_OK);
	is("it is gone", client_getattr(c, &fhs[LNK], NULL), NFS3ERR_STALE);
	is("DIR over an empty one", client_remove(c, NFS3_REMOVE, &other, "f"), NFS3_OK);
	is("DIR over an empty one", client_rename(c, &dir, "dir", &dir, "full"), NFS3_OK);
	is("it is gone", client_getattr(c, &other, NULL), NFS3ERR_STALE);
}

/* ---- attributes in failures ---- */

static void attributes__come_with_failures(void **state)
{
	struct nfs3_fh fhs[NKINDS];
	struct nfs3_rename_res rename;

	(void)state;
	make_kinds(fhs);
	is("SETATTR", set_mode(&fhs[REG], 0600), NFS3_OK);
	is("LOOKUP", client_lookup(c, &dir, "none", NULL), NFS3ERR_NOENT);
	is("LOOKUP, its directory's", c->res.lookup.dir_attr.is_set, true);
	is("CREATE", create(&dir, "reg", NFS3_GUARDED), NFS3ERR_EXIST);
	is("CREATE, its directory's", c->res.create.dir_wcc.after.is_set, true);
	is("MKDIR", client_mkdir(c, &dir, "reg", NULL), NFS3ERR_EXIST);
	is("MKDIR, its directory's", c->res.create.dir_wcc.after.is_set, true);
	is("SYMLINK", client_symlink(c, &dir, "reg", "x", 1), NFS3ERR_EXIST);
	is("SYMLINK, its directory's", c->res.create.dir_wcc.after.is_set, true);
	is("MKNOD", make_node(&dir, "reg", NFS3_FIFO), NFS3ERR_EXIST);
	is("MKNOD, its directory's", c->res.create.dir_wcc.after.is_set, true);
	is("REMOVE", client_remove(c, NFS3_REMOVE, &dir, "none"), NFS3ERR_NOENT);
	is("REMOVE, its directory's", c->res.wcc.wcc.after.is_set, true);
	is("RENAME", client_rename(c, &dir, "none", &fhs[DIR], "x"), NFS3ERR_NOENT);
	rename = c->res.rename;
	is("RENAME, one directory's", rename.from_wcc.after.attr.fileid, attr_of(&dir).fileid);
	is("RENAME, the other's", rename.to_wcc.after.attr.fileid, attr_of(&fhs[DIR]).fileid);
	is("LINK", make_link(&fhs[REG], &dir, "fifo"), NFS3ERR_EXIST);
	is("LINK, its own", c->res.link.attr.is_set, true);
	is("LINK, its directory's", c->res.link.dir_wcc.after.is_set, true);
	is("READLINK", readlink_of(&fhs[REG]), NFS3ERR_INVAL);
	is("READLINK, its own", c->res.readlink.attr.is_set, true);
	is("WRITE", client_write(c, &fhs[REG], UINT64_MAX, 10, NFS3_UNSTABLE), NFS3ERR_FBIG);
	/* Linux's nfsd refuses the offset before it reads the attributes of the file. */
	differs("WRITE, its own", c->res.write.wcc.after.is_set, true, false);
	as(2000);
	is("SETATTR", set_mode(&fhs[REG], 0666), NFS3ERR_PERM);
	is("SETATTR, its own", c->res.wcc.wcc.after.is_set, true);
	is("READ", client_read(c, &fhs[REG], 0, 10), NFS3ERR_ACCES);
	is("READ, its own", c->res.read.attr.is_set, true);
	is("COMMIT", commit(&fhs[REG]), NFS3ERR_ACCES);
	is("COMMIT, its own", c->res.commit.wcc.after.is_set, true);
	is("CREATE", create(&dir, "new", NFS3_GUARDED), NFS3ERR_ACCES);
	is("CREATE, its directory's", c->res.create.dir_wcc.after.is_set, true);
}

/* ---- numbers ---- */

static void data__at_the_ends(void **state)
{
	struct nfs3_fh file;

	(void)state;
	is("CREATE", client_create(c, &dir, "f", &file), NFS3_OK);
	is("READ of nothing there", client_read(c, &file, 0, 10), NFS3_OK);
	is("count", c->res.read.count, 0);
	is("eof", c->res.read.eof, true);
	is("WRITE", client_write(c, &file, 0, 100, NFS3_UNSTABLE), NFS3_OK);
	is("READ up to the end", client_read(c, &file, 90, 10), NFS3_OK);
	is("eof", c->res.read.eof, true);
	is("READ before the end", client_read(c, &file, 0, 99), NFS3_OK);
	is("eof", c->res.read.eof, false);
	is("READ of 0", client_read(c, &file, 0, 0), NFS3_OK);
	is("eof", c->res.read.eof, false);
	is("READ of 0 at the end", client_read(c, &file, 100, 0), NFS3_OK);
	is("eof", c->res.read.eof, true);
	is("READ behind it", client_read(c, &file, 1000, 10), NFS3_OK);
	is("eof", c->res.read.eof, true);
	is("READ at 2^64 - 1", client_read(c, &file, UINT64_MAX, 10), NFS3_OK);
	is("count", c->res.read.count, 0);
	is("eof", c->res.read.eof, true);
	is("READ at 2^63", client_read(c, &file, 1ull << 63, 10), NFS3_OK);
	is("WRITE at 2^64 - 1", client_write(c, &file, UINT64_MAX, 10, NFS3_UNSTABLE),
	   NFS3ERR_FBIG);
	is("WRITE at 2^63", client_write(c, &file, 1ull << 63, 10, NFS3_UNSTABLE), NFS3ERR_FBIG);
	is("WRITE over 2^63", client_write(c, &file, (1ull << 63) - 5, 10, NFS3_UNSTABLE),
	   NFS3ERR_FBIG);
	is("SETATTR to 2^64 - 1", client_truncate(c, &file, UINT64_MAX), NFS3ERR_FBIG);
	is("size", attr_of(&file).size, 100);
	is("WRITE of 0", client_write(c, &file, 1000, 0, NFS3_FILE_SYNC), NFS3_OK);
	is("size", attr_of(&file).size, 100);
	is("guard",
	   set(&file, &(struct nfs3_sattr){.mtime_how = NFS3_SET_TO_CLIENT_TIME,
					   .mtime = {1, 1000000000}}),
	   NFS3ERR_INVAL);
}

static void readdir__counts_and_cookies(void **state)
{
	struct nfs3_fh sub;
	uint64_t last;

	(void)state;
	is("MKDIR", client_mkdir(c, &dir, "sub", &sub), NFS3_OK);
	for (uint32_t plus = 0; plus < 2; plus++) {
		const char *what = plus ? "READDIRPLUS" : "READDIR";

		is(what, client_readdir(c, &sub, plus, 0, 4096), NFS3_OK);
		is(what, c->nentries, 2);
		is(what, c->eof, true);
		is(what, c->res.readdir.dir_attr.is_set, true);
		last = c->entries[1].cookie;
		is("at the end", client_readdir(c, &sub, plus, last, 4096), NFS3_OK);
		is("at the end", c->nentries, 0);
		is("at the end", c->eof, true);
		/*
		 * If not even one entry fits, the answer is TOOSMALL (RFC 1813 section 3.3.16).
		 * Linux's nfsd returns more than was asked for, or nothing.
		 */
		differs("count 0", client_readdir(c, &sub, plus, 0, 0), NFS3ERR_TOOSMALL, NFS3_OK);
		differs("count 8", client_readdir(c, &sub, plus, 0, 8), NFS3ERR_TOOSMALL, NFS3_OK);
		differs("count 100", client_readdir(c, &sub, plus, 0, 100), NFS3ERR_TOOSMALL,
			NFS3_OK);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		COURSE(procs__on_each_kind_of_file), COURSE(create__where_the_name_is_taken),
		COURSE(create__exclusive),	     COURSE(remove__what_is_and_what_is_not),
		COURSE(rename__over_each_kind),	     COURSE(attributes__come_with_failures),
		COURSE(data__at_the_ends),	     COURSE(readdir__counts_and_cookies),
	};

	client_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
