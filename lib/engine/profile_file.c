/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads files with a profile. rte_cfgfile reads the values. But rte_cfgfile skips lines that it
 * does not understand, has no line numbers, and uses the first of two equal keys. Therefore this
 * code first scans a file for sections and keys, strictly and line by line. Values are then read
 * only for the keys that the scan found. Keys of a program's own section can repeat, so their
 * values are those of the scan.
 *
 * Includes stand before the first section. The scan therefore reads an included file before any
 * key of the including file, and later values simply replace earlier ones.
 */
#include "profile_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_cfgfile.h>

#include "alloc.h"
#include "profile_engines.h"

/* longest line; rte_cfgfile accepts a name, a value and 4 more characters */
#define LINE_MAX_BYTES 320u
#define COMMENT	       '#'

/* The state of reading one file. */
struct source {
	struct profile_load *load;
	const struct source *parent; /* the file that includes this one; NULL: the first file */
	uint32_t depth;		     /* number of includes that lead to this file */
	dev_t dev;		     /* 'dev' and 'ino' identify the file */
	ino_t ino;
	struct profile_place place;	     /* the current line of the scan */
	bool is_text;			     /* the text of profile.engines, not a file */
	char section[PROFILE_SECTION_BYTES]; /* the current section of the scan; "": none yet */
	uint32_t lines[PROFILE_KEYS_MAX];    /* number of the line that sets each key; 0: none */
	bool seen[PROFILE_KEYS_MAX];	     /* the section of this key has begun */
	bool has_app;			     /* the program's own section has begun */
};

_Static_assert(PROFILE_NAME_BYTES == CFG_NAME_LEN && PROFILE_VALUE_BYTES == CFG_VALUE_LEN,
	       "sizes of rte_cfgfile");

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

static bool is_engine(const char *section)
{
	return strncmp(section, PROFILE_ENGINE, strlen(PROFILE_ENGINE)) == 0;
}

static bool is_app(const char *section)
{
	return strncmp(section, PROFILE_APP, strlen(PROFILE_APP)) == 0;
}

/* Checks the name of a program's section. Returns 0, or -EINVAL after an error if the name is not
 * valid, or it is that of this program and its section has begun before. */
static int scan_app_section(struct source *source, const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+";
	const char *program = name + strlen(PROFILE_APP);

	if (program[0] == '\0' || program[strspn(program, allowed)] != '\0' ||
	    strlen(name) >= CFG_NAME_LEN)
		return profile_fail(source->load, source->place,
				    "[%.63s]: no valid name of a program follows '" PROFILE_APP
				    "'; example: [" PROFILE_APP "weir-bench]",
				    name);
	if (strcmp(name, source->load->app) == 0) {
		if (source->has_app)
			return profile_fail_twice(source->load, source->place, name);
		source->has_app = true;
	}
	snprintf(source->section, sizeof(source->section), "%s", name);
	return 0;
}

/* Begins a section for the engines of some CPUs. Returns 0, or -EINVAL after an error. */
static int scan_engine_section(struct source *source, const char *name)
{
	snprintf(source->section, sizeof(source->section), "%s", name);
	return profile_engines_begin(source->load, source->place, name);
}

/* Processes a line that begins a section. Returns 0, or -EINVAL after an error if the line is
 * malformed, or the section is unknown or has begun before. */
static int scan_section(struct source *source, char *text)
{
	char *end = strchr(text, ']');
	char known[256];
	bool is_known = false;
	const char *name;

	if (!end || end[1] != '\0')
		return profile_fail(source->load, source->place,
				    "a section is [name] on a line of its own; example: [engine]");
	*end = '\0';
	name = strip(text + 1);
	if (is_engine(name))
		return scan_engine_section(source, name);
	if (source->is_text)
		return profile_fail(source->load, source->place,
				    "engines: [%.63s] is no section of engines; example: "
				    "[" PROFILE_ENGINE "8-15]",
				    name);
	if (is_app(name))
		return scan_app_section(source, name);
	for (uint32_t i = 0; i < profile_nkeys; i++) {
		if (strcmp(profile_keys[i].section, name) != 0)
			continue;
		if (source->seen[i])
			return profile_fail_twice(source->load, source->place, name);
		source->seen[i] = is_known = true;
	}
	if (!is_known)
		return profile_fail(source->load, source->place,
				    "[%.63s]: no such section; known: %s, " PROFILE_ENGINE
				    "CPUS, " PROFILE_APP "NAME",
				    name, list_known(NULL, known, sizeof(known)));
	snprintf(source->section, sizeof(source->section), "%s", name);
	return 0;
}

/* Removes the entries of this key that other files have set. */
static void drop_entries(struct profile_load *load, const char *key, const char *path)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < load->nentries; i++)
		if (load->entries[i].place.path == path || strcmp(load->entries[i].key, key) != 0)
			load->entries[kept++] = load->entries[i];
	load->nentries = kept;
}

/* Processes a line that sets a key in a program's own section. Keys of other programs are ignored.
 * Returns 0, or -EINVAL after an error if the line is malformed or there are too many keys. */
