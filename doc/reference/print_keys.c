/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the table of a profile's keys for doc/configuration.rst. tools/build-doc compiles and runs
 * this program. Each line has seven fields, with tabs between them: section, key, default, allowed
 * values, unit, effect on memory, effect.
 */
#include <stdio.h>
#include <stdlib.h>

#include "profile_keys.h"

int main(void)
{
	char allowed[256];

	for (uint32_t i = 0; i < profile_nkeys; i++) {
		const struct profile_key *key = &profile_keys[i];

		profile_key_allowed(key, allowed, sizeof(allowed));
		printf("%s\t%s\t%s\t%s\t%s\t%s\t%s\n", key->section, key->name, key->initial,
		       allowed, profile_key_unit(key), key->memory ? key->memory : "",
		       key->help ? key->help : "");
	}
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
