/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of the rights of callers, and of attributes after calls. table.h describes the servers. */
#include <time.h>

#include "table.h"

/* ---- rights ---- */

static void may(const char *call, uint32_t mode, uint64_t got, uint64_t expected)
{
	char what[64];

	snprintf(what, sizeof(what), "%s at mode %o", call, (unsigned)mode);
	is(what, got, expected);
}

/*
 * Makes calls in a directory of another user with 'mode', with the name "g" and with names that are
 * created here. 'runs' and 'writes' say which rights the caller has.
 */
static void names_at(uint32_t mode, const struct nfs3_fh *sub, bool runs, bool writes)
{
	enum nfs3_status changes = writes && runs ? NFS3_OK : NFS3ERR_ACCES;
	/*
	 * Linux's nfsd checks the right before it looks for the name. unlink() of this host checks
	 * the right after that.
	 */
	enum nfs3_status goes = changes == NFS3_OK     ? NFS3_OK
				: runs && !is_kernel() ? NFS3ERR_NOENT
						       : NFS3ERR_ACCES;

	may("LOOKUP", mode, client_lookup(c, sub, "g", NULL), runs ? NFS3_OK : NFS3ERR_ACCES);
	may("LOOKUP of .", mode, client_lookup(c, sub, ".", NULL), runs ? NFS3_OK : NFS3ERR_ACCES);
	may("LOOKUP of none", mode, client_lookup(c, sub, "none", NULL),
	    runs ? NFS3ERR_NOENT : NFS3ERR_ACCES);
	may("CREATE", mode, client_create(c, sub, "new", NULL), changes);
	may("REMOVE", mode, client_remove(c, NFS3_REMOVE, sub, "new"), goes);
	may("MKDIR", mode, client_mkdir(c, sub, "new", NULL), changes);
	may("RMDIR", mode, client_remove(c, NFS3_RMDIR, sub, "new"), goes);
	may("SYMLINK", mode, client_symlink(c, sub, "new", "x", 1), changes);
	may("RENAME", mode, client_rename(c, sub, "new", sub, "old"), goes);
	if (c->res.status == NFS3_OK)
		may("REMOVE", mode, client_remove(c, NFS3_REMOVE, sub, "old"), NFS3_OK);
	else
		may("REMOVE of what is there", mode, client_remove(c, NFS3_REMOVE, sub, "g"),
		    NFS3ERR_ACCES);
}

static void rights__of_another_user(void **state)
{
	static const uint32_t modes[] = {0, 0111, 0222, 0333, 0444, 0555, 0666, 0777};
	const struct nfs3_sattr now = {.mtime_how = NFS3_SET_TO_SERVER_TIME};
	const struct nfs3_sattr then = {.mtime_how = NFS3_SET_TO_CLIENT_TIME};
	struct nfs3_fh file, sub;

	(void)state;
	is("CREATE", client_create(c, &dir, "f", &file), NFS3_OK);
	is("MKDIR", client_mkdir(c, &dir, "sub", &sub), NFS3_OK);
	is("CREATE", client_create(c, &sub, "g", NULL), NFS3_OK);
	for (uint32_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		bool reads = modes[i] & 4, writes = modes[i] & 2, runs = modes[i] & 1;

		as(1000);
		is("SETATTR", set_mode(&file, modes[i]), NFS3_OK);
		is("SETATTR", set_mode(&sub, modes[i]), NFS3_OK);
		/* The owner of the file can continue to use it. */
		is("READ by the owner", client_read(c, &file, 0, 10), NFS3_OK);
		is("WRITE by the owner", client_write(c, &file, 0, 10, NFS3_UNSTABLE), NFS3_OK);
		is("COMMIT by the owner", commit(&file), NFS3_OK);
		is("SETATTR by the owner", client_truncate(c, &file, 0), NFS3_OK);
		as(2000);
		may("READ", modes[i], client_read(c, &file, 0, 10),
		    reads || runs ? NFS3_OK : NFS3ERR_ACCES);
		may("WRITE", modes[i], client_write(c, &file, 0, 10, NFS3_UNSTABLE),
		    writes ? NFS3_OK : NFS3ERR_ACCES);
		may("COMMIT", modes[i], commit(&file), writes ? NFS3_OK : NFS3ERR_ACCES);
		may("truncation", modes[i], client_truncate(c, &file, 0),
		    writes ? NFS3_OK : NFS3ERR_ACCES);
		may("chmod", modes[i], set_mode(&file, 0777), NFS3ERR_PERM);
		may("mtime now", modes[i], set(&file, &now), writes ? NFS3_OK : NFS3ERR_ACCES);
		may("mtime then", modes[i], set(&file, &then), NFS3ERR_PERM);
		may("ACCESS", modes[i], access_to(&file),
		    (reads ? 1u : 0) | (writes ? 0xcu : 0) | (runs ? 0x20u : 0));
		may("ACCESS to DIR", modes[i], access_to(&sub),
		    (reads ? 1u : 0) | (runs ? 2u : 0) | (writes && runs ? 0x1cu : 0));
		may("READDIR", modes[i], client_readdir(c, &sub, false, 0, 4096),
		    reads ? NFS3_OK : NFS3ERR_ACCES);
		names_at(modes[i], &sub, runs, writes);
	}
}

