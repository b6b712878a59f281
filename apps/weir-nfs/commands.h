/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_H
#define COMMANDS_H

/* The commands. Each opens its own session, does its work, and returns an exit_status. */

#include "options.h"

/* cmd_list.c: commands that only read metadata */
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

/* cmd_modify.c: names and attributes */
int cmd_rm(const struct nfs_options *options);
int cmd_rmdir(const struct nfs_options *options);
int cmd_mkdir(const struct nfs_options *options);
int cmd_mv(const struct nfs_options *options);
int cmd_ln(const struct nfs_options *options);
int cmd_chmod(const struct nfs_options *options);
int cmd_truncate(const struct nfs_options *options);

/* cmd_bench.c */
int cmd_bench(const struct nfs_options *options);

#endif
