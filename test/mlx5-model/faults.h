/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FAULTS_H
#define FAULTS_H

/* The faults that a test has set (mlx5_model.h). The caller holds the lock. */

#include "mlx5_model.h"

extern struct mlx5_model_faults faults;

#endif
