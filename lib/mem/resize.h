/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RESIZE_H
#define RESIZE_H

#include <stddef.h>

/*
 * Sets the length of a memfd. RLIMIT_FSIZE applies to memfds, too. If the length exceeds it, the
 * kernel sends SIGXFSZ, which would end the host process. This function blocks the signal during
 * the call and removes a signal that the call caused. It does not change the process's disposition
 * of the signal. Returns 0 or -errno. It returns -EFBIG after a message that names the limit.
 */
int mem_file_resize(int fd, size_t len);

#endif
