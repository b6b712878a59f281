/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CGROUP_H
#define CGROUP_H

/* Finds the folders of the control groups (cgroups) of this process, of version 1 and 2. */

#include <stdbool.h>
#include <stdint.h>

#define CGROUP_PATH_BYTES 640u

/*
 * Calls 'look' for the folder of each cgroup of this process that has the controller, such as
 * "memory", and of the cgroups above it, up to the mount point. is_v2 says which version the folder
 * belongs to. 'root' is put before the paths /proc and /sys. It is "" except in tests.
 *
 * In a container, the path of a cgroup can be the path on the host, of which only the last part, or
 * nothing, is visible. A folder that does not exist has no files and thus no limits. 'look' is
 * always called for the mount points.
 */
void cgroup_each(const char *root, const char *controller,
		 void (*look)(const char *folder, bool is_v2, void *arg), void *arg);

/*
 * Reads a file of a cgroup that contains one number. Returns the number. Returns 'otherwise' if the
 * file contains "max" or cannot be read.
 */
uint64_t cgroup_number(const char *folder, const char *name, uint64_t otherwise);

#endif
