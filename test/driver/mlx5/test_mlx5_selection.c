/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests which data path a device object has, by the driver and the option 'direct', on the model of
 * a ConnectX device. The test replaces mlx5dv_is_supported(), and so the device can be that of
 * another vendor.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <weir/log.h>

#include "driver.h"
#include "eal.h"
#include "engine.h"
#include "mlx5_model.h"

extern const struct fabric_ops mlx5_ops;
extern const struct fabric_ops verbs_ops;

struct ibv_device;

static bool is_connectx;
static char said[2048]; /* all lines that were logged since the last open_dev() */

bool __wrap_mlx5dv_is_supported(struct ibv_device *device);

bool __wrap_mlx5dv_is_supported(struct ibv_device *device)
{
	(void)device;
	return is_connectx;
}

static void keep(void *arg, enum weir_log_level level, enum weir_log_category category,
		 const char *text)
{
	size_t used = strlen(said);

	(void)arg;
	(void)level;
	(void)category;
	snprintf(said + used, sizeof(said) - used, "%s\n", text);
}

/* Opens a device object and closes it. Returns its operations, or NULL if the result is 'error'. */
static const struct fabric_ops *open_dev(const char *driver, const char *options, int error)
{
	const struct fabric_dev_config config = {
		.options = options, .max_connections = 1, .max_regions = 1, .numa_node = -1};
	const struct fabric_ops *ops;
	struct fabric_dev *dev = NULL;

	said[0] = '\0';
	assert_int_equal(fabric_driver_find(driver)->open(&config, &dev), error);
	if (error != 0)
		return NULL;
	ops = dev->ops;
	ops->close(dev);
	return ops;
}

static void verbs__is_direct_on_its_devices(void **state)
{
	(void)state;
	assert_ptr_equal(open_dev("verbs", "", 0), &mlx5_ops);
	assert_ptr_equal(open_dev("verbs", "direct=auto", 0), &mlx5_ops);
	assert_ptr_equal(open_dev("verbs", "direct=on", 0), &mlx5_ops);
	assert_ptr_equal(open_dev("verbs", "direct=off", 0), &verbs_ops);
	assert_ptr_equal(open_dev("mlx5", "", 0), &mlx5_ops);
}

static void verbs__says_its_path_once(void **state)
{
	(void)state;
	assert_ptr_equal(open_dev("verbs", "", 0), &mlx5_ops);
	assert_non_null(
		strstr(said, "mlx5_0: direct path, without libibverbs, by the driver mlx5"));
	open_dev("verbs", "", 0);
	assert_null(strstr(said, "path"));
	open_dev("verbs", "direct=off", 0);
	assert_non_null(strstr(said, "mlx5_0: path of libibverbs"));
}

/*
 * The model has no more registers. libmlx5 keeps those of earlier device objects, so that some
 * objects can be opened before one finds none.
 */
static void verbs__uses_libibverbs_without_registers(void **state)
{
	const struct mlx5_model_faults none_left = {.no_registers = true};
	const struct fabric_dev_config config = {
		.options = "", .max_connections = 1, .max_regions = 1, .numa_node = -1};
	struct fabric_dev *devs[64];
	uint32_t n = 0;

	(void)state;
	mlx5_model_set_faults(&none_left);
	for (; n == 0 || devs[n - 1]->ops == &mlx5_ops; n++) {
		assert_in_range(n, 0, sizeof(devs) / sizeof(devs[0]) - 1);
		said[0] = '\0';
		assert_int_equal(verbs_ops.open(&config, &devs[n]), 0);
	}
	assert_ptr_equal(devs[n - 1]->ops, &verbs_ops);
	assert_non_null(strstr(said, "the direct path is not possible: libibverbs is used"));
	open_dev("mlx5", "", -ENOMEM);
	assert_non_null(strstr(said, "has no register for this thread"));
	for (uint32_t i = 0; i < n; i++)
		devs[i]->ops->close(devs[i]);
	mlx5_model_set_faults(NULL);
}

static void verbs__uses_libibverbs_on_other_devices(void **state)
{
	(void)state;
	is_connectx = false;
	assert_ptr_equal(open_dev("verbs", "", 0), &verbs_ops);
	assert_ptr_equal(open_dev("verbs", "direct=off", 0), &verbs_ops);
	open_dev("verbs", "direct=on", -ENODEV);
	assert_non_null(strstr(said, "there is a device mlx5_0, which is not a ConnectX"));
	assert_non_null(strstr(said, "direct=auto"));
}

static void mlx5__names_what_to_use_instead(void **state)
{
	(void)state;
	is_connectx = false;
	open_dev("mlx5", "", -ENODEV);
	assert_non_null(strstr(said, "no ConnectX device with an active port"));
	assert_non_null(strstr(said, "there is a device mlx5_0, which is not a ConnectX"));
	assert_non_null(strstr(said, "use the driver verbs"));
	open_dev("mlx5", "device=mlx5_7", -ENODEV);
	assert_non_null(strstr(said, "no ConnectX device mlx5_7 with an active port"));
}

static void mlx5__is_not_direct_off(void **state)
{
	(void)state;
	open_dev("mlx5", "direct=off", -EINVAL);
	assert_non_null(strstr(said, "use the driver verbs"));
}

static void options__are_checked(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		const struct fabric_ops *ops = fabric_driver_find(i ? "mlx5" : "verbs");

		assert_int_equal(ops->options_check("direct=auto,device=mlx5_0"), 0);
		assert_int_equal(ops->options_check("direct=maybe"), -EINVAL);
		assert_int_equal(ops->options_check("direct"), -EINVAL);
		assert_int_equal(ops->options_check("direct="), -EINVAL);
	}
}

/* An engine calls the operations of its device, not those of the driver in its profile. */
static void engine__has_the_operations_of_its_device(void **state)
{
	struct weir_engine *engine;
	struct weir_profile profile;

	(void)state;
	weir_profile_defaults(&profile);
	snprintf(profile.driver, sizeof(profile.driver), "verbs");
	profile.page_bytes = WEIR_PAGES_THP;
	assert_int_equal(weir_engine_create(&profile, &engine), 0);
	assert_ptr_equal(engine->ops->post_send, mlx5_ops.post_send);
	assert_ptr_equal(engine->ops->poll, mlx5_ops.poll);
	weir_engine_destroy(engine);
}

static int set_up(void **state)
{
	(void)state;
	is_connectx = true;
	return 0;
}

static int check_violations(void **state)
{
	(void)state;
	return mlx5_model_violations() != 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, check_violations)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(verbs__says_its_path_once), /* the first one */
		TEST(verbs__is_direct_on_its_devices),
		TEST(verbs__uses_libibverbs_without_registers),
		TEST(verbs__uses_libibverbs_on_other_devices),
		TEST(mlx5__names_what_to_use_instead),
		TEST(mlx5__is_not_direct_off),
		TEST(options__are_checked),
		TEST(engine__has_the_operations_of_its_device),
	};

	if (mem_eal_start(NULL) != 0 || weir_log_set(keep, NULL, WEIR_LOG_INFO) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
