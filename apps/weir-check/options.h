/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPTIONS_H
#define OPTIONS_H

/* The command line of weir-check. */

#include <stdbool.h>

#include <weir/profile.h>

struct check_options {
	const char *path; /* of the profile */
	struct weir_profile profile;
	uint32_t nengines; /* 0: not given */
	bool is_json;
	bool is_verbose;
	bool fixes;
	bool is_confirmed;
	const char *sysroot; /* "": this machine */
	const char *user;    /* of the programs; "": that of this process */
};

/* Reads the options. Returns 0; 1 after it has printed the help, the version or the profile; or -1
 * after it has printed an error. */
int check_options_read(int argc, char **argv, struct check_options *options);

/* Frees what check_options_read() has allocated. */
void check_options_free(void);

#endif
