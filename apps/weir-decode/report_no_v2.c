/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces report_v2.c, report_prop.c and report_rtr.c in a build without version 2. */
#include "report.h"

bool report_version_2(struct emit *e, const uint8_t *msg, uint32_t len)
{
	(void)e;
	(void)msg;
	(void)len;
	return false;
}
