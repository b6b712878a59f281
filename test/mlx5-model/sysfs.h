/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SYSFS_H
#define SYSFS_H

/*
 * sysfs_create() writes the files by which libibverbs and librdmacm find the device to a new folder
 * in 'folder', and sets SYSFS_PATH to it. Returns 0 or -errno. sysfs_destroy() removes them, but
 * not in a child of the process that created them.
 */
int sysfs_create(const char *folder);
void sysfs_destroy(void);

#endif
