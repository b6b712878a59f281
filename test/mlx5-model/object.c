/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles of objects. */
#include "object.h"

#include <stdlib.h>

#define HANDLES	     65536u
#define FIRST_HANDLE 0x100u

static struct object *objects[HANDLES]; /* by handle */
static uint32_t latest = FIRST_HANDLE - 1;

void *object_create(enum object_kind kind, size_t size, const struct file *file)
{
	for (uint32_t i = 0; i < HANDLES; i++) {
		uint32_t handle = ++latest % HANDLES;

		if (handle < FIRST_HANDLE || objects[handle])
			continue;
		objects[handle] = calloc(1, size);
		if (objects[handle])
			*objects[handle] = (struct object){kind, handle, file, 0};
		return objects[handle];
	}
	return NULL;
}

void object_free(struct object *object)
{
	objects[object->handle] = NULL;
	free(object);
}

void *object_find(uint32_t handle, enum object_kind kind)
{
	struct object *object = handle < HANDLES ? objects[handle] : NULL;

	return object && object->kind == kind ? object : NULL;
}

void *object_of_file(const struct file *file, enum object_kind kind)
{
	for (uint32_t handle = FIRST_HANDLE; handle < HANDLES; handle++)
		if (objects[handle] && objects[handle]->file == file &&
		    objects[handle]->kind == kind)
			return objects[handle];
	return NULL;
}
