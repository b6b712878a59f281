/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver's options: key=value, separated by commas. */
#include <errno.h>
#include <stdlib.h>

#include <rte_kvargs.h>
#include <rte_log.h>

#include "shm.h"

static const char *const keys[] = {"ring_kib", "rnr_retry", "peer_uid", NULL};

/* A key without '=' has no value at all. */
static int parse_number(const char *key, const char *value, void *out)
{
	unsigned long number;
	char *end;

	(void)key;
	if (!value || *value < '0' || *value > '9')
		return -EINVAL;
	number = strtoul(value, &end, 10);
	if (*end != '\0' || number >= SHM_ANY_USER)
		return -EINVAL;
	*(uint32_t *)out = (uint32_t)number;
	return 0;
}

static int refuse(const char *text, const char *why)
{
	rte_log(RTE_LOG_ERR, RTE_LOGTYPE_USER1, "weir: shm: options '%s': %s\n", text, why);
	return -EINVAL;
}

int shm_options_parse(const char *text, struct shm_options *options)
{
	uint32_t *const values[] = {&options->ring_kib, &options->rnr_retry, &options->peer_uid};
	struct rte_kvargs *args;
	bool has_ring;
	int rc = 0;

	*options = (struct shm_options){.rnr_retry = SHM_RNR_FOR_EVER, .peer_uid = SHM_ANY_USER};
	if (!text || !text[0])
		return 0;
	args = rte_kvargs_parse(text, keys);
	if (!args)
		return refuse(text, "expected ring_kib=N,rnr_retry=0..7,peer_uid=N");
	for (uint32_t i = 0; keys[i] && rc == 0; i++)
		rc = rte_kvargs_process(args, keys[i], parse_number, values[i]);
	has_ring = rte_kvargs_count(args, "ring_kib") > 0;
	rte_kvargs_free(args);
	if (rc != 0 || options->rnr_retry > SHM_RNR_FOR_EVER ||
	    (has_ring &&
	     (options->ring_kib < RING_BYTES_MIN / 1024 || options->ring_kib > RING_BYTES_MAX / 1024)))
		return refuse(text, "ring_kib is 4 to 65536, rnr_retry 0 to 7, peer_uid a user's number");
	return 0;
}
