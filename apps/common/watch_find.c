/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds telemetry sockets, as dpdk-telemetry.py does. */
#include "watch_find.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "terminal.h"

#define SOCKET_NAME "dpdk_telemetry.v2"

/* The folder of EAL: that of eal_create_runtime_dir() of DPDK. */
static bool default_folder(char *folder, size_t bytes)
{
	const char *runtime = getenv("RUNTIME_DIRECTORY");

	if (!runtime && getuid() == 0)
		runtime = "/var/run";
	if (!runtime)
		runtime = getenv("XDG_RUNTIME_DIR");
	return (size_t)snprintf(folder, bytes, "%s/dpdk", runtime ? runtime : "/tmp") < bytes;
}

/* Returns what follows the name of a socket in a file name, or NULL if the file is no socket. */
static const char *socket_suffix(const char *file)
{
	const size_t len = strlen(SOCKET_NAME);

	if (strncmp(file, SOCKET_NAME, len) != 0)
		return NULL;
	file += len;
	if (file[0] == '\0')
		return file;
	return file[0] == ':' && file[1] != '\0' && file[1 + strspn(file + 1, "0123456789")] == '\0'
		       ? file
		       : NULL;
}

static int fail_to_read(struct watch_places *places, const char *folder)
{
	int rc = -errno;

	snprintf(places->why, sizeof(places->why), "%s: can't be read: %s%s", folder, strerror(-rc),
		 rc == -EACCES ? ": run this program as the user of the process, or as root" : "");
	terminal_text(places->why, places->why, sizeof(places->why));
	return rc;
}

/* Adds the sockets in the folder of one prefix. Returns 0 or -errno. */
static int add_sockets(struct watch_places *places, const char *prefix)
{
	char path[WATCH_PATH_BYTES + 300];
	const struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s", places->folder, prefix);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT || errno == ENOTDIR ? 0 : fail_to_read(places, path);
	while ((entry = readdir(dir))) {
		struct watch_place *place = &places->places[places->n];
		const char *suffix = socket_suffix(entry->d_name);

		if (!suffix)
			continue;
		if (places->n == WATCH_PLACES_MAX ||
		    (size_t)snprintf(place->path, sizeof(place->path), "%s/%s", path,
				     entry->d_name) >= sizeof(place->path)) {
			places->left_out++;
			continue;
		}
		snprintf(place->name, sizeof(place->name), "%s%s", prefix, suffix);
		terminal_text(place->name, place->name, sizeof(place->name));
		places->n++;
	}
	closedir(dir);
	return 0;
}

/* Orders "rte" before "rte:2" before "rte:10". */
static int by_name(const void *a, const void *b)
{
	const struct watch_place *x = a, *y = b;

	return strverscmp(x->name, y->name);
}

/* Adds the sockets of all prefixes. Returns 0 if there is a socket, or if no folder failed to be
 * read. */
static int add_all(struct watch_places *places)
{
	const struct dirent *entry;
	DIR *dir = opendir(places->folder);
	int rc = 0;

	if (!dir)
		return errno == ENOENT ? 0 : fail_to_read(places, places->folder);
	while ((entry = readdir(dir))) {
		int added = entry->d_name[0] == '.' ? 0 : add_sockets(places, entry->d_name);

		rc = added ? added : rc;
	}
	closedir(dir);
	return places->n > 0 ? 0 : rc;
}

int watch_find(const char *folder, const char *prefix, struct watch_places *places)
{
	bool fits = folder ? (size_t)snprintf(places->folder, sizeof(places->folder), "%s",
					      folder) < sizeof(places->folder)
			   : default_folder(places->folder, sizeof(places->folder));
	int rc;

	places->n = places->left_out = 0;
	places->why[0] = '\0';
	if (!fits) {
		errno = ENAMETOOLONG;
		return fail_to_read(places, "the folder of the sockets");
	}
	rc = prefix ? add_sockets(places, prefix) : add_all(places);
	qsort(places->places, places->n, sizeof(places->places[0]), by_name);
	return rc;
}

void watch_one(const char *path, struct watch_places *places)
{
	struct watch_place *place = &places->places[0];

	*places = (struct watch_places){.n = 1};
	snprintf(place->path, sizeof(place->path), "%s", path);
	terminal_text(path, place->name, sizeof(place->name));
}
