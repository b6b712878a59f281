/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the limit of locked memory that another user gets at login, from the files of
 * pam_limits(8). */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts.h"
#include "sysfile.h"

#define LIMITS "/etc/security/limits"

/* The lines that apply to a user. A line about the user has precedence over a line about all users.
 * If there are several lines of one kind, the last one applies. */
struct lines {
	const char *user;
	bool has_own, has_all;
	uint64_t own, all; /* bytes */
};

/* Reads a line such as "alice - memlock unlimited". The unit is 1024 bytes. */
static void read_limit(char *line, struct lines *lines)
{
	char domain[64], type[8], item[32], value[32];
	uint64_t bytes;

	line[strcspn(line, "#\n")] = '\0';
	if (sscanf(line, "%63s %7s %31s %31s", domain, type, item, value) != 4 ||
	    strcmp(item, "memlock") != 0 || strcmp(type, "hard") == 0)
		return;
	bytes = strtoull(value, NULL, 10) << 10;
	if (strcmp(value, "unlimited") == 0 || strcmp(value, "infinity") == 0 ||
	    strcmp(value, "-1") == 0)
		bytes = UINT64_MAX;
	if (strcmp(domain, lines->user) == 0) {
		lines->has_own = true;
		lines->own = bytes;
	} else if (strcmp(domain, "*") == 0) {
		lines->has_all = true;
		lines->all = bytes;
	}
}

static void read_file_of_limits(const char *path, struct lines *lines)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;

	while (file && getline(&line, &room, file) >= 0)
		read_limit(line, lines);
	free(line);
	if (file)
		fclose(file);
}

static int is_conf(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return len > 5 && strcmp(entry->d_name + len - 5, ".conf") == 0;
}

/* Reads the files in the order of pam_limits(8): limits.conf, and then those of limits.d. */
static void read_all_limits(const char *root, struct lines *lines)
{
	char folder[SYSFILE_PATH_BYTES], path[2 * SYSFILE_PATH_BYTES];
	struct dirent **entries = NULL;
	int n;

	sysfile_path(path, root, LIMITS ".conf");
	read_file_of_limits(path, lines);
	sysfile_path(folder, root, LIMITS ".d");
	n = scandir(folder, &entries, is_conf, alphasort);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		read_file_of_limits(path, lines);
		free(entries[i]);
	}
	free(entries);
}

void facts_read_user(struct facts *facts)
{
	struct lines lines = {.user = facts->user};

	/* Lines about all users do not apply to root. */
	if (facts->user[0] == '\0' || strcmp(facts->user, "root") == 0)
		return;
	facts->may_lock_all = false;
	read_all_limits(facts->root, &lines);
	if (!lines.has_own && !lines.has_all)
		return; /* the limit of this process is the best guess */
	facts->has_memlock = true;
	facts->memlock_bytes = lines.has_own ? lines.own : lines.all;
	facts->memlock_hard_bytes = facts->memlock_bytes;
}
