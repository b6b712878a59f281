/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NFS3_TYPES_H
#define NFS3_TYPES_H

/*
 * The types of NFS version 3 (RFC 1813) in C, for clients and servers. The arguments of each
 * procedure are a struct nfs3_<procedure>_args, and its results are a struct nfs3_<procedure>_res,
 * unless several procedures share a structure. No structure contains the data of READ and WRITE, or
 * the path of a symbolic link. These items are DDP-eligible, and weir has separate functions for
 * them.
 *
 * The files of this folder:
 *
 *   nfs3_types.h      the types of NFS
 *   nfs3_op.h         the arguments and the results of any procedure
 *   nfs3_xdr.h        declares the functions that encode and decode these types; they are in these
 *                     files:
 *   nfs3_args.c       arguments
 *   nfs3_results.c    results
 *   nfs3_codec.[ch]   types that arguments and results share
 *   nfs3_names.c      names of procedures, and texts and errnos of statuses
 *   mount3.[ch]       MOUNT version 3
 *   handle_text.[ch]  reads a file handle that a user gives to a program
 */

#include <stdbool.h>
#include <stdint.h>

#define NFS3_PROGRAM	100003u
#define NFS3_VERSION	3u
#define NFS3_PORT_RDMA	20049u /* the port for NFS over RDMA (RFC 8267) */
#define NFS3_FH_MAX	64u    /* maximum bytes of a handle */
#define NFS3_NAME_MAX	255u   /* maximum bytes of a stored name; the protocol has no limit */
#define NFS3_PATH_MAX	4096u  /* maximum bytes of a name or path that is decoded */
#define NFS3_VERF_BYTES 8u     /* bytes of a cookie verifier, create verifier or write verifier */

enum nfs3_proc {
	NFS3_NULL,
	NFS3_GETATTR,
	NFS3_SETATTR,
	NFS3_LOOKUP,
	NFS3_ACCESS,
	NFS3_READLINK,
	NFS3_READ,
	NFS3_WRITE,
	NFS3_CREATE,
	NFS3_MKDIR,
	NFS3_SYMLINK,
	NFS3_MKNOD,
	NFS3_REMOVE,
	NFS3_RMDIR,
	NFS3_RENAME,
	NFS3_LINK,
	NFS3_READDIR,
	NFS3_READDIRPLUS,
	NFS3_FSSTAT,
	NFS3_FSINFO,
	NFS3_PATHCONF,
	NFS3_COMMIT,
	NFS3_NPROCS,
};

enum nfs3_status {
	NFS3_OK = 0,
	NFS3ERR_PERM = 1,
	NFS3ERR_NOENT = 2,
	NFS3ERR_IO = 5,
	NFS3ERR_NXIO = 6,
	NFS3ERR_ACCES = 13,
	NFS3ERR_EXIST = 17,
	NFS3ERR_XDEV = 18,
	NFS3ERR_NODEV = 19,
	NFS3ERR_NOTDIR = 20,
	NFS3ERR_ISDIR = 21,
	NFS3ERR_INVAL = 22,
	NFS3ERR_FBIG = 27,
	NFS3ERR_NOSPC = 28,
	NFS3ERR_ROFS = 30,
	NFS3ERR_MLINK = 31,
	NFS3ERR_NAMETOOLONG = 63,
	NFS3ERR_NOTEMPTY = 66,
	NFS3ERR_DQUOT = 69,
	NFS3ERR_STALE = 70,
	NFS3ERR_REMOTE = 71,
	NFS3ERR_BADHANDLE = 10001,
	NFS3ERR_NOT_SYNC = 10002,
	NFS3ERR_BAD_COOKIE = 10003,
	NFS3ERR_NOTSUPP = 10004,
	NFS3ERR_TOOSMALL = 10005,
	NFS3ERR_SERVERFAULT = 10006,
	NFS3ERR_BADTYPE = 10007,
	NFS3ERR_JUKEBOX = 10008,
};

enum nfs3_ftype {
	NFS3_REG = 1,
	NFS3_DIR = 2,
	NFS3_BLK = 3,
	NFS3_CHR = 4,
	NFS3_LNK = 5,
	NFS3_SOCK = 6,
	NFS3_FIFO = 7,
};

enum nfs3_stable { NFS3_UNSTABLE, NFS3_DATA_SYNC, NFS3_FILE_SYNC };
enum nfs3_createmode { NFS3_UNCHECKED, NFS3_GUARDED, NFS3_EXCLUSIVE };
enum nfs3_time_how { NFS3_DONT_CHANGE, NFS3_SET_TO_SERVER_TIME, NFS3_SET_TO_CLIENT_TIME };

