/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates a runtime. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "alloc.h"
#include "eal.h"
#include "helper.h"
#include "limit.h"
#include "log.h"
#include "owner.h"
#include "profile_keys.h"
#include "runtime.h"
#include "sized_why.h"

#define WHY_BYTES 512u

/* Gives the reason of an error to the application, or logs it. */
static int refuse(const struct weir_runtime_options *options, int rc, const char *why)
{
	if (options->err)
		snprintf(options->err, options->err_bytes, "%s", why);
	else
		LOG(ENGINE, ERROR, "%s", why);
	return rc;
}

/* Copies the options. Returns 0, -EINVAL or -E2BIG. */
static int read_options(const struct weir_runtime_options *theirs, struct weir_runtime_options *own)
{
	static const struct sized_type type = SIZED_TYPE(weir_runtime_options, err_bytes);
	char why[SIZED_WHY_BYTES];
	int rc;

	if (!theirs)
		return -EINVAL;
	rc = sized_read_why(&type, own, theirs, why);
	if (rc != 0) {
		LOG(ENGINE, ERROR, "%s", why);
		return rc;
	}
	if (own->name && (own->name[0] == '\0' || strlen(own->name) > RUNTIME_NAME_MAX))
		return refuse(own, -EINVAL, "the name of a runtime has 1 to 10 bytes");
	return 0;
}

/* Reads and checks the profile. Returns 0, or -errno with the reason in 'why'. */
static int read_profile(struct weir_runtime *runtime, const struct weir_profile *profile, char *why)
{
	const char *lcores = runtime->profile.lcores;
	char text[WHY_BYTES - 172];
	int rc = profile_read(profile, &runtime->profile, why, WHY_BYTES);

	if (rc == 0) {
		rc = weir_profile_lcores_check(lcores, text, sizeof(text));
		if (rc != 0)
			snprintf(why, WHY_BYTES, "[engine] %s (the profile has lcores = %s)", text,
				 lcores);
	}
	return rc;
}

/* Decides the number of threads and the CPU of each. Returns 0, or -E2BIG with the reason in 'why'.
 */
static int choose_cpus(struct weir_runtime *runtime, char *why)
{
	uint32_t cpus[WEIR_RUNTIME_THREADS_MAX];
	int n = weir_profile_lcores(runtime->profile.lcores, cpus, WEIR_RUNTIME_THREADS_MAX);
	uint32_t unpinned = runtime->options.nthreads ? runtime->options.nthreads : 1;

	if (n == 0 && unpinned > WEIR_RUNTIME_THREADS_MAX) {
		snprintf(why, WHY_BYTES, "nthreads = %u: a runtime has at most %u threads",
			 unpinned, WEIR_RUNTIME_THREADS_MAX);
		return -E2BIG;
	}
	if (n < 0) {
		snprintf(why, WHY_BYTES,
			 "[engine] lcores = %s: a runtime has at most %u threads; name fewer CPUs",
			 runtime->profile.lcores, WEIR_RUNTIME_THREADS_MAX);
		return -E2BIG;
	}
	runtime->nthreads = n > 0 ? (uint32_t)n : unpinned;
	CPU_ZERO(&runtime->pinned);
	for (uint32_t i = 0; i < runtime->nthreads; i++) {
		struct runtime_thread *thread = &runtime->threads[i];

		thread->runtime = runtime;
		thread->index = i;
		thread->cpu = n > 0 ? (int)cpus[i] : -1;
		if (n > 0)
			CPU_SET(cpus[i], &runtime->pinned);
	}
	return 0;
}

static struct weir_runtime *allocate(const struct weir_runtime_options *options)
{
	struct weir_runtime *runtime = mem_zalloc(sizeof(*runtime));

	if (!runtime)
		return NULL;
	runtime->options = *options;
	snprintf(runtime->name, sizeof(runtime->name), "%s",
		 options->name ? options->name : "weir");
	runtime->options.name = runtime->name;
	runtime->options.err = NULL;
	runtime->quit_fd = -1;
	runtime->creator = CREATOR();
	pthread_mutex_init(&runtime->lock, NULL);
	pthread_cond_init(&runtime->changed, NULL);
	return runtime;
}

/* Starts the threads. Returns 0, or -errno with the reason in 'why'. */
static int start_threads(struct weir_runtime *runtime, char *why)
{
	const struct mem_eal_options eal = {
		.has_telemetry = runtime->profile.telemetry == WEIR_TELEMETRY_ON,
	};
	int rc;

	runtime->quit_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (runtime->quit_fd < 0) {
		rc = -errno;
		snprintf(why, WHY_BYTES, "can't create a descriptor: %s", strerror(-rc));
		return rc;
	}
	/* This thread becomes the main lcore of EAL, unless EAL runs already. */
	rc = mem_eal_start(&eal);
	if (rc != 0) {
		snprintf(why, WHY_BYTES, "EAL can't start: %s", strerror(-rc));
		mem_explain_limit(rc);
		return rc;
	}
	runtime->is_pinned = CPU_COUNT(&runtime->pinned) > 0;
	if (runtime->is_pinned)
		helper_keep_off(&runtime->pinned);
	/* The threads start one after the other. If one fails, no other thread is created. */
	for (uint32_t i = 0; rc == 0 && i < runtime->nthreads; i++) {
		rc = runtime_thread_create(&runtime->threads[i]);
		if (rc != 0)
			snprintf(why, WHY_BYTES, "%s", runtime->threads[i].why);
	}
	return rc;
}

int weir_runtime_create(const struct weir_profile *profile,
			const struct weir_runtime_options *options, struct weir_runtime **out)
{
	struct weir_runtime_options own;
	struct weir_runtime *runtime;
	char why[WHY_BYTES] = "";
	int rc = read_options(options, &own);

	if (rc != 0)
		return rc;
	runtime = allocate(&own);
	if (!runtime)
		return refuse(&own, -ENOMEM, "no memory for a runtime");
	rc = read_profile(runtime, profile, why);
	if (rc == 0)
		rc = choose_cpus(runtime, why);
	if (rc == 0)
		rc = start_threads(runtime, why);
	if (rc != 0) {
		weir_runtime_destroy(runtime);
		return refuse(&own, rc, why);
	}
	*out = runtime;
	return 0;
}
