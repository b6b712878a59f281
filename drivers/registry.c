/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of built-in drivers. */
#include "driver.h"

#include <string.h>

extern const struct fabric_ops shm_ops;
extern const struct fabric_ops sim_ops;
extern const struct fabric_ops verbs_ops;
extern const struct fabric_ops mlx5_ops;
extern const struct fabric_ops fault_ops;

static const struct fabric_ops *const drivers[] = {
	&shm_ops,  &verbs_ops,
#ifdef WEIR_MLX5
	&mlx5_ops,
#endif
	&sim_ops,  &fault_ops,
};

#define NDRIVERS (sizeof(drivers) / sizeof(drivers[0]))

const struct fabric_ops *fabric_driver_at(uint32_t index)
{
	return index < NDRIVERS ? drivers[index] : NULL;
}

const struct fabric_ops *fabric_driver_find(const char *name)
{
	for (uint32_t i = 0; i < NDRIVERS; i++)
		if (strcmp(drivers[i]->name, name) == 0)
			return drivers[i];
	return NULL;
}