enum nfs3_access_bits {
	NFS3_ACCESS_READ = 0x01,
	NFS3_ACCESS_LOOKUP = 0x02,
	NFS3_ACCESS_MODIFY = 0x04,
	NFS3_ACCESS_EXTEND = 0x08,
	NFS3_ACCESS_DELETE = 0x10,
	NFS3_ACCESS_EXECUTE = 0x20,
};

enum nfs3_fsinfo_properties {
	NFS3_FSF_LINK = 0x01,
	NFS3_FSF_SYMLINK = 0x02,
	NFS3_FSF_HOMOGENEOUS = 0x08,
	NFS3_FSF_CANSETTIME = 0x10,
};

struct nfs3_fh {
	uint32_t len_bytes; /* 0 to NFS3_FH_MAX */
	uint8_t data[NFS3_FH_MAX];
};

/*
 * The name of a file, which can contain any bytes and is not NUL-terminated. If the name is longer
 * than NFS3_NAME_MAX, only its length is stored and 'data' is not set. The protocol allows such a
 * name, and a server must answer NFS3ERR_NAMETOOLONG.
 */
struct nfs3_name {
	uint32_t len_bytes; /* 0 to NFS3_PATH_MAX */
	char data[NFS3_NAME_MAX];
};

struct nfs3_time {
	uint32_t seconds;
	uint32_t nseconds;
};

struct nfs3_specdata {
	uint32_t major;
	uint32_t minor;
};

struct nfs3_fattr {
	enum nfs3_ftype type;
	uint32_t mode;
	uint32_t nlink;
	uint32_t uid;
	uint32_t gid;
	uint64_t size;
	uint64_t used;
	struct nfs3_specdata rdev;
	uint64_t fsid;
	uint64_t fileid;
	struct nfs3_time atime;
	struct nfs3_time mtime;
	struct nfs3_time ctime;
};

struct nfs3_post_op_attr {
	bool is_set;
	struct nfs3_fattr attr;
};

struct nfs3_post_op_fh {
	bool is_set;
	struct nfs3_fh fh;
};

struct nfs3_wcc_attr {
	uint64_t size;
	struct nfs3_time mtime;
	struct nfs3_time ctime;
};

struct nfs3_wcc {
	bool has_before;
	struct nfs3_wcc_attr before;
	struct nfs3_post_op_attr after;
};

/* The attributes to set. A member is valid only if its set_... is true. */
struct nfs3_sattr {
	bool set_mode, set_uid, set_gid, set_size;
	uint32_t mode;
	uint32_t uid;
	uint32_t gid;
	uint64_t size;
	enum nfs3_time_how atime_how, mtime_how;
	struct nfs3_time
		atime; /* 'atime' and 'mtime' are valid only with NFS3_SET_TO_CLIENT_TIME */
	struct nfs3_time mtime;
};

struct nfs3_dirop {
	struct nfs3_fh dir;
	struct nfs3_name name;
};

/* ---- arguments ---- */

/*
 * The arguments of GETATTR, READLINK, FSSTAT, FSINFO and PATHCONF are a struct nfs3_fh. The
 * arguments of LOOKUP, REMOVE and RMDIR are a struct nfs3_dirop.
 */

struct nfs3_setattr_args {
	struct nfs3_fh fh;
	struct nfs3_sattr attr;
	bool is_guarded;
	struct nfs3_time guard; /* the ctime that the object must have, if 'is_guarded' */
};

struct nfs3_access_args {
	struct nfs3_fh fh;
	uint32_t access; /* bits of enum nfs3_access_bits that the client asks for */
};

struct nfs3_read_args {
	struct nfs3_fh fh;
	uint64_t offset;
	uint32_t count;
};

struct nfs3_write_args {
	struct nfs3_fh fh;
	uint64_t offset;
	uint32_t count; /* bytes to write, which is the length of the data after the arguments */
	enum nfs3_stable stable;
};

struct nfs3_create_args {
	struct nfs3_dirop where;
	enum nfs3_createmode mode;
	struct nfs3_sattr attr;	       /* not used with NFS3_EXCLUSIVE */
	uint8_t verf[NFS3_VERF_BYTES]; /* create verifier; only used with NFS3_EXCLUSIVE */
};

/* The arguments of MKDIR and SYMLINK. For SYMLINK, the path of the link follows them. */
struct nfs3_mkdir_args {
	struct nfs3_dirop where;
	struct nfs3_sattr attr;
};

struct nfs3_mknod_args {
	struct nfs3_dirop where;
	enum nfs3_ftype type;
	struct nfs3_sattr attr;	   /* only for the types CHR, BLK, SOCK and FIFO */
	struct nfs3_specdata rdev; /* only for the types CHR and BLK */
};

struct nfs3_rename_args {
	struct nfs3_dirop from;
	struct nfs3_dirop to;
};

struct nfs3_link_args {
	struct nfs3_fh fh;
	struct nfs3_dirop link;
};

