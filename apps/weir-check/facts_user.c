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

/* A limit. A line about the user has precedence over a line about all users. If there are several
 * lines of one kind, the last one applies. */
struct user_limit {
	bool has_own, has_all;
	uint64_t own, all; /* bytes */
};

struct lines {
	const char *user;
	struct user_limit soft, hard;
};

static void set_limit(struct user_limit *limit, bool is_own, uint64_t bytes)
{
	if (is_own) {
		limit->has_own = true;
		limit->own = bytes;
	} else {
		limit->has_all = true;
		limit->all = bytes;
	}
}

/* Reads a line such as "alice - memlock unlimited". The unit is 1024 bytes. */
static void read_limit(char *line, struct lines *lines)
{
	char domain[64], type[8], item[32], value[32];
	uint64_t bytes;
	bool is_own;

	line[strcspn(line, "#\n")] = '\0';
	if (sscanf(line, "%63s %7s %31s %31s", domain, type, item, value) != 4 ||
	    strcmp(item, "memlock") != 0)
		return;
	is_own = strcmp(domain, lines->user) == 0;
	if (!is_own && strcmp(domain, "*") != 0)
		return;
	bytes = strtoull(value, NULL, 10) << 10;
	if (strcmp(value, "unlimited") == 0 || strcmp(value, "infinity") == 0 ||
	    strcmp(value, "-1") == 0)
		bytes = UINT64_MAX;
	if (strcmp(type, "hard") != 0)
		set_limit(&lines->soft, is_own, bytes);
	if (strcmp(type, "soft") != 0)
		set_limit(&lines->hard, is_own, bytes);
}

/* Returns the limit that the lines state or, if they state none, 'otherwise'. */
static uint64_t limit_bytes(const struct user_limit *limit, uint64_t otherwise)
{
	if (limit->has_own)
		return limit->own;
	return limit->has_all ? limit->all : otherwise;
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
	/* Without a line, the limit of this process is the best guess. */
	if (!facts->has_memlock)
		facts->memlock_bytes = facts->memlock_hard_bytes = UINT64_MAX;
	facts->has_memlock |= lines.soft.has_own || lines.soft.has_all;
	facts->memlock_bytes = limit_bytes(&lines.soft, facts->memlock_bytes);
	facts->memlock_hard_bytes = limit_bytes(&lines.hard, facts->memlock_hard_bytes);
	/* A program's limit is not higher than the hard limit. */
	if (facts->memlock_bytes > facts->memlock_hard_bytes)
		facts->memlock_bytes = facts->memlock_hard_bytes;
}
