/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree of files that describes the device. libibverbs looks for it in SYSFS_PATH. */
#include "sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libc.h"

#define VERBS  "class/infiniband_verbs/"
#define DEVICE "class/infiniband/mlx5_0/"

/* The modalias has the vendor and the device by which libibverbs chooses libmlx5, and the GID has
 * MLX5_MODEL_ADDRESS. */
static const struct {
	const char *name, *text;
} files[] = {
	{VERBS "abi_version", "6\n"},
	{VERBS "uverbs0/ibdev", "mlx5_0\n"},
	{VERBS "uverbs0/abi_version", "1\n"},
	{VERBS "uverbs0/dev", "231:192\n"},
	{DEVICE "node_type", "1: CA\n"},
	{DEVICE "node_guid", "0002:c903:00fa:de01\n"},
	{DEVICE "device/modalias", "pci:v000015B3d00001017sv000015B3sd00000007bc02sc00i00\n"},
	{DEVICE "ports/1/gids/0", "0000:0000:0000:0000:0000:ffff:0a63:0001\n"},
	{DEVICE "ports/1/gid_attrs/types/0", "RoCE v2\n"},
	{DEVICE "ports/1/pkeys/0", "0xffff\n"},
	{"class/misc/rdma_cm/abi_version", "4\n"},
};

static char root[256];
static pid_t creator;

static int write_file(const char *name, const char *text)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		if (mkdir(path, 0700) != 0 && errno != EEXIST)
			return -errno;
		*at = '/';
	}
	fd = libc()->open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (libc()->write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
		libc()->close(fd);
		return -EIO;
	}
	libc()->close(fd);
	return 0;
}

int sysfs_create(const char *folder)
{
	char *parent = realpath(folder, NULL); /* the program can change its folder */
	int rc = 0;

	if (!parent)
		return -errno;
	snprintf(root, sizeof(root), "%s/mlx5-model.XXXXXX", parent);
	free(parent);
	if (!mkdtemp(root))
		return -errno;
	creator = getpid();
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && rc == 0; i++)
		rc = write_file(files[i].name, files[i].text);
	if (rc == 0 && setenv("SYSFS_PATH", root, 1) != 0)
		rc = -errno;
	return rc;
}

static int remove_file(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

void sysfs_destroy(void)
{
	if (creator == getpid())
		nftw(root, remove_file, 8, FTW_DEPTH | FTW_PHYS);
}
