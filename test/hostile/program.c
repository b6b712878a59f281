/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The RPC programs of the calls. A program needs, besides NULL, a procedure whose result has one
 * DDP-eligible item, and a procedure whose arguments have one.
 */
#include "message.h"

#include <string.h>

const struct program programs[] = {
	{
		/* The program of weir-bench (bench/weir-bench/program.x). */
		.name = "bench",
		.prog = 0x20b3e1c4u,
		.vers = 1,
		.cred = "w:0 w:0",
		.read = "call w:2 cred w:0 w:0 w:0 w:0 arg",
		.write = "call w:3 cred w:0 w:0 w:0 w:0 w:0 arg",
	},
	{
		/* NFS version 3 (RFC 1813), with AUTH_SYS as root. */
		.name = "nfs",
		.prog = 100003,
		.vers = 3,
		.cred = "w:1 w:20 w:0 w:0 w:0 w:0 w:0",
		.read = "call w:6 cred w:0 w:0 fh w:0 w:0 arg",
		.write = "call w:7 cred w:0 w:0 fh w:0 w:0 arg w:0 arg",
		/* CREATE of "weir-hostile", UNCHECKED, mode 0600. */
		.create = "call w:8 cred w:0 w:0 root w:12 w:0x77656972 w:0x2d686f73 w:0x74696c65 "
			  "w:0 w:1 w:0x180 w:0 w:0 w:0 w:0 w:0",
	},
	{.name = NULL},
};

const struct program *program_find(const char *name)
{
	for (const struct program *program = programs; program->name; program++)
		if (strcmp(program->name, name) == 0)
			return program;
	return NULL;
}