struct nfs3_readdir_args {
	struct nfs3_fh dir;
	uint64_t cookie;
	uint8_t verf[NFS3_VERF_BYTES];
	uint32_t dircount; /* READDIRPLUS: maximum bytes of names and cookies in the results */
	uint32_t maxcount; /* maximum bytes of the results; READDIR calls this argument 'count' */
};

struct nfs3_commit_args {
	struct nfs3_fh fh;
	uint64_t offset;
	uint32_t count;
};

/*
 * ---- results: if the status is not NFS3_OK, members that need NFS3_OK are not set or are ignored
 * ----
 */

struct nfs3_getattr_res {
	enum nfs3_status status;
	struct nfs3_fattr attr;
};

/* The results of SETATTR, REMOVE and RMDIR. */
struct nfs3_wcc_res {
	enum nfs3_status status;
	struct nfs3_wcc wcc;
};

struct nfs3_lookup_res {
	enum nfs3_status status;
	struct nfs3_fh fh;
	struct nfs3_post_op_attr attr;
	struct nfs3_post_op_attr dir_attr;
};

struct nfs3_access_res {
	enum nfs3_status status;
	struct nfs3_post_op_attr attr;
	uint32_t access;
};

/* The results of READLINK. With NFS3_OK, the path of the link follows them. */
struct nfs3_readlink_res {
	enum nfs3_status status;
	struct nfs3_post_op_attr attr;
};

/* The results of READ. With NFS3_OK, 'count' bytes of data follow them. */
struct nfs3_read_res {
	enum nfs3_status status;
	struct nfs3_post_op_attr attr;
	uint32_t count;
	bool eof;
};

struct nfs3_write_res {
	enum nfs3_status status;
	struct nfs3_wcc wcc;
	uint32_t count;
	enum nfs3_stable committed;
	uint8_t verf[NFS3_VERF_BYTES];
};

/* The results of CREATE, MKDIR, SYMLINK and MKNOD. */
struct nfs3_create_res {
	enum nfs3_status status;
	struct nfs3_post_op_fh fh;
	struct nfs3_post_op_attr attr;
	struct nfs3_wcc dir_wcc;
};

struct nfs3_rename_res {
	enum nfs3_status status;
	struct nfs3_wcc from_wcc;
	struct nfs3_wcc to_wcc;
};

struct nfs3_link_res {
	enum nfs3_status status;
	struct nfs3_post_op_attr attr;
	struct nfs3_wcc dir_wcc;
};

/*
 * The results of READDIR and READDIRPLUS. With NFS3_OK, the entries and the end of the list follow
 * them.
 */
struct nfs3_readdir_res {
	enum nfs3_status status;
	struct nfs3_post_op_attr dir_attr;
	uint8_t verf[NFS3_VERF_BYTES];
};

/* An entry of a directory, in the results of READDIR and READDIRPLUS. */
struct nfs3_entry {
	uint64_t fileid;
	struct nfs3_name name;
	uint64_t cookie;
	struct nfs3_post_op_attr attr; /* 'attr' and 'fh' are used only by READDIRPLUS */
	struct nfs3_post_op_fh fh;
};

struct nfs3_fsstat_res {
	enum nfs3_status status;
	struct nfs3_post_op_attr attr;
	uint64_t tbytes, fbytes, abytes;
	uint64_t tfiles, ffiles, afiles;
	uint32_t invarsec;
};

struct nfs3_fsinfo_res {
	enum nfs3_status status;
	struct nfs3_post_op_attr attr;
	uint32_t rtmax, rtpref, rtmult;
	uint32_t wtmax, wtpref, wtmult;
	uint32_t dtpref;
	uint64_t maxfilesize;
	struct nfs3_time time_delta;
	uint32_t properties; /* enum nfs3_fsinfo_properties */
};

struct nfs3_pathconf_res {
	enum nfs3_status status;
	struct nfs3_post_op_attr attr;
	uint32_t linkmax;
	uint32_t name_max;
	bool no_trunc;
	bool chown_restricted;
	bool case_insensitive;
	bool case_preserving;
};

struct nfs3_commit_res {
	enum nfs3_status status;
	struct nfs3_wcc wcc;
	uint8_t verf[NFS3_VERF_BYTES];
};

/*
 * Returns the name of a procedure for messages, such as "LOOKUP", or "?" if the procedure is
 * unknown.
 */
const char *nfs3_proc_name(uint32_t proc);
/*
 * Returns the text of a status, such as "no such file or directory", or "unknown status" if RFC
 * 1813 does not define the status.
 */
const char *nfs3_status_text(uint32_t status);
/* Returns true if RFC 1813 defines the status. */
bool nfs3_status_is_known(uint32_t status);
/*
 * Returns the positive errno that has the same meaning as a status, or EIO if there is none.
 * Returns 0 for NFS3_OK.
 */
int nfs3_status_errno(uint32_t status);

#endif
