/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target for a file with a profile. Apart from crashes, these are errors:
 * - A loaded profile fails the check of profiles that programs make, or names lcores that cannot be
 *   parsed.
 * - The profile of the engine of a CPU is not valid, or still has sections of engines.
 * - A loaded profile changes when it is written and loaded again.
 * - The message for a refused file lacks the name of the file, or the profile was changed. An
 *   error in an included file names that file instead.
 */
#include <sys/mman.h>
#include <unistd.h>

#include <weir/profile.h>

#include "fuzz.h"

/* Checks the profiles of the engines of all CPUs. */
static void check_engines(const struct weir_profile *profile)
{
	static struct weir_profile own;
	uint32_t cpus[128];
	int n = weir_profile_lcores(profile->lcores, cpus, 128);

	REQUIRE(n >= 0);
	own.struct_bytes = sizeof(own);
	for (int i = 0; profile->engines[0] != '\0' && i < n; i++) {
		REQUIRE(weir_profile_for_cpu(profile, (int)cpus[i], &own) == 0);
		REQUIRE(weir_profile_check(&own, NULL, 0) == 0 && own.engines[0] == '\0');
	}
}

/* Checks that the profile is the same after it was written as a file and loaded. */
static void check_text(const struct weir_profile *profile)
{
	static struct weir_profile again;
	int fd = memfd_create("text", MFD_CLOEXEC);
	char path[32], text[8192], err[400] = "";
	int len = weir_profile_format(profile, text, sizeof(text));

	REQUIRE(len > 0 && (size_t)len < sizeof(text));
	REQUIRE(fd >= 0 && write(fd, text, (size_t)len) == len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	weir_profile_defaults(&again);
	REQUIRE(weir_profile_load(path, &again, err, sizeof(err)) == 0);
	REQUIRE(memcmp(&again, profile, sizeof(again)) == 0);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct weir_profile profile, before;
	int fd = memfd_create("profile", MFD_CLOEXEC);
	char path[32], err[400] = "";

	REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	memset(&before, 0x5a, sizeof(before));
	before.struct_bytes = sizeof(before);
	profile = before;
	if (weir_profile_load(path, &profile, err, sizeof(err)) == 0) {
		REQUIRE(weir_profile_check(&profile, err, sizeof(err)) == 0);
		check_engines(&profile);
		check_text(&profile);
	} else {
		REQUIRE(memmem(data, size, "include", 7) ||
			(strncmp(err, path, strlen(path)) == 0 && strlen(err) > strlen(path) + 2));
		REQUIRE(strlen(err) > 0);
		REQUIRE(memcmp(&profile, &before, sizeof(profile)) == 0);
	}
	close(fd);
	return 0;
}
