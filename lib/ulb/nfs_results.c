/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The largest sizes of the results of NFS procedures in bytes (RFC 8166 section 6.2, RFC 8267). The
 * sizes include the count words of DDP-eligible items, but not the items. They are derived from the
 * XDR definitions in RFC 1094, RFC 1813, RFC 7530, RFC 8881 and RFC 7862.
 */
#include <weir/binding_nfs.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- version 2 (RFC 1094 section 2.3) ---- */

enum {
	V2_STATUS = 4,
	V2_FATTR = 68,
	V2_FHANDLE = 32,
	V2_ATTRSTAT = V2_STATUS + V2_FATTR,
	V2_DIROPRES = V2_STATUS + V2_FHANDLE + V2_FATTR,
};

static const uint32_t nfs2_max[] = {
	[0] = 0,		  /* NULL */
	[1] = V2_ATTRSTAT,	  /* GETATTR */
	[2] = V2_ATTRSTAT,	  /* SETATTR */
	[3] = 0,		  /* ROOT, obsolete */
	[4] = V2_DIROPRES,	  /* LOOKUP */
	[5] = V2_STATUS + 4,	  /* READLINK */
	[6] = V2_ATTRSTAT + 4,	  /* READ */
	[7] = 0,		  /* WRITECACHE, never used */
	[8] = V2_ATTRSTAT,	  /* WRITE */
	[9] = V2_DIROPRES,	  /* CREATE */
	[10] = V2_STATUS,	  /* REMOVE */
	[11] = V2_STATUS,	  /* RENAME */
	[12] = V2_STATUS,	  /* LINK */
	[13] = V2_STATUS,	  /* SYMLINK */
	[14] = V2_DIROPRES,	  /* MKDIR */
	[15] = V2_STATUS,	  /* RMDIR */
	[16] = V2_STATUS + 4 + 4, /* READDIR without its entries */
	[17] = V2_STATUS + 5 * 4, /* STATFS */
};

#define NFS2_READDIR 16u

/* ---- version 3 (RFC 1813 section 3.3) ---- */

enum {
	V3_STATUS = 4,
	V3_FATTR = 84,
	V3_ATTR = 4 + V3_FATTR,		  /* post_op_attr */
	V3_FH = 4 + 64,			  /* nfs_fh3 */
	V3_WCC = 4 + 8 + 8 + 8 + V3_ATTR, /* wcc_data */
	V3_VERF = 8,
	V3_MADE = V3_STATUS + 4 + V3_FH + V3_ATTR + V3_WCC, /* CREATE, MKDIR, SYMLINK and MKNOD */
};

static const uint32_t nfs3_max[] = {
	[0] = 0,					/* NULL */
	[1] = V3_STATUS + V3_FATTR,			/* GETATTR */
	[2] = V3_STATUS + V3_WCC,			/* SETATTR */
	[3] = V3_STATUS + V3_FH + 2 * V3_ATTR,		/* LOOKUP */
	[4] = V3_STATUS + V3_ATTR + 4,			/* ACCESS */
	[5] = V3_STATUS + V3_ATTR + 4,			/* READLINK */
	[6] = V3_STATUS + V3_ATTR + 4 + 4 + 4,		/* READ */
	[7] = V3_STATUS + V3_WCC + 4 + 4 + V3_VERF,	/* WRITE */
	[8] = V3_MADE,					/* CREATE */
	[9] = V3_MADE,					/* MKDIR */
	[10] = V3_MADE,					/* SYMLINK */
	[11] = V3_MADE,					/* MKNOD */
	[12] = V3_STATUS + V3_WCC,			/* REMOVE */
	[13] = V3_STATUS + V3_WCC,			/* RMDIR */
	[14] = V3_STATUS + 2 * V3_WCC,			/* RENAME */
	[15] = V3_STATUS + V3_ATTR + V3_WCC,		/* LINK */
	[16] = V3_STATUS + V3_ATTR + V3_VERF + 4 + 4,	/* READDIR without its entries */
	[17] = V3_STATUS + V3_ATTR + V3_VERF + 4 + 4,	/* READDIRPLUS without its entries */
	[18] = V3_STATUS + V3_ATTR + 6 * 8 + 4,		/* FSSTAT */
	[19] = V3_STATUS + V3_ATTR + 7 * 4 + 8 + 8 + 4, /* FSINFO */
	[20] = V3_STATUS + V3_ATTR + 6 * 4,		/* PATHCONF */
	[21] = V3_STATUS + V3_WCC + V3_VERF,		/* COMMIT */
};

#define NFS3_READDIR	 16u
#define NFS3_READDIRPLUS 17u

/* ---- version 4 ---- */

