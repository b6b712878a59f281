/* SPDX-License-Identifier: BSD-3-Clause */
/* The DDP-eligible arguments and results of NFS and its companion protocols (RFC 8267). */
#include <weir/binding_nfs.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct weir_ulb_proc nfs2_procs[] = {
	{.proc = 6, .result_items_max = 1}, /* READ */
	{.proc = 8, .arg_items_max = 1},    /* WRITE */
	{.proc = 5, .result_items_max = 1}, /* READLINK */
	{.proc = 13, .arg_items_max = 1},   /* SYMLINK */
};

static const struct weir_ulb_proc nfs3_procs[] = {
	{.proc = 6, .result_items_max = 1}, /* READ */
	{.proc = 7, .arg_items_max = 1},    /* WRITE */
	{.proc = 5, .result_items_max = 1}, /* READLINK */
	{.proc = 10, .arg_items_max = 1},   /* SYMLINK */
};

/* NFS version 4 sets no limit on the operations of a COMPOUND. Therefore these numbers are the most
 * items that a weir_request and a weir_call can hold. */
static const struct weir_ulb_proc nfs4_procs[] = {
	{.proc = 1, .arg_items_max = 8, .result_items_max = 8}, /* COMPOUND */
};

static const struct weir_ulb bindings[] = {
	{"NFS version 3", WEIR_NFS_PROGRAM, 3, 3, nfs3_procs, COUNT(nfs3_procs)},
	{"NFS version 4", WEIR_NFS_PROGRAM, 4, 4, nfs4_procs, COUNT(nfs4_procs)},
	{"NFS version 2", WEIR_NFS_PROGRAM, 2, 2, nfs2_procs, COUNT(nfs2_procs)},
	{.name = "NFSACL", .prog = WEIR_NFSACL_PROGRAM, .vers_low = 1, .vers_high = 3},
	{.name = "MOUNT", .prog = WEIR_MOUNT_PROGRAM, .vers_low = 1, .vers_high = 3},
	{.name = "NLM", .prog = WEIR_NLM_PROGRAM, .vers_low = 1, .vers_high = 4},
	{.name = "NSM", .prog = WEIR_NSM_PROGRAM, .vers_low = 1, .vers_high = 1},
};

const struct weir_ulb *weir_ulb_nfs_find(uint32_t prog, uint32_t vers)
{
	for (uint32_t i = 0; i < COUNT(bindings); i++)
		if (bindings[i].prog == prog && vers >= bindings[i].vers_low &&
		    vers <= bindings[i].vers_high)
			return &bindings[i];
	return NULL;
}

const struct weir_ulb *weir_ulb_nfs(uint32_t vers)
{
	return weir_ulb_nfs_find(WEIR_NFS_PROGRAM, vers);
}
