/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIBC_H
#define LIBC_H

/* The functions of libc that the model replaces by its own (libc.c). */

#include <sys/stat.h>
#include <sys/types.h>

#define EXPORTED __attribute__((visibility("default")))

/* The original functions. */
struct libc {
	int (*open)(const char *path, int flags, ...);
	int (*close)(int fd);
	ssize_t (*read)(int fd, void *buf, size_t len);
	ssize_t (*write)(int fd, const void *buf, size_t len);
	int (*ioctl)(int fd, unsigned long request, ...);
	int (*stat)(const char *path, struct stat *st);
	int (*fstat)(int fd, struct stat *st);
	int (*socket)(int domain, int type, int protocol);
};

/* Returns the original functions. Other libraries can call the model's functions before the
 * constructors of the model have run. */
const struct libc *libc(void);

#endif
