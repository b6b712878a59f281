/* SPDX-License-Identifier: BSD-3-Clause */
/* A build without version 2. */
#include "report.h"

bool report_version_2(struct emit *e, const uint8_t *msg, uint32_t len)
{
	(void)e;
	(void)msg;
	(void)len;
	return false;
}
