/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPTIONS_H
#define OPTIONS_H

/* The command line. */

#include <weir/profile.h>

#include "export.h"

struct options {
	struct weir_profile profile;
	const char *listen;
	const char *state;   /* a directory for what outlives the server */
	const char *rpcbind; /* rpcbind's local socket */
	uint32_t mount_port; /* 0: any */
	bool has_mount;
	bool has_rpcbind;
	bool has_sandbox;
	bool is_foreground;
};

/* 0; 1: help or version was shown; -1: a mistake was said on standard error. */
int options_parse(int argc, char **argv, struct options *options, struct exports *exports);

#endif
