/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RESIZE_H
#define RESIZE_H

#include <stddef.h>

/*
 * Sets the length of the memfd 'fd' to 'len' bytes. RLIMIT_FSIZE applies to memfds, too. If the
 * length exceeds that limit, the kernel sends SIGXFSZ, which would end the host process. This
 * function blocks SIGXFSZ while it changes the length, and removes the signal that the kernel sent
 * for the change. It does not change what the process does on SIGXFSZ. Returns 0 or -errno. It
 * returns -EFBIG if the length exceeds the limit, after it has logged a message that names the
 * limit.
 */
int mem_file_resize(int fd, size_t len);

#endif
