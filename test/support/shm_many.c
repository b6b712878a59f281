/* SPDX-License-Identifier: BSD-3-Clause */

/* Many connections over shm for tests of the mux (shm_many.h). */

#include "shm_many.h"

struct end a, b;
struct fabric_qp *qps[2][MANY]; /* the queue pairs of end a, and those of end b */
char many_addr[64];

struct shm_qp *qp_of(uint32_t side, uint32_t i)
{
	return (struct shm_qp *)qps[side][i];
}

struct shm_dev *dev_of(const struct end *end)
{
	return (struct shm_dev *)end->dev;
}

int many_setup(void **state)
{
	(void)state;
	memset(qps, 0, sizeof(qps));
	end_open(&a, "", MANY);
	end_open(&b, "", MANY);
	snprintf(many_addr, sizeof(many_addr), "%s", end_address());
	end_listen(&b, many_addr);
	return 0;
}

void destroy(uint32_t i)
{
	a.ops->qp_destroy(qps[0][i]);
	b.ops->qp_destroy(qps[1][i]);
	qps[0][i] = qps[1][i] = NULL;
}

int many_teardown(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < MANY; i++)
		destroy(i);
	a.qp = b.qp = NULL;
	assert_int_equal(dev_of(&a)->nmuxes + dev_of(&b)->nmuxes, 0);
	assert_true(LIST_EMPTY(&dev_of(&a)->shared) && LIST_EMPTY(&dev_of(&b)->shared));
	end_close(&a);
	end_close(&b);
	return 0;
}

void connect_next(uint32_t i)
{
	qps[0][i] = end_connect(&a, many_addr, &qps[0][i]);
	qps[1][i] = end_accept(&b, &a, &qps[1][i]);
	end_event(&a, &b, FABRIC_CM_ESTABLISHED);
	end_event(&b, &a, FABRIC_CM_ESTABLISHED);
}

bool is_in_mux(uint32_t i)
{
	const struct shm_qp *left = qp_of(0, i), *right = qp_of(1, i);

	return left->rx_in_mux && left->tx_in_mux && right->rx_in_mux && right->tx_in_mux;
}

void connect_many(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		connect_next(i);
		if (i > 0)
			END_WAIT(&a, &b, is_in_mux(i));
	}
}

void send_now_on(uint32_t i)
{
	end_recv(&b, qps[1][i], i, 0, 100);
	assert_true(a.ops->send_direct(qps[0][i], a.mem, 10));
}

void expect_in_one_poll(uint32_t i)
{
	struct fabric_wc wcs[2];

	assert_int_equal(b.ops->poll(b.dev, wcs, 2), 1);
	assert_ptr_equal(wcs[0].qp_ctx, &qps[1][i]);
	assert_int_equal(wcs[0].status, FABRIC_OK);
}