static void rights__in_a_sticky_directory(void **state)
{
	struct nfs3_fh sub, file;

	(void)state;
	is("MKDIR", client_mkdir(c, &dir, "sub", &sub), NFS3_OK);
	is("SETATTR", set_mode(&sub, 01777), NFS3_OK);
	as(2000);
	is("CREATE", client_create(c, &sub, "f", &file), NFS3_OK);
	is("MKDIR", client_mkdir(c, &sub, "d", NULL), NFS3_OK);
	as(3000);
	is("REMOVE", client_remove(c, NFS3_REMOVE, &sub, "f"), NFS3ERR_PERM);
	is("RMDIR", client_remove(c, NFS3_RMDIR, &sub, "d"), NFS3ERR_PERM);
	is("RENAME", client_rename(c, &sub, "f", &sub, "g"), NFS3ERR_PERM);
	is("CREATE", client_create(c, &sub, "own", NULL), NFS3_OK);
	is("RENAME over another's", client_rename(c, &sub, "own", &sub, "f"), NFS3ERR_PERM);
	is("REMOVE of one's own", client_remove(c, NFS3_REMOVE, &sub, "own"), NFS3_OK);
	as(1000); /* the owner of the directory */
	is("REMOVE", client_remove(c, NFS3_REMOVE, &sub, "f"), NFS3_OK);
	is("RMDIR", client_remove(c, NFS3_RMDIR, &sub, "d"), NFS3_OK);
}

/* ---- changes of attributes ---- */

static void attr__of_owner_and_group(void **state)
{
	struct nfs3_fh file;

	(void)state;
	is("CREATE", client_create(c, &dir, "f", &file), NFS3_OK);
	is("SETATTR", set_mode(&file, 06755), NFS3_OK);
	is("mode", attr_of(&file).mode, 06755);
	is("uid to another", set(&file, &(struct nfs3_sattr){.set_uid = true, .uid = 2000}),
	   NFS3ERR_PERM);
	is("gid to another", set(&file, &(struct nfs3_sattr){.set_gid = true, .gid = 2000}),
	   NFS3ERR_PERM);
	is("mode", attr_of(&file).mode, 06755);
	is("to what they are",
	   set(&file,
	       &(struct nfs3_sattr){.set_uid = true, .uid = 1000, .set_gid = true, .gid = 1000}),
	   NFS3_OK);
	is("mode after chown", attr_of(&file).mode, 0755);
	as(0);
	is("group of root's choice", set(&file, &(struct nfs3_sattr){.set_gid = true, .gid = 3000}),
	   NFS3_OK);
	as(1000);
	is("set-group-ID of a group of others", set_mode(&file, 02755), NFS3_OK);
	is("is not set", attr_of(&file).mode, 0755);
	as(0);
	is("by root it is", set_mode(&file, 06755), NFS3_OK);
	is("mode", attr_of(&file).mode, 06755);
	is("WRITE by root", client_write(c, &file, 0, 10, NFS3_FILE_SYNC), NFS3_OK);
	is("which takes nothing", attr_of(&file).mode, 06755);
	is("chown by root", set(&file, &(struct nfs3_sattr){.set_uid = true, .uid = 2000}),
	   NFS3_OK);
	is("which takes both", attr_of(&file).mode, 0755);
	as(2000);
	is("two at once",
	   set(&file,
	       &(struct nfs3_sattr){.set_mode = true, .mode = 04711, .set_size = true, .size = 3}),
	   NFS3_OK);
	is("mode", attr_of(&file).mode, 04711);
	is("size", attr_of(&file).size, 3);
}

