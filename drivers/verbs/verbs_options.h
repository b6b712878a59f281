/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERBS_OPTIONS_H
#define VERBS_OPTIONS_H

/* The options of the driver verbs. */

#include <stdint.h>

#define VERBS_NAME_MAX 64u /* of a device name, with its NUL: IBV_SYSFS_NAME_MAX of libibverbs */

struct verbs_options {
	char device[VERBS_NAME_MAX]; /* empty: the first device with an active port */
	uint8_t rnr_retry;	     /* 0 to 7; 7: for ever */
};

/*
 * Parses 'text', which is "key=value,..." or NULL. Returns 0, or -EINVAL for an unknown key or an
 * invalid value. An error is logged.
 */
int verbs_options_parse(const char *text, struct verbs_options *options);

#endif
