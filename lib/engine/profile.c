/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads a profile from a file, and checks profiles. rte_cfgfile reads the values. But rte_cfgfile
 * skips lines that it does not understand, has no line numbers, and uses the first of two equal
 * keys. Therefore this code first scans the file for sections and keys, strictly and line by line.
 * Values are then read only for the keys that the scan found.
 */

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_cfgfile.h>

#include <weir/profile.h>

#include "compiler.h"
#include "engine.h"
#include "profile_keys.h"
#include "sized.h"
#include "sized_why.h"

/* longest line; rte_cfgfile accepts a name, a value and 4 more characters */
#define LINE_MAX_BYTES 320u
#define COMMENT	       '#'

static const struct sized_type profile_type = SIZED_TYPE(weir_profile, windows);

/* The state of loading or checking one profile. */
struct load {
	const char *path; /* the file; NULL: the program has set the profile without a file */
	char *err;
	size_t err_bytes;
	/* number of the current line of the scan */
	uint32_t line;
	char section[CFG_NAME_LEN];	  /* the current section of the scan; "": none yet */
	uint32_t lines[PROFILE_KEYS_MAX]; /* number of the line that sets each key; 0: none */
	bool seen[PROFILE_KEYS_MAX];	  /* the section of this key has begun */
};

/* Writes "path:line: " and the message to load->err. If 'line' is 0, writes no line number. Returns
 * -EINVAL, which the caller returns. */
static printf_like(3, 4) int fail(const struct load *load, uint32_t line, const char *format, ...)
{
	size_t used = 0;
	va_list args;

	if (load->err_bytes == 0)
		return -EINVAL;
	load->err[0] = '\0';
	if (load->path && line)
		snprintf(load->err, load->err_bytes, "%s:%u: ", load->path, line);
	else if (load->path)
		snprintf(load->err, load->err_bytes, "%s: ", load->path);
	used = strlen(load->err);
	va_start(args, format);
	vsnprintf(load->err + used, load->err_bytes - used, format, args);
	va_end(args);
	return -EINVAL;
}

/* Writes an error about the value of a key, with the reason 'why' and the allowed values. Returns
 * -EINVAL. */
static int fail_value(const struct load *load, uint32_t line, const struct profile_key *key,
		      const char *why)
{
	char allowed[128];

	profile_key_allowed(key, allowed, sizeof(allowed));
	return fail(load, line, "[%s] %s: %s; allowed: %s; example: %s = %s", key->section,
		    key->name, why, allowed, key->name, key->example ? key->example : key->initial);
}

/* Writes the names of the keys of a section to 'text', or the names of all sections if 'section' is
 * NULL. Returns 'text'. */
static const char *list_known(const char *section, char *text, size_t bytes)
{
	const char *last = "";
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < profile_nkeys && used < bytes; i++) {
		const struct profile_key *key = &profile_keys[i];
		const char *word = section ? key->name : key->section;

		if ((section && strcmp(key->section, section) != 0) || strcmp(word, last) == 0)
			continue;
		used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? ", " : "", word);
		last = word;
	}
	return text;
}

/*
 * Removes blanks at both ends of 'text', in place. Returns the first character that is not blank.
 */