static void attr__in_a_set_group_id_directory(void **state)
{
	struct nfs3_fh sub, made;

	(void)state;
	is("MKDIR", client_mkdir(c, &dir, "sub", &sub), NFS3_OK);
	as(0);
	is("chown", set(&sub, &(struct nfs3_sattr){.set_gid = true, .gid = 3000}), NFS3_OK);
	is("chmod", set_mode(&sub, 02777), NFS3_OK);
	as(1000);
	is("CREATE", client_create(c, &sub, "f", &made), NFS3_OK);
	is("gid", attr_of(&made).gid, 3000);
	is("mode", attr_of(&made).mode, 0644);
	is("MKDIR", client_mkdir(c, &sub, "d", &made), NFS3_OK);
	is("gid", attr_of(&made).gid, 3000);
	is("mode", attr_of(&made).mode, 02755);
	is("SYMLINK", client_symlink(c, &sub, "l", "x", 1), NFS3_OK);
	is("gid", c->res.create.attr.attr.gid, 3000);
	memset(&c->args, 0, sizeof(c->args));
	c->args.create.where.dir = sub;
	client_name(&c->args.create.where.name, "g");
	c->args.create.attr.set_mode = true;
	c->args.create.attr.mode = 06755;
	is("CREATE", client_call(c, NFS3_CREATE), NFS3_OK);
	is("set-group-ID of a group of others", c->res.create.attr.attr.mode, 04755);
	is("chmod", set_mode(&sub, 02755), NFS3_OK);
	is("that of a directory", attr_of(&sub).mode, 0755);
}

static bool is_later(struct nfs3_time a, struct nfs3_time b)
{
	return a.seconds != b.seconds ? a.seconds > b.seconds : a.nseconds > b.nseconds;
}

/*
 * Waits until the clock for time stamps has advanced. It advances at least once per jiffy of the
 * host.
 */
static void let_time_pass(void)
{
	const struct timespec step = {0, 20000000};

	nanosleep(&step, NULL);
}

/* Checks which times a call has changed. 'expected' contains m for mtime and c for ctime. */
static void changed(const char *what, const struct nfs3_fh *fh, struct nfs3_fattr *before,
		    const char *expected)
{
	struct nfs3_fattr now = attr_of(fh);
	char got[3] = "", *end = got;

	if (is_later(now.mtime, before->mtime))
		*end++ = 'm';
	if (is_later(now.ctime, before->ctime))
		*end++ = 'c';
	*end = '\0';
	if (strcmp(got, expected) != 0) {
		nwrong++;
		print_message("%s changes '%s', not '%s'\n", what, got, expected);
	}
	*before = now;
	let_time_pass();
}

static void times__that_change(void **state)
{
	struct nfs3_fattr of_dir, of_file, of_sub;
	struct nfs3_fh file, sub;

	(void)state;
	is("MKDIR", client_mkdir(c, &dir, "sub", &sub), NFS3_OK);
	is("CREATE", client_create(c, &dir, "f", &file), NFS3_OK);
	of_dir = attr_of(&dir);
	of_file = attr_of(&file);
	of_sub = attr_of(&sub);
	let_time_pass();
	client_write(c, &file, 0, 10, NFS3_FILE_SYNC);
	changed("WRITE", &file, &of_file, "mc");
	client_write(c, &file, 0, 0, NFS3_FILE_SYNC);
	changed("WRITE of nothing", &file, &of_file, "");
	client_read(c, &file, 0, 10);
	changed("READ", &file, &of_file, "");
	client_truncate(c, &file, 3);
	changed("truncation", &file, &of_file, "mc");
	client_truncate(c, &file, 3);
	changed("truncation to what it is", &file, &of_file, "mc");
	set_mode(&file, 0600);
	changed("chmod", &file, &of_file, "c");
	changed("all that", &dir, &of_dir, "");
	make_link(&file, &sub, "l");
	changed("LINK", &file, &of_file, "c");
	changed("LINK", &sub, &of_sub, "mc");
	client_rename(c, &dir, "f", &dir, "g");
	changed("RENAME", &file, &of_file, "c");
	changed("RENAME", &dir, &of_dir, "mc");
	client_rename(c, &dir, "none", &dir, "g");
	changed("RENAME of none", &dir, &of_dir, "");
	client_remove(c, NFS3_REMOVE, &sub, "l");
	changed("REMOVE", &file, &of_file, "c");
	changed("REMOVE", &sub, &of_sub, "mc");
	create(&dir, "g", NFS3_UNCHECKED);
	changed("CREATE of what is there", &dir, &of_dir, "");
	changed("CREATE of what is there", &file, &of_file, "");
	client_rename(c, &dir, "g", &sub, "g");
	changed("RENAME away", &dir, &of_dir, "mc");
	changed("RENAME to", &sub, &of_sub, "mc");
	client_mkdir(c, &sub, "d", NULL);
	changed("MKDIR", &sub, &of_sub, "mc");
	changed("MKDIR below", &dir, &of_dir, "");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		COURSE(rights__of_another_user),  COURSE(rights__in_a_sticky_directory),
		COURSE(attr__of_owner_and_group), COURSE(attr__in_a_set_group_id_directory),
		COURSE(times__that_change),
	};

	client_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
