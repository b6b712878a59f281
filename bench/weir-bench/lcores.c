/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the cores of --lcores, and divides them among the two sides. */
#include "lcores.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>

#include "profile_engines.h"

/* Writes a list of cores in the form of the profile. Returns the length of the whole list. */
static size_t write_list(const uint32_t *lcores, uint32_t n, char *text, size_t bytes)
{
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < n && used < bytes; i++)
		used += (size_t)snprintf(text + used, bytes - used, "%s%u", i > 0 ? "," : "",
					 lcores[i]);
	return used;
}

/* Returns the first core of a side, and sets *n to the number of its cores. */
static const uint32_t *lcores_of(const struct bench_options *options, bool is_responder,
				 uint32_t *n)
{
	uint32_t half = options->nlcores / 2;

	*n = options->nlcores;
	if (options->side != SIDE_BOTH || half == 0)
		return options->lcores;
	*n = is_responder ? options->nlcores - half : half;
	return is_responder ? options->lcores + half : options->lcores;
}

/* Writes the cores of a side into a copy of the profile, with the sections of these cores. Returns
 * 0, or -E2BIG if the sections do not fit. */
static int set_side_lcores(const uint32_t *lcores, uint32_t n, struct weir_profile *profile)
{
	write_list(lcores, n, profile->lcores, sizeof(profile->lcores));
	return profile_engines_keep_lcores(profile);
}

/* Checks that the sections of engines fit for each side. Returns 0, or -E2BIG after an error. */
static int check_sections(const struct bench_options *options)
{
	for (uint32_t side = 0; side < 2; side++) {
		struct weir_profile profile = options->profile;
		const uint32_t *lcores;
		uint32_t n;

		lcores = lcores_of(options, side == 1, &n);
		if (set_side_lcores(lcores, n, &profile) == 0)
			continue;
		fprintf(stderr, "weir-bench: the sections [engine:CPUS] of the profile are too "
				"long with these cores: shorten them, or name ranges of cores\n");
		return -E2BIG;
	}
	return 0;
}

int bench_lcores_check(const struct bench_options *options)
{
	char text[sizeof(options->profile.lcores)], error[400];
	const uint32_t *lcores;
	uint32_t n;

	for (uint32_t i = 0; i < options->nlcores; i++) {
		write_list(&options->lcores[i], 1, text, sizeof(text));
		if (weir_profile_lcores_check(text, error, sizeof(error)) != 0) {
			fprintf(stderr, "weir-bench: --%s\n", error);
			return -ENODEV;
		}
	}
	/* The responder's side has at least as many cores as the requester's side. */
	lcores = lcores_of(options, true, &n);
	if (write_list(lcores, n, text, sizeof(text)) >= sizeof(text)) {
		fprintf(stderr,
			"weir-bench: --lcores: the list of cores is longer than %zu bytes: name "
			"fewer cores\n",
			sizeof(text) - 1);
		return -E2BIG;
	}
	return check_sections(options);
}

void bench_lcores_list(const struct bench_options *options, char *text, size_t bytes)
{
	if (options->nlcores == 0)
		snprintf(text, bytes, "any");
	else
		write_list(options->lcores, options->nlcores, text, bytes);
}

static enum weir_idle choose_idle(const struct bench_options *options)
{
	cpu_set_t set;

	if (options->profile.idle != WEIR_IDLE_AUTO)
		return options->profile.idle;
	if (options->nlcores > 0)
		return options->nlcores == 1 && options->side == SIDE_BOTH ? WEIR_IDLE_YIELD
									   : WEIR_IDLE_SPIN;
	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	return CPU_COUNT(&set) < 3 ? WEIR_IDLE_YIELD : WEIR_IDLE_SPIN;
}

uint32_t bench_lcores_profile(const struct bench_options *options, bool is_responder,
			      uint32_t nthreads_max, struct weir_profile *profile)
{
	uint32_t n;
	const uint32_t *lcores = lcores_of(options, is_responder, &n);

	if (n > nthreads_max)
		n = nthreads_max;
	*profile = options->profile;
	profile->idle = choose_idle(options);
	/* bench_lcores_check() has tried all cores. If the sections do not fit with fewer, the
	 * runtime refuses the profile and says why. */
	(void)set_side_lcores(lcores, n, profile);
	return n > 0 ? n : 1;
}

bool bench_lcores_idles(const struct weir_profile *profile, uint32_t thread)
{
	struct weir_profile own = *profile;
	uint32_t lcores[BENCH_LCORES_MAX];
	int n = weir_profile_lcores(profile->lcores, lcores, BENCH_LCORES_MAX);

	profile_for_cpu(&own, (int)thread < n ? (int)lcores[thread] : -1);
	return own.idle != WEIR_IDLE_SPIN;
}
