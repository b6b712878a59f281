/* SPDX-License-Identifier: BSD-3-Clause */
/* Load each profile given: those of this folder must be right. */
#include <stdio.h>

#include <weir/profile.h>

int main(int argc, char **argv)
{
	struct weir_profile profile;
	char err[400];
	int failed = argc < 2;

	weir_profile_defaults(&profile);
	for (int i = 1; i < argc; i++) {
		if (weir_profile_load(argv[i], &profile, err, sizeof(err)) != 0) {
			fprintf(stderr, "%s\n", err);
			failed = 1;
		}
	}
	return failed;
}
