/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a fuzz target, in any build, on each file of the given folders, which contain the kept
 * corpus.
 */
#include <dirent.h>
#include <errno.h>

#include "fuzz.h"

/*
 * Runs the target on one file. The memory has exactly the size of the file, so that a sanitizer
 * detects a read after its end. Returns 0, or -1 if the file could not be read.
 */
static int replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = NULL;
	int rc = -1;
	long size;

	if (!file)
		goto out;
	if (fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0 ||
	    fseek(file, 0, SEEK_SET) != 0)
		goto close;
	data = malloc(size > 0 ? (size_t)size : 1);
	if (!data || fread(data, 1, (size_t)size, file) != (size_t)size)
		goto close;
	LLVMFuzzerTestOneInput(data, (size_t)size);
	rc = 0;
close:
	free(data);
	fclose(file);
out:
	if (rc != 0)
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
	return rc;
}

static int replay_directory(const char *path, unsigned *count)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	char name[4096];
	int rc = 0;

	if (!dir) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		rc |= replay_file(name);
		(*count)++;
	}
	closedir(dir);
	return rc;
}

int main(int argc, char **argv)
{
	unsigned count = 0;
	int rc = 0;

	for (int i = 1; i < argc; i++)
		rc |= replay_directory(argv[i], &count);
	printf("%u inputs\n", count);
	/* A folder without files must not count as a success. */
	return rc == 0 && count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
