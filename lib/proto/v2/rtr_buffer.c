/* SPDX-License-Identifier: BSD-3-Clause */
/* Decodes, encodes and searches the structure of a receive buffer. */
#include "rtr_buffer.h"

#define GROUP_SIZE 16u

void rtr_buffer_default(struct rtr_buffer *buffer, uint32_t length)
{
	*buffer = (struct rtr_buffer){
		.length = length, .ngroups = 1, .is_consistent = true, .sum = length};
	buffer->groups[0] = (struct rtr_buffer_group){.count = 1, .length = length};
}

/* Adds a group, unless it has no segments, to the structure of a buffer. If the group has empty
 * segments, or there are too many groups, the structure becomes inconsistent. The sum of as many
 * groups as fit in a message is below 2^64. However, this function does not know that its groups
 * are from a message. Therefore it limits the sum to UINT64_MAX. */
static void add_group(struct rtr_buffer *buffer, const struct rtr_buffer_group *group)
{
	uint64_t bytes = (uint64_t)group->count * group->length;

	if (group->count == 0)
		return;
	if (group->length == 0)
		buffer->is_consistent = false;
	buffer->sum = bytes > UINT64_MAX - buffer->sum ? UINT64_MAX : buffer->sum + bytes;
	if (buffer->ngroups < RTR_BUFFER_GROUPS_MAX)
		buffer->groups[buffer->ngroups++] = *group;
	else
		buffer->is_consistent = false;
}

int rtr_buffer_get(struct weir_xdr_in *in, struct rtr_buffer *buffer)
{
	uint32_t ngroups;

	*buffer = (struct rtr_buffer){.is_consistent = true};
	if (weir_xdr_get_u32(in, &buffer->length) != 0 || weir_xdr_get_u32(in, &ngroups) != 0 ||
	    ngroups > weir_xdr_remaining(in) / GROUP_SIZE)
		return -EBADMSG;
	for (uint32_t i = 0; i < ngroups; i++) {
		struct rtr_buffer_group group = {0};

		/* The check above ensures that the message has these words. */
		(void)weir_xdr_get_u32(in, &group.count);
		(void)weir_xdr_get_u32(in, &group.length);
		(void)weir_xdr_get_u32(in, &group.align);
		(void)weir_xdr_get_u32(in, &group.flags);
		add_group(buffer, &group);
	}
	if (buffer->sum != buffer->length)
		buffer->is_consistent = false;
	if (!buffer->is_consistent)
		buffer->ngroups = 0;
	return 0;
}

uint32_t rtr_buffer_wire_bytes(const struct rtr_buffer *buffer)
{
	return 8 + buffer->ngroups * GROUP_SIZE;
}

void rtr_buffer_put(struct weir_xdr_out *out, const struct rtr_buffer *buffer)
{
	(void)weir_xdr_put_u32(out, buffer->length);
	(void)weir_xdr_put_u32(out, buffer->ngroups);
	for (uint32_t i = 0; i < buffer->ngroups; i++) {
		(void)weir_xdr_put_u32(out, buffer->groups[i].count);
		(void)weir_xdr_put_u32(out, buffer->groups[i].length);
		(void)weir_xdr_put_u32(out, buffer->groups[i].align);
		(void)weir_xdr_put_u32(out, buffer->groups[i].flags);
	}
}

uint32_t rtr_buffer_targets(const struct rtr_buffer *buffer)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < buffer->ngroups; i++)
		if (buffer->groups[i].flags & RTR_SEG_DDP)
			n += buffer->groups[i].count;
	/* The sum cannot wrap, because there is at most one target for each byte of the buffer. */
	return n;
}

bool rtr_buffer_target(const struct rtr_buffer *buffer, uint32_t n, struct rtr_target *target)
{
	uint32_t offset = 0;

	for (uint32_t i = 0; i < buffer->ngroups; i++) {
		const struct rtr_buffer_group *group = &buffer->groups[i];

		if (group->flags & RTR_SEG_DDP) {
			if (n < group->count) {
				target->offset = offset + n * group->length;
				target->length = group->length;
				return true;
			}
			n -= group->count;
		}
		offset += group->count * group->length;
	}
	*target = (struct rtr_target){0};
	return false;
}
