/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MAPS_H
#define MAPS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Check that all of [base, base + len) is mapped from the file 'fd', beginning at 'offset', shared
 * and for reading and writing. The file has pages of 'page' bytes, and base and offset are
 * multiples of that. The range may consist of several mappings. Returns
 *
 *    0         if it is,
 *   -EINVAL    if it is not, after a message that names the address and the remedy,
 *   -ENOMEM    if memory, address space or descriptors are used up,
 *   -ENODATA   if nobody can tell: /proc cannot be read, or the file is not one that every process
 *              can map alike.
 */
int mem_maps_check(void *base, size_t len, int fd, uint64_t offset, size_t page);

#endif
