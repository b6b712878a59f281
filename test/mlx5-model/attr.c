/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes the attributes of a call. */
#include "attr.h"

#include <string.h>

static struct ib_uverbs_attr *find_attr(const struct call *call, uint16_t id)
{
	for (uint32_t i = 0; i < call->header->num_attrs; i++)
		if (call->header->attrs[i].attr_id == id)
			return &call->header->attrs[i];
	return NULL;
}

bool attr_is_present(const struct call *call, uint16_t id)
{
	return find_attr(call, id) != NULL;
}

void attr_get(const struct call *call, uint16_t id, void *to, size_t size)
{
	const struct ib_uverbs_attr *attr = find_attr(call, id);
	const void *from;

	memset(to, 0, size);
	if (!attr)
		return;
	/* Up to eight bytes are in the attribute itself. */
	from = attr->len <= sizeof(attr->data) ? (const void *)&attr->data
					       : (const void *)(uintptr_t)attr->data;
	memcpy(to, from, attr->len < size ? attr->len : size);
}

uint64_t attr_number(const struct call *call, uint16_t id)
{
	uint64_t number;

	attr_get(call, id, &number, sizeof(number));
	return number;
}

uint32_t attr_handle(const struct call *call, uint16_t id)
{
	const struct ib_uverbs_attr *attr = find_attr(call, id);

	return attr ? (uint32_t)attr->data : 0; /* no object has the handle 0 */
}

struct file *attr_file(const struct call *call, uint16_t id, enum file_kind kind)
{
	const struct ib_uverbs_attr *attr = find_attr(call, id);
	struct file *file = attr ? file_find((int)attr->data_s64) : NULL;

	return file && file->kind == kind ? file : NULL;
}

void attr_put(const struct call *call, uint16_t id, const void *from, size_t size)
{
	struct ib_uverbs_attr *attr = find_attr(call, id);
	uint8_t *to;

	if (!attr)
		return;
	to = (uint8_t *)(uintptr_t)attr->data;
	if (attr->len <= size) {
		memcpy(to, from, attr->len);
	} else {
		memcpy(to, from, size);
		memset(to + size, 0, attr->len - size);
	}
	attr->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
}

void attr_put_handle(const struct call *call, uint16_t id, uint32_t handle)
{
	struct ib_uverbs_attr *attr = find_attr(call, id);

	if (attr)
		attr->data = handle;
}
