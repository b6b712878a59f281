/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the secret that signs handles, and loads it from a file.
 *
 * A client that knows the secret can forge a handle for any file of an exported file system.
 * Therefore only this user is allowed to read the file or change its directory, and neither of them
 * is allowed to be a symbolic link. A new file gets its name when it is complete, and only if no
 * file of that name exists. Two servers that start at the same time both use the secret of the
 * first one.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "handle.h"

#define FILE_NAME "secret"
/* Attempts; another start can create the file, and another process can remove it. */
#define TRIES 4

void handle_key_init(struct handle_key *key)
{
	randombytes_buf(key->secret, sizeof(key->secret));
	do
		randombytes_buf(&key->epoch, sizeof(key->epoch));
	while (key->epoch == 0);
}

static int bad_dir(const char *dir, const char *what, const char *cure)
{
	fprintf(stderr,
		"weir-nfsd: the state directory %s %s: %s, or name another one with --state\n", dir,
		what, cure);
	return -EPERM;
}

/*
 * Returns the length of the path up to the end of its last name. This is needed because the kernel
 * follows a symbolic link in "LINK/" and "LINK/." in spite of O_NOFOLLOW.
 */
static size_t end_of_name(const char *path)
{
	size_t end = strlen(path);

	while ((end > 1 && path[end - 1] == '/') ||
	       (end > 2 && path[end - 1] == '.' && path[end - 2] == '/'))
		end--;
	return end;
}

static int key_open_dir(const char *path)
{
	char name[PATH_MAX];
	size_t end = end_of_name(path);
	struct stat st;
	int fd;

	if (end >= sizeof(name))
		return -ENAMETOOLONG;
	memcpy(name, path, end);
	name[end] = '\0';
	if (mkdir(name, 0700) != 0 && errno != EEXIST)
		return -errno;
	fd = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid()) &&
	    (st.st_mode & 022) == 0)
		return fd;
	close(fd);
	return -EPERM;
}

/*
 * Opens the state directory, which is created if necessary. Returns its descriptor, or -errno after
 * it has printed the reason on standard error.
 */
static int find_dir(const char *path)
{
	int fd = key_open_dir(path);

	switch (fd) {
	case -EPERM:
		return bad_dir(
			path, "can be changed by other users, who could put their own secret there",
			"make root, or the user who runs this server, its owner, and set its mode "
			"to 700");
	case -ELOOP:
	case -ENOTDIR:
		return bad_dir(path, "is a symbolic link, or not a directory",
			       "name the directory itself");
	default:
		if (fd < 0)
			bad_dir(path, strerror(-fd), "create it");
		return fd;
	}
}

static int bad_file(const char *dir, const char *what, const char *cure)
{
	fprintf(stderr,
		"weir-nfsd: %s/" FILE_NAME
		", the secret that file handles are signed with, %s. %s. If the file is removed, "
		"the server creates a new one, and clients have to mount again\n",
		dir, what, cure);
	return -EPERM;
}

static int check_file(int fd, const char *dir)
{
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return bad_file(dir, "is not a regular file", "Remove it");
	if (st.st_uid != geteuid())
		return bad_file(dir, "belongs to another user, who could forge handles of any file",
				"Remove it");
	if ((st.st_mode & 077) != 0)
		return bad_file(dir,
				"can be read or changed by other users, who could forge handles of "
				"any file",
				"Remove it. If you are sure that nobody has read it, set its mode "
				"to 600 instead");
	if (st.st_size != SECRET_BYTES)
		return bad_file(dir, "is not 16 bytes long", "Remove it");
	return 0;
}

/*
 * Reads the secret. Returns 0, -ENOENT if there is no file, or another -errno after it has printed
 * the reason.
 */
static int load(struct handle_key *key, int dir, const char *path)
{
	uint8_t secret[SECRET_BYTES];
	int fd = openat(dir, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY),
	    rc;

	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0)
		return bad_file(path, errno == ELOOP ? "is a symbolic link" : strerror(errno),
				"Put a regular file there");
	rc = check_file(fd, path);
	if (rc == 0 && read(fd, secret, sizeof(secret)) != (ssize_t)sizeof(secret))
		rc = bad_file(path, "can't be read", "Remove it");
	close(fd);
	if (rc == 0)
		memcpy(key->secret, secret, sizeof(secret));
	sodium_memzero(secret, sizeof(secret));
	return rc;
}

static int write_file(const struct handle_key *key, int dir, const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600),
	    rc = 0;

	if (fd < 0)
		return -errno;
	errno = EIO; /* for a short write, which does not set errno */
	if (write(fd, key->secret, SECRET_BYTES) != (ssize_t)SECRET_BYTES || fsync(fd) != 0)
		rc = -errno;
	close(fd);
	return rc;
}

/*
 * Saves the secret. Returns 0, -EEXIST if another start has saved one first, or another -errno
 * after it has printed the reason.
 */
static int save(const struct handle_key *key, int dir, const char *path)
{
	char name[40];
	uint64_t number;
	int rc;

	/* The name is unique, so that no other start writes to this file. */
	randombytes_buf(&number, sizeof(number));
	snprintf(name, sizeof(name), FILE_NAME ".%016llx", (unsigned long long)number);
	rc = write_file(key, dir, name);
	if (rc == 0 && linkat(dir, name, dir, FILE_NAME, 0) != 0)
		rc = -errno;
	unlinkat(dir, name, 0);
	if (rc == 0 && fsync(dir) != 0)
		rc = -errno;
	if (rc != 0 && rc != -EEXIST)
		fprintf(stderr,
			"weir-nfsd: can't create %s/" FILE_NAME
			", the secret that file handles are signed with: %s. Name another "
			"directory with --state, on a file system that supports hard links and has "
			"free space\n",
			path, strerror(-rc));
	return rc;
}

int handle_key_load(struct handle_key *key, const char *state)
{
	int dir = find_dir(state), rc = -EEXIST;

	if (dir < 0)
		return dir;
	for (int i = 0; i < TRIES && rc == -EEXIST; i++) {
		rc = load(key, dir, state);
		if (rc == -ENOENT)
			rc = save(key, dir, state);
	}
	if (rc == -EEXIST)
		bad_file(state, "is created and removed by another process",
			 "Give write access to the directory to one user only");
	close(dir);
	return rc;
}
