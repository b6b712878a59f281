/* SPDX-License-Identifier: BSD-3-Clause */
/* Applies the options of every program that uses a profile. */
#include "program_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "number.h"

#define ADDRESS_MAX 100u

int option_driver(const char *value, struct weir_profile *profile)
{
	if (!fabric_driver_find(value))
		return option_bad("driver", value, "no such driver in this build");
	snprintf(profile->driver, sizeof(profile->driver), "%s", value);
	return 0;
}

bool option_driver_is_rdma(const struct weir_profile *profile)
{
	const struct fabric_ops *ops = fabric_driver_find(profile->driver);

	return ops && ops->is_rdma;
}

int option_driver_options(const char *value, struct weir_profile *profile)
{
	if (strlen(value) >= sizeof(profile->driver_options))
		return option_bad("driver-options", value, "too long");
	snprintf(profile->driver_options, sizeof(profile->driver_options), "%s", value);
	return 0;
}

int option_check_profile(const struct weir_profile *profile)
{
	char error[512];

	if (weir_profile_check(profile, error, sizeof(error)) == 0)
		return 0;
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, error);
	return -1;
}

int option_address(const char *option, const char *value)
{
	if (value[0] == '\0' || strlen(value) > ADDRESS_MAX)
		return option_bad(option, value, "expected an address of 1 to 100 characters");
	return 0;
}

void option_print_drivers(void)
{
	for (uint32_t i = 0; fabric_driver_at(i); i++)
		printf("  %-8s %s\n", fabric_driver_at(i)->name, fabric_driver_at(i)->summary);
}
