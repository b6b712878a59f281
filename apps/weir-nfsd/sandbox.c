/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drops the capabilities that a file server does not need. The filter of system calls is in
 * sandbox_filter.c.
 */
#include "sandbox.h"

#include <cap-ng.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

/*
 * The capabilities that the process keeps, each with the reason. CAP_IPC_LOCK is not always
 * necessary: it is needed only if the memory to lock exceeds RLIMIT_MEMLOCK.
 */
static const unsigned kept[] = {
	CAP_DAC_OVERRIDE, /* to open, as root, files that the caller of a WRITE or SETATTR has the
			     right to change */
	CAP_DAC_READ_SEARCH, /* to open files with open_by_handle_at() */
	CAP_CHOWN,	     /* to set the owner in a SETATTR by root */
	CAP_FOWNER,	     /* to set modes and times in a SETATTR by root */
	CAP_FSETID,	     /* to set set-group-ID bits in a SETATTR by root */
	CAP_MKNOD,	     /* to make device files in a MKNOD by root */
	CAP_SETUID,	     /* to act as the caller in a worker thread */
	CAP_SETGID,	     /* to act as a member of the caller's groups in a worker thread */
	CAP_IPC_LOCK,	     /* to lock memory that an RDMA device reads and writes */
};

#define KEPT (sizeof(kept) / sizeof(kept[0]))

static bool has(unsigned cap)
{
	return capng_have_capability(CAPNG_EFFECTIVE, cap) &&
	       capng_have_capability(CAPNG_PERMITTED, cap);
}

static int fail(const char *what)
{
	fprintf(stderr,
		"weir-nfsd: sandbox: %s: %s. --sandbox off starts the server without a sandbox\n",
		what, strerror(errno));
	return -EPERM;
}

int sandbox_check_dir(void)
{
	char missing[256] = "";
	size_t len = 0;

	if (capng_get_caps_process() != 0)
		return fail("can't read this process's capabilities");
	for (size_t i = 0; i < KEPT; i++)
		if (kept[i] != CAP_IPC_LOCK && !has(kept[i]))
			len += (size_t)snprintf(missing + len, sizeof(missing) - len, "%scap_%s",
						len > 0 ? ", " : "",
						capng_capability_to_name(kept[i]));
	if (len == 0)
		return 0;
	fprintf(stderr,
		"weir-nfsd: a directory export needs capabilities that this process lacks: %s. "
		"Start it as root, and allow these capabilities in its container or service\n",
		missing);
	return -EPERM;
}

/*
 * Reduces the bounding set to the capabilities that are kept. Returns 0, or an error of
 * capng_apply(). The kernel permits this only with CAP_SETPCAP. Without that capability nothing is
 * done, because no-new-privs has the same effect.
 */
static int drop_bounding(void)
{
	if (!capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP))
		return 0;
	for (unsigned cap = 0; cap <= CAP_LAST_CAP; cap++)
		capng_update(CAPNG_DROP, CAPNG_BOUNDING_SET, cap);
	for (size_t i = 0; i < KEPT; i++)
		capng_update(CAPNG_ADD, CAPNG_BOUNDING_SET, kept[i]);
	return capng_apply(CAPNG_SELECT_BOUNDS);
}

int sandbox_drop(void)
{
	uint32_t mine = 0;

	if (capng_get_caps_process() != 0)
		return fail("can't read this process's capabilities");
	for (size_t i = 0; i < KEPT; i++)
		mine |= has(kept[i]) ? 1u << i : 0;
	if (drop_bounding() != 0)
		return fail("can't reduce the bounding set of capabilities");
	capng_clear(CAPNG_SELECT_CAPS);
	for (size_t i = 0; i < KEPT; i++)
		if (mine & 1u << i)
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, kept[i]);
	if (capng_apply(CAPNG_SELECT_CAPS) != 0)
		return fail("can't give up capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return fail("can't set no-new-privs");
	return 0;
}
