/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads each profile given, and checks that it is unchanged after it was written as a text. The
 * profiles of this folder must be right. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <weir/profile.h>

/* Loads a text as a file. Returns 0 or -errno. */
static int load_text(const char *text, struct weir_profile *profile, char *err, size_t err_bytes)
{
	int fd = memfd_create("profile", MFD_CLOEXEC);
	char path[32];
	int rc;

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return -EIO;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = weir_profile_load(path, profile, err, err_bytes);
	close(fd);
	return rc;
}

static int check(const char *path)
{
	struct weir_profile profile, again;
	char err[400] = "", text[8192], text_again[8192];

	weir_profile_defaults(&profile);
	weir_profile_defaults(&again);
	if (weir_profile_load(path, &profile, err, sizeof(err)) != 0) {
		fprintf(stderr, "%s\n", err);
		return -1;
	}
	if (weir_profile_format(&profile, text, sizeof(text)) < 0 ||
	    load_text(text, &again, err, sizeof(err)) != 0 ||
	    weir_profile_format(&again, text_again, sizeof(text_again)) < 0 ||
	    memcmp(&profile, &again, sizeof(profile)) != 0 || strcmp(text, text_again) != 0) {
		fprintf(stderr, "%s: changes when it is written and loaded: %s\n", path, err);
		return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int failed = argc < 2;

	for (int i = 1; i < argc; i++)
		if (check(argv[i]) != 0)
			failed = 1;
	return failed;
}