static char *strip(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

/* Processes a line that begins a section. Returns 0, or -EINVAL after an error if the line is
 * malformed, or the section is unknown or has begun before. */
static int scan_section(struct load *load, char *text)
{
	char *end = strchr(text, ']');
	char known[256];
	bool is_known = false;
	const char *name;

	if (!end || end[1] != '\0')
		return fail(load, load->line,
			    "a section is [name] on a line of its own; example: [engine]");
	*end = '\0';
	name = strip(text + 1);
	for (uint32_t i = 0; i < profile_nkeys; i++) {
		if (strcmp(profile_keys[i].section, name) != 0)
			continue;
		if (load->seen[i])
			return fail(
				load, load->line,
				"[%s]: this section exists twice; put its keys into the first one",
				name);
		load->seen[i] = is_known = true;
	}
	if (!is_known)
		return fail(load, load->line, "[%.63s]: no such section; known: %s", name,
			    list_known(NULL, known, sizeof(known)));
	snprintf(load->section, sizeof(load->section), "%s", name);
	return 0;
}

/* Processes a line that sets a key. Returns 0, or -EINVAL after an error if the line is malformed,
 * or the key is unknown or was set before. */
static int scan_key(struct load *load, char *text)
{
	const struct profile_key *key;
	char *equals = strchr(text, '=');
	const char *name, *value;
	char known[256];
	uint32_t *line;

	if (!equals)
		return fail(load, load->line,
			    "'%.64s' is neither [section], key = value nor a comment (#)", text);
	*equals = '\0';
	name = strip(text);
	value = strip(equals + 1);
	if (load->section[0] == '\0')
		return fail(load, load->line,
			    "%.64s: stands before the first section; example: [engine]", name);
	key = profile_key_find(load->section, name);
	if (!key)
		return fail(load, load->line, "[%s] %.64s: no such key; known: %s", load->section,
			    name, list_known(load->section, known, sizeof(known)));
	if (strlen(value) >= CFG_VALUE_LEN)
		return fail_value(load, load->line, key, "the value is longer than 255 characters");
	line = &load->lines[key - profile_keys];
	if (*line)
		return fail(load, load->line, "[%s] %s: set in line %u already; remove one",
			    key->section, name, *line);
	*line = load->line;
	return 0;
}

/* Processes one line of the file, without its newline. Returns 0 or -EINVAL. */
static int scan_line(struct load *load, char *text, size_t len)
{
	char *comment;

	for (size_t i = 0; i < len; i++)
		if (text[i] == '\\' ||
		    (iscntrl((unsigned char)text[i]) && text[i] != '\t' && text[i] != '\r'))
			return fail(load, load->line,
				    "a backslash or control character, which has no meaning here");
	if (len > LINE_MAX_BYTES)
		return fail(load, load->line, "longer than %u characters", LINE_MAX_BYTES);
	comment = strchr(text, COMMENT);
	if (comment)
		*comment = '\0';
	text = strip(text);
	if (*text == '\0')
		return 0;
	return *text == '[' ? scan_section(load, text) : scan_key(load, text);
}

/* Scans the file for sections and keys. Returns 0, -EINVAL after an error in a line, or -EIO if the
 * file cannot be read. */
static int scan(struct load *load, FILE *file)
{
	/* The buffer has space for one character more than the longest line, so that a longer line
	 * is noticed. */
	char text[LINE_MAX_BYTES + 2];
	int rc = 0;

	while (rc == 0) {
		size_t len = 0;
		int c = fgetc(file);

		if (c == EOF)
			break;
		load->line++;
		for (; c != EOF && c != '\n'; c = fgetc(file))
			if (len < sizeof(text) - 1)
				text[len++] = (char)c;
		text[len] = '\0';
		rc = scan_line(load, text, len);
	}
	if (rc == 0 && ferror(file))
		rc = -EIO;
	return rc;
}

static int fail_driver(const struct load *load, uint32_t line, const char *name)
{
	char known[128] = "";
	size_t used = 0;

	for (uint32_t i = 0; fabric_driver_at(i) && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "",
					 fabric_driver_at(i)->name);
	return fail(load, line, "[engine] driver: no driver '%s' in this build; known: %s", name,
		    known);
}

/* Checks the conditions that concern several keys or the driver. Returns 0, or -EINVAL after an
 * error. */
static int check_together(const struct load *load, const struct weir_profile *profile)
{
	const struct fabric_ops *ops = fabric_driver_find(profile->driver);
	const struct profile_key *key = profile_key_find("engine", "driver_options");
	char why[192];

	if (!ops)
		return fail_driver(load,
				   load->lines[profile_key_find("engine", "driver") - profile_keys],
				   profile->driver);
	/* The options are checked even if they are empty, because a driver can require some. */
	if (ops->options_check && ops->options_check(profile->driver_options) != 0)
		return fail(load, load->lines[key - profile_keys],
			    "[engine] driver_options: '%.64s' are not valid for driver %s: %s",
			    profile->driver_options, ops->name, ops->summary);
	key = profile_conflict(profile, ops, why, sizeof(why));
	return key ? fail_value(load, load->lines[key - profile_keys], key, why) : 0;
}

/* Reads the value of each key that the scan found into the profile, and checks the profile. Returns
 * 0, or -EINVAL after an error. */
static int parse_values(const struct load *load, struct rte_cfgfile *cfg,
			struct weir_profile *profile)
{
	const struct profile_key *key;
	char why[192];

	for (uint32_t i = 0; i < profile_nkeys; i++) {
		const char *value;

		key = &profile_keys[i];
		if (!load->lines[i])
			continue;
		value = rte_cfgfile_get_entry(cfg, key->section, key->name);
		if (!value)
			return fail(load, load->lines[i],
				    "[%s] %s: the file changed while it was read", key->section,
				    key->name);
		if (!profile_key_set(key, value, profile, why, sizeof(why)))
			return fail_value(load, load->lines[i], key, why);
	}
	return check_together(load, profile);
}

static int load_file(struct load *load, FILE *file, struct weir_profile *profile)
{
	struct rte_cfgfile_parameters params = {.comment_character = COMMENT};
	struct weir_profile loaded;
	struct rte_cfgfile *cfg;
	struct stat st;
	int rc;

	if (fstat(fileno(file), &st) != 0 || !S_ISREG(st.st_mode))
		return fail(load, 0, "not a regular file");
	rc = scan(load, file);
	if (rc == -EIO)
		fail(load, load->line, "can't be read");
	if (rc != 0)
		return rc;
	cfg = rte_cfgfile_load_with_params(load->path, CFG_FLAG_EMPTY_VALUES, &params);
	if (!cfg)
		return fail(load, 0, "can't be read");
	weir_profile_defaults(&loaded);
	rc = parse_values(load, cfg, &loaded);
	rte_cfgfile_close(cfg);
	if (rc == 0)
		sized_fill(profile, &loaded, sizeof(loaded));
	return rc;
}

/* Checks the size of the application's profile, which weir_profile_load() overwrites. Members that
 * weir does not know may have any value. Returns 0, or -EINVAL after an error. */
static int check_size(const struct load *load, const struct weir_profile *profile)
{
	char why[SIZED_WHY_BYTES];
	int rc = sized_check_why(&profile_type, profile, why);

	return rc == -EINVAL ? fail(load, 0, "%s", why) : 0;
}

int weir_profile_load(const char *path, struct weir_profile *profile, char *err, size_t err_bytes)
{
	struct load load = {.path = path, .err = err, .err_bytes = err_bytes};
	FILE *file;
	int rc, fd;

	if (check_size(&load, profile) != 0)
		return -EINVAL;
	/* O_NONBLOCK is set because otherwise open() of a FIFO without a writer would block for
	 * ever. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file) {
		rc = -errno;
		if (fd >= 0)
			close(fd);
		fail(&load, 0, "%s", strerror(-rc));
		return rc;
	}
	rc = load_file(&load, file, profile);
	fclose(file);
	return rc;
}

int profile_read(const struct weir_profile *theirs, struct weir_profile *own, char *err,
		 size_t err_bytes)
{
	struct load load = {.err = err, .err_bytes = err_bytes};
	char why[SIZED_WHY_BYTES];
	int rc = sized_check_why(&profile_type, theirs, why);

	if (rc != 0) {
		fail(&load, 0, "%s", why);
		return rc;
	}
	/* Members that the application's profile does not have get their defaults. */
	weir_profile_defaults(own);
	memcpy(own, theirs,
	       theirs->struct_bytes < sizeof(*own) ? theirs->struct_bytes : sizeof(*own));
	own->struct_bytes = sizeof(*own);
	for (uint32_t i = 0; i < profile_nkeys; i++)
		if (!profile_key_check(&profile_keys[i], own, why, sizeof(why)))
			return fail_value(&load, 0, &profile_keys[i], why);
	return check_together(&load, own);
}

int weir_profile_check(const struct weir_profile *profile, char *err, size_t err_bytes)
{
	struct weir_profile own;

	return profile_read(profile, &own, err, err_bytes);
}

int weir_profile_init(struct weir_profile *profile, size_t struct_bytes)
{
	struct weir_profile own;
	char why[192];

	if (struct_bytes < profile_type.first_bytes)
		return -EINVAL;
	memset(&own, 0, sizeof(own)); /* also the bytes between members */
	/* No error is possible, because each default is in the range of its key. A unit test checks
	 * this. */
	for (uint32_t i = 0; i < profile_nkeys; i++)
		(void)profile_key_set(&profile_keys[i], profile_keys[i].initial, &own, why,
				      sizeof(why));
	profile->struct_bytes = struct_bytes;
	sized_fill(profile, &own, sizeof(own));
	return 0;
}
