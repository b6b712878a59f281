/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads short files of /proc and /sys. */
#include "sysfile.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes the full path to 'path'. */
printf_like(3, 0) static void make_path(char *path, const char *root, const char *format,
					va_list args)
{
	size_t used = (size_t)snprintf(path, SYSFILE_PATH_BYTES, "%s", root);

	if (used < SYSFILE_PATH_BYTES)
		vsnprintf(path + used, SYSFILE_PATH_BYTES - used, format, args);
}

void sysfile_path(char *path, const char *root, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	make_path(path, root, format, args);
	va_end(args);
}

static bool read_line(const char *path, char *line, size_t bytes)
{
	FILE *file = fopen(path, "re");
	bool is_read = file && fgets(line, (int)bytes, file);

	if (file)
		fclose(file);
	if (!is_read)
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return is_read;
}

bool sysfile_line(const char *root, char *line, size_t bytes, const char *format, ...)
{
	char path[SYSFILE_PATH_BYTES];
	va_list args;

	va_start(args, format);
	make_path(path, root, format, args);
	va_end(args);
	return read_line(path, line, bytes);
}

bool sysfile_number(const char *root, uint64_t *value, const char *format, ...)
{
	char path[SYSFILE_PATH_BYTES], line[64], *end;
	unsigned long long number;
	va_list args;

	va_start(args, format);
	make_path(path, root, format, args);
	va_end(args);
	if (!read_line(path, line, sizeof(line)) || line[0] == '-')
		return false;
	number = strtoull(line, &end, 10);
	if (end == line)
		return false;
	*value = number;
	return true;
}

bool sysfile_exists(const char *root, const char *format, ...)
{
	char path[SYSFILE_PATH_BYTES];
	va_list args;

	va_start(args, format);
	make_path(path, root, format, args);
	va_end(args);
	return access(path, F_OK) == 0;
}

bool sysfile_find(const char *root, const char *path, const char *start, char *text, size_t bytes)
{
	char full[SYSFILE_PATH_BYTES], *line = NULL;
	bool is_found = false;
	size_t room = 0;
	FILE *file;

	text[0] = '\0';
	sysfile_path(full, root, "%s", path);
	file = fopen(full, "re");
	/* Lines such as the flags in /proc/cpuinfo are long. */
	while (file && !is_found && getline(&line, &room, file) >= 0) {
		if (strncmp(line, start, strlen(start)) != 0)
			continue;
		const char *rest = line + strlen(start);

		rest += strspn(rest, " \t");
		snprintf(text, bytes, "%.*s", (int)strcspn(rest, "\n"), rest);
		is_found = true;
	}
	free(line);
	if (file)
		fclose(file);
	return is_found;
}
