/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of weir/xdr.h that are not inline, and those of xdr_ref.h. They also decode a
 * stream that consists of several parts.
 *
 * The inline path of a get tests only is_item and the bytes of the current part. Therefore fail()
 * sets is_item and leaves no bytes in the current part. Thus each later get calls
 * weir_xdr_get_bytes_slow(), which tests 'failed'.
 */

#include <weir/xdr.h>

#include "copy_small.h"
#include "xdr_ref.h"

static const uint8_t nothing[1];

static int fail(struct weir_xdr_in *in)
{
	in->p = in->end;
	in->nparts = 0;
	in->later_bytes = 0;
	in->is_item = true;
	in->failed = true;
	return -EBADMSG;
}

static void enter_next_part(struct weir_xdr_in *in)
{
	/* The base of an empty part can be NULL. */
	in->p = in->next->len_bytes > 0 ? in->next->base : nothing;
	in->end = in->p + in->next->len_bytes;
	in->is_item = in->next->is_item != 0;
	in->later_bytes -= in->next->len_bytes;
	in->next++;
	in->nparts--;
}

/* Moves the decoder to the part that has the next byte. The function does not move past an item
 * that was not taken yet, even if the item is empty. */
static void xdr_in_skip_empty(struct weir_xdr_in *in)
{
	while (in->p == in->end && !in->is_item && in->nparts > 0)
		enter_next_part(in);
}

void weir_xdr_in_init_parts(struct weir_xdr_in *in, const struct weir_xdr_part *parts,
			    uint32_t nparts)
{
	weir_xdr_in_init(in, nothing, 0);
	in->next = parts;
	in->nparts = nparts;
	in->join = in->join_end = NULL;
	for (uint32_t i = 0; i < nparts; i++)
		in->later_bytes += parts[i].len_bytes;
	xdr_in_skip_empty(in);
}

/* Returns whether there are 'len_bytes' bytes before the next item. */
static bool has_bytes_before_item(const struct weir_xdr_in *in, uint32_t len_bytes)
{
	uint64_t have = (uint64_t)(in->end - in->p);

	if (in->is_item)
		return len_bytes == 0;
	for (uint32_t i = 0; i < in->nparts && have < len_bytes && !in->next[i].is_item; i++)
		have += in->next[i].len_bytes;
	return have >= len_bytes;
}

int weir_xdr_get_bytes_slow(struct weir_xdr_in *in, void *dst, uint32_t len_bytes)
{
	uint8_t *to = dst;

	if (in->failed || !has_bytes_before_item(in, len_bytes))
		return fail(in);
	while (len_bytes > 0) {
		uint32_t n = len_bytes;

		xdr_in_skip_empty(in);
		if ((size_t)(in->end - in->p) < n)
			n = (uint32_t)(in->end - in->p);
		if (to) {
			memcpy(to, in->p, n);
			to += n;
		}
		in->p += n;
		len_bytes -= n;
	}
	return 0;
}

int weir_xdr_get_bool(struct weir_xdr_in *in, bool *value)
{
	uint32_t word;

	if (weir_xdr_get_u32(in, &word) != 0)
		return -EBADMSG;
	if (word > 1)
		return fail(in);
	*value = word == 1;
	return 0;
}

int weir_xdr_get_opaque_fixed(struct weir_xdr_in *in, void *dst, uint32_t len_bytes)
{
	if (weir_xdr_get_bytes(in, dst, len_bytes) != 0)
		return -EBADMSG;
	return weir_xdr_get_bytes(in, NULL, weir_xdr_pad(len_bytes));
}

int weir_xdr_get_opaque(struct weir_xdr_in *in, void *dst, uint32_t max_bytes, uint32_t *len_bytes)
{
	uint32_t count;

	if (weir_xdr_get_u32(in, &count) != 0)
		return -EBADMSG;
	if (count > max_bytes)
		return fail(in);
	if (weir_xdr_get_opaque_fixed(in, dst, count) != 0)
		return -EBADMSG;
	*len_bytes = count;
	return 0;
}

