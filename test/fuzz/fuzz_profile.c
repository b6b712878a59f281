/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target for a file with a profile. Apart from crashes, these are errors:
 * - A loaded profile fails the check of profiles that programs make, or names lcores that cannot be
 *   parsed.
 * - The message for a refused file lacks the name of the file, or the profile was changed. An
 *   error in an included file names that file instead.
 */
#include <sys/mman.h>
#include <unistd.h>

#include <weir/profile.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct weir_profile profile, before;
	int fd = memfd_create("profile", MFD_CLOEXEC);
	char path[32], err[400] = "";
	uint32_t cpus[128];

	REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	memset(&before, 0x5a, sizeof(before));
	before.struct_bytes = sizeof(before);
	profile = before;
	if (weir_profile_load(path, &profile, err, sizeof(err)) == 0) {
		REQUIRE(weir_profile_check(&profile, err, sizeof(err)) == 0);
		REQUIRE(weir_profile_lcores(profile.lcores, cpus, 128) >= 0);
	} else {
		REQUIRE(memmem(data, size, "include", 7) ||
			(strncmp(err, path, strlen(path)) == 0 && strlen(err) > strlen(path) + 2));
		REQUIRE(strlen(err) > 0);
		REQUIRE(memcmp(&profile, &before, sizeof(profile)) == 0);
	}
	close(fd);
	return 0;
}
