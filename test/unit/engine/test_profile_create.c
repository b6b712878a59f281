/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that weir_profile_check() and weir_engine_create() accept the same random profiles, in
 * which each key is in its range. Profiles for which the machine lacks memory are not compared.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <weir/engine.h>

#include "profile_keys.h"

#define PROFILES 400

static uint64_t seed = 1;

static uint64_t draw(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

/* Returns a random number of the range, often one of its ends, where the rules apply. */
static uint64_t draw_between(uint64_t min, uint64_t max, uint64_t step)
{
	switch (draw(4)) {
	case 0:
		return min;
	case 1:
		return max;
	default:
		return min + draw((max - min) / step + 1) * step;
	}
}

static const struct {
	const char *name;
	uint64_t min, max;
} bounds[] = {
	/* Values that use memory are small, except those that the rules concern. */
	{"send_buffers", 16, 64},     {"recv_buffers", 16, 70000},
	{"long_buffers", 1, 2},	      {"long_buffer_bytes", 4096, 8192},
	{"bulk_buffers", 1, 2},	      {"bulk_buffer_bytes", 4096, 8192},
	{"inline_bytes", 1024, 2048}, {"lead_bytes", 512, 65536},
	{"targets", 1, 64},	      {"target_bytes", 512, 1u << 20},
	{"connections", 1, 70000},    {"replay_entries", 1, 16},
	{"replay_bytes", 4096, 8192}, {"waiting_requests", 1, 4096},
};

static void set(struct weir_profile *profile, const struct profile_key *key)
{
	char text[32], why[192];
	uint64_t min = key->min, max = key->max;

	if (key->type == PROFILE_TEXT)
		return;
	if (key->type == PROFILE_CHOICE) {
		uint32_t n = 0;

		while (key->choices[n].word)
			n++;
		assert_true(profile_key_set(key, key->choices[draw(n)].word, profile, why,
					    sizeof(why)));
		return;
	}
	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		if (strcmp(bounds[i].name, key->name) == 0) {
			min = bounds[i].min;
			max = bounds[i].max < key->max ? bounds[i].max : key->max;
		}
	}
	snprintf(text, sizeof(text), "%llu", (unsigned long long)draw_between(min, max, key->step));
	assert_true(profile_key_set(key, text, profile, why, sizeof(why)));
}

static bool is_too_large(const struct weir_profile *p)
{
	uint64_t receive = p->lead_bytes + (uint64_t)p->targets * p->target_bytes;

	if (!(p->extension & WEIR_EXTENSION_PLACEMENT) || p->protocol == WEIR_PROTOCOL_V1 ||
	    receive < 8192)
		receive = 8192;
	return p->recv_buffers * receive > 1u << 28;
}

/*
 * Checks random profiles. A receive that is too long is refused for its length, however much memory
 * there is.
 */
static void check__is_what_create_does(void **state)
{
	uint32_t naccepted = 0, nrefused = 0;

	(void)state;
	for (uint32_t i = 0; i < PROFILES; i++) {
		struct weir_engine *engine = NULL;
		struct weir_profile profile;
		char err[400] = "";
		int checked, made;

		weir_profile_defaults(&profile);
		for (uint32_t k = 0; k < profile_nkeys; k++)
			if (draw(3) == 0)
				set(&profile, &profile_keys[k]);
		/* With the default values, the buffers would use hundreds of MiB. */
		for (uint32_t k = 0; k < profile_nkeys; k++)
			if (strcmp(profile_keys[k].section, "memory") == 0 ||
			    strcmp(profile_keys[k].name, "inline_bytes") == 0)
				set(&profile, &profile_keys[k]);
		profile.page_bytes = 4096;
		checked = weir_profile_check(&profile, err, sizeof(err));
		if (checked == 0 && is_too_large(&profile))
			continue;
		made = weir_engine_create(&profile, &engine);
		if (made == -ENOMEM)
			continue;
		if (made != checked)
			fail_msg(
				"profile %u: weir_profile_check() %d (%s), weir_engine_create() %d",
				i, checked, err, made);
		naccepted += made == 0;
		nrefused += made != 0;
		weir_engine_destroy(engine);
	}
	assert_true(naccepted > PROFILES / 20);
	assert_true(nrefused > PROFILES / 20);
}