static int scan_app_key(struct source *source, const char *name, const char *value)
{
	struct profile_load *load = source->load;
	struct profile_entry *entry;

	if (name[0] == '\0' || strlen(name) >= CFG_NAME_LEN)
		return profile_fail(load, source->place,
				    "[%s] %.63s: a name has 1 to %d characters", source->section,
				    name, CFG_NAME_LEN - 1);
	if (strlen(value) >= CFG_VALUE_LEN)
		return profile_fail(load, source->place,
				    "[%s] %s: the value is longer than %d characters; shorten it",
				    source->section, name, CFG_VALUE_LEN - 1);
	if (strcmp(source->section, load->app) != 0)
		return 0;
	drop_entries(load, name, source->place.path);
	if (load->nentries == PROFILE_ENTRIES_MAX)
		return profile_fail(load, source->place, "[%s] %s: more than %u keys; remove some",
				    source->section, name, PROFILE_ENTRIES_MAX);
	entry = &load->entries[load->nentries++];
	entry->place = source->place;
	snprintf(entry->key, sizeof(entry->key), "%s", name);
	snprintf(entry->value, sizeof(entry->value), "%s", value);
	return 0;
}

static int load_source(struct source *source);

/*
 * Returns the path of an included file: 'name' itself if it is absolute, otherwise 'name' in the
 * folder of the including file. The path belongs to 'load'. Returns NULL if there is no memory.
 */
static const char *include_path(struct profile_load *load, const char *including, const char *name)
{
	const char *slash = name[0] == '/' ? NULL : strrchr(including, '/');
	size_t folder_bytes = slash ? (size_t)(slash - including) + 1 : 0;
	size_t name_bytes = strlen(name) + 1;
	char *path = mem_zalloc(folder_bytes + name_bytes);

	if (!path)
		return NULL;
	memcpy(path, including, folder_bytes);
	memcpy(path + folder_bytes, name, name_bytes);
	load->paths[load->npaths++] = path;
	return path;
}

/* Processes the line "include = name". Returns 0, or -errno after an error. */
static int scan_include(struct source *source, const char *name)
{
	struct profile_load *load = source->load;
	struct source included = {
		.load = load, .parent = source, .depth = source->depth + 1, .place.line = 0};

	if (source->section[0] != '\0')
		return profile_fail(load, source->place,
				    "include: stands after [%s]; move it before the first section",
				    source->section);
	if (name[0] == '\0')
		return profile_fail(load, source->place,
				    "include: no file is named; example: include = base.ini");
	if (included.depth > PROFILE_DEPTH_MAX)
		return profile_fail(load, source->place,
				    "include: nested more than %u deep; include '%.64s' in an "
				    "earlier file",
				    PROFILE_DEPTH_MAX, name);
	if (load->npaths == PROFILE_FILES_MAX)
		return profile_fail(load, source->place,
				    "include: more than %u includes in total; include '%.64s' "
				    "only once",
				    PROFILE_FILES_MAX, name);
	included.place.path = include_path(load, source->place.path, name);
	if (!included.place.path) {
		profile_fail(load, source->place, "include: no memory");
		return -ENOMEM;
	}
	return load_source(&included);
}

/* Processes a line that sets a key. Returns 0, or -errno after an error if the line is malformed,
 * or the key is unknown or was set before, or an included file cannot be loaded. */
static int scan_key(struct source *source, char *text)
{
	const struct profile_load *load = source->load;
	const struct profile_key *key;
	char *equals = strchr(text, '=');
	const char *name, *value;
	char known[256];
	uint32_t *line;

	if (!equals)
		return profile_fail(load, source->place,
				    "'%.64s' is neither [section], key = value nor a comment (#)",
				    text);
	*equals = '\0';
	name = strip(text);
	value = strip(equals + 1);
	if (is_app(source->section))
		return scan_app_key(source, name, value);
	if (is_engine(source->section) && strcmp(name, "include") != 0)
		return profile_engines_set(source->load, source->place, source->section, name,
					   value);
	if (source->is_text)
		return profile_fail(load, source->place,
				    "engines: %.64s: no section of engines precedes it, or it is "
				    "only for files; example: [" PROFILE_ENGINE "8-15]",
				    name);
	if (strcmp(name, "include") == 0)
		return scan_include(source, value);
	if (source->section[0] == '\0')
		return profile_fail(load, source->place,
				    "%.64s: stands before the first section; example: [engine]",
				    name);
	key = profile_key_find(source->section, name);
	if (!key)
		return profile_fail(load, source->place, "[%s] %.64s: no such key; known: %s",
				    source->section, name,
				    list_known(source->section, known, sizeof(known)));
	if (strlen(value) >= CFG_VALUE_LEN)
		return profile_fail_value(load, source->place, key->section, key,
					  "the value is longer than 255 characters");
	line = &source->lines[key - profile_keys];
	if (*line)
		return profile_fail(load, source->place,
				    "[%s] %s: set in line %u already; remove one", source->section,
				    name, *line);
	*line = source->place.line;
	return 0;
}

