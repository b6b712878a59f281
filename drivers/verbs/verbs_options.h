/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERBS_OPTIONS_H
#define VERBS_OPTIONS_H

/* The options of the drivers verbs and mlx5. */

#include <stdint.h>

/* bytes of a device name with its NUL: IBV_SYSFS_NAME_MAX of libibverbs */
#define VERBS_NAME_MAX 64u

/* The option 'direct': whether the data path of the driver mlx5 is used instead of libibverbs. */
enum verbs_direct {
	VERBS_DIRECT_AUTO, /* on devices that it supports */
	VERBS_DIRECT_ON,
	VERBS_DIRECT_OFF,
};

struct verbs_options {
	/* name of the device; empty: the first device with an active port */
	char device[VERBS_NAME_MAX];
	/* number of retries if the peer has no receive, 0 to 6; 7: no limit */
	uint8_t rnr_retry;
	enum verbs_direct direct;
};

/*
 * Parses 'text', which is "key=value,..." or NULL. Returns 0. If a key is unknown or a value is
 * invalid, logs an error and returns -EINVAL.
 */
int verbs_options_parse(const char *text, struct verbs_options *options);

#endif
