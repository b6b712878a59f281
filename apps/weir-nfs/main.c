/* SPDX-License-Identifier: BSD-3-Clause */
/* weir-nfs: a client for the files of an NFSv3 server over RPC-over-RDMA. */
#include <signal.h>
#include <stdio.h>

#include "commands.h"
#include "session.h"
#include "std_io.h"

static const struct command commands[] = {
	{"ls", "[-l] [-U] [PATH]", "list a directory", cmd_ls, 0, 1,
	 FLAG_LONG | FLAG_UNSORTED | FLAG_FOLLOW, true},
	{"stat", "PATH", "print all attributes and the handle", cmd_stat, 1, 1, FLAG_FOLLOW, true},
	{"get", "[-r] REMOTE [LOCAL|-]", "fetch a file, or a tree", cmd_get, 1, 2,
	 FLAG_RECURSIVE | FLAG_TRANSFER | FLAG_FOLLOW, true},
	{"cat", "REMOTE...", "write files to standard output", cmd_cat, 1, 1000000,
	 FLAG_TRANSFER | FLAG_FOLLOW, true},
	{"put", "[-r] LOCAL|- [REMOTE]", "store a file, or a tree", cmd_put, 1, 2,
	 FLAG_RECURSIVE | FLAG_TRANSFER | FLAG_SYNC | FLAG_FOLLOW, true},
	{"rm", "[-r] PATH...", "remove files, or trees", cmd_rm, 1, 1000000, FLAG_RECURSIVE, true},
	{"mkdir", "[-p] PATH...", "make directories", cmd_mkdir, 1, 1000000, FLAG_PARENTS, true},
	{"rmdir", "PATH...", "remove empty directories", cmd_rmdir, 1, 1000000, 0, true},
	{"mv", "FROM TO", "rename", cmd_mv, 2, 2, 0, true},
	{"ln", "[-s] TARGET NAME", "make a link", cmd_ln, 2, 2, FLAG_SYMBOLIC, true},
	{"readlink", "PATH", "print the target of a symbolic link", cmd_readlink, 1, 1, 0, true},
	{"chmod", "OCTAL PATH", "set permissions", cmd_chmod, 2, 2, FLAG_FOLLOW, true},
	{"truncate", "SIZE PATH", "set a file's size", cmd_truncate, 2, 2, FLAG_FOLLOW, true},
	{"df", "", "print the size and free space of the server", cmd_df, 0, 0, 0, true},
	{"ping", "[COUNT]", "make NULL calls and print their times", cmd_ping, 0, 1, 0, false},
	{"exports", "", "list the exports", cmd_exports, 0, 0, 0, false},
	{"bench", "", "measure READs and WRITEs", cmd_bench, 0, 0,
	 FLAG_TRANSFER | FLAG_SYNC | FLAG_BENCH, true},
};

static void on_signal(int signo)
{
	session_interrupted = signo;
}

int main(int argc, char **argv)
{
	static struct nfs_options options;
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
	int rc;

	std_io_start();
	rc = nfs_options_parse(argc, argv, commands, sizeof(commands) / sizeof(commands[0]),
			       &options);
	if (rc > 0)
		return std_io_finish("weir-nfs") == 0 ? EXIT_OK : EXIT_LOCAL;
	if (rc != 0)
		return EXIT_USAGE;
	/*
	 * The first signal ends the work in order, so that no temporary file remains. A second
	 * signal ends the process at once.
	 */
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	rc = options.command->run(&options);
	if (rc == EXIT_OK && std_io_finish("weir-nfs") != 0)
		rc = EXIT_LOCAL;
	if (!session_interrupted)
		return rc;
	signal((int)session_interrupted, SIG_DFL);
	raise((int)session_interrupted);
	return EXIT_TRANSPORT;
}
