/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RESIZE_H
#define RESIZE_H

#include <stddef.h>

/*
 * Set the length of a memfd. RLIMIT_FSIZE applies to memfds, too: beyond it the kernel sends
 * SIGXFSZ, which would end the host process. This blocks the signal for the call and takes it away;
 * the process's disposition of it stays as it is. Returns 0 or -errno: -EFBIG, after a message that
 * names the limit.
 */
int mem_file_resize(int fd, size_t len);

#endif
