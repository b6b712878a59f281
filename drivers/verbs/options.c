/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of the driver: "key=value", separated by commas. */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <rte_kvargs.h>

#include "verbs.h"

static const char *const keys[] = {"device", "rnr_retry", "direct", NULL};

/*
 * Returns whether a text can be the name of a device, which is the name of a file in /sys and has
 * only printable characters. rte_kvargs accepts a comma between brackets as part of a value, but no
 * device name has any of these characters.
 */
static bool is_name(const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if (!isgraph((unsigned char)text[i]) || strchr(",[]=/", text[i]))
			return false;
	return len > 0 && len < VERBS_NAME_MAX;
}

/* Parses a device name into the options. Returns 0 or -EINVAL. 'value' is NULL if the key has no
 * '='. */
static int parse_device(const char *key, const char *value, void *out)
{
	struct verbs_options *options = out;

	(void)key;
	if (!value || !is_name(value))
		return -EINVAL;
	memcpy(options->device, value, strlen(value) + 1);
	return 0;
}

static int parse_rnr_retry(const char *key, const char *value, void *out)
{
	struct verbs_options *options = out;

	(void)key;
	if (!value || value[0] < '0' || value[0] > '7' || value[1] != '\0')
		return -EINVAL;
	options->rnr_retry = (uint8_t)(value[0] - '0');
	return 0;
}

static int parse_direct(const char *key, const char *value, void *out)
{
	static const char *const values[] = {
		[VERBS_DIRECT_AUTO] = "auto",
		[VERBS_DIRECT_ON] = "on",
		[VERBS_DIRECT_OFF] = "off",
	};
	struct verbs_options *options = out;

	(void)key;
	for (uint32_t i = 0; value && i < sizeof(values) / sizeof(values[0]); i++)
		if (strcmp(value, values[i]) == 0) {
			options->direct = (enum verbs_direct)i;
			return 0;
		}
	return -EINVAL;
}

int verbs_options_parse(const char *text, struct verbs_options *options)
{
	struct rte_kvargs *args;
	int rc = -EINVAL;

	*options = (struct verbs_options){.rnr_retry = 7};
	if (!text || !text[0])
		return 0;
	args = rte_kvargs_parse(text, keys);
	if (args) {
		rc = rte_kvargs_process(args, "device", parse_device, options);
		if (rc == 0)
			rc = rte_kvargs_process(args, "rnr_retry", parse_rnr_retry, options);
		if (rc == 0)
			rc = rte_kvargs_process(args, "direct", parse_direct, options);
		rte_kvargs_free(args);
	}
	if (rc != 0) {
		VERBS_LOG(ERROR,
			  "options '%s': expected device=NAME,rnr_retry=0..7,direct=auto|on|off",
			  text);
		return -EINVAL;
	}
	return 0;
}
