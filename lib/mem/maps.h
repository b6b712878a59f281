/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MAPS_H
#define MAPS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Checks that all of [base, base + len) is mapped from the file 'fd', beginning at 'offset', as a
 * shared mapping for reading and writing. The file has pages of 'page' bytes. The caller ensures
 * that 'base' and 'offset' are multiples of 'page'. The range may consist of several mappings.
 * Returns
 *
 *    0         if all of the range is mapped so,
 *   -EINVAL    if it is not, after a message that names the address and the remedy,
 *   -ENOMEM    if there is no more memory, address space or descriptor,
 *   -ENODATA   if this cannot be found out: /proc cannot be read, or 'fd' is not a regular
 *              file, which every process can map in the same way.
 */
int mem_maps_check(void *base, size_t len, int fd, uint64_t offset, size_t page);

#endif