/* Processes one line of the file, without its newline. Returns 0 or -errno. */
static int scan_line(struct source *source, char *text, size_t len)
{
	char *comment;

	for (size_t i = 0; i < len; i++)
		if (text[i] == '\\' ||
		    (iscntrl((unsigned char)text[i]) && text[i] != '\t' && text[i] != '\r'))
			return profile_fail(
				source->load, source->place,
				"a backslash or control character, which has no meaning here");
	if (len > LINE_MAX_BYTES)
		return profile_fail(source->load, source->place, "longer than %u characters",
				    LINE_MAX_BYTES);
	comment = strchr(text, COMMENT);
	if (comment)
		*comment = '\0';
	text = strip(text);
	if (*text == '\0')
		return 0;
	return *text == '[' ? scan_section(source, text) : scan_key(source, text);
}

/* Scans the file for sections and keys, and loads the files that it includes. Returns 0, or -errno
 * after an error. */
static int scan(struct source *source, FILE *file)
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
		source->place.line++;
		for (; c != EOF && c != '\n'; c = fgetc(file))
			if (len < sizeof(text) - 1)
				text[len++] = (char)c;
		text[len] = '\0';
		rc = scan_line(source, text, len);
	}
	if (rc == 0 && ferror(file)) {
		profile_fail(source->load, source->place, "can't be read");
		rc = -EIO;
	}
	return rc;
}

/* Reads the value of each key that the scan found into the profile. Returns 0, or -EINVAL after an
 * error. */
static int read_values(struct source *source, struct rte_cfgfile *cfg)
{
	struct profile_load *load = source->load;
	char why[192];

	for (uint32_t i = 0; i < profile_nkeys; i++) {
		const struct profile_key *key = &profile_keys[i];
		const char *value;

		source->place.line = source->lines[i];
		if (!source->place.line)
			continue;
		value = rte_cfgfile_get_entry(cfg, key->section, key->name);
		if (!value)
			return profile_fail(load, source->place,
					    "[%s] %s: the file changed while it was read",
					    key->section, key->name);
		if (!profile_key_set(key, value, &load->profile, why, sizeof(why)))
			return profile_fail_value(load, source->place, key->section, key, why);
		load->places[i] = source->place;
	}
	return 0;
}

/* Returns the place of the include that leads to the file. The first file is its own place. */
static struct profile_place asked_by(const struct source *source)
{
	return source->parent ? source->parent->place : source->place;
}

/* Writes an error about the whole file, at the place that names it. */
static int fail_file(const struct source *source, const char *why)
{
	if (!source->parent)
		return profile_fail(source->load, source->place, "%s", why);
	return profile_fail(source->load, asked_by(source), "include: %s: %s", source->place.path,
			    why);
}

/* Checks that the open file is a regular one, and that it does not include itself. Returns 0, or
 * -EINVAL after an error. */
static int check_file(struct source *source, int fd)
{
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return fail_file(source, "not a regular file");
	source->dev = st.st_dev;
	source->ino = st.st_ino;
	for (const struct source *outer = source->parent; outer; outer = outer->parent)
		if (outer->dev == st.st_dev && outer->ino == st.st_ino)
			return fail_file(source,
					 "this file includes itself; remove one of the includes");
	return 0;
}

static int load_open_file(struct source *source, FILE *file)
{
	struct rte_cfgfile_parameters params = {.comment_character = COMMENT};
	struct rte_cfgfile *cfg;
	int rc = check_file(source, fileno(file));

	if (rc == 0)
		rc = scan(source, file);
	if (rc != 0)
		return rc;
	source->place.line = 0;
	/* The includes belong to no section. */
	cfg = rte_cfgfile_load_with_params(
		source->place.path, CFG_FLAG_EMPTY_VALUES | CFG_FLAG_GLOBAL_SECTION, &params);
	if (!cfg)
		return fail_file(source, "can't be read");
	rc = read_values(source, cfg);
	rte_cfgfile_close(cfg);
	return rc;
}

/* Loads a file and the files that it includes. Returns 0, or -errno after an error. */
static int load_source(struct source *source)
{
	/* O_NONBLOCK is set because otherwise open() of a FIFO without a writer would block for
	 * ever. */
	int fd = open(source->place.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	int rc;

	if (!file) {
		rc = -errno;
		if (fd >= 0)
			close(fd);
		fail_file(source, strerror(-rc));
		return rc;
	}
	rc = load_open_file(source, file);
	fclose(file);
	return rc;
}

int profile_file_load(struct profile_load *load)
{
	struct source source = {.load = load, .place.path = load->path};

	return load_source(&source);
}

int profile_file_scan_text(struct profile_load *load, const char *text)
{
	struct source source = {.load = load, .is_text = true};
	char line[LINE_MAX_BYTES + 2];
	int rc = 0;

	while (rc == 0 && *text != '\0') {
		size_t len = strcspn(text, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)len, text);
		source.place.line++;
		rc = scan_line(&source, line, strlen(line));
		text += len + (text[len] == '\n');
	}
	return rc;
}

void profile_file_free(struct profile_load *load)
{
	for (uint32_t i = 0; i < load->npaths; i++)
		mem_free(load->paths[i]);
	load->npaths = 0;
}
