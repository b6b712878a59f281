/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target for driver options. The first byte of the input selects the driver. The rest is the
 * text of the options.
 *
 * The target checks that accepted options are in range, and that their shortest form has the same
 * meaning. An unknown key must be refused before all other errors. A device must not open if its
 * options are refused.
 */
#include <errno.h>

#include <rte_log.h>

#include "driver.h"
#include "fuzz.h"
#include "ring.h"
#include "shm_options.h"
#include "verbs_options.h"

#define TEXT_MAX 300u
#define UNKNOWN	 "nosuch=1,"

enum { SHM, VERBS, SIM, FAULT, NDRIVERS };

/* Returns the text with an unknown key before it. */
static const char *with_unknown(const char *text)
{
	static char longer[TEXT_MAX + sizeof(UNKNOWN)];

	snprintf(longer, sizeof(longer), UNKNOWN "%s", text);
	return longer;
}

/*
 * Appends the list of IDs to 'said', as ",key=1:2" or ",key=any". If the list is empty, appends
 * nothing.
 */
static void say_ids(char *said, size_t size, const char *key, const struct shm_ids *ids)
{
	size_t len = strlen(said);

	if (ids->any) {
		snprintf(said + len, size - len, ",%s=any", key);
		return;
	}
	if (ids->n > 0)
		snprintf(said + len, size - len, ",%s=%u", key, ids->at[0]);
	for (uint32_t i = 1; i < ids->n; i++) {
		len = strlen(said);
		snprintf(said + len, size - len, ":%u", ids->at[i]);
	}
}

/*
 * Returns true if two lists of IDs mean the same. A list with 'any' permits any ID, whatever else
 * it contains.
 */
static bool same_ids(const struct shm_ids *a, const struct shm_ids *b)
{
	if (a->any || b->any)
		return a->any == b->any;
	return a->n == b->n && memcmp(a->at, b->at, a->n * sizeof(a->at[0])) == 0;
}

static void check_shm(const char *text)
{
	static char said[4 * 1024];
	struct shm_options options, again;
	int rc = shm_options_parse(text, &options);

	REQUIRE(rc == 0 || rc == -EINVAL);
	if (rc != 0)
		return;
	REQUIRE(options.ring_kib == 0 || (options.ring_kib >= RING_BYTES_MIN / 1024 &&
					  options.ring_kib <= RING_BYTES_MAX / 1024));
	REQUIRE(options.rnr_retry <= SHM_RNR_FOR_EVER);
	snprintf(said, sizeof(said), "rnr_retry=%u", options.rnr_retry);
	if (options.ring_kib != 0)
		snprintf(said + strlen(said), sizeof(said) - strlen(said), ",ring_kib=%u",
			 options.ring_kib);
	snprintf(said + strlen(said), sizeof(said) - strlen(said), ",mode=0%o", options.mode);
	REQUIRE((options.mode & 0600) == 0600 && options.mode <= 0777);
	REQUIRE(options.peer_uids.n <= SHM_IDS_MAX && options.peer_gids.n <= SHM_IDS_MAX &&
		options.server_uids.n <= SHM_IDS_MAX);
	say_ids(said, sizeof(said), "peer_uid", &options.peer_uids);
	say_ids(said, sizeof(said), "peer_gid", &options.peer_gids);
	say_ids(said, sizeof(said), "server_uid", &options.server_uids);
	REQUIRE(shm_options_parse(said, &again) == 0);
	REQUIRE(again.ring_kib == options.ring_kib && again.rnr_retry == options.rnr_retry &&
		again.mode == options.mode && same_ids(&again.peer_uids, &options.peer_uids) &&
		same_ids(&again.peer_gids, &options.peer_gids) &&
		same_ids(&again.server_uids, &options.server_uids));
	REQUIRE(shm_options_parse(with_unknown(text), &again) == -EINVAL);
}

static void check_verbs(const char *text)
{
	static const char *const directs[] = {"auto", "on", "off"};
	struct verbs_options options, again;
	char said[128];
	int rc = verbs_options_parse(text, &options);

	REQUIRE(rc == 0 || rc == -EINVAL);
	if (rc != 0)
		return;
	REQUIRE(options.rnr_retry <= 7 && (uint32_t)options.direct < 3);
	REQUIRE(strnlen(options.device, sizeof(options.device)) < sizeof(options.device));
	snprintf(said, sizeof(said), "rnr_retry=%u,direct=%s%s%s", options.rnr_retry,
		 directs[options.direct], options.device[0] ? ",device=" : "", options.device);
	REQUIRE(verbs_options_parse(said, &again) == 0);
	REQUIRE(again.direct == options.direct);
	REQUIRE(again.rnr_retry == options.rnr_retry && strcmp(again.device, options.device) == 0);
	REQUIRE(verbs_options_parse(with_unknown(text), &again) == -EINVAL);
}

/* Opens a device of a driver that needs only options for that, and checks the result. */
static void check_open(const char *name, const char *text)
{
	const struct fabric_ops *ops = fabric_driver_find(name);
	struct fabric_dev_config config = {
		.options = text, .max_connections = 1, .max_regions = 1, .numa_node = -1};
	struct fabric_dev *dev = NULL;
	int rc = ops->open(&config, &dev);

	REQUIRE(rc <= 0 && (rc == 0) == (dev != NULL));
	if (rc != 0)
		return;
	REQUIRE(dev->ops == ops && dev->attr.max_rd_atomic > 0 && dev->attr.max_sge > 0);
	ops->close(dev);
	dev = NULL;
	config.options = with_unknown(text);
	REQUIRE(ops->open(&config, &dev) == -EINVAL && !dev);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[TEXT_MAX];

	if (size < 1 || size > TEXT_MAX)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	rte_log_set_global_level(RTE_LOG_EMERG);
	switch (data[0] % NDRIVERS) {
	case SHM:
		check_shm(text);
		break;
	case VERBS:
		check_verbs(text);
		break;
	case SIM:
		check_open("sim", text);
		break;
	default:
		/* Devices of other drivers need EAL or hardware. */
		if (strstr(text, "over=sim") && strstr(text, "over=") == strstr(text, "over=sim"))
			check_open("fault", text);
		break;
	}
	return 0;
}
