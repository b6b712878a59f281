/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROGRAM_OPTIONS_H
#define PROGRAM_OPTIONS_H

/*
 * The options of every program that uses a profile: --driver, --driver-options, --profile,
 * --show-profile, --help and --version. Functions that return an int return 0, or -1 after they
 * have printed the error on standard error.
 *
 * The files of this folder:
 *
 *   program_options.[ch]  the options of every program that uses a profile
 *   program_args.[ch]     joins options of a profile's section with those of the command line
 *   number.[ch]           numbers on a command line
 *   std_io.h              standard input, output and error of a program
 *   capture_options.[ch]  the options of captures
 *   connect_hint.[ch]     a hint for the user about a refused connection
 *   cgroup.[ch]           finds the cgroups of the process
 *   memory_room.[ch]      finds how much memory the process can still get
 *   uaddr.[ch]            IP addresses in the forms of users and of rpcbind
 *   tcp_listen.[ch]       creates sockets that listen for TCP connections
 *   oncrpc_client.[ch]    a requester for ONC RPC over TCP
 *   oncrpc_server*.[ch]   a responder for ONC RPC over TCP
 *   oncrpc_void.h         the XDR filter of empty arguments or results
 *   watch_*.[ch]          a client of telemetry: watch_socket.h lists the files
 */

#include <getopt.h>

#include <weir/profile.h>

/*
 * The values that getopt_long() returns for the options of every program. The values of a program's
 * own long options begin at OPT_OWN.
 */
enum program_option {
	OPT_HELP = 'h',
	OPT_DRIVER = 256,
	OPT_DRIVER_OPTIONS,
	OPT_PROFILE,
	OPT_SHOW_PROFILE,
	OPT_VERSION,
	OPT_OWN,
};

/* The entries of the options above for a program's table of long options. */
#define PROGRAM_LONG_OPTIONS                                                                       \
	PROGRAM_OPTION("driver", required_argument, OPT_DRIVER),                                   \
		PROGRAM_OPTION("driver-options", required_argument, OPT_DRIVER_OPTIONS),           \
		PROGRAM_OPTION("profile", required_argument, OPT_PROFILE),                         \
		PROGRAM_OPTION("show-profile", no_argument, OPT_SHOW_PROFILE),                     \
		PROGRAM_OPTION("help", no_argument, OPT_HELP),                                     \
		PROGRAM_OPTION("version", no_argument, OPT_VERSION)
#define PROGRAM_OPTION(name, has_arg, value)                                                       \
	(struct option)                                                                            \
	{                                                                                          \
		name, has_arg, NULL, value                                                         \
	}

/* These two functions write the value of --driver or --driver-options to a profile. */
int option_driver(const char *value, struct weir_profile *profile);
/* Returns whether the driver of a valid profile uses RDMA devices, with addresses of a network. */
bool option_driver_is_rdma(const struct weir_profile *profile);
int option_driver_options(const char *value, struct weir_profile *profile);

/* Checks a profile. The caller has applied all options to it. */
int option_check_profile(const struct weir_profile *profile);

/*
 * Checks the length of the address 'value'. 'option' is the name of the option that gave the
 * address: "listen" or "connect".
 */
int option_address(const char *option, const char *value);

/* Prints the drivers of this build on standard output, one per line, for --help. */
void option_print_drivers(void);

#endif
