/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets the user as whom a worker thread acts. Threads that poll never call these functions, see
 * dir/rights.c.
 */
#include <errno.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dir.h"

/*
 * Sets the supplementary groups of this thread. Returns 0 or -errno. The function makes the system
 * call directly, because the function of the C library changes all threads.
 */
static int creds_set_groups(uint32_t n, const uint32_t *gids)
{
	gid_t groups[CRED_GIDS_MAX];

	for (uint32_t i = 0; i < n; i++)
		groups[i] = gids[i];
	return syscall(SYS_setgroups, (size_t)n, groups) == 0 ? 0 : -errno;
}

/*
 * Returns true if the thread acts as 'cred'. setfsgid() and setfsuid() do not report failure. They
 * return the previous ID. With the invalid ID -1 they change nothing, so they return the present
 * ID.
 */
static bool has_become(const struct cred *cred)
{
	return (uint32_t)setfsgid((gid_t)-1) == cred->gid &&
	       (uint32_t)setfsuid((uid_t)-1) == cred->uid;
}

int dir_set_creds(const struct cred *cred)
{
	int rc = creds_set_groups(cred->ngids, cred->gids);

	setfsgid(cred->gid);
	/* The user is set last, because the thread then loses root's privileges over files. */
	setfsuid(cred->uid);
	if (rc == 0 && has_become(cred))
		return 0;
	dir_reset_creds();
	return -EPERM;
}

void dir_reset_creds(void)
{
	setfsuid(0);
	setfsgid(0);
	creds_set_groups(0, NULL);
}

int dir_obey_quotas(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data) != 0)
		return -errno;
	data[CAP_TO_INDEX(CAP_SYS_RESOURCE)].effective &= ~CAP_TO_MASK(CAP_SYS_RESOURCE);
	return syscall(SYS_capset, &header, data) == 0 ? 0 : -errno;
}
