/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERBS_OPTIONS_H
#define VERBS_OPTIONS_H

/* What the user of driver verbs chooses. */

#include <stdint.h>

#define VERBS_NAME_MAX 64u /* of a device, with its NUL: libibverbs' IBV_SYSFS_NAME_MAX */

struct verbs_options {
	char device[VERBS_NAME_MAX]; /* empty: the first one with an active port */
	uint8_t rnr_retry;	     /* 0 to 7; 7: for ever */
};

/* 'text' is "key=value,...", or NULL. 0, or -EINVAL, logged: a key or value that is none. */
int verbs_options_parse(const char *text, struct verbs_options *options);

#endif
