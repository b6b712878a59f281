/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target for the configuration of weir-nfsd's exports. The first byte of the input selects the
 * source:
 * - 0: a file of exports
 * - 1: the option --export
 * - 2: a command line, in which each argument ends with a zero byte. The argument "@" stands for a
 *   file. Its content is the bytes after the first two consecutive zero bytes.
 *
 * The target checks that an accepted configuration is within its limits and has no duplicates, and
 * that it is the same after it was written to a file and read from it. For a refused configuration,
 * standard error must say why, and contain nothing else. A line of the library's log can precede
 * the line of the program: in it a driver lists the options that it accepts.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client_rules.h"
#include "export.h"
#include "fs.h"
#include "fuzz.h"
#include "options.h"
#include "ram/ram.h"

#define INPUT_MAX 4096u
#define ARGS_MAX  16u

enum { FROM_FILE, FROM_TEXT, FROM_COMMAND_LINE, NKINDS };

static char said[64 << 10]; /* text that was written to standard error */

/* Creates a file with this content. Its path can be opened until 'fd' is closed. */
static int make_file(const void *data, size_t size, char path[32])
{
	int fd = memfd_create("exports", MFD_CLOEXEC);

	REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

/*
 * Redirects the streams 'stderr', which has the errors, and 'stdout', which has the help. The C
 * library permits a program to replace both.
 */
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

/*
 * Returns true if the text on standard error begins with the name of its author and ends with a
 * line feed. The lines between are not checked, because arguments are quoted together with their
 * line feeds.
 */
static bool is_explained(void)
{
	return (strncmp(said, "weir-nfsd: ", 11) == 0 ||
		(strncmp(said, "weir: ", 6) == 0 && strstr(said, "\nweir-nfsd: ") != NULL)) &&
	       said[strlen(said) - 1] == '\n';
}

/* ---- accepted configurations ---- */

static void check_client(const struct export_client *client)
{
	const uint32_t own = client->rules.own;

	REQUIRE(client->kind <= CLIENT_ANY && own < 1u << (EXPORT_ANON_GID + 1));
	REQUIRE(!client->host ||
		(client->kind == CLIENT_HOST && client->host[0] != '\0' && client->naddrs == 0));
	REQUIRE(client->kind != CLIENT_HOST || client->host || client->naddrs == 1);
	REQUIRE(client->kind != CLIENT_NETWORK || (client->naddrs == 1 && client->prefix <= 128));
	REQUIRE(client->kind != CLIENT_UID || client->uid != UINT32_MAX);
	REQUIRE(client->rules.anon_uid != UINT32_MAX && client->rules.anon_gid != UINT32_MAX);
}

static bool is_same_rules(const struct export_rules *a, const struct export_rules *b)
{
	return a->is_read_only == b->is_read_only && a->squashes_root == b->squashes_root &&
	       a->squashes_all == b->squashes_all && a->needs_secure_port == b->needs_secure_port &&
	       a->anon_uid == b->anon_uid && a->anon_gid == b->anon_gid;
}

/*
 * Checks that a peer that no entry names has no access. The peers are one of a network, one of this
 * host, and one of which nothing is known.
 */
static void check_access(const struct exports *exports)
{
	static const struct weir_peer peers[] = {
		{.address = "192.0.2.1:1023"},
		{.address = "[2001:db8::1]:20049"},
		{.address = "process 1", .has_credentials = true, .uid = 1000, .gid = 1000},
		{.address = ""},
	};

	for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++) {
		struct client client;
		bool is_any = false;

		client_of_peer(&client, &peers[i], exports);
		REQUIRE(client.has_addr == (i < 2) && client.has_uid == (i == 2) &&
			client.is_local == (i == 2));
		for (uint32_t j = 0; j < exports->n; j++) {
			const struct export *export = &exports->all[j];
			const struct export_rules *rules = client_rules(&client, exports, export);

			is_any |= rules != NULL;
			REQUIRE(!rules || export->nclients > 0 ||
				is_same_rules(rules, &export->rules));
			REQUIRE(!rules || !rules->needs_secure_port || client.is_privileged);
			REQUIRE(rules || export->nclients > 0 || export->rules.needs_secure_port);
		}
		REQUIRE(client_may_connect(&client, exports) == is_any);
	}
}

static void check_export(const struct exports *exports, const struct export *export)
{
	REQUIRE(export->name[0] == '/' && export->name[1] != '\0');
	REQUIRE(memchr(export->name, '\0', sizeof(export->name)) != NULL);
	for (const struct export *other = exports->all; other < export; other++)
		/* the name selects exactly one export */
		REQUIRE(strcmp(other->name, export->name) != 0);
	REQUIRE(export_by_id((struct exports *)(uintptr_t)exports, export->id) == export);
	REQUIRE(export->ops == &ram_ops || export->ops == &dir_ops);
	REQUIRE(export->ops == &ram_ops || export->path[0] != '\0');
	REQUIRE(export->size_bytes >= RAM_SIZE_MIN && export->size_bytes <= RAM_SIZE_MAX);
	REQUIRE(export->rules.anon_uid != UINT32_MAX && export->rules.anon_gid != UINT32_MAX);
	REQUIRE(export->nclients <= EXPORT_CLIENTS_MAX &&
		(export->nclients == 0) == !export->clients);
	for (uint32_t i = 0; i < export->nclients; i++)
		check_client(&export->clients[i]);
}

