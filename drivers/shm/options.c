/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver's options: key=value, separated by commas; lists of numbers are separated by colons.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_kvargs.h>

#include "log.h"
#include "shm_options.h"
#include "shm_wire.h"

#define MODE_OWNER 0600u /* without this mode, this side could not connect to itself */
#define MODE_MAX   0777u

static const char *const keys[] = {"ring_kib",	 "rnr_retry", "peer_uid", "peer_gid",
				   "server_uid", "mode",      NULL};

static const char *const expected =
	"ring_kib is 4 to 65536, rnr_retry 0 to 7, mode an octal number from 0600 to 0777; "
	"peer_uid, peer_gid and server_uid are up to 32 numbers, separated by colons, or 'any'";

/* Parses the number at 'text', which ends at a character of 'ends' or at the end of the text.
 * Returns a pointer to the character after the number, or NULL if 'text' is not such a number, or
 * it is UINT32_MAX or more. */
static const char *number(const char *text, int base, const char *ends, uint32_t *out)
{
	unsigned long value;
	char *end;

	if (*text < '0' || *text > '9')
		return NULL;
	errno = 0;
	value = strtoul(text, &end, base);
	if (errno != 0 || value >= UINT32_MAX || (*end != '\0' && !strchr(ends, *end)))
		return NULL;
	*out = (uint32_t)value;
	return end;
}

/* Parses the value of a numeric option into *out, a uint32_t. Returns 0 or -EINVAL. 'value' is NULL
 * if the key has no '='. */
static int parse_number(const char *key, const char *value, void *out)
{
	(void)key;
	return value && number(value, 10, "", out) ? 0 : -EINVAL;
}

static int parse_mode(const char *key, const char *value, void *out)
{
	uint32_t *mode = out;

	(void)key;
	if (!value || !number(value, 8, "", mode))
		return -EINVAL;
	return *mode <= MODE_MAX && (*mode & MODE_OWNER) == MODE_OWNER ? 0 : -EINVAL;
}

static int parse_ids(const char *key, const char *value, void *out)
{
	struct shm_ids *ids = out;

	(void)key;
	if (!value)
		return -EINVAL;
	if (strcmp(value, "any") == 0) {
		ids->any = true;
		return 0;
	}
	for (;;) {
		if (ids->n == SHM_IDS_MAX)
			return -EINVAL;
		value = number(value, 10, ":", &ids->at[ids->n]);
		if (!value)
			return -EINVAL;
		ids->n++;
		if (*value++ == '\0')
			return 0;
	}
}

static int options_refuse(const char *text, const char *why)
{
	LOG(DRIVER, ERROR, "shm: options '%s': %s", text, why);
	return -EINVAL;
}

int shm_options_parse(const char *text, struct shm_options *options)
{
	const struct {
		arg_handler_t parse;
		void *out;
	} values[] = {
		{parse_number, &options->ring_kib}, {parse_number, &options->rnr_retry},
		{parse_ids, &options->peer_uids},   {parse_ids, &options->peer_gids},
		{parse_ids, &options->server_uids}, {parse_mode, &options->mode},
	};
	struct rte_kvargs *args;
	bool has_ring;
	int rc = 0;

	*options = (struct shm_options){.rnr_retry = SHM_RNR_FOR_EVER, .mode = SHM_MODE_DEFAULT};
	if (!text || !text[0])
		return 0;
	args = rte_kvargs_parse(text, keys);
	if (!args)
		return options_refuse(text, "expected "
					    "ring_kib=N,rnr_retry=0..7,peer_uid=N:N...,peer_gid=N:"
					    "N...,server_uid=N:N...,mode=0600");
	for (uint32_t i = 0; keys[i] && rc == 0; i++)
		rc = rte_kvargs_process(args, keys[i], values[i].parse, values[i].out);
	has_ring = rte_kvargs_count(args, "ring_kib") > 0;
	rte_kvargs_free(args);
	if (rc != 0 || options->rnr_retry > SHM_RNR_FOR_EVER ||
	    (has_ring && (options->ring_kib < RING_BYTES_MIN / 1024 ||
			  options->ring_kib > RING_BYTES_MAX / 1024)))
		return options_refuse(text, expected);
	return 0;
}