#define NFS4_COMPOUND 1u
#define NFS4_TAG_MAX                                                                               \
	1024u /* bytes of the longest tag of weir's clients; a server returns the tag unchanged */
#define NFS4_COMPOUND_WORDS (4u + 4u + NFS4_TAG_MAX + 4u) /* status, tag, count of results */

enum {
	V4_OP = 4 + 4, /* number and status */
	V4_CHANGE = 4 + 8 + 8,
	V4_BITMAP = 4 + 3 * 4, /* The attributes up to version 4.2 take three words. */
	V4_STATEID = 16,
	V4_FH = 4 + 128,
	V4_VERF = 8,
	V4_SESSIONID = 16,
	V4_DENIED = 8 + 8 + 4 + 8 + 4 + 1024, /* LOCK4denied, whose owner has up to 1024 bytes */
};

struct op_max {
	uint32_t op;
	uint32_t bytes; /* size of the result without the operation's number and status */
};

static const struct op_max nfs4_max[] = {
	{3, 4 + 4},		    /* ACCESS */
	{4, V4_STATEID},	    /* CLOSE */
	{5, V4_VERF},		    /* COMMIT */
	{6, V4_CHANGE + V4_BITMAP}, /* CREATE */
	{7, 0},			    /* DELEGPURGE */
	{8, 0},			    /* DELEGRETURN */
	{10, V4_FH},		    /* GETFH */
	{11, V4_CHANGE},	    /* LINK */
	{12, V4_DENIED},	    /* LOCK */
	{13, V4_DENIED},	    /* LOCKT */
	{14, V4_STATEID},	    /* LOCKU */
	{15, 0},		    /* LOOKUP */
	{16, 0},		    /* LOOKUPP */
	{17, 0},		    /* NVERIFY */
	{19, 0},		    /* OPENATTR */
	{20, V4_STATEID},	    /* OPEN_CONFIRM */
	{21, V4_STATEID},	    /* OPEN_DOWNGRADE */
	{22, 0},		    /* PUTFH */
	{23, 0},		    /* PUTPUBFH */
	{24, 0},		    /* PUTROOTFH */
	{25, 4 + 4},		    /* READ */
	{26, V4_VERF + 4 + 4},	    /* READDIR without its entries */
	{27, 4},		    /* READLINK */
	{28, V4_CHANGE},	    /* REMOVE */
	{29, 2 * V4_CHANGE},	    /* RENAME */
	{30, 0},		    /* RENEW */
	{31, 0},		    /* RESTOREFH */
	{32, 0},		    /* SAVEFH */
	{34, V4_BITMAP},	    /* SETATTR */
	{36, 0},		    /* SETCLIENTID_CONFIRM */
	{37, 0},		    /* VERIFY */
	{38, 4 + 4 + V4_VERF},	    /* WRITE */
	{39, 0},		    /* RELEASE_LOCKOWNER */
	{40, 0},		    /* BACKCHANNEL_CTL */
	{41, V4_SESSIONID + 4 + 4}, /* BIND_CONN_TO_SESSION */
	{44, 0},		    /* DESTROY_SESSION */
	{45, 0},		    /* FREE_STATEID */
	{53, V4_SESSIONID + 5 * 4}, /* SEQUENCE */
	{57, 0},		    /* DESTROY_CLIENTID */
	{58, 0},		    /* RECLAIM_COMPLETE */
	{59, 0},		    /* ALLOCATE */
	{62, 0},		    /* DEALLOCATE */
	{69, 4 + 8},		    /* SEEK */
};

#define NFS4_READDIR 26u

static uint32_t add(uint32_t a, uint32_t b)
{
	return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

uint32_t weir_ulb_nfs_results_max(uint32_t vers, uint32_t proc, uint32_t count)
{
	uint32_t bytes = 0;

	if (vers == 2 && proc < COUNT(nfs2_max))
		bytes = nfs2_max[proc];
	else if (vers == 3 && proc < COUNT(nfs3_max))
		bytes = nfs3_max[proc];
	else if (vers == 4 && proc == NFS4_COMPOUND)
		bytes = NFS4_COMPOUND_WORDS;
	if ((vers == 2 && proc == NFS2_READDIR) ||
	    (vers == 3 && (proc == NFS3_READDIR || proc == NFS3_READDIRPLUS)))
		bytes = add(bytes, count);
	return bytes;
}

uint32_t weir_ulb_nfs4_op_results_max(uint32_t op, uint32_t count)
{
	for (uint32_t i = 0; i < COUNT(nfs4_max); i++)
		if (nfs4_max[i].op == op)
			return add(V4_OP + nfs4_max[i].bytes, op == NFS4_READDIR ? count : 0);
	return WEIR_NFS_UNBOUNDED;
}
