/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses exports from a file:
 *
 *     # a comment
 *     [/scratch]
 *     backend = ram:1g
 *     root_squash = no
 *
 * Each line has one of these forms or is empty. Any other line is refused, with its number.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export.h"

/* Removes white space from both ends of the text. Returns the start of the rest. */
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

/*
 * The export to which the lines that are being parsed belong, and the keys that it has so far. Each
 * key is allowed once.
 */
struct section {
	struct export *export;
	uint32_t nkeys;
	char keys[EXPORT_KEYS][16];
};

static int parse_key(struct section *section, const char *key, const char *value, const char *where)
{
	for (uint32_t i = 0; i < section->nkeys; i++)
		if (strcmp(section->keys[i], key) == 0)
			return bad_line(where, "this export has that key already");
	if (export_set(section->export, key, value, where) != 0)
		return -1;
	/*
	 * There is space in the array, because export_set() knows EXPORT_KEYS keys and each is
	 * accepted once.
	 */
	snprintf(section->keys[section->nkeys++], sizeof(section->keys[0]), "%s", key);
	return 0;
}

static int parse_line(struct exports *exports, struct section *section, char *line,
		      const char *where)
{
	size_t n = strlen(line);
	char *equals;

	if (line[0] == '\0' || line[0] == '#')
		return 0;
	if (line[0] == '[') {
		if (line[n - 1] != ']')
			return bad_line(where, "expected [/NAME]");
		line[n - 1] = '\0';
		if (section->export && !section->export->ops)
			return bad_line(where, "the previous export has no 'backend = '");
		section->nkeys = 0;
		section->export = export_make(exports, trim(line + 1), where);
		return section->export ? 0 : -1;
	}
	equals = strchr(line, '=');
	if (!equals)
		return bad_line(where, "expected 'key = value'");
	if (!section->export)
		return bad_line(where, "expected [/NAME] before the first key");
	*equals = '\0';
	return parse_key(section, trim(line), trim(equals + 1), where);
}

/*
 * Opens a regular file. Returns NULL and sets errno on failure. O_NONBLOCK is needed because an
 * open() of a FIFO without a writer would not return.
 */
static FILE *open_regular(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	FILE *file = NULL;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0) {
		if (S_ISREG(st.st_mode))
			file = fdopen(fd, "r");
		else
			errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
	}
	if (!file)
		close(fd);
	return file;
}

int export_file_load(struct exports *exports, const char *path)
{
	struct section section = {.export = NULL};
	FILE *file = open_regular(path);
	size_t room = 0;
	unsigned number = 0;
	char *line = NULL, where[1200];
	ssize_t n;
	int rc = 0;

	if (!file) {
		fprintf(stderr, "weir-nfsd: can't read %s: %s\n", path,
			errno == EINVAL ? "not a regular file" : strerror(errno));
		return -1;
	}
	while (rc == 0 && (n = getline(&line, &room, file)) >= 0) {
		snprintf(where, sizeof(where), "%.1100s:%u", path, ++number);
		if ((size_t)n != strlen(line))
			rc = bad_line(where, "the line contains a NUL byte");
		else
			rc = parse_line(exports, &section, trim(line), where);
	}
	if (rc == 0 && ferror(file))
		rc = bad_line(path, "can't be read");
	if (rc == 0 && section.export && !section.export->ops)
		rc = bad_line(path, "the last export has no 'backend = '");
	free(line);
	fclose(file);
	return rc;
}
