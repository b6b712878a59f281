/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exports from a file:
 *
 *     # a comment
 *     [/scratch]
 *     backend = ram:1g
 *     root_squash = no
 *
 * Each line is one of these or empty; anything else is refused, with its place.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"

/* The text without white space around it. */
static char *trim(char *text)
{
	size_t n;

	text += strspn(text, " \t");
	n = strlen(text);
	while (n > 0 && strchr(" \t\r\n", text[n - 1]))
		text[--n] = '\0';
	return text;
}

static int bad_line(const char *where, const char *what)
{
	fprintf(stderr, "weir-nfsd: %s: %s\n", where, what);
	return -1;
}

static int take_line(struct exports *exports, struct export **export, char *line, const char *where)
{
	size_t n = strlen(line);
	char *equals;

	if (line[0] == '\0' || line[0] == '#')
		return 0;
	if (line[0] == '[') {
		if (line[n - 1] != ']')
			return bad_line(where, "expected [/NAME]");
		line[n - 1] = '\0';
		if (*export && !(*export)->ops)
			return bad_line(where, "the export before this has no 'backend = '");
		*export = export_make(exports, trim(line + 1), where);
		return *export ? 0 : -1;
	}
	equals = strchr(line, '=');
	if (!equals)
		return bad_line(where, "expected 'key = value'");
	if (!*export)
		return bad_line(where, "expected [/NAME] before the first key");
	*equals = '\0';
	return export_set(*export, trim(line), trim(equals + 1), where);
}

int export_file_load(struct exports *exports, const char *path)
{
	struct export *export = NULL;
	FILE *file = fopen(path, "re");
	size_t room = 0;
	unsigned number = 0;
	char *line = NULL, where[1200];
	ssize_t n;
	int rc = 0;

	if (!file) {
		fprintf(stderr, "weir-nfsd: can't read %s: %s\n", path, strerror(errno));
		return -1;
	}
	while (rc == 0 && (n = getline(&line, &room, file)) >= 0) {
		snprintf(where, sizeof(where), "%.1100s:%u", path, ++number);
		if ((size_t)n != strlen(line))
			rc = bad_line(where, "the line has a NUL");
		else
			rc = take_line(exports, &export, trim(line), where);
	}
	if (rc == 0 && ferror(file))
		rc = bad_line(path, "can't be read");
	if (rc == 0 && export && !export->ops)
		rc = bad_line(path, "the last export has no 'backend = '");
	free(line);
	fclose(file);
	return rc;
}
