/* SPDX-License-Identifier: BSD-3-Clause */
/* The lock, the count of violations, and the start and the end of the model. */
#include "model.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "faults.h"
#include "libc.h"
#include "link.h"
#include "sysfs.h"

struct mlx5_model_faults faults;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t violations;

void model_lock(void)
{
	pthread_mutex_lock(&lock);
}

void model_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

uint64_t model_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void model_violation(const char *format, ...)
{
	va_list args;

	violations++;
	va_start(args, format);
	fputs("mlx5-model: violation: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

EXPORTED uint64_t mlx5_model_violations(void)
{
	uint64_t count;

	model_lock();
	count = violations;
	model_unlock();
	return count;
}

__attribute__((constructor)) static void model_start(void)
{
	const char *network = getenv("MLX5_MODEL_NETWORK"), *folder = getenv("TMPDIR");
	int rc = 0;

	if (!folder || !*folder)
		folder = "/tmp";
	if (network && *network) {
		rc = link_init(network);
		folder = network;
	}
	if (rc == 0)
		rc = sysfs_create(folder);
	if (rc != 0) {
		fprintf(stderr, "mlx5-model: can't use the folder '%s': %s\n", folder,
			strerror(-rc));
		exit(1);
	}
}

__attribute__((destructor)) static void model_end(void)
{
	sysfs_destroy();
}
