/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPTIONS_H
#define OPTIONS_H

/* Parses the command line of weir-nfsd. */

#include <limits.h>

#include <weir/capture.h>
#include <weir/profile.h>

#include "export.h"

/* Bounds the options --export and --exports together. A file of --exports can have no export. */
#define EXPORT_SOURCES_MAX (2 * EXPORTS_MAX)

struct options {
	struct weir_profile profile;
	const char *listen;  /* address of NFS, in the form of the driver */
	const char *state;   /* directory for data that are kept when the server ends */
	const char *rpcbind; /* path of rpcbind's local socket */
	uint32_t mount_port; /* port of MOUNT; 0: a free port */
	bool has_mount;
	bool has_rpcbind;
	bool has_sandbox;
	bool is_foreground;
	struct weir_capture_options capture; /* path NULL: there is no capture */
	/* The options --export and --exports, from which the exports are read again. */
	struct {
		bool is_file;
		const char *text; /* the option's value */
	} sources[EXPORT_SOURCES_MAX];
	uint32_t nsources;
	/* the current directory, to which relative paths refer; empty if it is not known */
	char folder[PATH_MAX];
};

/*
 * Parses the command line to *options, and adds the exports to *exports. Returns 0; 1 after it has
 * printed the help, the version or the profile; or -1 after it has printed an error on standard
 * error.
 */
int options_parse(int argc, char **argv, struct options *options, struct exports *exports);

/*
 * Adds the exports of the command line and its files to *exports again. Returns 0, or -1 after it
 * has printed an error on standard error.
 */
int options_load_exports(const struct options *options, struct exports *exports);

#endif
