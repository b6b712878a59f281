/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DEVICE_H
#define DEVICE_H

/*
 * Objects of a ConnectX device, or of a model of one, for tests of the data path of the driver
 * mlx5. A function that fails ends the program with a message.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "completion.h"

#define DEVICE_SGES   8u
#define DEVICE_INLINE 400u
#define DEVICE_SENDS  32u
#define DEVICE_RECVS  32u

struct device {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr; /* of 'memory', with all rights */
	uint8_t *memory;
	size_t size;
};

/* Opens the first device of libmlx5 and registers 'size' bytes. */
void device_open(struct device *device, size_t size);
void device_close(struct device *device);

struct ibv_cq *device_cq(const struct device *device, uint32_t n);
/* Creates a queue pair without scatter to CQE. 'srq' can be NULL. */
struct ibv_qp *device_qp(const struct device *device, struct ibv_cq *cq, struct ibv_srq *srq,
			 uint32_t recv_sges);
struct ibv_srq *device_srq(const struct device *device, uint32_t recv_sges);
/* Connects two queue pairs. A message that finds no receive is tried again rnr_retry times; 7: for
 * ever. */
void device_connect(const struct device *device, struct ibv_qp *a, struct ibv_qp *b,
		    uint8_t rnr_retry);

struct mlx5dv_qp device_dv_qp(struct ibv_qp *qp);
struct mlx5dv_cq device_dv_cq(struct ibv_cq *cq);
struct mlx5dv_srq device_dv_srq(struct ibv_srq *srq);

/* Ends the program, and prints where, unless the condition holds. */
#define NEED(condition) device_need((condition), #condition, __FILE__, __LINE__)
void device_need(bool holds, const char *condition, const char *file, int line);

/* Returns a pseudo-random number. The sequence is the same in each run. */
uint32_t device_random(void);

#endif