void xdr_in_join(struct weir_xdr_in *in, uint8_t *memory, uint32_t bytes)
{
	in->join = memory;
	in->join_end = memory + bytes;
}

/* Copies the body of an opaque that is in several parts into the memory of xdr_in_join(), and sets
 * *data to the copy. Returns 0, or -EBADMSG if the stream or the memory is too short. */
static int get_joined(struct weir_xdr_in *in, const void **data, uint32_t count)
{
	uint8_t *to = in->join;

	if (in->is_item || in->nparts == 0 || (size_t)(in->join_end - to) < count)
		return fail(in);
	if (weir_xdr_get_opaque_fixed(in, to, count) != 0)
		return -EBADMSG;
	/* The copy of the next opaque is aligned to a word, like data in a message. */
	in->join += (size_t)(in->join_end - to) - count < WEIR_XDR_UNIT
			    ? count
			    : count + weir_xdr_pad(count);
	*data = to;
	return 0;
}

static int get_ref(struct weir_xdr_in *in, const void **data, uint32_t max_bytes,
		   uint32_t *len_bytes, bool may_be_item)
{
	const uint8_t *at;
	uint32_t count;

	if (weir_xdr_get_u32(in, &count) != 0)
		return -EBADMSG;
	xdr_in_skip_empty(in);
	at = in->p;
	if (count > max_bytes)
		return fail(in);
	if ((size_t)(in->end - at) < count) {
		*len_bytes = count;
		return get_joined(in, data, count);
	}
	if (in->is_item) {
		/* An item is taken as a whole. Its padding is not in the stream (RFC 8166 section
		 * 3.4.4). */
		if (!may_be_item || (size_t)(in->end - at) != count)
			return fail(in);
		in->is_item = false;
		in->p = in->end;
	} else {
		in->p += count;
		if (weir_xdr_get_bytes(in, NULL, weir_xdr_pad(count)) != 0)
			return -EBADMSG;
	}
	*data = at;
	*len_bytes = count;
	return 0;
}

int weir_xdr_get_opaque_ref(struct weir_xdr_in *in, const void **data, uint32_t max_bytes,
			    uint32_t *len_bytes)
{
	return get_ref(in, data, max_bytes, len_bytes, true);
}

int xdr_get_inline_ref(struct weir_xdr_in *in, const void **data, uint32_t max_bytes,
		       uint32_t *len_bytes)
{
	return get_ref(in, data, max_bytes, len_bytes, false);
}

/* Writes 'len_bytes' bytes of data and the padding. The buffer must have room for both. */
static void put_padded(uint8_t *at, const void *src, uint32_t len_bytes)
{
	/* The last word is zeroed first. The data then overwrite all of this word except the
	 * padding. */
	if (len_bytes % WEIR_XDR_UNIT != 0)
		memset(at + len_bytes / WEIR_XDR_UNIT * WEIR_XDR_UNIT, 0, WEIR_XDR_UNIT);
	if (len_bytes - 1 < COPY_SMALL_MAX)
		copy_small(at, src, len_bytes);
	else if (len_bytes > 0)
		memcpy(at, src, len_bytes);
}

int weir_xdr_put_opaque_fixed(struct weir_xdr_out *out, const void *src, uint32_t len_bytes)
{
	size_t padded = ((size_t)len_bytes + WEIR_XDR_UNIT - 1) / WEIR_XDR_UNIT * WEIR_XDR_UNIT;
	uint8_t *at = weir_xdr_reserve(out, padded);

	if (!at)
		return -ENOSPC;
	put_padded(at, src, len_bytes);
	return 0;
}

int weir_xdr_put_opaque(struct weir_xdr_out *out, const void *src, uint32_t len_bytes)
{
	uint8_t *at = weir_xdr_reserve(out, 4 + (size_t)len_bytes + weir_xdr_pad(len_bytes));
	uint32_t count = weir_xdr_big_endian32(len_bytes);

	if (!at)
		return -ENOSPC;
	memcpy(at, &count, 4);
	put_padded(at + 4, src, len_bytes);
	return 0;
}
