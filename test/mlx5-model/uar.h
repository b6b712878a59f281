/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UAR_H
#define UAR_H

/*
 * Pages of doorbell registers (UAR). They are pages of one file, which libmlx5 maps through a
 * duplicate of its descriptor. The device learns of a doorbell by looking at the registers.
 */

#include "attr.h"
#include "object.h"

/* Handlers of doorbells: of a send queue, with the first 8 bytes of a work queue entry, and of a
 * completion queue. Both values are as the program wrote them, in big-endian order. */
struct uar_handlers {
	void (*send)(uint32_t page, uint64_t value);
	void (*completion)(uint64_t value);
};

int uar_init(void); /* returns 0 or -errno */
/* Returns a new descriptor of the file of registers, or -1 with errno. */
int uar_open_file(void);
int uar_create(const struct call *call); /* returns 0 or a positive errno */
int uar_destroy(struct object *object);
/* Takes all doorbells since the last call. Returns whether there were any. */
bool uar_take_doorbells(const struct uar_handlers *handlers);

#endif
