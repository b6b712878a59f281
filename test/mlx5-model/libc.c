/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of libc that the model replaces. The dynamic linker finds them first if the model
 * is preloaded, or linked before libibverbs. They handle the device files and the descriptors of
 * the model, and pass everything else to libc.
 */

/* Otherwise the headers replace the functions by others that check more, or by those for large
 * files. */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS

#include "libc.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <rdma/rdma_user_ioctl_cmds.h>

#include "cm.h"
#include "file.h"
#include "uverbs.h"

/* The numbers of the device files. sysfs.c has the first one. */
#define DEVICE_NUMBER makedev(231, 192)
#define CM_NUMBER     makedev(10, 58)

const struct libc *libc(void)
{
	static struct libc originals;
	static bool is_filled;

	/* Threads that fill it at the same time store the same values. */
	if (!__atomic_load_n(&is_filled, __ATOMIC_ACQUIRE)) {
		*(void **)&originals.open = dlsym(RTLD_NEXT, "open");
		*(void **)&originals.close = dlsym(RTLD_NEXT, "close");
		*(void **)&originals.read = dlsym(RTLD_NEXT, "read");
		*(void **)&originals.write = dlsym(RTLD_NEXT, "write");
		*(void **)&originals.ioctl = dlsym(RTLD_NEXT, "ioctl");
		*(void **)&originals.stat = dlsym(RTLD_NEXT, "stat");
		*(void **)&originals.fstat = dlsym(RTLD_NEXT, "fstat");
		*(void **)&originals.socket = dlsym(RTLD_NEXT, "socket");
		__atomic_store_n(&is_filled, true, __ATOMIC_RELEASE);
	}
	return &originals;
}

static bool is_device(const char *path)
{
	return strcmp(path, "/dev/infiniband/uverbs0") == 0;
}

EXPORTED int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	if (is_device(path))
		return uverbs_open();
	if (strcmp(path, "/dev/infiniband/rdma_cm") == 0)
		return cm_open();
	if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {
		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	return libc()->open(path, flags, mode);
}

EXPORTED int close(int fd)
{
	struct file *file = file_find(fd);

	if (file && file->kind == FILE_DEVICE)
		uverbs_close(file);
	else if (file && file->kind == FILE_CM)
		cm_close(file);
	else if (file)
		file_remove(file);
	return libc()->close(fd);
}

/* Returns what a function of libc returns for a result that is a number of bytes or -errno. */
static ssize_t libc_result(ssize_t result)
{
	if (result >= 0)
		return result;
	errno = (int)-result;
	return -1;
}

EXPORTED ssize_t read(int fd, void *buf, size_t len)
{
	struct file *file = file_find(fd);

	if (file && (file->kind == FILE_ASYNC || file->kind == FILE_COMPLETIONS))
		return libc_result(file_take(file, buf, len));
	return libc()->read(fd, buf, len);
}

EXPORTED ssize_t write(int fd, const void *buf, size_t len)
{
	struct file *file = file_find(fd);

	if (file && file->kind == FILE_CM)
		return libc_result(cm_write(file, buf, len));
	if (file && file->kind == FILE_DEVICE)
		return libc_result(-ENOSYS); /* the libraries then use ioctl() */
	return libc()->write(fd, buf, len);
}

EXPORTED int ioctl(int fd, unsigned long request, ...)
{
	struct file *file = file_find(fd);
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (file && file->kind == FILE_DEVICE && request == RDMA_VERBS_IOCTL)
		return (int)libc_result(uverbs_ioctl(file, arg));
	return libc()->ioctl(fd, request, arg);
}

EXPORTED int stat(const char *path, struct stat *st)
{
	if (!is_device(path))
		return libc()->stat(path, st);
	*st = (struct stat){.st_mode = S_IFCHR | 0600, .st_rdev = DEVICE_NUMBER};
	return 0;
}

EXPORTED int fstat(int fd, struct stat *st)
{
	const struct file *file = file_find(fd);
	int rc = libc()->fstat(fd, st);

	if (rc == 0 && file && (file->kind == FILE_DEVICE || file->kind == FILE_CM)) {
		st->st_mode = S_IFCHR | 0600;
		st->st_rdev = file->kind == FILE_DEVICE ? DEVICE_NUMBER : CM_NUMBER;
	}
	return rc;
}

/* Without netlink, libibverbs looks for devices in sysfs only. Netlink would give it the devices of
 * the kernel. */
EXPORTED int socket(int domain, int type, int protocol)
{
	if (domain == AF_NETLINK && protocol == NETLINK_RDMA)
		return (int)libc_result(-EPROTONOSUPPORT);
	return libc()->socket(domain, type, protocol);
}
