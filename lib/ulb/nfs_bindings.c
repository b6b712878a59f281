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

/* A binding for a range of versions. Further arguments initialise other members. */
#define BINDING(text, number, low, high, ...)                                                      \
	{                                                                                          \
		.struct_bytes = sizeof(struct weir_ulb), .name = (text), .prog = (number),         \
		.vers_low = (low), .vers_high = (high), __VA_ARGS__                                \
	}

static const struct weir_ulb bindings[] = {
	BINDING("NFS version 3", WEIR_NFS_PROGRAM, 3, 3, .nprocs = COUNT(nfs3_procs),
		.procs = nfs3_procs),
	BINDING("NFS version 4", WEIR_NFS_PROGRAM, 4, 4, .nprocs = COUNT(nfs4_procs),
		.procs = nfs4_procs),
	BINDING("NFS version 2", WEIR_NFS_PROGRAM, 2, 2, .nprocs = COUNT(nfs2_procs),
		.procs = nfs2_procs),
	BINDING("NFSACL", WEIR_NFSACL_PROGRAM, 1, 3),
	BINDING("MOUNT", WEIR_MOUNT_PROGRAM, 1, 3),
	BINDING("NLM", WEIR_NLM_PROGRAM, 1, 4),
	BINDING("NSM", WEIR_NSM_PROGRAM, 1, 1),
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
