/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends each request that doc/telemetry.rst shows, and compares the names and the types in the
 * answer with those on the page. The page shows the answers of the pair of this test. An answer on
 * the page with a line "..." may lack entries. Arguments: the page, and optionally "--print", which
 * prints the answers instead of comparing them.
 */
#include "pair.h"

#include "client.h"

#define EXAMPLES   11 /* requests on the page */
#define TEXT_BYTES 8192u

static struct pair pair;
static struct client client;
static const char *page_path;
static bool prints;

static void with_telemetry(struct weir_profile *profile)
{
	profile->telemetry = WEIR_TELEMETRY_ON;
	profile->latency = WEIR_LATENCY_CALLS;
}

/* Reads the answer that follows on the page, up to an empty line, without lines "...". Sets
 * *is_part if there was such a line. */
static json_t *read_answer(FILE *page, const char *request, bool *is_part)
{
	char text[TEXT_BYTES] = "", line[256];
	json_error_t error;
	json_t *answer;

	*is_part = false;
	while (fgets(line, sizeof(line), page) && line[0] != '\n') {
		if (strcmp(line + strspn(line, " "), "...\n") == 0)
			*is_part = true;
		else
			strncat(text, line, sizeof(text) - strlen(text) - 1);
	}
	answer = json_loads(text, 0, &error);
	if (!answer)
		fail_msg("the answer to %s on the page: %s: %s", request, error.text, text);
	return answer;
}

static void compare(const char *request, json_t *shown, json_t *real, bool is_part)
{
	const char *name;
	json_t *value;

	if (json_typeof(shown) != json_typeof(real))
		fail_msg("%s: another type than on the page: %s", request, client.answer);
	if (!is_part && json_is_object(real) && json_object_size(shown) != json_object_size(real))
		fail_msg("%s: %zu entries rather than the %zu on the page: %s", request,
			 json_object_size(real), json_object_size(shown), client.answer);
	json_object_foreach(shown, name, value)
	{
		json_t *other = json_object_get(real, name);

		if (!other)
			fail_msg("%s: no '%s' as on the page: %s", request, name, client.answer);
		compare(request, value, other, is_part);
	}
}

static void page__shows_what_the_commands_answer(void **state)
{
	FILE *page = fopen(page_path, "re");
	uint32_t n = 0;
	char line[256];

	(void)state;
	assert_non_null(page);
	while (fgets(line, sizeof(line), page)) {
		const char *request = line + strspn(line, " ");
		json_t *shown, *real, *value;
		bool is_part;
		char command[64];

		if (strncmp(request, "--> ", 4) != 0)
			continue;
		request += 4;
		line[strcspn(line, "\n")] = '\0';
		snprintf(command, sizeof(command), "%.*s", (int)strcspn(request, ","), request);
		real = client_ask(&client, &pair, request);
		if (prints) {
			printf("--> %s\n", request);
			json_dumpf(real, stdout, JSON_INDENT(2));
			printf("\n\n");
			json_decref(real);
			continue;
		}
		shown = read_answer(page, request, &is_part);
		value = json_object_get(shown, command);
		assert_non_null(value);
		compare(request, value, real, is_part);
		json_decref(shown);
		json_decref(real);
		n++;
	}
	fclose(page);
	if (!prints)
		assert_int_equal(n, EXAMPLES);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(page__shows_what_the_commands_answer),
	};
	struct outcome held, outcome;
	int failed;

	pair_start(&pair, with_telemetry);
	pair_connect(&pair);
	for (uint32_t i = 0; i < 3; i++)
		pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	(void)pair_hold(&pair, &held);
	client_open(&client);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	pair_release_later(&pair);
	pair_until(&pair, &held.done, 1);
	close(client.fd);
	pair_stop(&pair);
	return failed;
}

int main(int argc, char **argv)
{
	int failed;

	if (argc < 2 || client_folder_make() != 0)
		return EXIT_FAILURE;
	page_path = argv[1];
	prints = argc > 2 && strcmp(argv[2], "--print") == 0;
	pair_driver = "shm";
	failed = run();
	client_folder_remove();
	return failed;
}
