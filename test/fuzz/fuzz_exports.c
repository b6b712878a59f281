/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What weir-nfsd is told to serve. The input's first byte says how: by a file of exports (0), by --export (1), or by
 * a command line (2) whose arguments end with a zero byte each, and in which an argument "@" is a file that holds what
 * is behind the second zero byte in a row.
 *
 * What is accepted is within its limits and without doubles; written to a file, it is read as the same. What is
 * refused is said why on standard error, and nothing else is said there.
 */
#include <getopt.h>
#include <sys/mman.h>
#include <unistd.h>

#include "export.h"
#include "fs.h"
#include "fuzz.h"
#include "options.h"
#include "ram.h"

#define INPUT_MAX 4096u
#define ARGS_MAX  16u

enum { FROM_FILE, FROM_TEXT, FROM_COMMAND_LINE, NKINDS };

static char said[64 << 10]; /* on standard error */

/* A file with that in it, by a name that can be opened until 'fd' is closed. */
static int make_file(const void *data, size_t size, char path[32])
{
	int fd = memfd_create("exports", MFD_CLOEXEC);

	REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

/* A program writes what is wrong to the stream 'stderr', and its help to 'stdout', which the C library lets one replace. */
static void listen_to_program(void)
{
	static FILE *nowhere;

	if (!nowhere)
		nowhere = fopen("/dev/null", "we");
	memset(said, 0, sizeof(said));
	stderr = fmemopen(said, sizeof(said), "w");
	REQUIRE(stderr != NULL && nowhere != NULL);
	stdout = nowhere;
}

static void stop_listening(FILE *usual_out, FILE *usual_err)
{
	fclose(stderr);
	stderr = usual_err;
	stdout = usual_out;
}

/* ---- what was accepted ---- */

static void check_export(const struct exports *exports, const struct export *export)
{
	REQUIRE(export->name[0] == '/' && export->name[1] != '\0');
	REQUIRE(memchr(export->name, '\0', sizeof(export->name)) != NULL);
	for (const struct export *other = exports->all; other < export; other++)
		REQUIRE(strcmp(other->name, export->name) != 0); /* a name finds one export */
	REQUIRE(export_by_id((struct exports *)(uintptr_t)exports, export->id) == export);
	REQUIRE(export->ops == &ram_ops || export->ops == &dir_ops);
	REQUIRE(export->ops == &ram_ops || export->path[0] != '\0');
	REQUIRE(export->size_bytes >= RAM_SIZE_MIN && export->size_bytes <= RAM_SIZE_MAX);
	REQUIRE(export->anon_uid != UINT32_MAX && export->anon_gid != UINT32_MAX);
}

static void write_export(FILE *file, const struct export *export)
{
	fprintf(file, "[%s]\nsize = %llu\n", export->name, (unsigned long long)export->size_bytes);
	fprintf(file, "backend = %s%s\n", export->ops == &dir_ops ? "dir:" : "ram",
		export->ops == &dir_ops ? export->path : "");
	fprintf(file, "access = %s\nroot_squash = %s\nanonuid = %u\nanongid = %u\n",
		export->is_read_only ? "ro" : "rw", export->squashes_root ? "yes" : "no", export->anon_uid,
		export->anon_gid);
}

static bool is_same(const struct export *a, const struct export *b)
{
	return strcmp(a->name, b->name) == 0 && a->id == b->id && a->ops == b->ops &&
	       (a->ops == &ram_ops || strcmp(a->path, b->path) == 0) && a->size_bytes == b->size_bytes &&
	       a->is_read_only == b->is_read_only && a->squashes_root == b->squashes_root &&
	       a->anon_uid == b->anon_uid && a->anon_gid == b->anon_gid;
}

static void check_written_again(const struct exports *exports)
{
	static char text[EXPORTS_MAX * 2048u];
	static struct exports again;
	FILE *file =
		fmemopen(text, sizeof(text), "w+"); /* which ends the text when nothing is written, too */
	char path[32];
	int fd;

	REQUIRE(file != NULL);
	for (uint32_t i = 0; i < exports->n; i++)
		write_export(file, &exports->all[i]);
	fclose(file);
	fd = make_file(text, strlen(text), path);
	memset(&again, 0, sizeof(again));
	REQUIRE(export_file_load(&again, path) == 0);
	close(fd);
	REQUIRE(again.n == exports->n);
	for (uint32_t i = 0; i < exports->n; i++)
		REQUIRE(is_same(&again.all[i], &exports->all[i]));
}

/* ---- where it comes from ---- */

static int from_file(struct exports *exports, const uint8_t *data, size_t size)
{
	char path[32];
	int fd = make_file(data, size, path), rc;

	rc = export_file_load(exports, path);
	close(fd);
	if (rc != 0)
		return rc;
	REQUIRE(size == 0 || memchr(data, '\0', size) == NULL);
	check_written_again(exports);
	return 0;
}

/* RAM's size as a person reads it: digits, a unit, nothing else. */
static bool is_size(const char *text)
{
	size_t ndigits = strspn(text, "0123456789");
	uint64_t number = 0;
	unsigned shift = 0;

	for (size_t i = 0; i < ndigits && number <= RAM_SIZE_MAX; i++)
		number = number * 10 + (uint64_t)(text[i] - '0');
	text += ndigits;
	if (*text != '\0') {
		shift = strchr("kK", *text) ? 10 : strchr("mM", *text) ? 20 : strchr("gG", *text) ? 30 : 64;
		text++;
	}
	return ndigits > 0 && shift < 64 && *text == '\0' && number <= RAM_SIZE_MAX &&
	       number << shift >= RAM_SIZE_MIN && number << shift <= RAM_SIZE_MAX;
}

static int from_text(struct exports *exports, const uint8_t *data, size_t size)
{
	char text[INPUT_MAX + 1];
	const char *value;
	int rc;

	memcpy(text, data, size);
	text[size] = '\0';
	rc = export_add(exports, text);
	value = strchr(text, '=');
	if (rc == 0 && strncmp(value, "=ram:", 5) == 0)
		REQUIRE(is_size(value + 5));
	else if (rc != 0 && strncmp(text, "a=ram:", 6) == 0)
		REQUIRE(!is_size(text + 6));
	return rc;
}

/* getopt() forgets where it was in an earlier, broken off command line. */
static void reset_getopt(void)
{
	char *none[] = {(char *)(uintptr_t) "none", NULL};

	optind = 0;
	getopt_long(1, none, "", (const struct option[]){{0}}, NULL);
}

static int from_command_line(struct exports *exports, const uint8_t *data, size_t size)
{
	char text[INPUT_MAX + 2], path[32], *argv[ARGS_MAX + 2] = {(char *)(uintptr_t) "weir-nfsd"};
	static struct options options;
	size_t at = 0;
	int argc = 1, rc, fd;

	memcpy(text, data, size);
	text[size] = text[size + 1] = '\0';
	for (; at < size && text[at] != '\0' && argc <= (int)ARGS_MAX; at += strlen(text + at) + 1)
		argv[argc++] = text + at;
	at = at < size ? at + 1 : size;
	fd = make_file(data + at, size - at, path);
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "@") == 0)
			argv[i] = path;
		else if (strchr(argv[i], '/') && strchr(argv[i], '=') == NULL)
			argv[i] = (char *)(uintptr_t) "x"; /* no file of the machine's */
	}
	reset_getopt();
	rc = options_parse(argc, argv, &options, exports);
	close(fd);
	if (rc == 0) {
		REQUIRE(options.listen && options.listen[0] != '\0' && exports->n > 0);
		REQUIRE(options.mount_port <= 65535 && options.state && options.rpcbind);
		REQUIRE(weir_profile_check(&options.profile, text, sizeof(text)) == 0);
	}
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct exports exports;
	FILE *usual_out = stdout, *usual_err = stderr;
	int kind, rc;

	if (size < 1 || size > INPUT_MAX)
		return 0;
	memset(&exports, 0, sizeof(exports));
	kind = data[0] % NKINDS;
	listen_to_program();
	if (kind == FROM_FILE)
		rc = from_file(&exports, data + 1, size - 1);
	else if (kind == FROM_TEXT)
		rc = from_text(&exports, data + 1, size - 1);
	else
		rc = from_command_line(&exports, data + 1, size - 1);
	stop_listening(usual_out, usual_err);
	REQUIRE(exports.n <= EXPORTS_MAX);
	REQUIRE((rc < 0) == (said[0] != '\0'));
	if (rc < 0) {
		REQUIRE(strncmp(said, "weir-nfsd: ", 11) == 0 && said[strlen(said) - 1] == '\n');
		return 0;
	}
	for (uint32_t i = 0; rc == 0 && i < exports.n; i++)
		check_export(&exports, &exports.all[i]);
	return 0;
}
