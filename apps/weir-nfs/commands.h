/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_H
#define COMMANDS_H

/*
 * The commands. Each opens its own session, does its work, closes the session, and returns an enum
 * exit_status.
 */

#include "options.h"

/* cmd_list.c: commands that only read metadata, and ping */
int cmd_ls(const struct nfs_options *options);
int cmd_stat(const struct nfs_options *options);
int cmd_readlink(const struct nfs_options *options);
int cmd_df(const struct nfs_options *options);
int cmd_ping(const struct nfs_options *options);
int cmd_exports(const struct nfs_options *options);

/* cmd_copy.c: copies of files and trees, in both directions */
int cmd_get(const struct nfs_options *options);
int cmd_cat(const struct nfs_options *options);
int cmd_put(const struct nfs_options *options);

/* cmd_modify.c: commands that change names and attributes */
int cmd_rm(const struct nfs_options *options);
int cmd_rmdir(const struct nfs_options *options);
int cmd_mkdir(const struct nfs_options *options);
int cmd_mv(const struct nfs_options *options);
int cmd_ln(const struct nfs_options *options);
int cmd_chmod(const struct nfs_options *options);
int cmd_truncate(const struct nfs_options *options);

/* cmd_bench.c: a command that measures the speed of READs and WRITEs */
int cmd_bench(const struct nfs_options *options);

#endif
