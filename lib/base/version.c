/* SPDX-License-Identifier: BSD-3-Clause */
/* The version of the library. */
#include <weir/version.h>

int weir_version(void)
{
	return WEIR_VERSION;
}

const char *weir_version_string(void)
{
	return WEIR_VERSION_STRING;
}
