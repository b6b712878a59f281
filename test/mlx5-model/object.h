/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_H
#define OBJECT_H

/*
 * Objects that a program creates by ioctls, and their handles. An object begins with a struct
 * object. It cannot be destroyed while other objects use it. The number by which the device knows a
 * queue is its handle.
 */

#include <stddef.h>
#include <stdint.h>

#include "file.h"

/* When a device file is closed, its objects are destroyed in this order. */
enum object_kind {
	OBJECT_QP,
	OBJECT_SRQ,
	OBJECT_CQ,
	OBJECT_MW,
	OBJECT_MR,
	OBJECT_PD,
	OBJECT_UAR,
	OBJECT_KINDS
};

struct object {
	enum object_kind kind;
	uint32_t handle;
	const struct file *file; /* the device file to which the object belongs */
	uint32_t users;		 /* objects that use this one */
};

/* Creates an object of 'size' bytes, which are 0 except for the header. Returns NULL without
 * memory. */
void *object_create(enum object_kind kind, size_t size, const struct file *file);
void object_free(struct object *object);
/* Returns the object with this handle, or NULL if there is none of this kind. */
void *object_find(uint32_t handle, enum object_kind kind);
/* Returns the first object of this kind that belongs to the device file, or NULL. */
void *object_of_file(const struct file *file, enum object_kind kind);

#endif
