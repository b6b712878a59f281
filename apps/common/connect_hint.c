/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the most probable reason why a connection was refused. */
#include "connect_hint.h"

#include <errno.h>
#include <string.h>

const char *connect_hint(const char *driver, const char *addr, int rc)
{
	/*
	 * With the driver shm, an address without a leading '/' is an abstract UNIX socket address,
	 * which is local to a network namespace. A path is not local to one (unix(7),
	 * network_namespaces(7)).
	 */
	if (strcmp(driver, "shm") != 0 || addr[0] == '/' || rc != -ECONNREFUSED)
		return "";
	return "; a name reaches only the same network namespace: across containers, let the other "
	       "side listen at a path, such as /run/weir.sock";
}
