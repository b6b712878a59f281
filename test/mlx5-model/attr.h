/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ATTR_H
#define ATTR_H

/*
 * The attributes of a call, which is one ioctl of uverbs. A call with another number of bytes than
 * the kernel expects is no error: inputs are padded with zeros, and outputs are cut or padded.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/rdma_user_ioctl_cmds.h>

#include "file.h"

struct call {
	struct file *file; /* the device file */
	struct ib_uverbs_ioctl_hdr *header;
};

bool attr_is_present(const struct call *call, uint16_t id);
void attr_get(const struct call *call, uint16_t id, void *to, size_t size);
uint64_t attr_number(const struct call *call, uint16_t id);
uint32_t attr_handle(const struct call *call, uint16_t id);
/* Returns the event file of a descriptor. Returns NULL if the attribute is missing, or its
 * descriptor is no file of this kind. */
struct file *attr_file(const struct call *call, uint16_t id, enum file_kind kind);

void attr_put(const struct call *call, uint16_t id, const void *from, size_t size);
/* Stores the handle or the descriptor of a new object. */
void attr_put_handle(const struct call *call, uint16_t id, uint32_t handle);

#endif
