/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPTIONS_H
#define OPTIONS_H

/* The command line. */

#include <weir/profile.h>

#include "export.h"

struct options {
	struct weir_profile profile;
	const char *listen;
	const char *state;   /* directory for data that outlive the server */
	const char *rpcbind; /* rpcbind's local socket */
	uint32_t mount_port; /* 0 for any */
	bool has_mount;
	bool has_rpcbind;
	bool has_sandbox;
	bool is_foreground;
};

/*
 * Returns 0; 1 after it has printed the help or the version; or -1 after it has printed an error on
 * standard error.
 */
int options_parse(int argc, char **argv, struct options *options, struct exports *exports);

#endif