/* Checks each rule by itself, and that its message names the key. */
static void check__what_create_refuses(void **state)
{
	static const struct {
		const char *says;
		const char *driver, *driver_options;
		enum weir_protection protection;
		enum weir_exposure exposure;
		enum weir_extension extension;
		uint32_t recv_buffers, target_bytes;
	} rules[] = {
		{"no driver 'infiniband' in this build", .driver = "infiniband"},
		{"driver_options: 'speed=9' are not valid for driver shm",
		 .driver_options = "speed=9"},
		{"driver_options: '' are not valid for driver fault", .driver = "fault"},
		{"driver_options: 'over=none' are not valid for driver fault", .driver = "fault",
		 .driver_options = "over=none"},
		{"driver_options: 'over=fault' are not valid for driver fault", .driver = "fault",
		 .driver_options = "over=fault"},
		{"driver_options: 'over=shm,speed=9' are not valid for driver fault",
		 .driver = "fault", .driver_options = "over=shm,speed=9"},
		{"driver_options: 'over=shm,kinds=x' are not valid for driver fault",
		 .driver = "fault", .driver_options = "over=shm,kinds=x"},
		{"[exposure] protection: 'connection' requires policy = window",
		 .protection = WEIR_PROTECTION_CONNECTION},
		{"[exposure] protection: 'connection' requires policy = window",
		 .protection = WEIR_PROTECTION_CONNECTION, .exposure = WEIR_EXPOSURE_POOL},
		{"[memory] recv_buffers: driver shm shares at most 65536", .recv_buffers = 65537},
		{"[connection] target_bytes: with lead_bytes and 2 targets",
		 .extension = WEIR_EXTENSION_PLACEMENT, .target_bytes = 1u << 20},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		struct weir_engine *engine = NULL;
		struct weir_profile profile;
		char err[400] = "";

		weir_profile_defaults(&profile);
		profile.shared_receives = WEIR_SHARED_RECEIVES_ON;
		profile.protection = rules[i].protection;
		profile.exposure = rules[i].exposure;
		if (rules[i].driver)
			snprintf(profile.driver, sizeof(profile.driver), "%s", rules[i].driver);
		if (rules[i].driver_options)
			snprintf(profile.driver_options, sizeof(profile.driver_options), "%s",
				 rules[i].driver_options);
		if (rules[i].recv_buffers)
			profile.recv_buffers = rules[i].recv_buffers;
		if (rules[i].target_bytes)
			profile.target_bytes = rules[i].target_bytes;
#ifdef WEIR_WITHOUT_VERSION2
		if (rules[i].extension)
			/* check__version_2_is_refused_where_it_is_left_out() tests this */
			continue;
#endif
		profile.extension = rules[i].extension;
		profile.protocol = profile.extension ? WEIR_PROTOCOL_V2 : WEIR_PROTOCOL_V1;
		assert_int_equal(weir_profile_check(&profile, err, sizeof(err)), -EINVAL);
		if (!strstr(err, rules[i].says))
			fail_msg("'%s' does not say '%s'", err, rules[i].says);
		assert_int_equal(weir_engine_create(&profile, &engine), -EINVAL);
	}
}

#ifndef WEIR_WITHOUT_VERSION2
static void check__each_set_of_parts_of_the_extension(void **state)
{
	struct weir_profile profile, copy;
	char err[400], text[64];
	const struct profile_key *key = profile_key_find("connection", "extension");

	(void)state;
	for (int parts = WEIR_EXTENSION_OFF; parts <= WEIR_EXTENSION_ALL; parts++) {
		weir_profile_defaults(&profile);
		copy = profile;
		profile.protocol = WEIR_PROTOCOL_V2;
		profile.extension = (enum weir_extension)parts;
		assert_int_equal(weir_profile_check(&profile, err, sizeof(err)), 0);
		profile_key_format(key, &profile, text, sizeof(text));
		assert_true(profile_key_set(key, text, &copy, err, sizeof(err)));
		assert_int_equal(copy.extension, parts);
	}
}
#endif

static void check__version_2_is_refused_where_it_is_left_out(void **state)
{
	static const struct {
		enum weir_protocol protocol;
		enum weir_extension extension;
	} asked[] = {
		{WEIR_PROTOCOL_V2, WEIR_EXTENSION_OFF},
		{WEIR_PROTOCOL_AUTO, WEIR_EXTENSION_OFF},
		{WEIR_PROTOCOL_V1, WEIR_EXTENSION_CONTINUATION},
	};
	struct weir_profile profile;
	char err[400];

	(void)state;
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		weir_profile_defaults(&profile);
		profile.protocol = asked[i].protocol;
		profile.extension = asked[i].extension;
#ifdef WEIR_WITHOUT_VERSION2
		assert_int_equal(weir_profile_check(&profile, err, sizeof(err)), -EINVAL);
		assert_non_null(strstr(err, "the build option -Dversion2=false"));
#else
		assert_int_equal(weir_profile_check(&profile, err, sizeof(err)), 0);
#endif
	}
}

static void lcores_check__names_the_cpu_and_the_cure(void **state)
{
	char err[400] = "";

	(void)state;
	assert_int_equal(weir_profile_lcores_check("", err, sizeof(err)), 0);
	assert_int_equal(weir_profile_lcores_check("any", err, sizeof(err)), 0);
	assert_int_equal(weir_profile_lcores_check("0,0", err, sizeof(err)), -EEXIST);
	assert_non_null(strstr(err, "named twice"));
	assert_int_equal(weir_profile_lcores_check("0-", err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "0,1 or 0-3"));
	assert_int_equal(weir_profile_lcores_check("1000", err, sizeof(err)), -ENODEV);
	assert_non_null(strstr(err, "this machine has no CPU 1000; name some of "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check__is_what_create_does),
		cmocka_unit_test(check__what_create_refuses),
#ifndef WEIR_WITHOUT_VERSION2
		cmocka_unit_test(check__each_set_of_parts_of_the_extension),
#endif
		cmocka_unit_test(check__version_2_is_refused_where_it_is_left_out),
		cmocka_unit_test(lcores_check__names_the_cpu_and_the_cure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