static void write_rules(FILE *file, const struct export_rules *rules)
{
	const struct {
		enum export_rule rule;
		bool value;
		const char *yes, *no;
	} flags[] = {
		{EXPORT_READ_ONLY, rules->is_read_only, "ro", "rw"},
		{EXPORT_SQUASH_ROOT, rules->squashes_root, "root_squash", "no_root_squash"},
		{EXPORT_SQUASH_ALL, rules->squashes_all, "all_squash", "no_all_squash"},
		{EXPORT_SECURE_PORT, rules->needs_secure_port, "secure_port", "no_secure_port"},
	};
	char before = '(';

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (rules->own & 1u << flags[i].rule) {
			fprintf(file, "%c%s", before, flags[i].value ? flags[i].yes : flags[i].no);
			before = ',';
		}
	if (rules->own & 1u << EXPORT_ANON_UID)
		fprintf(file, "%canonuid=%u", before, rules->anon_uid);
	before = rules->own & 1u << EXPORT_ANON_UID ? ',' : before;
	if (rules->own & 1u << EXPORT_ANON_GID)
		fprintf(file, "%canongid=%u", before, rules->anon_gid);
	if (rules->own != 0)
		fputc(')', file);
}

static void write_client(FILE *file, const struct export_client *client)
{
	char addr[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, &client->addrs[0], addr, sizeof(addr));
	if (client->kind == CLIENT_NETWORK)
		fprintf(file, " %s/%u", addr, client->prefix);
	else if (client->kind == CLIENT_HOST)
		fprintf(file, " %s", client->host ? client->host : addr);
	else if (client->kind == CLIENT_UID)
		fprintf(file, " uid:%u", client->uid);
	else
		fputs(client->kind == CLIENT_LOCAL ? " local" : " *", file);
	write_rules(file, &client->rules);
}

static void write_export(FILE *file, const struct export *export)
{
	fprintf(file, "[%s]\nsize = %llu\n", export->name, (unsigned long long)export->size_bytes);
	fprintf(file, "backend = %s%s\n", export->ops == &dir_ops ? "dir:" : "ram",
		export->ops == &dir_ops ? export->path : "");
	fprintf(file,
		"access = %s\nroot_squash = %s\nall_squash = %s\nsecure_port = %s\nanonuid = "
		"%u\nanongid = %u\n",
		export->rules.is_read_only ? "ro" : "rw",
		export->rules.squashes_root ? "yes" : "no",
		export->rules.squashes_all ? "yes" : "no",
		export->rules.needs_secure_port ? "yes" : "no", export->rules.anon_uid,
		export->rules.anon_gid);
	if (export->nclients > 0)
		fputs("clients =", file);
	for (uint32_t i = 0; i < export->nclients; i++)
		write_client(file, &export->clients[i]);
	fputc('\n', file);
}

static bool is_same_client(const struct export_client *a, const struct export_client *b)
{
	return a->kind == b->kind && a->naddrs == b->naddrs && a->prefix == b->prefix &&
	       a->uid == b->uid && memcmp(a->addrs, b->addrs, sizeof(a->addrs)) == 0 &&
	       !a->host == !b->host && (!a->host || strcmp(a->host, b->host) == 0) &&
	       a->rules.own == b->rules.own && is_same_rules(&a->rules, &b->rules);
}

static bool is_same(const struct export *a, const struct export *b)
{
	if (a->nclients != b->nclients)
		return false;
	for (uint32_t i = 0; i < a->nclients; i++)
		if (!is_same_client(&a->clients[i], &b->clients[i]))
			return false;
	return strcmp(a->name, b->name) == 0 && a->id == b->id && a->ops == b->ops &&
	       (a->ops == &ram_ops || strcmp(a->path, b->path) == 0) &&
	       a->size_bytes == b->size_bytes && is_same_rules(&a->rules, &b->rules);
}

static void check_written_again(const struct exports *exports)
{
	static char text[EXPORTS_MAX * 2048u + 64 * INPUT_MAX];
	static struct exports again;
	FILE *file = fmemopen(text, sizeof(text),
			      "w+"); /* "w+" also ends the text if nothing is written */
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
	exports_free(&again);
}

/* ---- sources ---- */

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

/* Returns true if the text is a size of RAM in the usual form: digits and a unit, nothing else. */
static bool is_size(const char *text)
{
	size_t ndigits = strspn(text, "0123456789");
	uint64_t number = 0;
	unsigned shift = 0;

	for (size_t i = 0; i < ndigits && number <= RAM_SIZE_MAX; i++)
		number = number * 10 + (uint64_t)(text[i] - '0');
	text += ndigits;
	if (*text != '\0') {
		shift = strchr("kK", *text)   ? 10
			: strchr("mM", *text) ? 20
			: strchr("gG", *text) ? 30
					      : 64;
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

/* Resets the state that getopt() has after a command line that was not parsed to its end. */
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
			/* prevents access to files of this machine */
			argv[i] = (char *)(uintptr_t) "x";
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
	static char name[] = "weir-nfsd";
	static struct exports exports;
	FILE *usual_out = stdout, *usual_err = stderr;
	int kind, rc;

	if (size < 1 || size > INPUT_MAX)
		return 0;
	memset(&exports, 0, sizeof(exports));
	program_invocation_short_name = name; /* messages begin with this name */
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
		REQUIRE(is_explained());
		exports_free(&exports);
		return 0;
	}
	for (uint32_t i = 0; rc == 0 && i < exports.n; i++)
		check_export(&exports, &exports.all[i]);
	check_access(&exports);
	exports_free(&exports);
	return 0;
}
